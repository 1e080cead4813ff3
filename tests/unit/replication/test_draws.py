"""The look-up table draws exactly the declared law."""

from itertools import product
from math import factorial, prod

import numpy as np
import pytest

from judgelaw.replication.draws import PairTable, split_blocks
from judgelaw.streams import stream

LAWS = ([0.4, 0.3, 0.2, 0.1], [0.9, 0.05, 0.03, 0.02], [0.5, 0.5], [1.0, 0.0, 0.0], [1 / 3] * 3)


def realised(table):
    """The law over packed outcomes that sixteen bits and the remainder give."""
    chance = dict.fromkeys(table.outcomes.tolist(), 0.0)
    for outcome, entries in zip(
        *np.unique(table.entries[: table.settled], return_counts=True), strict=True
    ):
        chance[int(outcome)] += entries / 65_536
    left = (65_536 - table.settled) / 65_536
    for outcome, share in zip(table.outcomes, np.diff(table.remainder, prepend=0), strict=True):
        chance[int(outcome)] += left * share
    return chance


def blocks_of(outcome):
    word = np.array([outcome], dtype=np.uint64)
    first, second = np.empty_like(word), np.empty_like(word)
    split_blocks(word, first, second)
    return [tuple(block.view("<u2").tolist()) for block in (first, second)]


def multinomial(counts, law):
    ways = factorial(sum(counts)) // prod(factorial(n) for n in counts)
    return ways * prod(p**n for p, n in zip(law, counts, strict=False))


@pytest.mark.parametrize("law", LAWS)
def test_table_realises_the_law_of_two_blocks_to_the_last_bit(law):
    chance = realised(PairTable.of(np.array(law)))
    assert sum(chance.values()) == pytest.approx(1, abs=1e-15)
    for outcome, p in chance.items():
        first, second = blocks_of(outcome)
        assert p == pytest.approx(multinomial(first, law) * multinomial(second, law), abs=2e-16)


def test_few_draws_need_the_remainder():
    assert PairTable.of(np.array(LAWS[0])).settled > 65_536 - 100


@pytest.mark.parametrize("law", LAWS[:3])
def test_draws_agree_in_law_with_calls_drawn_one_by_one(law):
    table = PairTable.of(np.array(law))
    size = 200_000
    drawn = table.draw(stream(3, "lookup"), size)
    codes = stream(4, "plain").choice(len(law), p=law, size=(size, 2, 2))
    plain = sum(
        (np.uint64(1) << (16 * codes[:, b, r] + 8 * b).astype(np.uint64))
        for b, r in product(range(2), range(2))
    )
    for outcome in table.outcomes:
        a, b = int(np.sum(drawn == outcome)), int(np.sum(plain == outcome))
        assert abs(a - b) <= 5 * np.sqrt(a + b + 1), blocks_of(int(outcome))


def test_a_seed_means_the_same_draws():
    table = PairTable.of(np.array(LAWS[0]))
    first, again = (table.draw(stream(1, "x"), 1001) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, table.draw(stream(2, "x"), 1001))
