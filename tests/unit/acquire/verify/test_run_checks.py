"""`verify` finds whatever was changed in a run folder, with or without fresh hashes."""

import math
import random
import shutil
import sqlite3
from contextlib import closing
from itertools import permutations

import duckdb
import pytest

from judgelaw.acquire import acquire, reparse, with_parser
from judgelaw.acquire.verify import verify
from judgelaw.acquire.verify.frozen_checks import coincidence_p
from judgelaw.acquire.verify.run_checks import check_files
from judgelaw.ledger import LEDGER_NAME
from judgelaw.study import extend, open_run, read_sums, write_sums
from servers.study import frozen_study, simulated_judge

LAYERS = [
    {"name": "evaluation", "role": "evaluation", "repeats": 2},
    {"name": "reference", "role": "reference", "repeats": 3},
    {"name": "null", "role": "control", "repeats": 2, "labels": 4},
]


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    folder = tmp_path_factory.mktemp("verify")
    frozen = frozen_study(folder, [simulated_judge()], layers=LAYERS)
    acquire(frozen).raise_if_open()
    return frozen


@pytest.fixture
def run(original, tmp_path):
    return shutil.copytree(original.path, tmp_path / "run")


def wrong(run):
    return {check.name for check in verify(run).checks if not check.ok}


def refresh(run):
    """What a careful forger does: record the hashes of the forged files."""
    write_sums(run, list(read_sums(run)))


def forge(path, change, key="position"):
    """Rewrite a Parquet file through SQL."""
    draft = path.with_suffix(".draft")
    with closing(duckdb.connect()) as con:
        con.execute("SET threads = 1")
        con.execute("CREATE TABLE t AS SELECT * FROM read_parquet(?)", [str(path)])
        con.execute(change)
        table = con.table("t")
        (table.order(key) if key else table).write_parquet(str(draft))
    draft.replace(path)
    refresh(path.parent if path.parent.name == "run" else path.parent.parent)


def forge_ledger(run, *statements):
    """Change the ledger behind its own rules, then put the rules back."""
    with closing(sqlite3.connect(run / LEDGER_NAME)) as con:
        rules = con.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in rules:
            con.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            con.execute(statement)
        for _, sql in rules:
            con.execute(sql)
        con.commit()
    refresh(run)


def test_an_untouched_run_is_in_order(run):
    found = verify(run)
    assert found.ok
    assert [check.name for check in found.checks] == [
        *("files", "record", "identity", "payloads", "seeds", "coverage", "streams", "controls"),
        *("database", "join", "attempts", "bodies", "verdicts", "restoration"),
        *("calls", "timing", "complete"),
    ]


def test_a_flipped_bit_anywhere_is_found(run):
    """In every file, at its first and last byte and at random places between."""
    files = [p for p in run.rglob("*") if p.is_file() and p.stat().st_size]
    assert len(files) > 8
    chosen = random.Random(3)
    for path in files:
        content = path.read_bytes()
        for at in (0, len(content) - 1, *(chosen.randrange(len(content)) for _ in range(6))):
            flipped = bytearray(content)
            flipped[at] ^= 1 << chosen.randrange(8)
            path.write_bytes(flipped)
            assert not check_files(run).ok, (path.name, at)
        path.write_bytes(content)
    assert check_files(run).ok


