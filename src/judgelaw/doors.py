"""What a room offers: names that load when asked for, and lists that files add themselves to."""

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any


def lazy(room: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a room whose door names its files for type checkers.

    Such a door writes each name once, in an import under `if TYPE_CHECKING:`. No such import runs:
    when a name is first asked for, the door's own source says which file holds it.

    Args:
        room: the package, `__name__` in its `__init__`.
    """

    @cache
    def homes() -> dict[str, str]:
        import ast  # noqa: PLC0415 - a name may never be asked for

        door = sys.modules[room]
        # A loader reads folders and archives alike.
        source = door.__loader__.get_data(door.__file__)  # type: ignore[union-attr] # it was loaded
        return {
            alias.name: str(node.module)
            for block in ast.parse(source).body
            if isinstance(block, ast.If)
            for node in block.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if alias.name != "*"
        }

    def found(name: str) -> Any:
        if name == "__all__":
            return list(homes())
        if name.startswith("__") or name not in homes():
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        value = getattr(import_module(homes()[name]), name)
        setattr(sys.modules[room], name, value)
        return value

    return found, lambda: sorted({*vars(sys.modules[room]), *homes()})


def offered(package: str, name: str) -> list[Any]:
    """Return what the files of a package offer under one name, so that nobody lists the files.

    Args:
        package: the folder of files, as it is imported.
        name: of a tuple that a file may define, such as `PROVIDERS`.
    """
    path = import_module(package).__path__
    modules = [import_module(f"{package}.{found.name}") for found in iter_modules(path)]
    return [thing for module in modules for thing in getattr(module, name, ())]


def front(
    package: str, *, beside: tuple[str, ...]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of the front door: what is listed, then what was once.

    Args:
        package: `__name__` in its `__init__`.
        beside: public names that are there already.
    """
    offered, _ = lazy(package)

    def found(name: str) -> Any:
        if name == "__all__":
            return sorted({*offered(name), *beside} - {"__version__"})
        if name.startswith("_") or name in offered("__all__"):
            return offered(name)
        return getattr(import_module(f"{package}.first_release"), name)

    return found, lambda: sorted({*offered("__all__"), *beside})
