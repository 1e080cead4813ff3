"""SQL in named files beside the code, and how a ledger comes to the present schema."""

import re
import sqlite3
import time
from contextlib import closing
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from judgelaw.errors import InputError

_MIGRATION = re.compile(r"(\d{4})_(\w+)\.sql")


class Migration(NamedTuple):
    """One step of a schema."""

    version: int
    name: str
    script: str


@cache
def migrations(dialect: str) -> tuple[Migration, ...]:
    """Return the schema's steps in sequence."""
    found = []
    for file in files("judgelaw.ledger").joinpath("sql", dialect).iterdir():
        if match := _MIGRATION.fullmatch(file.name):
            script = file.read_text(encoding="utf-8")
            found.append(Migration(int(match[1]), match[2], script))
    return tuple(sorted(found))


@cache
def statements(dialect: str) -> dict[str, str]:
    """Return the statements of `sql/DIALECT/statements.sql` by the name above each."""
    text = files("judgelaw.ledger").joinpath("sql", dialect, "statements.sql")
    parts = re.split(r"^-- name: (\w+)\n", text.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {name: sql.strip() for name, sql in zip(parts[1::2], parts[2::2], strict=True)}


_TABLE = (
    "CREATE TABLE IF NOT EXISTS migrations "
    "(version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at REAL NOT NULL)"
)
_NOTE = "INSERT INTO migrations (version, name, applied_at) VALUES (?, ?, ?)"
_SCHEMA = "SELECT type || ' ' || name, sql FROM sqlite_master"


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Apply the steps that are missing, each in a transaction of its own."""
    connection.execute(_TABLE)
    (have,) = connection.execute("SELECT coalesce(max(version), 0) FROM migrations").fetchone()
    steps = migrations("sqlite")
    if have > steps[-1].version:
        raise InputError(
            f"{path} has schema version {have}, and this judgelaw knows up to "
            f"{steps[-1].version}: upgrade judgelaw to the version that wrote the run"
        )
    for step in steps[have:]:
        try:
            connection.executescript(f"BEGIN IMMEDIATE;\n{step.script}")
            connection.execute(_NOTE, (step.version, step.name, time.time()))
            connection.execute("COMMIT")
        except sqlite3.Error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def foreign_schema(connection: sqlite3.Connection) -> list[str]:
    """Name what differs from the schema that the applied steps make: tables, rules, views."""
    (have,) = connection.execute("SELECT coalesce(max(version), 0) FROM migrations").fetchone()
    with closing(sqlite3.connect(":memory:")) as fresh:
        fresh.execute(_TABLE)
        for step in migrations("sqlite")[:have]:
            fresh.executescript(step.script)
        expected = dict(fresh.execute(_SCHEMA).fetchall())
    found = dict(connection.execute(_SCHEMA).fetchall())
    return sorted(
        name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name)
    )
