"""The real tables beside the project: what they hold, counted a second time by Python alone."""

import csv
import gzip

import pytest

from judgelaw.errors import IncompleteDesignError
from judgelaw.tables import read_tensor, read_tensors
from support.calls import assert_same, real, slow


def rows_of(path, judge):
    with gzip.open(path, "rt", newline="") as file:
        return [row for row in csv.DictReader(file) if row["judge"] == judge]


@pytest.mark.parametrize(
    ("name", "judge", "shape"),
    [
        ("mtbench_orders_o2_r3.csv.gz", "gemini-pro", (96, 1, 2, 3)),
        ("rewardbench2_prompts_k7_r8.csv.gz", "claude-haiku-4-5", (1763, 2, 1, 8)),
        ("yesno_contexts_k5_r10_logprobs.csv.gz", "gpt-4.1-nano", (21, 5, 1, 10)),
    ],
)
def test_tables_equal_the_slow_count(name, judge, shape):
    path = real(name)
    tensor = read_tensor(path, judge=judge)
    assert tensor.ranked.shape == shape
    expected = slow(rows_of(path, judge), tensor.verdicts)
    assert_same(tensor, expected, but=("judge", "strata", "gold"))


def test_an_incomplete_judge_is_refused_then_cut_to_complete_items():
    path = real("rewardbench2_prompts_k7_r8.csv.gz")
    with pytest.raises(IncompleteDesignError, match=r"judge 'gpt-5.4': 145 of 12341 cells"):
        read_tensor(path, judge="gpt-5.4")
    tensor = read_tensor(path, judge="gpt-5.4", incomplete="drop")
    assert len(tensor.items) == 1663
    assert "dropped 100 of 1763 items" in tensor.notes[0]
    assert "Safety 86" in tensor.notes[0]


def test_all_judges_at_once():
    tensors = read_tensors(real("mtbench_orders_o2_r3.csv.gz"))
    judges = ["claude-3-opus-20240229", "gemini-pro", "gpt-4-0125-preview"]
    assert [judge for _, judge in tensors] == judges
    assert sum(int(tensor.counts.sum()) for tensor in tensors.values()) == 1728


def test_yes_and_no_with_gold():
    tensor = read_tensor(real("yesno_contexts_k5_r10_logprobs.csv.gz"))
    assert tensor.verdicts == ("no", "yes")
    assert set(tensor.gold) <= {"no", "yes", None}
