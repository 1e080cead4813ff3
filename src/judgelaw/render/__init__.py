"""From a frozen cell to request text, and from a completion back to a verdict."""
