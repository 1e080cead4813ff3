import numpy as np
import pytest
from hypothesis import given, strategies as st

from judgelaw.study.schedule import CAPACITY, LARGEST, distinct_seeds


@given(st.integers(0, 2**64), st.integers(0, CAPACITY - 2000), st.integers(1, 2000))
def test_seeds_are_distinct_31_bit_integers(key, start, count):
    seeds = distinct_seeds(key, start, start + count)
    assert len(np.unique(seeds)) == count
    assert seeds.min() >= 1
    assert seeds.max() <= LARGEST < 2**31


@given(st.integers(0, 2**64), st.integers(0, 500), st.integers(1, 500))
def test_a_seed_depends_on_its_ordinal_only(key, start, count):
    assert (
        distinct_seeds(key, 0, 1000)[start : start + count]
        == distinct_seeds(key, start, min(start + count, 1000))[:count]
    ).all()


def test_many_seeds_are_distinct_where_a_truncated_hash_would_collide():
    seeds = distinct_seeds(20261115, 0, 300_000)
    assert len(np.unique(seeds)) == 300_000


def test_seeds_look_uniform_and_keys_differ():
    seeds = distinct_seeds(1, 0, 100_000)
    counts, _ = np.histogram(seeds, bins=16, range=(0, 2**31))
    # 6250 expected in each bin, standard deviation 76.5; five of them.
    assert (abs(counts - 6250) < 383).all()
    assert (seeds != distinct_seeds(2, 0, 100_000)).mean() > 0.999


def test_the_whole_domain_is_reachable_and_no_more():
    assert len(distinct_seeds(1, CAPACITY - 3, CAPACITY)) == 3
    with pytest.raises(ValueError, match="leave the"):
        distinct_seeds(1, 0, CAPACITY + 1)


def test_released_seeds_stay_what_they_are():
    """A run that was frozen by an earlier version is extended by a later one."""
    assert distinct_seeds(5, 0, 3).tolist() == [89267314, 217789670, 160743182]
