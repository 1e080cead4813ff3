"""How many calls a wanted precision costs, before a cent is spent."""
