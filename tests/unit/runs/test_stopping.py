"""A study that stops by looks, from its first call to its report: each judge for itself."""

import json

import pytest

import judgelaw as jl
from judgelaw.cli import main
from judgelaw.runs import Overview, Shown, acquire_study, differing_looks, read_source, stopping
from judgelaw.study import open_run
from servers.study import simulated_judge, write_study

ITEMS = 16
LOOKS = [4, 8, 12]


def judge(name, base, prompt=0.0):
    return simulated_judge(name=name, law={"world": {"base": base, "prompt": prompt}})


STEADY = judge("steady", [0.97, 0.02, 0.01, 0.0])
MOVED = judge("moved", [0.6, 0.3, 0.1, 0.0], 0.15)
NEAR = judge("near", [0.5, 0.3, 0.2, 0.0], 0.03)


def study(folder, judges=(STEADY, MOVED, NEAR), *, stop=None, **fields):
    rule = {"component": "prompt", "limit": 0.04, "looks": LOOKS}
    fields = {"gate": {"prompt": 0.04}, "items": ITEMS, **fields}
    return write_study(folder, list(judges), repeats=4, stop={**rule, **(stop or {})}, **fields)


def command(*argv):
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in argv])
    return stop.value.code


def acquired(path, say=lambda _: None):
    return acquire_study(path, None, shown=Shown(say=say))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("looks")
    said = []
    found = acquired(study(folder), said.append)
    return found, said


def test_every_judge_stops_for_itself(run):
    found, said = run
    frozen = open_run(found.path)
    last = frozen.last_looks
    assert (last["steady"].depth, last["steady"].verdict) == (4, "pass")
    assert (last["moved"].depth, last["moved"].verdict) == (4, "fail")
    assert (last["near"].depth, last["near"].action) == (12, "exhausted")
    assert [look.depth for look in frozen.record.looks if look.judge == "near"] == LOOKS
    cells = ITEMS * 2 * 2
    assert found.totals.completed == found.totals.planned == cells * (4 + 4 + 12)
    assert any("steady stops after 4 repeats: prompt is below 0.04" in line for line in said)
    assert sum("goes on" in line for line in said) == 2


def test_the_list_of_runs_shows_what_the_looks_found_and_nothing_else(run):
    found, _ = run
    runs = Overview(found.path)
    shown = runs.glance(*runs.find())
    assert [row[:2] for row in shown.looks if row[0] == "near"] == [
        ["near", str(depth)] for depth in LOOKS
    ]
    assert len(shown.looks[0]) == len(shown.plain()["look_columns"])
    assert shown.answers == {}


def test_resuming_a_stopped_run_asks_and_looks_no_more(run):
    found, _ = run
    before = (found.path / "manifest.json").read_bytes()
    said = []
    again = acquired(found.path.parents[1] / "study.yaml", said.append)
    assert again.totals == found.totals
    assert (found.path / "manifest.json").read_bytes() == before
    assert said == []


def test_looks_come_out_the_same_when_taken_again(run, capsys):
    found, _ = run
    frozen = open_run(found.path)
    assert differing_looks(frozen) == []
    assert command("verify", found.path) == 0
    assert "5 looks come out as they were taken" in capsys.readouterr().out


def test_a_look_that_was_written_by_hand_is_found(tmp_path):
    path = acquired(study(tmp_path, [STEADY])).path
    record = json.loads((path / "manifest.json").read_text())
    record["looks"][0]["upper"] = 0.001
    (path / "manifest.json").write_text(json.dumps(record))
    assert "steady at 4 repeats" in differing_looks(open_run(path))[0]


def test_status_knows_the_looks(run, capsys):
    found, _ = run
    assert command("status", found.path, "--json", "-") == 0
    told = json.loads(capsys.readouterr().out)["stop"]
    assert told["component"] == "prompt"
    assert told["undecided"] == {}
    assert {look["judge"] for look in told["taken"]} == {"steady", "moved", "near"}
    assert command("status", found.path) == 0
    assert "Looks at the prompt component, each judge for itself" in capsys.readouterr().out


def test_gate_report_and_analysis_use_the_levels_that_were_left(run, tmp_path, capsys):
    found, _ = run
    gate = jl.gate(str(found.path), {"prompt": 0.04})
    level = {d.judge: d.level for d in gate.limits}
    assert level["steady"] == level["moved"] > level["near"] > 0.95
    steady = next(d for d in gate.limits if d.judge == "steady")
    look = open_run(found.path).last_looks["steady"]
    assert (steady.verdict, steady.upper) == ("pass", look.upper)
    assert "looked at once" in steady.reason
    calls = read_source(str(found.path))
    assert [len(t.looks) for t in calls.main().values()] == [1, 3, 1]  # by name: moved, near, ...
    assert command("report", found.path, "-o", tmp_path / "r.html") == 0
    page = (tmp_path / "r.html").read_text()
    assert "When it stopped" in page
    assert "goes on to 8 repeats" in page
    assert "so that it holds" in page
    capsys.readouterr()
    assert command("analyze", found.path, "--json", "-", "--permutations", "0") == 0
    document = json.loads(capsys.readouterr().out)
    warned = document["judges"]["near"]["warnings"]
    assert any("looked at with 4, 8 and 12 repeats" in line for line in warned)


