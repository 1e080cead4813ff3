"""YAML as plain data, with the line of every key."""

import datetime as dt
import math
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

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


def read_yaml(text: str) -> Document:
    """Read YAML 1.2 without constructing anything but plain data."""
    document = Document()
    # pure=True: the marks of the C parser are not dependable.
    yaml = YAML(typ="safe", pure=True)
    try:
        node = yaml.compose(text)
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
