"""Measured speed, each figure as a ratio to its limit in the same run: `make bench`."""
