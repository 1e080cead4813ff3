"""One complete analysis of one table, as a frozen value."""
