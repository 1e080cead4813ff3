"""Where a PostgreSQL ledger is, the schema of a run there, and text that it takes.

PostgreSQL takes no NUL, but a model may say one, and what it said must come back. U+FFFF is no
character, so it marks what was written differently: U+FFFF 0 stands for NUL, and
U+FFFF 1 for itself.
"""

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from judgelaw.errors import InputError, MissingExtraError, RunError
from judgelaw.ledger.migrations import migrations, statements

if TYPE_CHECKING:
    import psycopg


SCHEMES = ("postgresql://", "postgres://")

_ENV = "env:"
_HIDDEN = "***"
_FORM = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE, or env:NAME for a variable that holds it"
_PATIENCE_S = 10
_PAUSE_S = 0.2
_STARTING_S = 300.0
_SILENT_S = 10.0
_STARTING = ("starting up", "shutting down", "recovery mode", "not yet accepting", "too many")
_REFUSED = "FATAL"
"""How a server begins to say no: to this user, this password, this database."""
_NAMELESS = ("could not translate host name", "failed to resolve host")
_BUSY_MS = "20000"
"""How long whoever freezes while it makes a schema holds up everybody else."""


def driver() -> Any:
    """Return psycopg, or say how to get it."""
    try:
        import psycopg  # noqa: PLC0415 - an extra: loaded where a PostgreSQL ledger is opened
    except ImportError as error:
        raise MissingExtraError(
            "a PostgreSQL ledger needs psycopg, which is not installed; "
            'pip install "judgelaw[postgres]"'
        ) from error
    return psycopg


