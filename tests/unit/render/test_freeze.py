import json
import shutil
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import duckdb
import pytest

from judgelaw.design import load_study, open_run, read_sums
from judgelaw.design.store import file_sha256
from judgelaw.errors import IntegrityError, RunError, StudyChangedError
from judgelaw.render import call_id, extend, freeze, payload_for, request_for

LAYERS = """\
layers:
  - {name: evaluation, role: evaluation, repeats: 3}
  - {name: reference, role: reference, repeats: 5}
  - {name: control, role: control, repeats: 4, labels: 6}
"""
SECOND = """\
  - name: k
    provider: anthropic
    base_url: http://127.0.0.1:1
    model: c
    decoding: {max_tokens: 8}
"""


def snapshot(run: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(run)): path.read_bytes() for path in run.rglob("*") if path.is_file()
    }


@pytest.fixture
def run(tmp_path) -> Path:
    return tmp_path / "run"


def test_every_logical_call_is_planned_once(make_study, run):
    frozen = freeze(load_study(make_study(add=SECOND + LAYERS)), run)
    calls = list(frozen.iter_calls())
    assert frozen.count == len(calls) == 2 * (6 * 6 * 2) * (3 + 5 + 4)
    assert [call.position for call in calls] == list(range(len(calls)))
    assert len({call.call_id for call in calls}) == len(calls)
    keys = {(c.judge, c.layer, c.item, c.prompt, c.order, c.repeat) for c in calls}
    assert len(keys) == len(calls)
    assert Counter(call.layer for call in calls) == {
        "evaluation": 432,
        "reference": 720,
        "control": 576,
    }


def test_rows_say_what_the_call_is(make_study, run):
    frozen = freeze(load_study(make_study(add=SECOND + LAYERS)), run)
    for call in frozen.iter_calls():
        judge = frozen.judges[call.judge]
        item = frozen.items[call.item]
        assert (call.stratum, call.gold) == (item.stratum, item.gold)
        assert call.judge_sha256 == judge.fingerprint
        assert call.call_id == call_id(
            judge,
            layer=call.layer,
            item=call.item,
            prompt=call.prompt,
            order=call.order,
            repeat=call.repeat,
        )
        body = request_for(frozen, call)
        assert json.loads(body).get("seed") == (call.seed if call.judge == "j" else None)
        assert json.loads(body)["messages"][-1]["content"] == payload_for(frozen, call)


def test_seeds_are_distinct_and_layers_share_no_id_and_no_seed(make_study, run):
    frozen = freeze(load_study(make_study(add=SECOND + LAYERS)), run)
    seeds, ids = defaultdict(set), defaultdict(set)
    for call in frozen.iter_calls():
        seeds[call.judge, call.layer].add(call.seed)
        ids[call.judge, call.layer].add(call.call_id)
    assert sum(len(group) for group in seeds.values()) == frozen.count
    assert len(set().union(*seeds.values())) == frozen.count
    assert len(set().union(*ids.values())) == frozen.count
    ranges = frozen.record.sessions[0].seeds
    assert {(r["judge"], r["layer"]): r["count"] for r in ranges} == {
        key: len(group) for key, group in seeds.items()
    }


def test_without_seeds_the_column_is_empty(make_study, run):
    path = make_study(("    model: m", "    model: m\n    seed: none"))
    frozen = freeze(load_study(path), run)
    assert {call.seed for call in frozen.iter_calls()} == {None}
    assert all(b"seed" not in request_for(frozen, call) for call in frozen.iter_calls(limit=5))