@pytest.mark.parametrize("name", ["manifest.json", "manifest.parquet", LEDGER_NAME])
def test_damage_that_keeps_a_file_from_being_read_is_a_finding_and_no_crash(run, name):
    content = (run / name).read_bytes()
    (run / name).write_bytes(content[: len(content) // 2])
    found = verify(run)
    assert not found.ok
    assert "files" in {check.name for check in found.checks if not check.ok}


@pytest.mark.parametrize("name", ["calls.parquet", LEDGER_NAME, "study.yaml", "SHA256SUMS"])
def test_a_missing_file_is_found(run, name):
    (run / name).unlink()
    assert "files" in wrong(run)


def test_an_unlisted_file_is_found(run):
    (run / "notes.txt").write_text("hello")
    assert wrong(run) == {"files"}


def test_a_changed_verdict_in_the_table_is_found(run):
    forge(
        run / "calls.parquet",
        "UPDATE t SET verdict = 'tie' "
        "WHERE rowid = (SELECT min(rowid) FROM t WHERE verdict <> 'tie')",
        key=None,
    )
    assert wrong(run) == {"calls"}


def test_a_changed_verdict_in_the_ledger_is_found(run):
    forge_ledger(
        run,
        "UPDATE verdicts SET verdict = 'tie' WHERE call = 1 AND verdict <> 'tie'",
        "UPDATE verdicts SET verdict = 'candidate_1' WHERE call = 2 AND verdict = 'tie'",
        "UPDATE verdicts SET verdict = 'tie' WHERE call = 2 AND verdict <> 'tie'",
    )
    assert {"verdicts", "restoration", "calls"} <= wrong(run)


def test_a_verdict_that_fits_its_label_but_not_its_text_is_found(run):
    forge_ledger(
        run,
        "UPDATE verdicts SET verdict = 'tie', displayed = 'TIE', reason = 'parsed' "
        "WHERE call = (SELECT min(call) FROM verdicts WHERE verdict <> 'tie')",
    )
    found = wrong(run)
    assert "verdicts" in found
    assert "restoration" not in found


def test_a_changed_completion_is_found(run):
    forge_ledger(
        run,
        "UPDATE completions SET text = 'B' WHERE call = 1 AND text <> 'B'",
        "UPDATE completions SET text = 'A' WHERE call = 2 AND text <> 'A'",
    )
    assert "bodies" in wrong(run)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ("DELETE FROM t WHERE rowid = 0", "calls"),
        ("INSERT INTO t SELECT * FROM t WHERE rowid = 0", "calls"),
        ("UPDATE t SET \"order\" = 'XX' WHERE rowid = 0", "calls"),
    ],
)
def test_missing_doubled_and_altered_rows_of_the_table_are_found(run, change, where):
    forge(run / "calls.parquet", change, key=None)
    assert where in wrong(run)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("DELETE FROM t WHERE position = 3", {"identity", "coverage", "join"}),
        ("INSERT INTO t SELECT * FROM t WHERE position = 3", {"coverage", "seeds"}),
        (
            (
                "UPDATE t SET \"order\" = CASE \"order\" WHEN 'AB' THEN 'BA' ELSE 'AB' END "
                "WHERE position = 3"
            ),
            {"identity", "payloads", "join"},
        ),
        (
            "UPDATE t SET seed = (SELECT seed FROM t WHERE position = 4) WHERE position = 3",
            {"seeds", "payloads", "join"},
        ),
        ("UPDATE t SET item = 'i9' WHERE position = 3", {"identity", "payloads"}),
        ("UPDATE t SET repeat = 9 WHERE position = 3", {"identity"}),
        ("UPDATE t SET gold = 'tie' WHERE position = 3", {"identity", "join"}),
        ("UPDATE t SET payload_sha256 = repeat('0', 64) WHERE position = 3", {"payloads"}),
        ("UPDATE t SET judge_sha256 = repeat('0', 64) WHERE position = 3", {"identity"}),
        (
            (
                "UPDATE t SET seed = (SELECT min(seed) FROM t WHERE layer = 'reference') "
                "WHERE position = (SELECT min(position) FROM t WHERE layer = 'evaluation')"
            ),
            {"seeds", "streams"},
        ),
    ],
)
def test_a_forged_manifest_is_found(run, change, expected):
    forge(run / "manifest.parquet", change)
    assert expected <= wrong(run)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE t SET label = 'h1'",
        "DELETE FROM t WHERE rowid = 0",
        "UPDATE t SET label = 'h9' WHERE rowid = 0",
    ],
)
def test_forged_labels_are_found(run, change):
    forge(run / "sealed" / "labels.parquet", change, key="call_id")
    assert "controls" in wrong(run)


def test_labels_that_follow_their_slots_are_found(run):
    """Four labels in eight blocks: each in its own slot everywhere is no chance."""
    slots = (run / "manifest.parquet").as_posix()
    forge(
        run / "sealed" / "labels.parquet",
        "UPDATE t SET label = (SELECT 'h' || m.prompt[6:] FROM 'SLOTS' m "
        "WHERE m.call_id = t.call_id)".replace("SLOTS", slots),
        key="call_id",
    )
    checks = {check.name: check for check in verify(run).checks}
    assert not checks["controls"].ok
    assert "not assigned at random" in checks["controls"].detail


