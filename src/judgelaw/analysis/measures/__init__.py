"""Quantities that are one function each, a file for those of a kind; each offers `QUANTITIES`."""
