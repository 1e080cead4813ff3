from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from judgelaw.study import Block, Item, Layer
from judgelaw.study.prompts import paper_six
from judgelaw.study.schedule import hidden_labels, locate, schedule
from judgelaw.wire import JudgeSpec

JUDGE = JudgeSpec(name="j", provider="openai-chat", base_url="http://h", model="m")


def block(items=3, prompts=2, orders=2, repeats=range(4), role="audit") -> Block:
    return Block(
        judge=JUDGE,
        layer=Layer(name=role, role=role),
        items=tuple(
            Item(id=f"{n}", stratum=None, instruction="", candidate_1="", candidate_2="", gold=None)
            for n in range(items)
        ),
        prompts=tuple(f"p{n}" for n in range(prompts)),
        templates=(paper_six()[0],) * prompts,
        orders=("AB", "BA")[:orders],
        repeats=repeats,
    )


@given(
    st.integers(1, 4), st.integers(1, 4), st.integers(1, 2), st.integers(0, 3), st.integers(1, 3)
)
def test_ordinals_and_coordinates_are_one_to_one(items, prompts, orders, start, depth):
    one = block(items, prompts, orders, range(start, start + depth))
    where = locate(one, np.arange(one.count))
    rows = set(zip(where.item, where.prompt, where.order, where.repeat, strict=True))
    assert len(rows) == one.count == items * prompts * orders * depth
    assert {int(r) for r in where.repeat} == set(range(start, start + depth))
    assert len(np.unique(where.cell)) == one.cells


@pytest.mark.parametrize("kind", ["random", "cells", "prompts"])
@given(seed=st.integers(0, 2**32))
def test_a_schedule_holds_every_call_once(kind, seed):
    planned = [block(), block(role="control"), block(repeats=range(4, 5))]
    order = schedule(planned, kind=kind, seed=seed, session=0)
    assert sorted(order.tolist()) == list(range(sum(b.count for b in planned)))
    assert (order == schedule(planned, kind=kind, seed=seed, session=0)).all()


def test_cells_keep_repeats_together_in_rank_order():
    one = block()
    where = locate(one, schedule([one], kind="cells", seed=1, session=0))
    cells = where.cell.reshape(-1, 4)
    assert (cells == cells[:, :1]).all()
    assert (where.repeat.reshape(-1, 4) == np.arange(4)).all()
    assert cells[:, 0].tolist() != sorted(cells[:, 0].tolist())


def test_prompts_run_in_a_row_and_the_cells_of_an_item_within_them():
    six = paper_six()
    one = replace(block(items=5, prompts=3), templates=six[:3])
    where = locate(one, schedule([one], kind="prompts", seed=1, session=0))
    prompts = where.prompt.reshape(3, -1)
    assert (prompts == prompts[:, :1]).all()
    items = where.item.reshape(15, -1)
    assert (items == items[:, :1]).all()
    assert items[:5, 0].tolist() != sorted(items[:5, 0].tolist())
    assert (where.repeat.reshape(-1, 4) == np.arange(4)).all()


def test_a_random_schedule_mixes_repeats_and_sessions_differ():
    one = block(items=20)
    order = schedule([one], kind="random", seed=1, session=0)
    assert (np.diff(locate(one, order).cell) == 0).mean() < 0.1
    assert (order != schedule([one], kind="random", seed=1, session=1)).any()


def test_labels_are_assigned_without_replacement_inside_every_block():
    one = block(items=40, prompts=6, role="control")
    where = locate(one, np.arange(one.count))
    labels = hidden_labels(one, seed=3)
    groups = defaultdict(list)
    for item, order, repeat, label in zip(
        where.item, where.order, where.repeat, labels, strict=True
    ):
        groups[item, order, repeat].append(int(label))
    assert len(groups) == 40 * 2 * 4
    assert all(sorted(group) == list(range(6)) for group in groups.values())
    # Each slot gets each label 320/6 = 53.3 times, standard deviation 6.7; five of them.
    pairs = Counter(zip(where.prompt.tolist(), labels.tolist(), strict=True))
    assert len(pairs) == 36
    assert all(abs(count - 320 / 6) < 33 for count in pairs.values())
    # A label agrees with its slot as often as chance says: 320 of 1920, standard deviation 17.9.
    assert abs(int((where.prompt == labels).sum()) - 320) < 90


def test_labels_of_further_ranks_come_from_their_own_stream():
    first = hidden_labels(block(role="control", prompts=6), seed=3)
    later = hidden_labels(block(role="control", prompts=6, repeats=range(4, 8)), seed=3)
    assert (first != later).any()
