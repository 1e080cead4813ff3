"""SQL lives in named files beside the code: migrations by number, statements by name."""

import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

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
