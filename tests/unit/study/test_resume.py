"""Freezing again: the same study, a changed one, and a process that died on the way."""

import json
import shutil
from pathlib import Path

import pytest

from judgelaw.errors import IntegrityError, RunError, StudyChangedError
from judgelaw.study import extend, file_sha256, freeze, load_study, open_run, read_sums, request_for
from judgelaw.study.models import FREE, Study
from support.studies import LAYERS, snapshot


def test_the_same_study_again_changes_no_byte(make_study, run):
    loaded = load_study(make_study(add=LAYERS))
    freeze(loaded, run)
    before = snapshot(run)
    freeze(loaded, run)
    assert snapshot(run) == before


def test_two_folders_of_one_study_hold_the_same_bytes(make_study, run):
    loaded = load_study(make_study(add=LAYERS))
    freeze(loaded, run)
    freeze(loaded, run.with_name("other"))
    assert snapshot(run) == snapshot(run.with_name("other"))


def test_every_frozen_file_is_hashed(make_study, run):
    freeze(load_study(make_study(add=LAYERS)), run)
    sums = read_sums(run)
    files = {name for name in snapshot(run) if not name.startswith(".")} - {"SHA256SUMS"}
    assert set(sums) == files
    assert all(file_sha256(run / name) == digest for name, digest in sums.items())


CHANGES = [
    (("seed: 7", "seed: 8"), "seed: 7 -> 8"),
    (("model: m", "model: n"), "judges.j.model: 'm' -> 'n'"),
    (
        ("paper-six", "{policy: census, templates: [{id: p, prefix: x}]}"),
        "prompts.templates: 1 added",
    ),
    (("repeats: 2", "repeats: 3"), "repeats.audit: 2 -> 3"),
    (("repeats: 2", "repeats: 2\norders: {AB: 0.4, BA: 0.6}"), "orders.AB: 0.5 -> 0.4"),
    (("repeats: 2", "repeats: 2\nschedule: cells"), "schedule: 'random' -> 'cells'"),
    (
        ("path: items.jsonl", "path: items.jsonl\n  sample: {per_stratum: 1}"),
        "items: 4 removed",
    ),
    (
        ("model: m", "model: m\n    decoding: {temperature: 0.5}"),
        "judges.j.decoding: (absent) -> {'temperature': 0.5}",
    ),
]


@pytest.mark.parametrize(("change", "line"), CHANGES, ids=[line for _, line in CHANGES])
def test_a_changed_study_is_refused_with_the_difference(make_study, run, change, line):
    freeze(load_study(make_study()), run)
    before = snapshot(run)
    with pytest.raises(StudyChangedError) as caught:
        freeze(load_study(make_study(change)), run)
    assert line in str(caught.value)
    assert snapshot(run) == before


def test_a_changed_item_is_named(make_study, run, tmp_path):
    path = make_study()
    freeze(load_study(path), run)
    items = tmp_path / "items.jsonl"
    items.write_text(items.read_text().replace("first 3", "first three"))
    with pytest.raises(StudyChangedError, match=r"items: 1 changed \(i3\)"):
        freeze(load_study(path), run)


def test_adding_prompts_to_a_census_says_why_not(make_study, run):
    census = "{policy: census, templates: [{id: p, prefix: x}]}"
    freeze(load_study(make_study(("paper-six", census))), run)
    more = census.replace("]}", ", {id: q, prefix: y}]}")
    with pytest.raises(StudyChangedError, match="changes what is estimated"):
        freeze(load_study(make_study(("paper-six", more))), run)


def test_deeper_repeats_name_the_command(make_study, run):
    freeze(load_study(make_study()), run)
    with pytest.raises(StudyChangedError, match="judgelaw extend"):
        freeze(load_study(make_study(("repeats: 2", "repeats: 8"))), run)


AMENDMENTS = [
    ("transport: {concurrency: 3}\n", "transport.concurrency: 8 -> 3"),
    ("budget: {calls: 5}\n", "budget: None -> {'calls': 5"),
    ("gate: {prompt: 0.1}\n", "gate: None ->"),
    ("analysis: {depth: 2}\n", "analysis: None ->"),
]


