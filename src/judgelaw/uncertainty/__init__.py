"""How far an estimate can be off: items, calls, prompts, and what cannot be known."""
