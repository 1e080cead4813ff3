"""What was asked and answered, durably: one protocol, several databases."""
