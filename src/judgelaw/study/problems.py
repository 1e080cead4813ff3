"""What is wrong with a study, in words, with the line of the key that is at fault."""

import datetime as dt
import difflib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from io import StringIO
from os import PathLike
from types import UnionType
from typing import Any, Union, get_args, get_origin

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from judgelaw.wire import Model

Path = tuple[str | int, ...]

_MERGE = "tag:yaml.org,2002:merge"
_PLAIN = ("str", "int", "float", "bool", "null", "timestamp")
_MOST_NODES = 50_000
_DEEPEST = 50
_MOST_BITS = 128


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One thing wrong with a study, at a path of its keys."""

    path: Path
    text: str
    line: int | None = None


@dataclass(kw_only=True, slots=True)
class Document:
    """Plain data of a YAML file; `lines` says where each path starts."""

    data: Any = None
    lines: dict[Path, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def line(self, path: Path) -> int:
        """Return the line of a path, or of its nearest parent that the file holds."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def written_out(study: Mapping[str, Any], fields: Iterable[str]) -> tuple[str, Document]:
    """Return a dict as YAML, the keys in the order of the fields, and as data without lines."""
    document = Document(lines={(): 0})
    plain = _plain(study, (), document.problems)
    known = {key: plain.pop(key) for key in fields if key in plain}
    document.data = {**known, **plain}
    if document.problems:
        return "", document
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]  # its stub says None
    text = StringIO()
    yaml.dump(document.data, text)
    return text.getvalue(), document


def _plain(value: Any, path: Path, problems: list[Problem]) -> Any:
    """Return values as YAML has them; what it has not is a problem."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v, (*path, str(k)), problems) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v, (*path, at), problems) for at, v in enumerate(value)]
    if isinstance(value, PathLike):
        return str(value)
    if value is None or type(value) in {str, int, float, bool}:
        return value
    words = f"a {type(value).__name__}, a study holds text, numbers, lists and dicts; convert it"
    problems.append(Problem(path=path, text=words))
    return None


class _TooManyError(Exception):
    """A file holds more than anybody writes."""


class _BoundedComposer(Composer):
    """Stops at so many nodes: each takes a quarter of a millisecond."""

    def __init__(self, loader: Any = None) -> None:
        super().__init__(loader)
        self._left = _MOST_NODES

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Compose a node, if there are not too many yet."""
        self._left -= 1
        if self._left < 0:
            raise _TooManyError
        return super().compose_node(parent, index)


def read_yaml(text: str) -> Document:
    """Read YAML 1.2 without constructing anything but plain data."""
    document = Document()
    # pure=True: the marks of the C parser are not dependable.
    yaml = YAML(typ="safe", pure=True)
    yaml.Composer = _BoundedComposer
    try:
        node = yaml.compose(text)
    except _TooManyError:
        words = f"more than {_MOST_NODES:,} keys and values; a study is a small file"
        document.problems.append(Problem(path=(), text=words, line=1))
        return document
    except RecursionError:
        document.problems.append(Problem(path=(), text="nested too deep to be a study", line=1))
        return document
    except YAMLError as error:
        # The library's own message quotes the line, which may hold a secret.
        mark = getattr(error, "problem_mark", None)
        what = error.problem if isinstance(error, MarkedYAMLError) else type(error).__name__
        line = 1 if mark is None else mark.line + 1
        document.problems.append(Problem(path=(), text=f"no YAML: {what}", line=line))
        return document
    if node is not None:
        document.data = _Builder(yaml=yaml, document=document).build(node, ())
    return document


@dataclass(kw_only=True)
class _Builder:
    yaml: YAML
    document: Document
    left: int = _MOST_NODES

    def build(self, node: Node, path: Path) -> Any:
        """Turn a node into data; aliases are expanded, so their number is bounded."""
        self.left -= 1
        if self.left < 0 or len(path) > _DEEPEST:
            self._refuse_expansion(node)
            return None
        self.document.lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        if isinstance(node, SequenceNode):
            return [self.build(child, (*path, place)) for place, child in enumerate(node.value)]
        return self._scalar(node, path)

    def _mapping(self, node: MappingNode, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        merged: list[Node] = []
        for key, value in node.value:
            if str(key.tag) == _MERGE:
                merged.extend(value.value if isinstance(value, SequenceNode) else [value])
                continue
            name = key.value if isinstance(key, ScalarNode) else ""
            if not name or name in found:
                rule = "the same key twice; keep one" if name else "a key must be a plain word"
                self._report(key, (*path, name), rule)
                continue
            self.document.lines[*path, name] = key.start_mark.line + 1
            found[name] = self.build(value, (*path, name))
        for source in merged:
            if isinstance(source, MappingNode):
                for name, value in self._mapping(source, path).items():
                    found.setdefault(name, value)
        return found

    def _scalar(self, node: Node, path: Path) -> Any:
        kind = str(node.tag).rpartition(":")[2]
        if kind not in _PLAIN:
            self._report(node, path, f"the tag {node.tag}; a study holds plain values only")
            return None
        try:
            value = self.yaml.constructor.construct_object(node)
        except ValueError:
            self._report(node, path, f"no readable {kind}; put it in quotes if text is meant")
            return None
        if isinstance(value, int) and value.bit_length() > _MOST_BITS:
            self._report(node, path, "a number beyond all use; write a smaller one")
            return None
        if isinstance(value, float) and not math.isfinite(value):
            self._report(
                node, path, f"{value}, no number that a study can hold; write a finite one"
            )
            return None
        if isinstance(value, dt.date | dt.datetime):
            # A revision or a model name that looks like a date: the text is what was meant.
            self._report(node, path, "a date to YAML; put it in quotes")
            return node.value
        return value

    def _refuse_expansion(self, node: Node) -> None:
        if not any(problem.text.startswith("aliases") for problem in self.document.problems):
            self._report(node, (), "aliases or nesting expand too far; write the values out")

    def _report(self, node: Node, path: Path, text: str) -> None:
        self.document.problems.append(Problem(path=path, text=text, line=node.start_mark.line + 1))


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
    "too_short": "must not be empty; fill it in",
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
    # The same letters in another sequence are the likeliest slip of all.
    near = [known for known in names if sorted(known) == sorted(name)]
    near += difflib.get_close_matches(name, names, n=1)
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
