"""Doors that open when they are used: a room's names, each loaded when it is first asked for."""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any


def lazy(room: str, offers: Mapping[str, Iterable[str]]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a room: the file of a name is imported with the name.

    Args:
        room: the package, `__name__` in its `__init__`.
        offers: the names that each file of the room offers.
    """
    homes = {name: file for file, names in offers.items() for name in names}

    def found(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        return getattr(import_module(f"{room}.{homes[name]}"), name)

    return found


def from_stub(stub: Path) -> dict[str, str]:
    """Return the names that a stub file offers, each with the module that it is imported from.

    Type checkers read the same file, so that a name is added in one place: a line such as
    `from judgelaw.runs import Run as Run`. A line `from judgelaw import errors as errors` offers a
    module.
    """
    import ast  # noqa: PLC0415 - not before a name is asked for: `judgelaw --help` asks for none

    return {
        alias.name: str(node.module)
        for node in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }


def opened(home: str, name: str) -> Any:
    """Import a name from its home, where it may be a module itself."""
    module = import_module(home)
    return getattr(module, name) if hasattr(module, name) else import_module(f"{home}.{name}")
