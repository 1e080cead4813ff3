"""Getting every declared call answered exactly once, within limits and budget."""
