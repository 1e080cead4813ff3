"""Where a PostgreSQL ledger is, with its password kept out of sight."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from judgelaw.errors import InputError, MissingExtraError, RunError

if TYPE_CHECKING:
    import psycopg

SCHEMES = ("postgresql://", "postgres://")

_ENV = "env:"
_HIDDEN = "***"
_FORM = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE, or env:NAME for a variable that holds it"
_PATIENCE_S = 10


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

    def connect(self, **options: Any) -> "psycopg.Connection[Any]":
        """Connect once, or raise an error of ours without a trace of the password."""
        psycopg = driver()
        settings = {"connect_timeout": _PATIENCE_S, "application_name": "judgelaw", **options}
        try:
            return psycopg.connect(  # type: ignore[no-any-return] # loaded lazily, thus untyped
                self.url, autocommit=True, cursor_factory=psycopg.RawCursor, **settings
            )
        except psycopg.Error as error:
            # Not chained: the driver's own traceback holds the address.
            raise RunError(
                f"cannot connect to the ledger {self.shown}: {self.hide(error)}; check that the "
                "server is up and that user, password and database are right"
            ) from None


def read_address(text: str) -> Address:
    """Read `--ledger`: a URL, or `env:NAME` for a variable that holds one."""
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
        raise InputError(f"--ledger is no PostgreSQL address; write {_FORM}") from None
    password = str(parts.get("password") or "")
    forms = {password, quote(password, safe=""), quote(password)} if password else set()
    return Address(url=url, shown=_shown(parts), secrets=tuple(sorted(forms, key=len)[::-1]))


def _shown(parts: dict[str, Any]) -> str:
    user = f"{quote(str(parts['user']))}@" if parts.get("user") else ""
    host = quote(str(parts.get("host", "")), safe=":")
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"postgresql://{user}{host}{port}/{quote(str(parts.get('dbname', '')))}"
