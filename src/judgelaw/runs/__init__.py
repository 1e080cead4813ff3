"""From the path of a run or a table to its answer: what commands, notebooks and tests share."""