def test_the_schedule_is_random_and_recorded(make_study, run):
    frozen = freeze(load_study(make_study()), run)
    cells = [(c.item, c.prompt, c.order) for c in frozen.iter_calls()]
    neighbours = sum(a == b for a, b in pairwise(cells))
    assert neighbours <= 6  # 1 expected of 143
    path = make_study(("repeats: 2", "repeats: 2\nschedule: cells"))
    ordered = freeze(load_study(path), run.with_name("cells"))
    calls = list(ordered.iter_calls())
    pairs = list(zip(calls[::2], calls[1::2], strict=True))
    assert all((a.item, a.prompt, a.order) == (b.item, b.prompt, b.order) for a, b in pairs)
    assert [call.repeat for call in calls] == [0, 1] * (len(calls) // 2)


def test_control_requests_are_identical_and_labels_are_sealed(make_study, run):
    frozen = freeze(load_study(make_study(add=LAYERS)), run)
    blocks = defaultdict(list)
    for call in frozen.iter_calls():
        if call.layer == "control":
            blocks[call.item, call.order, call.repeat].append(call)
    labels = dict(duckdb.read_parquet(str(run / "sealed/labels.parquet")).fetchall())
    assert len(labels) == 288
    for block in blocks.values():
        assert len({call.payload_sha256 for call in block}) == 1
        assert {call.prompt for call in block} == {f"slot-{n}" for n in range(1, 7)}
        assert len({call.seed for call in block}) == 6
        assert {labels[call.call_id] for call in block} == {f"h{n}" for n in range(1, 7)}
        bodies = {request_for(frozen, c).rpartition(b',"seed":')[0] for c in block}
        assert len(bodies) == 1
    assert list(labels) == sorted(labels)


def test_acquisition_side_never_needs_the_labels(make_study, run):
    freeze(load_study(make_study(add=LAYERS)), run)
    shutil.rmtree(run / "sealed")
    frozen = open_run(run)
    assert sum(len(request_for(frozen, call)) for call in frozen.iter_calls()) > 0
    prompts = {call.prompt for call in frozen.iter_calls() if call.layer == "control"}
    assert prompts == {f"slot-{n}" for n in range(1, 7)}


def test_calls_are_read_in_parts(make_study, run, monkeypatch):
    monkeypatch.setattr("judgelaw.design.manifest_file.PAGE", 50)
    frozen = freeze(load_study(make_study(add=SECOND)), run)
    calls = list(frozen.iter_calls())
    assert list(frozen.iter_calls(after=99)) == calls[100:]
    assert list(frozen.iter_calls(after=99, limit=70)) == calls[100:170]
    assert list(frozen.iter_calls(limit=0)) == []
    assert list(frozen.iter_calls(after=len(calls))) == []
    assert list(frozen.iter_calls(judge="k")) == [call for call in calls if call.judge == "k"]
    assert list(frozen.iter_calls(judge="k", limit=3)) == [c for c in calls if c.judge == "k"][:3]


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
    with pytest.raises(IntegrityError, match="a ledger without a manifest"):
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


CANARY = "sk-CANARY-0123456789abcdef"


def test_no_environment_value_reaches_a_run(make_study, run, monkeypatch):
    monkeypatch.setenv("MY_KEY", CANARY)
    monkeypatch.setenv("OTHER", CANARY + "2")
    fields = "api_key: env:MY_KEY\n    headers: {x-api-key: env:OTHER, x-title: mine}"
    path = make_study(("    model: m", f"    model: m\n    {fields}"), add=LAYERS)
    frozen = freeze(load_study(path), run)
    extend(run, 8)
    for call in frozen.iter_calls(limit=3):
        assert CANARY.encode() not in request_for(frozen, call)
    scanned = 0
    for name, content in snapshot(run).items():
        assert CANARY.encode() not in content, name
        scanned += 1
    rows = duckdb.read_parquet(str(run / "manifest.parquet")).fetchall()
    assert CANARY not in str(rows)
    assert scanned >= 7


def test_single_answers_have_one_order(make_study, run, tmp_path):
    (tmp_path / "items.jsonl").write_text(
        '{"id": "a", "instruction": "q", "candidate_1": "x", "gold": 3}\n'
    )
    path = make_study(
        ("paper-six", "{policy: census, templates: [{id: p, suffix: '\\nScore 1-5:'}]}"),
        ("    model: m", "    model: m\n    parser: {score: {min: 1, max: 5}}"),
        add="task: pointwise\n",
    )
    frozen = freeze(load_study(path), run)
    calls = list(frozen.iter_calls())
    assert {(call.order, call.gold) for call in calls} == {("single", "3")}
    assert len(calls) == 2
    assert payload_for(frozen, calls[0]).startswith("USER INSTRUCTION:\nq\n\nRESPONSE:\nx")


def test_layers_take_their_own_items_and_judges(make_study, run):
    selections = "selections: {few: {per_stratum: 1}, rest: {complement_of: few}}"
    path = make_study(
        ("path: items.jsonl", f"path: items.jsonl\n  {selections}"),
        add=SECOND
        + "layers:\n  - {name: a, items: few, judges: [k]}\n"
        + "  - {name: b, items: rest, repeats: 1}\n",
    )
    frozen = freeze(load_study(path), run)
    found = Counter((call.layer, call.judge) for call in frozen.iter_calls())
    assert found == {("a", "k"): 2 * 12 * 2, ("b", "j"): 4 * 12, ("b", "k"): 4 * 12}
    few = {call.item for call in frozen.iter_calls() if call.layer == "a"}
    rest = {call.item for call in frozen.iter_calls() if call.layer == "b"}
    assert not few & rest
    assert few | rest == set(frozen.items)


def test_llmbar_gives_the_paper_design(make_study, run):
    """Fifty matched items, the other 369, and the layers of the paper: 36,912 calls."""
    data = Path(__file__).parents[4] / "shared/data/llmbar"
    if not data.exists():
        pytest.skip("LLMBar is not beside the project (../shared/data/llmbar)")
    link = make_study().parent / "llmbar"
    link.symlink_to(data)
    selections = "{matched: {per_stratum: 10}, broad: {complement_of: matched}}"
    path = make_study(
        ("source: jsonl", "source: llmbar"),
        ("path: items.jsonl", f"path: llmbar\n  selections: {selections}"),
        add=(
            "layers:\n"
            "  - {name: evaluation, role: evaluation, items: matched, repeats: 8}\n"
            "  - {name: reference, role: reference, items: matched, repeats: 16}\n"
            "  - {name: control, role: control, items: matched, repeats: 8, labels: 6}\n"
            "  - {name: broad, role: audit, items: broad, repeats: 4}\n"
        ),
    )
    frozen = freeze(load_study(path), run)
    counts = frozen.record.counts["layers"]
    assert {name: judges["j"] for name, judges in counts.items()} == {
        "evaluation": 4800,
        "reference": 9600,
        "control": 4800,
        "broad": 17712,
    }
    assert frozen.count == 36912
    labels = dict(duckdb.read_parquet(str(run / "sealed/labels.parquet")).fetchall())
    moved = sum(
        call.prompt[-1] != labels[call.call_id][-1]
        for call in frozen.iter_calls()
        if call.layer == "control"
    )
    # 4,000 expected of 4,800 (the paper saw 3,994); standard deviation 26, five of them.
    assert abs(moved - 4000) < 130
