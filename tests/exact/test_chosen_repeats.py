"""Repeats chosen by an earlier run leave every estimate unbiased; by the same calls, they do not.

All outcomes of an earlier run, the choice that the program makes after each, and all outcomes of
the run after it, in fractions, with no tolerance.
"""

from fractions import Fraction
from functools import cache

import numpy as np

from judgelaw.decide import choose_repeats
from judgelaw.estimate import COMPONENTS, decompose, population
from judgelaw.tensor import VerdictTensor
from support.enumeration import expectation, fractions, outcomes

F = Fraction
LAWS = fractions([[[["1/2", "1/2"]], [["1/3", "2/3"]]], [[["1/5", "4/5"]], [["1", "0"]]]])
"""Two items, two prompts, one order, two verdicts; one cell is settled."""
PRESENT = ("call", "prompt", "total")


@cache
def expected(item: int, repeats: int) -> dict[str, Fraction]:
    """Return what the estimates of an item at so many repeats are on average."""
    counts, chances = outcomes(LAWS[item], repeats)
    found = decompose(counts)
    return {name: expectation(found[name], chances) for name in PRESENT}


def truth() -> dict[str, Fraction]:
    found = population(LAWS)
    return {name: found[name].mean() for name in PRESENT}


def test_repeats_from_an_earlier_run_are_unbiased():
    earlier, chances = outcomes(LAWS, 4)
    mean = dict.fromkeys(PRESENT, F(0))
    seen = set()
    for counts, chance in zip(earlier, chances, strict=True):
        calls = VerdictTensor.from_counts(counts.astype(np.int64))
        chosen = choose_repeats(calls, least=2, most=4, mean=3)
        repeats = tuple(chosen.repeats.values())
        seen.add(repeats)
        for name in PRESENT:
            both = sum(expected(item, repeats[item])[name] for item in range(2))
            mean[name] += chance * both / 2
    assert {(3, 3), (4, 2), (2, 4)} <= seen, "the rule must choose otherwise after other outcomes"
    assert sum(chances) == 1
    assert mean == truth()


def test_the_number_of_calls_chosen_by_the_same_calls_is_biased():
    """Two calls, and two more where they differ: pooled, the call component is off by a lot."""
    law = LAWS[0]
    first, chances = outcomes(law, 2)
    second, more = outcomes(law, 2)
    mean = dict.fromkeys(PRESENT, F(0))
    for counts, chance in zip(first, chances, strict=True):
        differ = (counts > 0).all(axis=-1).any()
        pooled = counts + second if differ else counts[None]
        found = decompose(pooled)
        for name in PRESENT:
            mean[name] += chance * expectation(found[name], more if differ else np.array([F(1)]))
    exact = population(law)
    assert mean["call"] != exact["call"]
    assert abs(mean["call"] - exact["call"]) > F(1, 20)
    assert set(PRESENT) < set(COMPONENTS)
