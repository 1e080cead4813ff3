"""One schema a run: made, brought to this version, listed."""

import re
from typing import TYPE_CHECKING, Any

from judgelaw.errors import InputError, RunError
from judgelaw.ledger.postgres_address import Address
from judgelaw.ledger.postgres_text import adapt
from judgelaw.ledger.sqltext import migrations, statements

if TYPE_CHECKING:
    import psycopg

PREFIX = "judgelaw:"

_LONGEST = 63 - len(PREFIX)
"""PostgreSQL cuts longer names off, and two runs would meet in one schema."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"
_TABLE = (
    "CREATE TABLE IF NOT EXISTS migrations (version integer PRIMARY KEY, name text NOT NULL, "
    "applied_at timestamptz NOT NULL DEFAULT clock_timestamp())"
)


def schema_of(run: str) -> str:
    """Return the schema of a run by its name."""
    if not _NAME.fullmatch(run) or len(run) > _LONGEST:
        raise InputError(
            f"{run!r} cannot name a run in a PostgreSQL ledger: letters, digits, dots, dashes and "
            f"underscores, at most {_LONGEST}; give the run folder another name with --out"
        )
    return PREFIX + run


def list_runs(address: Address) -> list[str]:
    """Return the names of the runs in a database, the oldest first."""
    with address.explained("its runs cannot be listed"), address.connect() as connection:
        rows = connection.execute(statements("postgres")["runs"], (PREFIX,)).fetchall()
    return [row[0].removeprefix(PREFIX) for row in rows]


def enter(connection: "psycopg.Connection[Any]", run: str) -> None:
    """Let statements of this connection find the tables of a run, and nobody else's."""
    adapt(connection)
    connection.execute(
        "SELECT set_config('search_path', quote_ident($1), false)", (schema_of(run),)
    )


def require(connection: "psycopg.Connection[Any]", run: str, address: Address) -> None:
    """Raise where a run is not in the database."""
    found = connection.execute("SELECT to_regclass('open_calls') IS NOT NULL").fetchone()
    if found != (True,):
        raise RunError(
            f"{address} holds no run {run}: `judgelaw run STUDY --ledger URL` freezes one into it"
        )


def migrate(connection: "psycopg.Connection[Any]", run: str, address: Address) -> None:
    """Make the schema of a run, or apply the steps that it lacks: all of them or none."""
    steps = migrations("postgres")
    schema = schema_of(run)
    with connection.transaction():
        connection.execute(_LOCK, (schema,))
        connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        connection.execute(_TABLE)
        row = connection.execute("SELECT coalesce(max(version), 0) FROM migrations").fetchone()
        have = row[0] if row else 0
        if have > steps[-1].version:
            raise InputError(
                f"run {run} in {address} has schema version {have}, and this judgelaw knows up to "
                f"{steps[-1].version}: upgrade judgelaw to the version that wrote the run"
            )
        for step in steps[have:]:
            connection.execute(step.script.encode())
            connection.execute(
                "INSERT INTO migrations (version, name) VALUES ($1, $2)", (step.version, step.name)
            )
