"""Shift and change of law are unbiased: every table of a small design, in exact fractions."""

from fractions import Fraction

import numpy as np
import pytest

from judgelaw.diagnose.paired_calls import changes, shifts
from support.enumeration import expectation, fractions, outcomes

SCORES = fractions([1, 0, "1/2"])
LAWS = {
    "apart": fractions([["1/2", "1/3", "1/6"], ["1/5", "1/5", "3/5"]]),
    "opposite": fractions([[1, 0, 0], [0, 1, 0]]),
    "the same": fractions([["1/4", "1/4", "1/2"], ["1/4", "1/4", "1/2"]]),
}


@pytest.mark.parametrize("repeats", [(2, 2), (2, 3), (3, 2), (4, 2)])
@pytest.mark.parametrize("laws", LAWS.values(), ids=LAWS)
def test_shift_and_change_are_unbiased(laws, repeats):
    n, chances = outcomes(laws, np.array(repeats))
    gap = laws[1] - laws[0]
    assert expectation(shifts(n[:, 0], n[:, 1], SCORES), chances) == gap @ SCORES
    assert expectation(changes(n[:, 0], n[:, 1]), chances) == (gap**2).sum() / 2


def test_a_count_of_flips_calls_a_coin_biased_and_the_change_does_not():
    coins = fractions([["1/2", "1/2"], ["1/2", "1/2"]])
    flips = 1 - (coins[0] * coins[1]).sum()
    n, chances = outcomes(coins, 2)
    assert flips == Fraction(1, 2)
    assert expectation(changes(n[:, 0], n[:, 1]), chances) == 0
