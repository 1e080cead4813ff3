"""A run folder or a calls table, from its path to its answer: what commands, notebooks and tests share."""
