"""Words for what is wrong with a study: value, rule and remedy, and never a secret."""

import difflib
import re
from collections.abc import Iterable
from types import UnionType
from typing import Any, Union, get_args, get_origin

from judgelaw.design.model import Model
from judgelaw.design.yaml_lines import Path

HIDDEN = "(not shown)"

_SECRET = re.compile(r"key|token$|secret|passw|auth|cookie|credential", re.IGNORECASE)
_LONGEST = 60

_RULES = {
    "missing": "missing, it is needed; add it",
    "string_type": "must be text; put it in quotes",
    "int_type": "must be a whole number; write it without quotes or fraction",
    "int_from_float": "must be a whole number; write it without a fraction",
    "float_type": "must be a number; write it without quotes",
    "bool_type": "must be true or false",
    "tuple_type": "must be a list; write [a, b]",
    "dict_type": "must be a mapping; write keys with values",
    "model_type": "must be a mapping; write keys with values",
    "model_attributes_type": "must be a mapping; write keys with values",
    "less_than_equal": "must be at most {le}; write a smaller number",
    "finite_number": "must be a finite number",
    "string_pattern_mismatch": "must match {pattern}; choose another",
    "string_too_short": "must not be empty; fill it in",
}


def shown(value: Any, path: Path) -> str:
    """Quote a value, shortened; what stands under a name that smells of a secret is hidden."""
    if any(isinstance(part, str) and _SECRET.search(part) for part in path):
        return HIDDEN
    if isinstance(value, dict | list | tuple):
        return f"a {'mapping' if isinstance(value, dict) else 'list'}"
    text = repr(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


def describe(error: dict[str, Any], path: Path, roots: Iterable[type[Model]]) -> str:
    """Say in one line what pydantic found at a path."""
    kind = error["type"]
    if kind == "extra_forbidden":
        return unknown_key(str(path[-1]), known_keys(path[:-1], roots))
    if kind == "missing":
        return _RULES[kind]
    value = shown(error.get("input"), path)
    context = error.get("ctx", {})
    if kind == "literal_error":
        return f"{value}, must be {context['expected']}; choose one"
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        return f"{value}, {_forms(path)}"
    if kind == "string_pattern_mismatch" and path[-1] in ("name", "id") and len(path) > 1:
        return f"{value}, must be one line of at most 200 characters; choose another"
    rule = _RULES.get(kind)
    return f"{value}, {rule.format(**context) if rule else _sentence(error['msg'])}"


def _sentence(message: str) -> str:
    text = message.removeprefix("Input ").removeprefix("Value error, ")
    return text[:1].lower() + text[1:]


def _forms(path: Path) -> str:
    if path[-1:] == ("parser",):
        return "must be first-line, {regex: ...}, {json: ...} or {score: ...}; choose one"
    return "must be paper-six, {policy: census, ...} or {policy: generator, ...}; choose one"


def unknown_key(name: str, known: Iterable[str]) -> str:
    """Say that a key is unknown and which one may be meant; its value is never repeated."""
    names = sorted(set(known))
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        return f"unknown key; did you mean {near[0]}?"
    return f"unknown key; known here: {', '.join(names)}"


def known_keys(path: Path, roots: Iterable[type[Model]]) -> set[str]:
    """Return the keys that a mapping at this path may hold."""
    models = list(roots)
    for part in path:
        fields = [field for model in models for field in _named(model, part)]
        if fields:
            models = [model for field in fields for model in _models(field)]
    return {info.alias or name for model in models for name, info in model.model_fields.items()}


def _named(model: type[Model], part: str | int) -> list[Any]:
    return [
        info.annotation for name, info in model.model_fields.items() if part in (name, info.alias)
    ]


def _models(annotation: Any) -> list[type[Model]]:
    """Find the models inside an annotation such as `tuple[Layer, ...] | None`."""
    if isinstance(annotation, type) and not get_origin(annotation):
        return [annotation] if issubclass(annotation, Model) else []
    if get_origin(annotation) in (Union, UnionType, tuple, dict, list) or get_args(annotation):
        return [model for inner in get_args(annotation) for model in _models(inner)]
    return []


def dotted(path: Path) -> str:
    """Write a path as a reader would: `judges[0].decoding.top_p`."""
    text = ""
    for part in path:
        name = str(part) if str(part).isprintable() else repr(part)
        text += f"[{part}]" if isinstance(part, int) else f".{name}" if text else name
    return text
