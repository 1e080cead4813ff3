"""Judging rates of simulated events: the share itself, or what a binomial count allows."""

from scipy.stats import binom

SURE = 1e-4
"""A count this unlikely under every allowed rate is taken for a failure."""


def plausible(events: int, trials: int, low: float, high: float, sure: float = SURE) -> bool:
    """Whether some true rate between low and high makes the count believable."""
    too_few = binom.cdf(events, trials, low) < sure
    too_many = binom.sf(events - 1, trials, high) < sure
    return not (too_few or too_many)
