"""Text that PostgreSQL does not take: a model may say NUL, and what it said must come back.

U+FFFF is no character, so it marks what was written differently: U+FFFF 0 stands for NUL, and
U+FFFF 1 for itself.
"""

from typing import TYPE_CHECKING, Any

from judgelaw.ledger.postgres_address import driver

if TYPE_CHECKING:
    import psycopg

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
    """Let every string of a connection go out packed and come in unpacked."""
    string = driver().types.string

    class Text(string.StrDumper):  # type: ignore[misc, name-defined] # loaded lazily, untyped
        def dump(self, obj: str) -> Any:
            return super().dump(pack(obj))

    class Binary(string.StrBinaryDumper):  # type: ignore[misc, name-defined] # same
        def dump(self, obj: str) -> Any:
            return super().dump(pack(obj))

    class Loaded(string.TextLoader):  # type: ignore[misc, name-defined] # same
        def load(self, data: Any) -> Any:
            return unpack(super().load(data))

    class LoadedBinary(string.TextBinaryLoader):  # type: ignore[misc, name-defined] # same
        def load(self, data: Any) -> Any:
            return unpack(super().load(data))

    connection.adapters.register_dumper(str, Binary)
    connection.adapters.register_dumper(str, Text)
    connection.adapters.register_loader("text", Loaded)
    connection.adapters.register_loader("text", LoadedBinary)