@pytest.mark.parametrize(("add", "change"), AMENDMENTS, ids=[c for _, c in AMENDMENTS])
def test_harmless_changes_are_taken_over_and_recorded(make_study, run, add, change):
    first = freeze(load_study(make_study()), run)
    calls = list(first.iter_calls())
    loaded = load_study(make_study(add=add))
    second = freeze(loaded, run)
    assert second.study == loaded.study
    assert open_run(run).study == loaded.study
    assert list(second.iter_calls()) == calls
    (amendment,) = second.record.amendments
    assert change in amendment["changes"][0]
    assert (run / amendment["study"]).read_text() == loaded.source
    assert (run / "study.yaml").read_text() == make_study().read_text()
    assert second.record.beforehand == {"analysis": None, "gate": None}
    assert set(read_sums(run)) >= {"amendments/1.yaml", "manifest.json"}


def test_a_judge_may_move_and_change_its_price(make_study, run):
    freeze(load_study(make_study()), run)
    path = make_study(("127.0.0.1:1", "127.0.0.1:2"), ("model: m", "model: m\n    api_key: env:K"))
    judge = freeze(load_study(path), run).judges["j"]
    assert judge.base_url == "http://127.0.0.1:2/v1"
    assert judge.api_key == "env:K"


def test_what_was_decided_beforehand_is_kept(make_study, run):
    add = "analysis: {estimator: census, depth: 2}\n"
    freeze(load_study(make_study(add=add)), run)
    after = freeze(load_study(make_study()), run)
    assert after.study.analysis is None
    assert after.record.beforehand["analysis"]["depth"] == 2


def test_request_bytes_that_changed_are_never_sent(make_study, run):
    frozen = freeze(load_study(make_study()), run)
    call = next(frozen.iter_calls())
    items = run / "inputs/items.jsonl"
    items.write_text(items.read_text().replace("first", "worst"))
    with pytest.raises(IntegrityError, match="other bytes than were frozen"):
        request_for(open_run(run), call)


def test_damaged_and_missing_records_are_told(make_study, run, tmp_path):
    with pytest.raises(RunError, match="nothing was frozen here"):
        open_run(tmp_path / "none")
    freeze(load_study(make_study()), run)
    record = (run / "manifest.json").read_text()
    for broken in ("{", "[]", '{"schema": "other/1"}', record.replace('"counts"', '"count"')):
        (run / "manifest.json").write_text(broken)
        with pytest.raises(IntegrityError, match=r"manifest\.json"):
            open_run(run)


def test_a_ledger_without_a_manifest_is_not_frozen_over(make_study, run):
    run.mkdir()
    (run / "ledger.sqlite").touch()
    with pytest.raises(IntegrityError, match=r"ledger\.sqlite without manifest\.json"):
        freeze(load_study(make_study()), run)


def test_a_killed_freeze_is_finished_or_undone(make_study, run):
    """Put the files of a run back into the staging area, as a kill after the list leaves them."""
    loaded = load_study(make_study(add=LAYERS))
    freeze(loaded, run)
    whole = snapshot(run)
    pending = run / ".pending"
    names = [name for name in whole if not name.startswith(".")]
    for name in names:
        (pending / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).replace(pending / name)
    (pending / "COMMIT").write_text(json.dumps(names))
    assert open_run(run).count == 864
    assert snapshot(run) == whole
    pending.mkdir()
    (pending / "manifest.json").write_text("half")
    open_run(run)
    assert snapshot(run) == whole


def visible(run: Path) -> dict[str, bytes]:
    hidden = (".freeze.lock", ".scratch", ".pending")
    return {name: text for name, text in snapshot(run).items() if not name.startswith(hidden)}


def _dying(step: int):
    """Return a `Path.replace` that stops at the n-th file."""
    moves, original = iter(range(1, 100)), Path.replace

    def replace(self, target):
        if next(moves) == step:
            raise KeyboardInterrupt
        return original(self, target)

    return replace


