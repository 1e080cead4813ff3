"""The database refuses illegal states, whoever tries; and it is brought to this version."""

import asyncio
from pathlib import Path

import psycopg
import pytest

from judgelaw.errors import InputError
from judgelaw.ledger import PostgresLedger, PostgresView, read_address
from judgelaw.ledger.migrations import migrations, statements
from judgelaw.ledger.postgres_schema import named
from servers.endings import completed, read
from servers.study import chat_judge, frozen_study
from support.postgres import new_database

SCHEMA = '"judgelaw:run"'


@pytest.fixture(scope="module")
def address():
    return read_address(new_database())


@pytest.fixture(scope="module")
def ledger(tmp_path_factory, address):
    """A ledger with call 1 completed and call 2 under way."""
    folder = tmp_path_factory.mktemp("rules")
    frozen = frozen_study(folder, [chat_judge("http://127.0.0.1:9/v1")])
    ledger = PostgresLedger(address, "run")
    ledger.load(frozen.judges, frozen.iter_calls(), manifest="m")
    one, _ = asyncio.run(ledger.reserve("chat", after=-1, limit=2))

    async def write():
        ledger.record(completed(one))
        ledger.record(read(one))
        await ledger.flush()

    asyncio.run(write())
    yield ledger
    ledger.close()


@pytest.fixture
def connection(ledger):
    """Anybody's connection from outside judgelaw; what it does is undone."""
    with psycopg.connect(ledger.address.url, autocommit=True) as outside:
        outside.execute(f"SET search_path TO {SCHEMA}")
        with outside.transaction(force_rollback=True):
            yield outside


ATTEMPT = "INSERT INTO attempts (call, number, session, reserved_at"
COMPLETION = (
    "INSERT INTO completions (call, attempt, sent_at, ended_at, status, body, content_filtered) "
)


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        ("UPDATE calls SET seed = 1", "never changed"),
        ("DELETE FROM calls", "never deleted"),
        ("TRUNCATE calls CASCADE", "never deleted"),
        ("DELETE FROM attempts", "never deleted"),
        ("DELETE FROM completions", "never deleted"),
        ("UPDATE completions SET text = 'B'", "never changed"),
        ("UPDATE verdicts SET verdict = 'tie'", "never changed"),
        ("UPDATE attempts SET state = 'started', ended_at = NULL WHERE id = 1", "ends once"),
        ("UPDATE attempts SET state = 'failed' WHERE id = 1", "ends once"),
        ("UPDATE attempts SET call = 3 WHERE id = 2", "keeps its place"),
        (
            "UPDATE attempts SET state = 'completed', ended_at = 1, sent_at = 1 WHERE id = 2",
            "only with its completion",
        ),
        (
            "UPDATE attempts SET state = 'failed', ended_at = 1, sent_at = 1 WHERE id = 2",
            "attempts_check",
        ),
        (f"{ATTEMPT}) VALUES (1, 2, 1, 0)", "never requested again"),
        (f"{ATTEMPT}) VALUES (2, 2, 1, 0)", "attempts_one_open"),
        (f"{ATTEMPT}) VALUES (99, 1, 1, 0)", "foreign key"),
        (f"{ATTEMPT}) VALUES (4, 0, 1, 0)", "number_check"),
        (
            f"{ATTEMPT}, state, ended_at, sent_at) VALUES (4, 1, 1, 0, 'lost', 1, 1)",
            "state_check",
        ),
        (
            f"{COMPLETION} VALUES (4, 1, 0, 0, 200, '', false)",
            "open attempt of its own call",
        ),
        (
            f"{COMPLETION} VALUES (3, 2, 0, 0, 200, '', false)",
            "open attempt of its own call",
        ),
        ("INSERT INTO verdicts VALUES (7, 'p', 'tie', NULL, 'parsed')", "foreign key"),
        ("INSERT INTO verdicts VALUES (1, 'p', '', NULL, 'parsed')", "verdict_check"),
        ("INSERT INTO verdicts SELECT * FROM verdicts", "verdicts_pkey"),
        ("UPDATE judges SET judge_sha256 = '\\x00'", "judge_sha256_check"),
        ("UPDATE sessions SET lost = true", "sessions_check"),
        ("INSERT INTO inputs VALUES ('sealed/labels.parquet', '')", "inputs_name_check"),
        ("INSERT INTO purse DEFAULT VALUES; INSERT INTO purse DEFAULT VALUES", "purse_pkey"),
        ("UPDATE open_calls SET attempt = 2 WHERE call = 3", "open_calls"),
    ],
)
def test_the_database_refuses_illegal_states(connection, statement, rule):
    with pytest.raises(psycopg.Error, match=rule), connection.transaction():
        connection.execute(statement)


def test_an_ended_session_stays_ended(connection):
    connection.execute("UPDATE sessions SET ended_at = clock_timestamp()")
    with pytest.raises(psycopg.Error, match="ends once"), connection.transaction():
        connection.execute("UPDATE sessions SET ended_at = NULL")


def test_a_newer_ledger_asks_for_a_newer_judgelaw():
    address = read_address(new_database())
    PostgresLedger(address, "run").close()
    with psycopg.connect(address.url, autocommit=True) as outside:
        outside.execute(f"SET search_path TO {SCHEMA}")
        outside.execute("INSERT INTO migrations (version, name) VALUES (99, 'future')")
    with pytest.raises(InputError, match="schema version 99, and this judgelaw knows up to"):
        PostgresLedger(address, "run")


def test_migrations_are_numbered_without_gaps():
    steps = migrations("postgres")
    assert [step.version for step in steps] == list(range(1, len(steps) + 1))


def test_both_databases_answer_the_same_questions():
    """Whatever the view asks of SQLite can be asked of PostgreSQL."""
    readings = set(statements("sqlite")) & {
        name for name, sql in statements("sqlite").items() if sql.startswith("SELECT")
    }
    own = {"last_attempt", "open_attempts", "next_open_calls", "open_batches", "prepared_batches"}
    # The pulse of a run's own file.
    own |= {"ended_attempts", "invalid_verdicts", "judge_tokens", "last_session"}
    own |= {"open_sessions", "unread_replies"}  # one session at a time looks after earlier ones
    own |= {"counts", "losses"}  # a log beside the file, which may get lost, is SQLite's alone
    assert readings - own <= set(statements("postgres"))


@pytest.mark.parametrize("statement", sorted(statements("postgres")))
def test_every_statement_is_sql_that_this_schema_understands(connection, statement):
    sql = named(statements("postgres")[statement], "run")
    if sql.startswith(("COPY", "CREATE", "LOCK")) or "incoming" in sql:
        return
    connection.execute("DEALLOCATE ALL")
    # Nothing but the statement says which run is meant.
    connection.execute("SET search_path TO public")
    connection.execute(f"PREPARE one AS {sql}".encode())


def test_the_view_is_closed_by_its_context(ledger, address):
    with PostgresView(address, "run") as view:
        assert view.totals() == ledger.totals()
        reader = view._reader
    assert reader.closed


def test_no_file_of_the_schema_names_a_schema():
    folder = Path(__file__).parents[2] / "src/judgelaw/ledger/sql/postgres"
    for file in folder.glob("*.sql"):
        assert "public." not in file.read_text()