def test_a_half_width_stops_without_correction(tmp_path):
    rule = {"limit": None, "half_width": 0.05}
    path = acquired(study(tmp_path, [STEADY], stop=rule)).path
    look = open_run(path).last_looks["steady"]
    assert (look.action, look.verdict) == ("stop", "reached")
    assert read_source(str(path)).main()["steady"].looks == ()
    gate = jl.gate(str(path), {"prompt": 0.04})
    assert gate.limits[0].level == 0.95


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_session_that_dies_around_a_look_goes_on_as_if_nothing_had_happened(
    tmp_path, monkeypatch, when
):
    whole = acquired(study(tmp_path / "whole", [NEAR]))
    path = study(tmp_path / "cut", [NEAR])

    class Died(BaseException):
        pass

    def die(*_args, **_more):
        raise Died

    with monkeypatch.context() as patch:
        if when == "before":
            patch.setattr(stopping, "take_looks", die)
        else:
            patch.setattr(stopping, "in_words", die)
        with pytest.raises(Died):
            acquired(path)
    resumed = acquired(path)
    first, second = open_run(whole.path), open_run(resumed.path)
    assert first.record.looks == second.record.looks
    assert [c.call_id for c in first.iter_calls()] == [c.call_id for c in second.iter_calls()]
    assert (whole.path / "calls.parquet").read_bytes() == (
        resumed.path / "calls.parquet"
    ).read_bytes()


def test_a_budget_that_ends_between_looks_is_kept_and_resumes(tmp_path):
    path = study(tmp_path, [NEAR], budget={"calls": 300})
    stopped = acquired(path)
    assert not stopped.complete
    assert stopped.totals.completed == 300
    with pytest.raises(jl.BudgetReachedError):
        stopped.raise_if_open()
    study(tmp_path, [NEAR], budget={"calls": 5000})
    assert acquired(path).complete
    assert len(open_run(stopped.path).record.looks) == 3


def test_a_deadline_counts_over_all_depths(tmp_path):
    frozen = open_run(acquired(study(tmp_path, [STEADY], budget={"deadline_s": 60})).path)
    assert stopping._within(frozen, 20.0).study.budget.deadline_s == 40
    assert 0 < stopping._within(frozen, 90.0).study.budget.deadline_s < 0.01


@pytest.mark.parametrize("argv", [("run",), ("audit",), ("plan",), ("check",)])
def test_a_limit_that_no_look_can_decide_is_refused_before_anything(tmp_path, capsys, argv):
    path = study(tmp_path, [STEADY], stop={"limit": 0.00001})
    assert command(*argv, path) == 2
    said = capsys.readouterr().err
    assert "stop.limit: 1e-05, no look can show it" in said
    assert "study.yaml:" in said
    assert "raise it, add a deeper look, or take more items" in said
    assert not (tmp_path / "runs").exists()


def test_a_half_width_that_no_look_can_reach_is_refused(tmp_path, capsys):
    path = study(tmp_path, [STEADY], stop={"limit": None, "half_width": 1e-6})
    assert command("plan", path) == 2
    assert "stop.half_width: 1e-06, no look can reach it" in capsys.readouterr().err


def test_plan_says_what_looks_cost_and_how_soon_they_decide(tmp_path, capsys):
    pilot = jl.VerdictTensor.from_laws(
        [[[[0.97, 0.02, 0.01, 0.0]] * 2] * 2] * ITEMS, repeats=4, seed=1
    )
    path = study(tmp_path, [STEADY])
    found = jl.plan(path, pilot, budget=2000, half_width=0.02)
    assert (found.calls, found.most_calls) == (ITEMS * 4 * 4, ITEMS * 4 * 12)
    assert "at most, by looks" in found.in_words()
    assert found.stop.passed > 0.5
    these, new = found.spending.these, found.spending.new
    assert (these.items, these.repeats) == (ITEMS, 2000 // (ITEMS * 4))
    assert new.items * new.repeats * 4 <= 2000
    assert new.half_width == min(c.half_width for c in found.spending.tried)
    assert 0 <= these.chance <= 1
    assert these.expected <= these.half_width
    document = found.to_json()
    assert document["spending"]["budget"] == 2000
    assert list(document["stop"]["decided"].values()) == sorted(found.stop.decided.values())
    with pytest.raises(jl.InputError, match="without a pilot"):
        jl.plan(path, budget=2000)
    assert command("plan", path, "--budget", "100") == 2
    assert "--budget 100 needs --pilot" in capsys.readouterr().err


def test_scores_of_single_answers_stop_too(tmp_path):
    scores = {
        "name": "sim",
        "provider": "simulated",
        "model": "law",
        "law": {"verdicts": {"4": 0.9, "5": 0.1}},
        "parser": {"score": {"min": 1, "max": 5}},
    }
    templates = [{"id": n, "text": f"{n}: {{instruction}} {{candidate}}"} for n in ("a", "b", "c")]
    path = study(
        tmp_path,
        [scores],
        task="pointwise",
        scale=[1, 2, 3, 4, 5],
        prompts={"policy": "census", "templates": templates},
    )
    rows = [{"id": f"i{n}", "instruction": "q", "candidate_1": "x"} for n in range(ITEMS)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "items.jsonl").write_text(text)
    look = open_run(acquired(path).path).last_looks["sim"]
    assert (look.depth, look.verdict) == (4, "pass")