def test_a_doubled_completion_is_found(run):
    forge_ledger(
        run,
        "INSERT INTO attempts (call, number, session, state, reserved_at, sent_at, ended_at, kind) "
        "VALUES (1, 2, 1, 'failed', 9e9, 9e9, 9e9, 'reset')",
    )
    assert "attempts" in wrong(run)


def test_a_removed_ledger_row_is_found(run):
    forge_ledger(
        run,
        "DELETE FROM verdicts WHERE call = 1",
        "DELETE FROM completions WHERE call = 1",
        "DELETE FROM attempts WHERE call = 1",
        "DELETE FROM calls WHERE id = 1",
    )
    assert {"join", "calls"} <= wrong(run)


WITHOUT_LAST = (
    "DELETE FROM verdicts WHERE call = (SELECT max(id) FROM calls)",
    "DELETE FROM completions WHERE call = (SELECT max(id) FROM calls)",
    "DELETE FROM attempts WHERE call = (SELECT max(id) FROM calls)",
    "DELETE FROM calls WHERE id = (SELECT max(id) FROM calls)",
)


def test_calls_that_were_added_and_not_asked_yet_are_open(run):
    before = open_run(run).count
    after = extend(run, 4).count
    checks = {check.name: check for check in verify(run).checks}
    assert [name for name, check in checks.items() if not check.ok] == []
    assert f"{after - before} calls added, not asked yet" in checks["join"].detail
    assert f"{before} of {after} calls completed, {after - before} open" in (
        checks["complete"].detail
    )
    acquire(open_run(run)).raise_if_open()
    checks = {check.name: check for check in verify(run).checks}
    assert all(check.ok for check in checks.values())
    assert "added" not in checks["join"].detail


@pytest.mark.parametrize("extended", [False, True])
def test_a_call_removed_from_the_end_of_the_ledger_is_found(run, extended):
    """An extension that was asked makes no room for removing what it added."""
    if extended:
        acquire(extend(run, 4)).raise_if_open()
    forge_ledger(run, *WITHOUT_LAST)
    checks = {check.name: check for check in verify(run).checks}
    assert not checks["join"].ok
    assert "only in the manifest" in checks["join"].detail


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("DELETE FROM t WHERE position = 3", "only in the ledger"),
        ("INSERT INTO t SELECT * FROM t WHERE position = 3", "twice in the manifest"),
    ],
)
def test_the_join_says_which_side_has_a_call_and_how_often(run, change, words):
    forge(run / "manifest.parquet", change)
    checks = {check.name: check for check in verify(run).checks}
    assert words in checks["join"].detail


def test_another_parser_in_the_place_of_the_frozen_one_is_found(run):
    forge_ledger(run, "UPDATE verdicts SET parser = 'regex/1#00000000'")
    checks = {check.name: check for check in verify(run).checks}
    assert not checks["verdicts"].ok
    assert "regex/1#00000000" in checks["verdicts"].detail


def test_another_study_beside_the_manifest_is_found(run):
    (run / "study.yaml").write_text((run / "study.yaml").read_text().replace("11", "12"))
    refresh(run)
    assert wrong(run) == {"record"}


def test_a_reparsed_run_is_still_in_order(run):
    frozen = open_run(run)
    spec = with_parser(frozen.judges["sim"], {"regex": "(A|B)"})
    (found,) = reparse(frozen, {"sim": spec})
    assert found.read == frozen.count
    assert set(found.changes) == {("tie", "invalid")}
    assert reparse(frozen, {"sim": spec}) == (found,)
    assert verify(run).ok


@pytest.mark.parametrize("width", [2, 3, 6])
def test_coincidences_have_the_law_of_random_assignments(width):
    """Exact for one block, and near the normal law for many."""
    counts = [sum(a == b for a, b in enumerate(p)) for p in permutations(range(width))]
    for m in set(counts):
        lower = sum(c <= m for c in counts) / len(counts)
        upper = sum(c >= m for c in counts) / len(counts)
        assert coincidence_p(m, blocks=1, width=width) == pytest.approx(
            min(1.0, 2 * min(lower, upper))
        )
    for count in (1_000, 1_040, 1_080, 960):
        normal = math.erfc(abs(count - 1_000) / math.sqrt(2_000))
        assert coincidence_p(count, blocks=1_000, width=width) == pytest.approx(normal, rel=0.25)
