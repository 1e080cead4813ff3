"""Ledgers of every released version open in this one: the same rows, the rules of today.

`tests/fixtures/ledgers/DIALECT-VERSION.sql` holds what each version left behind, schema included.
"""

import asyncio
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from judgelaw.errors import JudgelawError
from judgelaw.ledger import LEDGER_NAME, SqliteLedger, SqliteView
from judgelaw.ledger.migrations import Migration, migrations

FIXTURES = Path(__file__).parents[1] / "fixtures/ledgers"
FILES = sorted(FIXTURES.glob("*.sql"))


def released(dialect):
    """The fixtures of a dialect, the oldest first."""
    return [file for file in FILES if file.name.startswith(dialect)]


@pytest.fixture(params=released("sqlite"), ids=lambda file: file.stem)
def sqlite_file(request):
    return request.param


@pytest.fixture
def sqlite_run(sqlite_file, tmp_path):
    with closing(sqlite3.connect(tmp_path / LEDGER_NAME)) as connection:
        connection.executescript(sqlite_file.read_text())
    return tmp_path


@pytest.fixture(params=released("postgres"), ids=lambda file: file.stem)
def postgres_file(request):
    return request.param


@pytest.fixture
def postgres_address(postgres_file):
    import psycopg

    from judgelaw.ledger import read_address
    from support.postgres import new_database

    address = read_address(new_database())
    with psycopg.connect(address.url, autocommit=True) as connection:
        connection.execute('CREATE SCHEMA "judgelaw:run"')
        connection.execute('SET search_path TO "judgelaw:run"')
        connection.execute(postgres_file.read_bytes())
    return address


BATCHES = {1: [], 2: ["ended"], 3: ["ended"], 4: ["ended"]}
"""The batches that the fixture of a version holds: version 1 knew none."""

DATES = {1: None, 2: None, 3: "2026-11-16", 4: "2026-11-16"}
"""The date of the calls that the fixture of a version holds: waves came with version 3."""


def version_of(file):
    return int(file.stem.rpartition("-")[2])


def check_rows(view):
    """What every fixture holds, whatever its version."""
    assert [c.call_id[0] for c in view.calls()] == ["a", "b", "c"]
    totals = view.totals()
    assert (totals.planned, totals.completed, totals.failed) == (3, 1, 1)
    (done,) = view.completions()
    assert (done.call.item, done.completion.text, done.receipt.input_tokens) == ("i0", "A", 100)
    ((call_id, verdict),) = view.verdicts()
    assert (call_id, verdict.verdict) == ("a" * 32, "candidate_1")
    assert [a.state for a in view.attempts()][:2] == ["completed", "failed"]
    assert list(view.flags()) == []
    assert next(s.failures for s in view.summaries())["timeout"] == 1


def check_dates(view, date):
    """Every reading of calls tells their wave."""
    assert {c.date for c in view.calls()} == {date}
    assert {c.call.date for c in view.completions()} == {date}
    assert {j.call.date for j in view.judged()} == {date}
    assert {r.date for r in view.replies()} == {date}


def work_on(ledger, batches):
    """Do what only the schema of today can."""
    reserved = asyncio.run(ledger.reserve("chat", after=-1, limit=9))
    assert sorted(r.call.call_id[0] for r in reserved) == ["b", "c"]
    assert {r.number for r in reserved} == {2}
    batch = asyncio.run(ledger.prepare_batch("chat", "uid", reserved))
    asyncio.run(ledger.note_batch(batch, "withdrawn"))
    assert [b.state for b in ledger.batches()] == [*batches, "withdrawn"]


def test_an_old_file_is_read_as_it_is(sqlite_run, sqlite_file):
    before = (sqlite_run / LEDGER_NAME).read_bytes()
    with SqliteView(sqlite_run / LEDGER_NAME) as view:
        check_rows(view)
        check_dates(view, DATES[version_of(sqlite_file)])
        assert [b.state for b in view.batches()] == BATCHES[version_of(sqlite_file)]
        assert view.check() == []
    assert (sqlite_run / LEDGER_NAME).read_bytes() == before


def test_an_old_file_is_brought_to_the_present(sqlite_run, sqlite_file):
    with SqliteLedger(sqlite_run) as ledger:
        check_rows(ledger)
        check_dates(ledger, DATES[version_of(sqlite_file)])
        assert ledger.totals().orphaned == 1, "what was under way at the kill may have been sent"
        work_on(ledger, BATCHES[version_of(sqlite_file)])
    with SqliteView(sqlite_run / LEDGER_NAME) as view:
        assert view.check() == [], "every rule is that of a ledger made today"
    with closing(sqlite3.connect(sqlite_run / LEDGER_NAME)) as connection:
        versions = connection.execute("SELECT version FROM migrations ORDER BY 1").fetchall()
    assert [v for (v,) in versions] == [step.version for step in migrations("sqlite")]


