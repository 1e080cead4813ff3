import json

import duckdb
import pytest

from judgelaw.errors import InputError, RunError
from judgelaw.study import extend, freeze, load_study, open_run, request_for
from judgelaw.study.run_files import PENDING

CONTROL = """\
layers:
  - {name: audit, role: audit}
  - {name: control, role: control, labels: 6, repeats: 3}
"""


def labels(run) -> dict[str, str]:
    return dict(duckdb.read_parquet(str(run / "sealed/labels.parquet")).fetchall())


@pytest.mark.parametrize("kind", ["random", "cells"])
def test_more_repeats_leave_every_call_as_it_is(make_study, run, kind):
    path = make_study(("repeats: 2", f"repeats: 2\nschedule: {kind}"), add=CONTROL)
    before = freeze(load_study(path), run)
    calls, sealed = list(before.iter_calls()), labels(run)
    after = extend(run, 5)
    extended = list(after.iter_calls())
    assert extended[: len(calls)] == calls
    assert [call.position for call in extended] == list(range(after.count))
    assert after.count == 6 * 12 * 5 * 2
    assert len({call.call_id for call in extended}) == after.count
    assert len({call.seed for call in extended}) == after.count
    assert {call.repeat for call in extended if call.layer == "audit"} == set(range(5))
    assert sealed.items() <= labels(run).items()
    assert len(labels(run)) == 6 * 12 * 5
    assert all(request_for(after, call) for call in extended[len(calls) :])


def test_a_fresh_freeze_at_the_depth_plans_the_same_calls(make_study, run):
    """Identity is content: extension and a deeper study name the same calls."""
    freeze(load_study(make_study()), run)
    extended = {call.call_id for call in extend(run, 4).iter_calls()}
    deeper = load_study(make_study(("repeats: 2", "repeats: 4")))
    fresh = {call.call_id for call in freeze(deeper, run.with_name("deep")).iter_calls()}
    assert extended == fresh


def test_the_study_resumes_at_the_depth_that_was_reached(make_study, run):
    loaded = load_study(make_study())
    freeze(loaded, run)
    extend(run, 4)
    assert freeze(loaded, run).count == 6 * 12 * 4
    assert freeze(load_study(make_study(("repeats: 2", "repeats: 4"))), run).count == 6 * 12 * 4
    amended = freeze(load_study(make_study(add="budget: {calls: 9}\n")), run)
    assert amended.study.depth == {"audit": 4}
    assert amended.study.budget.calls == 9
    assert [session.kind for session in amended.record.sessions] == ["freeze", "extend"]


def test_one_layer_is_extended_alone(make_study, run):
    freeze(load_study(make_study(add=CONTROL)), run)
    after = extend(run, 4, layer="audit")
    assert after.study.depth == {"audit": 4, "control": 3}
    assert extend(run, 4).study.depth == {"audit": 4, "control": 4}


def test_a_generator_takes_more_prompts(make_study, run):
    change = ("paper-six", "{policy: generator, count: 4}")
    before = freeze(load_study(make_study(change)), run)
    calls = list(before.iter_calls())
    after = extend(run, 3, prompts=6)
    extended = list(after.iter_calls())
    assert extended[: len(calls)] == calls
    assert after.count == 6 * 6 * 2 * 3
    assert list(after.templates)[:4] == list(before.templates)
    assert len({call.call_id for call in extended}) == after.count
    assert all(request_for(after, call) for call in extended)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"repeats": 1}, "nothing to add: audit has 2 repeats"),
        ({"repeats": 4, "layer": "none"}, "must be one of audit"),
        ({"prompts": 9}, "adding prompts to a census changes what is estimated"),
    ],
)
def test_what_cannot_be_added(make_study, run, arguments, words):
    freeze(load_study(make_study()), run)
    with pytest.raises(InputError, match=words):
        extend(run, **arguments)
    assert open_run(run).count == 144


@pytest.mark.parametrize("asked", [{"repeats": 3}, {"prompts": 6}, {"repeats": 3, "prompts": 6}])
def test_the_same_command_goes_on_wherever_it_was_killed(make_study, run, asked):
    """Before its commit nothing is there, after it all of it: the command finds either."""
    freeze(load_study(make_study(("paper-six", "{policy: generator, count: 4}"))), run)
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    count = extend(run, **asked).count
    after = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert extend(run, **asked).count == count
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == after
    changed = [path for path in after if before.get(path) != after[path]]
    for moved in range(len(changed) + 1):  # as a kill leaves it between list and last file
        pending = run / PENDING
        for path in changed:
            held = pending / path.relative_to(run)
            held.parent.mkdir(parents=True, exist_ok=True)
            held.write_bytes(after[path])
            path.write_bytes(before[path])
        names = [path.relative_to(run).as_posix() for path in changed]
        (pending / "COMMIT").write_text(json.dumps(names))
        for name in names[:moved]:
            (pending / name).replace(run / name)
        assert extend(run, **asked).count == count
        assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == after


def test_prompts_are_never_taken_away(make_study, run):
    freeze(load_study(make_study(("paper-six", "{policy: generator, count: 4}"))), run)
    with pytest.raises(InputError, match="the run holds 4"):
        extend(run, prompts=3)


def test_there_must_be_a_run(run):
    with pytest.raises(RunError, match="nothing was frozen here"):
        extend(run, 4)
    assert not run.exists()
