"""World files: a world and the design to simulate it in, with the line of every mistake."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from judgelaw.errors import InputError
from judgelaw.worlds import SPEC_KEYS, World

_DESIGN_KEYS = ("prompts", "orders", "repeats", "items", "component")
_KEYS = (*SPEC_KEYS, *_DESIGN_KEYS)


def read_world(path: Path, *, items: int | None, seed: int | None) -> tuple[World, dict[str, Any]]:
    """Read a world file; `items` and `seed` stand in for those of the file."""
    content = _load(path)
    for key in content:
        if key not in _KEYS:
            line = content.lc.key(key)[0] + 1
            raise InputError(
                f"{path}:{line}: unknown key {key!r}; a world file has {', '.join(_KEYS)}"
            )
    plain = _plain(content)
    spec = {key: value for key, value in plain.items() if key in SPEC_KEYS}
    try:
        world = World.from_spec(spec)
    except InputError as error:
        raise InputError(f"{path}{_line_of(content, str(error))}: {error}") from error
    design = _design(path, plain)
    written = {"items": plain.get("items", 20_000), "seed": plain.get("seed", 0)}
    design |= {key: _whole(path, key, value) for key, value in written.items()}
    design |= {k: v for k, v in (("items", items), ("seed", seed)) if v is not None}
    return world, design


def _load(path: Path) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError

    try:
        content = YAML(typ="rt").load(path.read_text(encoding="utf-8"))
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InputError(f"{path}:{line}: no valid YAML: {error.problem}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text; save it as UTF-8") from error
    if not isinstance(content, Mapping):
        raise InputError(f"{path}:1: a world file maps keys to values, such as `prompts: 6`")
    return content


def _design(path: Path, content: Mapping[str, Any]) -> dict[str, Any]:
    design: dict[str, Any] = {}
    written = content.get("laws", content.get("deterministic"))
    shape = _shape(written)
    cells = shape[-3:-1] if "laws" in content else shape[-2:]
    if "prompts" not in content and len(cells) < 2:  # noqa: PLR2004 - prompts and orders
        raise InputError(f"{path}: how many prompts? add `prompts: 6`")
    prompts, orders = cells if len(cells) == 2 else (None, 2)  # noqa: PLR2004 - as above
    design["prompts"] = _whole(path, "prompts", content.get("prompts", prompts))
    design["orders"] = _whole(path, "orders", content.get("orders", orders))
    repeats = content.get("repeats", [2, 4, 8])
    listed = repeats if isinstance(repeats, list) else [repeats]
    design["repeats"] = [_whole(path, "repeats", r) for r in listed]
    design["component"] = content.get("component", "prompt")
    return design


def _whole(path: Path, key: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"{path}: {key} = {value!r}: a whole number is needed")
    return value


def _shape(nested: Any) -> tuple[int, ...]:
    """Lengths of nested lists, following the first of each."""
    lengths = []
    while isinstance(nested, list) and nested:
        lengths.append(len(nested))
        nested = nested[0]
    return tuple(lengths)


def _plain(value: Any) -> Any:
    """Replace ruamel's containers and numbers by Python's own."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return value


def _line_of(content: Any, message: str) -> str:
    """The line of the key that a message starts with, where there is one."""
    for key in content:
        if message.startswith((f"{key} ", f"{key}[", f"{str(key).rstrip('s')}[")):
            return f":{content.lc.key(key)[0] + 1}"
    return ""
