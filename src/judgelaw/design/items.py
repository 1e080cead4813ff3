"""Items: the things that are judged, read from files that nobody vouches for."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from judgelaw.design.model import canonical_json, sha256_hex
from judgelaw.design.sources import records
from judgelaw.errors import StudyError

FIELDS = ("id", "stratum", "instruction", "candidate_1", "candidate_2", "gold")
PAIR_GOLD = ("candidate_1", "candidate_2", "tie")

_NEEDED = {
    "pairwise": ("id", "instruction", "candidate_1", "candidate_2"),
    "pointwise": ("id", "instruction", "candidate_1"),
}
_LONGEST_ID = 200
_SHOWN = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """One thing to judge; `candidate_2` is None where single answers are judged."""

    id: str
    stratum: str | None
    instruction: str
    candidate_1: str
    candidate_2: str | None
    gold: str | None

    @property
    def sha256(self) -> str:
        """SHA-256 of everything that the item is."""
        return sha256_hex(canonical_json(asdict(self)))


def read_items(source: str, path: Path, fields: dict[str, str], task: str) -> tuple[Item, ...]:
    """Read the items of a study; every bad record is named with its line.

    Args:
        source: `jsonl`, `csv`, `parquet` or `llmbar`.
        path: the file or folder.
        fields: names in the file by contract name.
        task: `pairwise` needs two candidates, `pointwise` one.
    """
    items: dict[str, Item] = {}
    seen: dict[str, str] = {}
    problems: list[str] = []
    for where, record in records(source, path):
        item = _item(_renamed(record, fields), where, task, problems)
        if item is None:
            continue
        if item.id in seen:
            problems.append(
                f"{where}: id: {item.id!r}, already used at {seen[item.id]}; ids must be distinct"
            )
            continue
        seen[item.id] = where
        items[item.id] = item
    if problems:
        more = len(problems) - _SHOWN
        tail = [f"... and {more} more problems"] if more > 0 else []
        raise StudyError("\n".join(problems[:_SHOWN] + tail))
    if not items:
        raise StudyError(f"{path}: no items; a study needs at least one")
    return tuple(items.values())


def _renamed(record: dict[str, Any], fields: dict[str, str]) -> dict[str, Any]:
    return {name: record.get(fields.get(name, name)) for name in FIELDS}


def _item(record: dict[str, Any], where: str, task: str, problems: list[str]) -> Item | None:
    """Check one record; a bad one adds to the problems."""
    before = len(problems)
    problems.extend(
        f"{where}: {name}: missing, every item needs it; add it or map it in items.fields"
        for name in _NEEDED[task]
        if record[name] is None
    )
    text = {name: _as_text(name, record[name], where, problems) for name in FIELDS}
    text["gold"] = _gold(record["gold"], text["gold"], where, task, problems)
    _check_names(text, where, problems)
    if len(problems) > before:
        return None
    if task == "pointwise":
        text["candidate_2"] = None
    return Item(
        id=text["id"] or "",
        stratum=text["stratum"] or None,
        instruction=text["instruction"] or "",
        candidate_1=text["candidate_1"] or "",
        candidate_2=text["candidate_2"],
        gold=text["gold"],
    )


def _as_text(name: str, value: Any, where: str, problems: list[str]) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        problems.append(f"{where}: {name}: a {type(value).__name__}, must be text; convert it")
        return None
    text = str(value)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            problems.append(
                f"{where}: {name}: half of a surrogate pair, no UTF-8 can carry it; repair the text"
            )
            return None
    return text


def _check_names(text: dict[str, str | None], where: str, problems: list[str]) -> None:
    for name in ("id", "stratum"):
        value = text[name]
        if value is None or (name == "stratum" and not value):
            continue
        if not value.strip():
            problems.append(f"{where}: {name}: empty, an item is told apart by it; give one")
        elif len(value) > _LONGEST_ID or not value.isprintable():
            problems.append(
                f"{where}: {name}: {value[:40]!r}, must be at most {_LONGEST_ID} printable "
                "characters; shorten it"
            )


def _gold(value: Any, text: str | None, where: str, task: str, problems: list[str]) -> str | None:
    """Read the right verdict; `1` and `2` name the candidates of a pair."""
    if not text:
        return None
    if task == "pointwise":
        return text
    gold = {"1": "candidate_1", "2": "candidate_2"}.get(text, text)
    if gold not in PAIR_GOLD:
        problems.append(
            f"{where}: gold: {str(value)[:40]!r}, must be candidate_1, candidate_2 or tie (or 1 "
            "or 2); correct it"
        )
    return gold


def to_jsonl(items: Iterable[Item]) -> str:
    """Write items as the frozen copy that a run keeps."""
    return "".join(canonical_json(asdict(item)) + "\n" for item in items)


def from_jsonl(text: str) -> Iterator[Item]:
    """Read the frozen copy back."""
    for line in text.split("\n"):
        if line:
            yield Item(**json.loads(line))
