import random

import pytest
from hypothesis import given, strategies as st

from judgelaw.errors import InputError
from judgelaw.study import Item
from judgelaw.study.items import select
from judgelaw.study.models import Selection


def items(sizes: dict[str, int]) -> list[Item]:
    return [
        Item(
            id=f"{stratum}{n}",
            stratum=stratum,
            instruction="",
            candidate_1="",
            candidate_2="",
            gold=None,
        )
        for stratum, size in sizes.items()
        for n in range(size)
    ]


SELECTIONS = {
    "matched": Selection(per_stratum=3),
    "broad": Selection(complement_of="matched"),
    "again": Selection(complement_of="broad"),
    "everything": Selection(),
}


@given(st.integers(0, 2**40), st.lists(st.integers(3, 9), min_size=1, max_size=4))
def test_a_complement_is_disjoint_and_exhaustive(seed, sizes):
    everything = items({f"s{n}": size for n, size in enumerate(sizes)})
    matched = {item.id for item in select(everything, "matched", SELECTIONS, seed)}
    if len(matched) == len(everything):
        with pytest.raises(InputError, match="holds no item"):
            select(everything, "broad", SELECTIONS, seed)
        return
    broad = {item.id for item in select(everything, "broad", SELECTIONS, seed)}
    assert not matched & broad
    assert matched | broad == {item.id for item in everything}
    assert {item.id for item in select(everything, "again", SELECTIONS, seed)} == matched


def test_a_sample_is_stratified_and_keeps_the_sequence_of_the_file():
    everything = items({"a": 10, "b": 5})
    chosen = select(everything, "matched", SELECTIONS, 1)
    assert [item.stratum for item in chosen] == ["a"] * 3 + ["b"] * 3
    assert [everything.index(item) for item in chosen] == sorted(map(everything.index, chosen))
    assert chosen != select(everything, "matched", SELECTIONS, 2)


def test_a_sample_does_not_depend_on_the_sequence_of_the_file():
    everything = items({"a": 10, "b": 5})
    shuffled = random.Random(3).sample(everything, len(everything))
    names = {item.id for item in select(everything, "matched", SELECTIONS, 1)}
    assert {item.id for item in select(shuffled, "matched", SELECTIONS, 1)} == names


def test_a_stratum_that_is_too_small_is_named():
    with pytest.raises(InputError, match="per_stratum 3 exceeds the 2 items of stratum 'b'"):
        select(items({"a": 5, "b": 2}), "matched", SELECTIONS, 1)


def test_every_item_is_chosen_about_equally_often():
    everything = items({"a": 6})
    counts = dict.fromkeys((item.id for item in everything), 0)
    for seed in range(600):
        for item in select(everything, "matched", SELECTIONS, seed):
            counts[item.id] += 1
    # 300 expected, standard deviation 12.2; five of them.
    assert all(abs(count - 300) < 62 for count in counts.values())