@pytest.mark.postgres
def test_an_old_schema_is_brought_to_the_present(postgres_address, postgres_file):
    from judgelaw.ledger import PostgresLedger

    with PostgresLedger(postgres_address, "run") as ledger:
        check_rows(ledger)
        check_dates(ledger, DATES[version_of(postgres_file)])
        assert ledger.totals().orphaned == 1, "the session that held it is silent since long"
        assert ledger.check() == []
        work_on(ledger, BATCHES[version_of(postgres_file)])
        assert ledger.check() == []
        versions = [row[0] for row in schema_versions(postgres_address)]
    assert versions == [step.version for step in migrations("postgres")]


@pytest.mark.postgres
def test_an_old_schema_is_read_as_it_is(postgres_address, postgres_file):
    from judgelaw.ledger.postgres_view import PostgresView

    before = definition(postgres_address, "run")
    with PostgresView(postgres_address, "run") as view:
        check_dates(view, DATES[version_of(postgres_file)])
        with view.snapshot():
            check_dates(view, DATES[version_of(postgres_file)])
    assert definition(postgres_address, "run") == before


@pytest.mark.postgres
def test_an_upgraded_schema_is_the_one_that_is_made_today(postgres_address):
    from judgelaw.ledger import PostgresLedger

    PostgresLedger(postgres_address, "run").close()
    PostgresLedger(postgres_address, "fresh").close()
    assert definition(postgres_address, "run") == definition(postgres_address, "fresh")


def schema_versions(address):
    with address.connect() as connection:
        connection.execute('SET search_path TO "judgelaw:run"')
        return connection.execute("SELECT version FROM migrations ORDER BY 1").fetchall()


def definition(address, run):
    """Everything that defines a schema, without its name."""
    questions = (
        (
            "SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull "
            "FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid "
            "WHERE c.relnamespace = $1::regnamespace AND a.attnum > 0 ORDER BY 1, 2"
        ),
        (
            "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) "
            "FROM pg_constraint WHERE connamespace = $1::regnamespace ORDER BY 1, 2"
        ),
        "SELECT indexname, indexdef FROM pg_indexes WHERE quote_ident(schemaname) = $1 ORDER BY 1",
        (
            "SELECT tgname, pg_get_triggerdef(t.oid) FROM pg_trigger AS t "
            "JOIN pg_class AS c ON c.oid = t.tgrelid "
            "WHERE c.relnamespace = $1::regnamespace AND NOT tgisinternal ORDER BY 1"
        ),
        (
            "SELECT proname, prosrc, proconfig FROM pg_proc "
            "WHERE pronamespace = $1::regnamespace ORDER BY 1"
        ),
        "SELECT viewname, definition FROM pg_views WHERE quote_ident(schemaname) = $1 ORDER BY 1",
    )
    with address.connect() as connection:
        rows = [
            connection.execute(question, (f'"judgelaw:{run}"',)).fetchall()
            for question in questions
        ]
    assert all(rows)
    return re.sub(r'"?judgelaw:(run|fresh)"?', "SCHEMA", repr(rows))


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_every_version_has_its_fixture(dialect):
    """The present one too: it is what the next release of judgelaw leaves on people's disks."""
    have = [version_of(file) for file in released(dialect)]
    assert have == [step.version for step in migrations(dialect)]
    assert set(have) <= set(BATCHES)


def with_a_step_that_breaks(monkeypatch, module, dialect):
    """Add a migration whose first statement works and whose second does not."""
    steps = migrations(dialect)
    script = "CREATE TABLE half (id integer);\nINSERT INTO nowhere VALUES (1);"
    broken = Migration(steps[-1].version + 1, "broken", script)
    monkeypatch.setattr(module, "migrations", lambda _: (*steps, broken))


def test_a_step_that_breaks_leaves_a_file_at_the_version_before_it(sqlite_run, monkeypatch):
    from judgelaw.ledger import migrations as migrate

    with monkeypatch.context() as patch:
        with_a_step_that_breaks(patch, migrate, "sqlite")
        with pytest.raises(JudgelawError, match="nowhere"):
            SqliteLedger(sqlite_run)
    with SqliteView(sqlite_run / LEDGER_NAME) as view:
        check_rows(view)
        assert view.check() == [], "nothing of the broken step is there"


@pytest.mark.postgres
def test_a_step_that_breaks_leaves_a_schema_as_it_was(postgres_address, monkeypatch):
    from judgelaw.ledger import PostgresLedger, postgres_schema

    before = definition(postgres_address, "run")
    with monkeypatch.context() as patch:
        with_a_step_that_breaks(patch, postgres_schema, "postgres")
        with pytest.raises(JudgelawError, match="nowhere"):
            PostgresLedger(postgres_address, "run")
    assert definition(postgres_address, "run") == before
    with PostgresLedger(postgres_address, "run") as ledger:
        check_rows(ledger)