@dataclass(frozen=True)
class Address:
    """A database; what is printed of it never holds the password.

    Attributes:
        url: as given, for the driver only.
        shown: the same without the password, for people and files.
        secrets: the password in each form in which an error could repeat it.
    """

    url: str = field(repr=False)
    shown: str
    secrets: tuple[str, ...] = field(repr=False, default=())

    def __str__(self) -> str:
        return self.shown

    def hide(self, text: object) -> str:
        """Return a driver's words without the password."""
        hidden = str(text).strip()
        for secret in self.secrets:
            hidden = hidden.replace(secret, _HIDDEN)
        return hidden

    @contextmanager
    def explained(self, what: str) -> Iterator[None]:
        """Turn what the driver raises into an error of ours."""
        try:
            yield
        except driver().Error as error:
            raise RunError(
                f"the ledger {self.shown}: {what}: {self.hide(error)}; check the server, then run "
                "the same command"
            ) from None

    def wait_until_up(
        self, say: Callable[[str], object], *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """Wait for a server that is starting or restarting; say so once.

        One that answers nothing may be at another address, so it is waited for less long than one
        that says that it is on its way.

        Raises:
            RunError: it does not take connections.
        """
        began, told = time.monotonic(), False
        while True:
            try:
                self.connect().close()
            except RunError as error:
                patience_s = _patience_with(str(error))
                if time.monotonic() - began >= patience_s:
                    raise
                if not told:
                    say(f"{error}; trying again for {patience_s:g} s")
                told = True
                sleep(_PAUSE_S)
            else:
                return

    def connect(self, **options: Any) -> "psycopg.Connection[Any]":
        """Connect once, or raise an error of ours without a trace of the password."""
        psycopg = driver()
        settings = {"connect_timeout": _PATIENCE_S, "application_name": "judgelaw", **options}
        try:
            return psycopg.connect(  # type: ignore[no-any-return] # loaded lazily, thus untyped
                self.url,
                autocommit=True,
                cursor_factory=psycopg.RawCursor,
                # A prepared statement would outlive its transaction, which a pooler does not carry.
                prepare_threshold=None,
                **settings,
            )
        except psycopg.Error as error:
            # Not chained: the driver's own traceback holds the address.
            raise RunError(
                f"cannot connect to the ledger {self.shown}: {self.hide(error)}; check that the "
                "server is up and that user, password and database are right"
            ) from None


def _patience_with(said: str) -> float:
    """Return for how long to try again what did not work so."""
    if any(word in said for word in _STARTING):
        return _STARTING_S
    return 0.0 if _REFUSED in said or any(word in said for word in _NAMELESS) else _SILENT_S


def read_address(text: str) -> Address:
    """Read `--ledger`: a URL, or `env:NAME` for a variable that holds one.

    An address that can be read in two ways is refused: what is taken for a host in one of them may
    be a part of the password, and would be printed and stored.
    """
    url = os.environ.get(text.removeprefix(_ENV), "") if text.startswith(_ENV) else text
    if not url:
        raise InputError(f"--ledger {text}: the variable is not set; export it as {_FORM}")
    # The value itself is not repeated: what is no address may still hold a password.
    if not url.startswith(SCHEMES):
        raise InputError(f"--ledger is no PostgreSQL address; write {_FORM}")
    psycopg = driver()
    try:
        parts = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        raise InputError(f"--ledger is no PostgreSQL address; {_ESCAPES}") from None
    if _ambiguous(url, parts):
        raise InputError(f"--ledger cannot be told apart into its parts; {_ESCAPES}")
    hidden = [str(parts.get(name) or "") for name in _HIDDEN_PARTS]
    forms = {form for part in hidden for form in (part, quote(part, safe=""), quote(part)) if form}
    return Address(url=url, shown=_shown(parts), secrets=tuple(sorted(forms, key=len)[::-1]))


_ESCAPES = f"write {_FORM}, with @ : / ? # % of user and password as %40 %3A %2F %3F %23 %25"
_HIDDEN_PARTS = ("password", "sslpassword")
_HOSTS = re.compile(r"[A-Za-z0-9._:,/@~+-]*")
_PORTS = re.compile(r"[0-9,]*")


def _ambiguous(url: str, parts: dict[str, Any]) -> bool:
    """Whether a part of an address may be what was meant as the password."""
    _, _, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    return (
        authority.partition("?")[0].count("@") > 1
        # Behind the first slash or question mark only a password has one: others write %40.
        or "@" in authority.partition("?")[2] + path
        or (slash != "" and "/" in path.partition("?")[0])
        or not _PORTS.fullmatch(str(parts.get("port") or ""))
        or not _HOSTS.fullmatch(str(parts.get("host") or ""))
    )


def _shown(parts: dict[str, Any]) -> str:
    user = f"{quote(str(parts['user']))}@" if parts.get("user") else ""
    host = quote(str(parts.get("host", "")), safe=":")
    ports = str(parts.get("port") or "")
    port = f":{ports}" if ports.strip(",") else ""
    return f"postgresql://{user}{host}{port}/{quote(str(parts.get('dbname', '')))}"


_MARK = "\uffff"
_NUL = "\0"


def pack(text: str) -> str:
    r"""Write text so that PostgreSQL takes it.

    >>> unpack(pack("a\0b")) == "a\0b"
    True
    """
    if _NUL not in text and _MARK not in text:
        return text
    return text.replace(_MARK, f"{_MARK}1").replace(_NUL, f"{_MARK}0")


def unpack(text: str) -> str:
    """Read what `pack` wrote."""
    if _MARK not in text:
        return text
    return text.replace(f"{_MARK}0", _NUL).replace(f"{_MARK}1", _MARK)


def adapt(connection: "psycopg.Connection[Any]") -> None:
    """Pack every string that a connection sends, and unpack every string that it receives."""
    string = driver().types.string

    for dumper in (string.StrBinaryDumper, string.StrDumper):

        class Packed(dumper):  # type: ignore[misc, valid-type] # loaded lazily, untyped
            def dump(self, obj: str) -> Any:
                return super().dump(pack(obj))

        connection.adapters.register_dumper(str, Packed)
    for loader in (string.TextLoader, string.TextBinaryLoader):

        class Unpacked(loader):  # type: ignore[misc, valid-type] # same
            def load(self, data: Any) -> Any:
                return unpack(super().load(data))

        connection.adapters.register_loader("text", Unpacked)


PREFIX = "judgelaw:"

_LONGEST = 63 - len(PREFIX)
"""PostgreSQL cuts longer names off, and two runs would meet in one schema."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"
_TABLE = (
    "CREATE TABLE IF NOT EXISTS migrations (version integer PRIMARY KEY, name text NOT NULL, "
    "applied_at timestamptz NOT NULL DEFAULT clock_timestamp())"
)
_UNBOUND = """
SELECT oid::regprocedure::text
FROM pg_catalog.pg_proc
WHERE pronamespace = to_regnamespace($1) AND proconfig IS NULL
"""
"""The rules of a schema that mean the tables of whoever sets them off: behind a pooler the session
may have another run's schema in its settings."""
_SCHEMA = ":run."
"""Stands in every statement for the schema of a run; see `statements.sql`."""
_EARLIER = {
    3: {
        ":run.calls AS": "(SELECT *, NULL::text AS date FROM :run.calls) AS",
        ":run.criterion_verdicts AS": (
            "(SELECT *, NULL::text AS criterion FROM :run.verdicts WHERE false) AS"
        ),
        ":run.logprobs AS": "(SELECT 0::bigint AS call, NULL::text AS tokens WHERE false) AS",
    },
    4: {
        ":run.unread_fields AS": (
            "(SELECT 0::bigint AS call, NULL::text AS field, NULL::text AS reason WHERE false) AS"
        ),
        ":run.unread_replies AS": (
            "(SELECT 0::bigint AS attempt, 0.0 AS sent_at, 0.0 AS ended_at, 0 AS status, "
            "NULL::text AS headers, NULL::bytea AS body WHERE false) AS"
        ),
    },
}
"""What tables of a version are read as in a schema before it."""


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


@cache
def named(sql: str, run: str, *, version: int | None = None) -> str:
    """Return a statement on the tables of one run, whatever the connection's settings are.

    >>> named("SELECT count(*) FROM :run.calls", "first")
    'SELECT count(*) FROM "judgelaw:first".calls'
    """
    for made, tables in _EARLIER.items():
        for part, earlier in tables.items() if version is not None and version < made else ():
            sql = sql.replace(part, earlier)
    return sql.replace(_SCHEMA, f'"{schema_of(run)}".')


class _Named:
    """A cursor whose statements name the schema of one run."""

    names: Callable[[str], str]

    def execute(self, query: Any, *values: Any, **options: Any) -> Any:
        if isinstance(query, str):
            query = self.names(query)
        return super().execute(query, *values, **options)  # type: ignore[misc] # of the driver


def enter(connection: "psycopg.Connection[Any]", run: str, *, version: int | None = None) -> None:
    """Make the statements of this connection name the tables of one run.

    Nothing is set for the session: behind a pooler each transaction may have another one.
    """
    adapt(connection)
    psycopg = driver()
    members = {"names": staticmethod(partial(named, run=run, version=version))}
    connection.cursor_factory = type("Cursor", (_Named, psycopg.RawCursor), members)
    connection.server_cursor_factory = type("Pages", (_Named, psycopg.RawServerCursor), members)


def require(connection: "psycopg.Connection[Any]", run: str, address: Address) -> None:
    """Raise where a run is not in the database."""
    found = connection.execute("SELECT to_regclass(':run.open_calls') IS NOT NULL").fetchone()
    if found != (True,):
        raise RunError(
            f"{address} holds no run {run}: `judgelaw run STUDY --ledger URL` freezes one into it"
        )


def migrate(connection: "psycopg.Connection[Any]", run: str, address: Address) -> None:
    """Make the schema of a run, or apply the steps that it lacks: all of them or none.

    Who only works on a run needs no right to create anything.
    """
    newest = migrations("postgres")[-1].version
    have = version_of(connection)
    if have == newest and not _unbound(connection, run):
        return
    if have > newest:
        raise InputError(
            f"run {run} in {address} has schema version {have}, and this judgelaw knows up to "
            f"{newest}: upgrade judgelaw to the version that wrote the run"
        )
    try:
        _apply(connection, run)
    except driver().errors.InsufficientPrivilege as error:
        what = "was made by an earlier judgelaw" if have else "is not there"
        raise RunError(
            f"run {run} in {address} {what}, and this user may not change that "
            f"({address.hide(error)}): `judgelaw run STUDY --ledger URL` by the user "
            "who owns the run does, then workers need rights on rows only"
        ) from None


def version_of(connection: "psycopg.Connection[Any]") -> int:
    """Return the version of a run's schema; 0 where there is none."""
    if connection.execute("SELECT to_regclass(':run.migrations')").fetchone() == (None,):
        return 0
    row = connection.execute("SELECT coalesce(max(version), 0) FROM :run.migrations").fetchone()
    return int(row[0]) if row else 0


def _apply(connection: "psycopg.Connection[Any]", run: str) -> None:
    schema = schema_of(run)
    with connection.transaction():
        connection.execute(statements("postgres")["settings"], (_BUSY_MS,))
        connection.execute(_LOCK, (schema,))
        connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        # For this transaction: the steps do not name the schema that they build.
        connection.execute("SELECT set_config('search_path', quote_ident($1), true)", (schema,))
        connection.execute(_TABLE)
        # Asked again: somebody else may have held the lock before.
        for step in migrations("postgres")[version_of(connection) :]:
            connection.execute(step.script.encode())
            connection.execute(
                "INSERT INTO migrations (version, name) VALUES ($1, $2)", (step.version, step.name)
            )
        for rule in _unbound(connection, run):
            connection.execute(f"ALTER FUNCTION {rule} SET search_path FROM CURRENT")


def _unbound(connection: "psycopg.Connection[Any]", run: str) -> list[str]:
    rows = connection.execute(_UNBOUND, (f'"{schema_of(run)}"',)).fetchall()
    return [row[0] for row in rows]
