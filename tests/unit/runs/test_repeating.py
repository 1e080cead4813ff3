"""Repeats by item from an earlier run: taken, refused, and told."""

import numpy as np
import pytest

from judgelaw.acquire.verify import verify
from judgelaw.errors import StudyChangedError, StudyError
from judgelaw.runs import Shown, acquire_study, preview_study, read_source
from judgelaw.runs.repeating import chooser
from judgelaw.study import load_study, open_run, survey
from servers.study import simulated_judge, write_study

ITEMS = 24
BY_ITEM = {"from": "runs/small", "min": 4, "max": 16}


def world(noisy):
    """Return a judge whose first items roll dice under one prompt; all else is settled."""
    laws = np.zeros((ITEMS, 2, 2, 4))
    laws[..., 0] = 1.0
    laws[:noisy, 0] = [0.5, 0.4, 0.1, 0.0]
    names = [f"i{n}" for n in range(ITEMS)]
    return simulated_judge(law={"world": {"laws": laws.tolist(), "item_names": names}})


def earlier(folder, judge, **fields):
    study = write_study(folder, [judge], items=ITEMS, repeats=8, **fields)
    return acquire_study(study, None, shown=Shown())


def later(folder, judge, repeats=BY_ITEM, **fields):
    values = {"items": ITEMS, "seed": 12, "name": "later", **fields}
    return write_study(folder, [judge], repeats=repeats, **values)


def test_noisy_items_are_asked_more_often(tmp_path):
    earlier(tmp_path, world(4))
    said = []
    study = later(tmp_path, world(4))
    assert preview_study(load_study(study)).run.count == ITEMS * 4 * 8
    found = acquire_study(study, None, shown=Shown(say=said.append))
    chosen = open_run(found.path).record.repeats["sim"]
    assert min(chosen[f"i{n}"] for n in range(4)) > 8
    assert {chosen[f"i{n}"] for n in range(4, ITEMS)} != {8}
    assert sum(chosen.values()) == ITEMS * 8
    assert found.totals.completed == ITEMS * 4 * 8
    assert "concentrated" in said[0]
    assert verify(found.path).ok
    tensor = read_source(str(found.path)).main()["sim"]
    assert tensor.depth[0] < tensor.depth[1]
    assert any("from an earlier run" in note for note in tensor.notes)


def test_even_noise_takes_equal_repeats_and_says_why(tmp_path):
    even = simulated_judge()
    earlier(tmp_path, even)
    said = []
    found = acquire_study(later(tmp_path, even), None, shown=Shown(say=said.append))
    assert set(open_run(found.path).record.repeats["sim"].values()) == {8}
    assert "equal repeats are better" in said[0]
    # The same command goes on with what was chosen, and says it once.
    said.clear()
    acquire_study(later(tmp_path, even), None, shown=Shown(say=said.append))
    assert said == []


def refused(study, out=None):
    with pytest.raises(StudyError) as error:
        acquire_study(study, out, shown=Shown())
    return str(error.value)


def test_repeats_chosen_by_the_same_calls_are_refused(tmp_path):
    """The run names itself: before its first call, and after it has some."""
    itself = later(tmp_path, world(4), {**BY_ITEM, "from": "runs/later"})
    assert "repeats.from: 'runs/later', no run folder" in refused(itself)
    run = earlier(tmp_path, world(4)).path
    before = (run / "manifest.json").read_bytes()
    with pytest.raises(StudyChangedError) as error:
        acquire_study(later(tmp_path, world(4), name="small", seed=11), None, shown=Shown())
    assert "repeats chosen by looking at the same calls bias every estimate" in str(error.value)
    assert (run / "manifest.json").read_bytes() == before


def test_a_run_that_is_about_to_be_frozen_cannot_be_its_own_earlier_run(tmp_path):
    run = earlier(tmp_path, world(4)).path
    loaded = load_study(later(tmp_path, world(4)))
    with pytest.raises(StudyError, match="is this very run"):
        chooser(loaded, run)(survey(loaded))


def test_the_seed_of_the_earlier_run_is_refused(tmp_path):
    earlier(tmp_path, world(4))
    said = refused(later(tmp_path, world(4), seed=11))
    assert "seed: 11, is also the seed of runs/small" in said
    assert "study.yaml:" in said


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"repeats": {**BY_ITEM, "from": "nowhere"}}, "repeats.from: 'nowhere', no run folder"),
        ({"items": ITEMS + 2}, "knows nothing of 2 items ('i24', 'i25')"),
        ({"judge": simulated_judge(name="other")}, "has no judge 'other'"),
    ],
)
def test_an_earlier_run_of_something_else_is_refused(tmp_path, fields, words):
    earlier(tmp_path, simulated_judge())
    judge = fields.pop("judge", simulated_judge())
    said = refused(later(tmp_path, judge, **fields))
    assert words in said
    assert "study.yaml:" in said


def test_a_shallow_earlier_run_is_refused(tmp_path):
    study = write_study(tmp_path, [simulated_judge()], items=ITEMS, repeats=2)
    acquire_study(study, None, shown=Shown())
    assert "from four repeats on" in refused(later(tmp_path, simulated_judge()))
