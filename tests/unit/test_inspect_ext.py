"""The Inspect extension: its samples, and the log that inspect wrote when it ran them."""

import sys

import pytest

from judgelaw import inspect_ext
from judgelaw.errors import InputError, MissingExtraError
from support.imports import FIXTURES
from support.studies import LAYERS, STUDY, write_items

LOG = FIXTURES / "inspect-crossed.eval"


@pytest.fixture
def study(tmp_path):
    write_items(tmp_path, count=2)
    path = tmp_path / "study.yaml"
    path.write_text(STUDY + LAYERS)
    return path


def test_every_cell_is_a_sample_that_shows_its_candidates_in_order(study):
    samples = inspect_ext.samples_of(inspect_ext.choose_block(study, None, None))
    assert len({s.id for s in samples}) == len(samples) == 2 * 6 * 2
    one, other = samples[:2]
    assert one.metadata | {"order": "BA"} == other.metadata
    assert one.metadata["item"] == "i0"
    assert one.metadata["gold"] == "candidate_1"
    assert one.text.index("first 0") < one.text.index("second 0")
    assert other.text.index("first 0") > other.text.index("second 0")


def test_a_layer_is_chosen_by_name(study):
    block = inspect_ext.choose_block(study, "reference", "j")
    assert len(block.repeats) == 5
    with pytest.raises(InputError, match=r"there are evaluation/j, reference/j, control/j"):
        inspect_ext.choose_block(study, "none", None)


def test_the_recorded_log_of_the_task_is_analysed():
    (judge,) = inspect_ext.audit(LOG).judges.values()
    assert (judge.items, judge.prompts, judge.orders, judge.repeats) == (2, 2, 2, 2)
    assert sum(judge.outcomes.values()) == 16
    assert judge.gold_match is not None
    parts = [judge.components[n].estimate for n in ("call", "prompt", "order", "interaction")]
    assert sum(parts) == pytest.approx(judge.components["total"].estimate)


def test_without_inspect_the_message_names_the_one_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'judgelaw\[inspect\]'"):
        inspect_ext._inspect()
