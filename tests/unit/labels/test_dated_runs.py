"""`run --date`: one frozen wave a date in one run folder, and what reads it."""

import json

import pytest

from judgelaw.acquire import acquire
from judgelaw.acquire.verify import verify
from judgelaw.errors import InputError, StudyChangedError
from judgelaw.runs import read_source, validate, watch
from judgelaw.runs.source import Reading
from judgelaw.study import extend, freeze, load_study, open_run
from judgelaw.tables import read_tensors
from servers.study import chat_judge, write_study
from support.studies import make_study, snapshot

SIMULATED = """\
version: 1
name: anchors
seed: 7
items: {source: jsonl, path: items.jsonl}
prompts:
  policy: census
  templates: [{id: p1, prefix: "Which?"}, {id: p2, prefix: "Which one?"}]
repeats: 2
judges:
  - name: j
    provider: simulated
    model: s
    law: {verdicts: {candidate_1: 0.6, candidate_2: 0.3, tie: 0.1}}
layers:
  - {name: audit, role: audit}
  - {name: control, role: control, labels: 3}
"""
FIRST, SECOND = "2026-11-02", "2026-11-09"


@pytest.fixture
def study(tmp_path):
    return load_study(make_study(tmp_path, text=SIMULATED))


@pytest.fixture
def dated(study, tmp_path):
    run = tmp_path / "run"
    for date in (FIRST, SECOND):
        acquire(freeze(study, run, date=date)).raise_if_open()
    return run


def test_a_wave_is_the_same_calls_under_names_and_seeds_of_their_own(study, tmp_path):
    one = {c.position: c for c in freeze(study, tmp_path / "run", date=FIRST).iter_calls()}
    both = list(freeze(study, tmp_path / "run", date=SECOND).iter_calls())
    assert len(both) == 2 * len(one)
    assert [c for c in both if c.date == FIRST] == list(one.values()), "what is there stays"
    assert len({c.call_id for c in both}) == len({c.seed for c in both}) == len(both)

    def cells(date):
        return sorted(
            (c.layer, c.item, c.prompt, c.order, c.repeat) for c in both if c.date == date
        )

    assert cells(FIRST) == cells(SECOND)
    assert open_run(tmp_path / "run").record.dates == (FIRST, SECOND)


def test_the_same_date_again_adds_nothing(dated, study):
    before = snapshot(dated)
    freeze(study, dated, date=FIRST)
    freeze(study, dated)
    assert snapshot(dated) == before


def test_everything_in_a_dated_run_is_derived_again(dated):
    found = verify(dated)
    assert found.ok, [c for c in found.checks if not c.ok]


def test_verify_sees_a_wave_that_lost_its_date(dated):
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(dated / "ledger.sqlite")) as connection, connection:
        connection.execute("DROP TRIGGER calls_are_frozen")
        connection.execute("UPDATE calls SET date = '2026-11-03' WHERE id = 1")
    assert not {c.name: c for c in verify(dated).checks}["join"].ok


def test_readers_take_the_latest_wave_unless_told(dated):
    latest = read_tensors(dated)
    early = read_tensors(dated, date=FIRST)
    assert latest.keys() == early.keys()
    assert latest["audit", "j"].counts.sum() == early["audit", "j"].counts.sum()
    assert (latest["audit", "j"].counts != early["audit", "j"].counts).any()
    with pytest.raises(InputError, match="no date is called '2026-11-03'"):
        read_tensors(dated, date="2026-11-03")
    source = read_source(str(dated), Reading(date=FIRST))
    assert source.folder.date == FIRST
    assert validate(dated).labelled == 6


def test_evidence_is_of_the_wave_that_is_read(dated):
    for date in (FIRST, SECOND):
        source = read_source(str(dated), Reading(date=date))
        evidence = source.folder.evidence(source.tensors, "audit", {})
        seeds = evidence.replies["audit", "j"].seeds
        planned = {
            c.seed for c in open_run(dated).iter_calls() if (c.layer, c.date) == ("audit", date)
        }
        assert set(seeds.ravel()) == planned


def test_a_dated_run_is_watched(dated):
    found = watch(dated)
    assert (found.first, [one.date for one in found.dates]) == (FIRST, [SECOND])
    assert found.dates[0].cells == 6 * 2 * 2


def test_waves_go_forward_and_keep_their_depth(dated, study, tmp_path):
    with pytest.raises(InputError, match="waves go forward in time"):
        freeze(study, dated, date="2026-11-05")
    with pytest.raises(InputError, match="all its waves have one depth"):
        extend(dated, 4)
    with pytest.raises(InputError, match="no date; write it as YYYY-MM-DD"):
        freeze(study, dated, date="16 November")
    freeze(study, tmp_path / "plain")
    with pytest.raises(InputError, match="its calls have no date"):
        freeze(study, tmp_path / "plain", date=FIRST)


@pytest.mark.parametrize(
    "moved",
    [
        {"base_url": "http://127.0.0.1:8/v1"},
        {"base_url": "http://127.0.0.1:9/v1", "query": {"api-version": "2026-01-01"}},
    ],
)
def test_an_address_that_changes_between_waves_is_refused(tmp_path, moved):
    """It could not be told from a judge that changed; who knows better writes it down."""

    def asked_at(**fields):
        judge = chat_judge("http://127.0.0.1:9/v1") | fields
        return load_study(write_study(tmp_path, [judge]))

    run = tmp_path / "run"
    freeze(asked_at(), run, date=FIRST)
    with pytest.raises(StudyChangedError, match="is not what it was on 2026-11-02"):
        freeze(asked_at(**moved), run, date=SECOND)
    assert open_run(run).record.dates == (FIRST,)
    freeze(asked_at(**moved), run, date=FIRST)
    frozen = freeze(asked_at(**moved), run, date=SECOND)
    assert frozen.record.dates == (FIRST, SECOND)
    assert len(frozen.record.amendments) == 1


def test_a_run_without_dates_is_written_as_before(study, tmp_path):
    import duckdb

    run = tmp_path / "plain"
    acquire(freeze(study, run)).raise_if_open()
    for name in ("manifest.parquet", "calls.parquet", "timing.parquet"):
        columns = duckdb.read_parquet(str(run / name)).columns
        assert "date" not in columns, name
    sessions = json.loads((run / "manifest.json").read_text())["sessions"]
    assert "date" not in sessions[0]
