"""No error of DuckDB or of the file system leaves the package."""

import duckdb
import pytest

from judgelaw.duck import MEMORY_LIMIT, foreign_errors, name, private_connection, text
from judgelaw.errors import JudgelawError, RunError, TableError

pytestmark = pytest.mark.usefixtures("own_database")


def every_subclass(kind: type) -> set[type]:
    below = {sub for child in kind.__subclasses__() for sub in every_subclass(child)}
    return {kind} | below


@pytest.mark.parametrize("kind", sorted(every_subclass(duckdb.Error), key=str), ids=str)
def test_every_error_of_duckdb_becomes_one_of_ours(kind):
    expected = KeyboardInterrupt if kind is duckdb.InterruptException else JudgelawError
    with pytest.raises(expected), foreign_errors("calls.parquet"):
        raise kind("first line\nsecond line")


def test_memory_is_no_fault_of_the_table():
    limit = f"memory limit of {MEMORY_LIMIT}"
    with pytest.raises(RunError, match=limit), foreign_errors("calls.parquet"):
        raise duckdb.OutOfMemoryException("failed to pin block")


@pytest.mark.parametrize("kind", [OSError, PermissionError, IsADirectoryError, FileNotFoundError])
def test_the_file_system_becomes_a_table_error(kind):
    with pytest.raises(TableError, match=r"calls.csv: .*check"), foreign_errors("calls.csv"):
        raise kind(13, "Permission denied")


def test_defects_of_ours_stay_visible():
    with pytest.raises(TypeError), foreign_errors("calls.csv"):
        raise TypeError("a defect")


def test_the_connection_is_bounded_private_and_offline():
    with private_connection() as con:
        settings = con.execute(
            "SELECT name, value FROM duckdb_settings() WHERE name IN ('memory_limit', "
            "'autoinstall_known_extensions', 'autoload_known_extensions')"
        ).fetchall()
    assert dict(settings) == {
        "memory_limit": "1.1 GiB",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }


def test_quoting_survives_the_worst():
    worst = "a'b\"c; -- \n\\"
    with private_connection() as con:
        con.execute(f"CREATE TABLE t AS SELECT {text(worst)} AS {name(worst)}")
        assert con.execute(f"SELECT {name(worst)} FROM t").fetchall() == [(worst,)]  # noqa: S608 - tests the quoting
