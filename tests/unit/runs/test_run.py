"""A run as an object: counted from its rows, shown in a notebook, safe whatever it holds."""

import json
from html import escape

import polars as pl
import pyarrow as pa
import pytest

import judgelaw as jl
from judgelaw.acquire import acquire
from judgelaw.cli import program
from judgelaw.errors import RunError
from judgelaw.study import freeze, load_study
from servers.provider import Provider, say
from servers.study import chat_judge, frozen_study, simulated_judge, write_study
from support.reports import HOSTILE

SECRET = "canary-k3y"


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    frozen = frozen_study(tmp_path_factory.mktemp("done"), [simulated_judge()], items=6, repeats=4)
    acquire(frozen).raise_if_open()
    return jl.Run(frozen.path)


@pytest.fixture
def half(tmp_path):
    frozen = frozen_study(tmp_path, [simulated_judge()], budget={"calls": 5})
    acquire(frozen)
    return jl.Run(frozen.path)


def test_nothing_is_there_before_a_study_is_frozen(tmp_path):
    with pytest.raises(RunError, match="nothing was frozen here"):
        jl.Run(tmp_path)


def test_a_frozen_run_shows_what_is_planned(tmp_path):
    run = jl.Run(frozen_study(tmp_path, [simulated_judge()]).path)
    assert (run.status.planned, run.status.completed, run.status.open) == (16, 0, 16)
    assert "0 of 16 calls completed" in run._repr_html_()
    for ask in (run.tensors, run.analysis, run.to_frame, run.report):
        with pytest.raises(RunError, match="no call is answered yet"):
            ask()


@pytest.mark.parametrize("name", ["a[1]", "judge=other", "prompt=v2"])
def test_the_name_of_a_folder_is_only_a_name(tmp_path, name):
    """Brackets are no pattern for the run beside it, and an equals sign makes no column."""
    acquire(frozen_study(tmp_path / "a1", [simulated_judge()], items=3)).raise_if_open()
    frozen = frozen_study(tmp_path / name, [simulated_judge()])
    assert jl.Run(frozen.path).status.planned == 16
    acquire(frozen).raise_if_open()
    run = jl.Run(frozen.path)
    assert run.status.completed == run.status.planned == len(run.to_frame()) == 16
    assert set(run.to_frame()["judge"]) == set(run.analysis(permutations=0).judges) == {"sim"}
    assert program._run(["verify", str(run.path)]) == 0


def test_a_run_under_way_shows_progress_and_no_answer(half):
    assert (half.status.completed, half.status.open) == (5, 11)
    html = half._repr_html_()
    assert "<progress value='5' max='16'>" in html
    assert "<svg" not in html
    assert repr(half) == f"Run({str(half.path)!r}, 5 of 16 calls)"
    assert len(half.to_frame()) == 5


def test_counts_are_those_of_the_table(done):
    frame = done.to_frame()
    status = done.status
    assert status.completed == status.planned == len(frame) == 96
    assert status.judges["sim"].invalid == status.invalid == (frame["verdict"] == "invalid").sum()
    assert status.invalid > 0


def test_a_complete_run_shows_its_sentence_and_chart(done):
    html = done._repr_html_()
    (judge,) = done.analysis(permutations=0).judges.values()
    sentence = escape(judge.sentence)
    assert html.count('class="mark"') == 5
    assert html.index("<progress") < html.index(sentence) < html.index("<svg")


def test_the_answer_is_that_of_the_command(done, capsys):
    assert program._run(["analyze", str(done.path), "--json", "-"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert done.analysis().to_json() == said
    other = done.analysis(repeats=2, draws=50, permutations=0, design="sampled")
    assert other.settings.draws == 50
    assert other.settings.design == "sampled"
    assert other.judges["sim"].repeats == 2


def test_what_the_study_declares_holds_unless_something_else_is_asked_for(tmp_path):
    declared = {"draws": 40, "permutations": 9, "seeds": {"analysis": 3}}
    frozen = frozen_study(tmp_path, [simulated_judge()], analysis=declared)
    acquire(frozen)
    settings = jl.Run(frozen.path).analysis().settings
    assert (settings.draws, settings.permutations, settings.seed) == (40, 9, 3)
    assert jl.Run(frozen.path).analysis(draws=30).settings.draws == 30


def test_calls_come_in_the_library_named(done):
    assert isinstance(done.to_frame("polars"), pl.DataFrame)
    assert isinstance(done.to_frame("pyarrow"), pa.Table)
    assert {"judge", "item", "prompt", "order", "repeat", "verdict"} <= set(done.to_frame().columns)
    again = jl.VerdictTensor.from_table(done.to_frame("polars"))
    (tensor,) = done.tensors().values()
    assert (again.counts == tensor.counts).all()


def test_the_report_goes_into_the_run_and_is_listed(done, tmp_path):
    assert done.report() == done.path / "report.html"
    assert "report.html" in (done.path / "SHA256SUMS").read_text()
    other = done.report(tmp_path / "mine.html")
    assert other.read_text().count("<svg") > 3


def test_one_call_a_cell_is_answered_as_far_as_it_goes(tmp_path):
    frozen = frozen_study(tmp_path, [simulated_judge()], repeats=1)
    acquire(frozen)
    (judge,) = jl.analyze(frozen.path, permutations=0, draws=100).judges.values()
    assert judge.answer.one_call
    assert escape(judge.answer.headline) in jl.Run(frozen.path)._repr_html_()


def test_hostile_names_are_text_and_keys_are_nowhere(tmp_path, monkeypatch):
    monkeypatch.setenv("JUDGE_KEY", SECRET)
    templates = [
        {"id": text, "text": f"{n} {{instruction}} {{candidate_a}} {{candidate_b}}"}
        for n, text in enumerate(HOSTILE[:2])
    ]
    with Provider(say(HOSTILE[0])) as provider:
        judge = chat_judge(provider.base_url, name=HOSTILE[4], api_key="env:JUDGE_KEY")
        study = write_study(tmp_path, [judge], prompts={"policy": "census", "templates": templates})
        rows = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
        hostile = [row | {"id": text} for row, text in zip(rows, HOSTILE, strict=False)]
        (tmp_path / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in hostile))
        frozen = freeze(load_study(study), tmp_path / "run")
        assert acquire(frozen).totals.open == 0
    run = jl.Run(frozen.path)
    shown = run._repr_html_() + repr(run) + run.report(tmp_path / "r.html").read_text()
    assert "<svg onload" not in shown
    assert "<script>window" not in shown
    assert "<img src=x" not in shown
    assert SECRET not in shown
    assert "&lt;svg onload" in shown