@pytest.mark.parametrize("action", ["freeze", "extend", "amend"])
def test_death_at_every_step_loses_and_doubles_nothing(make_study, tmp_path, monkeypatch, action):
    """Stop at the n-th file that moves, for every n; the next command finds all or nothing."""
    loaded = load_study(make_study(add=LAYERS))
    amended = load_study(make_study(add=LAYERS + "budget: {calls: 1}\n"))
    act = {
        "freeze": lambda run: freeze(loaded, run),
        "extend": lambda run: extend(run, 6),
        "amend": lambda run: freeze(amended, run),
    }[action]

    start = tmp_path / "start"
    start.mkdir()
    if action != "freeze":
        freeze(loaded, start)
    whole = Path(shutil.copytree(start, tmp_path / "whole"))
    act(whole)
    died = 0
    for step in range(1, 20):
        folder = Path(shutil.copytree(start, tmp_path / f"run{step}"))
        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", _dying(step))
            try:
                act(folder)
                break
            except KeyboardInterrupt:
                died += 1
        if action != "freeze" or (folder / ".pending/COMMIT").exists():
            open_run(folder)
        if visible(folder) != visible(whole):
            assert visible(folder) == visible(start)
            act(folder)
        assert visible(folder) == visible(whole)
    assert died >= 4


SCORES = """\
version: 1
name: trial
seed: 7
task: pointwise
scale: [1, 2, 3, 4, 5]
items: {source: jsonl, path: items.jsonl}
prompts: {policy: census, templates: [{id: p, text: "{instruction}{candidate}"}]}
repeats: 4
judges: [{name: j, provider: openai-chat, base_url: "http://127.0.0.1:1/v1", model: m}]
"""
SCORED = "dissimilarity: numeric\n"
LOOKS = "stop: {component: call, limit: 0.05, looks: [4, 8]}\n"


@pytest.fixture
def scores(tmp_path):
    """Write a study of scores with more lines."""
    (tmp_path / "items.jsonl").write_text('{"id": "x", "instruction": "a", "candidate": "b"}\n')

    def write(more="", change=("", "")):
        path = tmp_path / "study.yaml"
        path.write_text(SCORES.replace(*change) + more)
        return load_study(path)

    return write


def test_another_dissimilarity_is_recorded_and_analysed(scores, run):
    """It measures what was said and asks nothing: calls and hashes stand."""
    calls = list(freeze(scores(), run).iter_calls())
    manifest = (run / "manifest.parquet").read_bytes()
    amended = freeze(scores(SCORED), run)
    assert amended.study.dissimilarity == open_run(run).study.dissimilarity == "numeric"
    (amendment,) = amended.record.amendments
    assert amendment["changes"] == ["dissimilarity: None -> 'numeric'"]
    assert list(amended.iter_calls()) == calls
    assert (run / "manifest.parquet").read_bytes() == manifest


def test_looks_keep_the_dissimilarity_that_they_measured_by(scores, run):
    freeze(scores(LOOKS), run)
    with pytest.raises(StudyChangedError, match="dissimilarity: None -> 'numeric'"):
        freeze(scores(LOOKS + SCORED), run)


@pytest.mark.parametrize(
    "change",
    [
        ("[1, 2, 3, 4, 5]", "[1, 2, 3, 4]"),
        ("scale: [1, 2, 3, 4, 5]", "labels: [good, bad]"),
        ("repeats: 4\n", "repeats: 4\nprobes: [identity]\n"),
        ("repeats: 4\n", LOOKS),
    ],
)
def test_what_calls_follow_from_is_frozen(scores, run, change):
    freeze(scores(), run)
    with pytest.raises(StudyChangedError):
        freeze(scores(change=change), run)


def test_every_field_of_a_study_is_frozen_or_free():
    """One that is neither would be changed without a word."""
    assert set(FREE) == {
        *("name", "dissimilarity", "transport", "budget", "gate", "analysis", "answer"),
        "env_file",
    }
    frozen = {
        *("seed", "task", "items", "prompts", "orders", "schedule", "judges", "layers"),
        *("criteria", "scale", "labels", "probes", "repeats", "stop"),
    }
    assert set(Study.model_fields) == {"version"} | frozen | set(FREE)
