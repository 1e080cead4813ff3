"""Doors that open when they are used: a room's names, each loaded when it is first asked for."""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
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
