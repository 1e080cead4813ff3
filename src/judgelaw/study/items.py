"""Items: the things that are judged, checked and chosen for layers."""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from judgelaw.errors import InputError, StudyError
from judgelaw.record_files import Record, json_of
from judgelaw.streams import stream
from judgelaw.study.criteria import gold_text
from judgelaw.study.item_files import records
from judgelaw.study.models import Selection
from judgelaw.wire import canonical_json, sha256_hex
from judgelaw.words import MOST_CANDIDATES, candidate_names, plain_number, storable

FIELDS = (
    *("id", "stratum", "cluster", "instruction", "candidate_1", "candidate_2", "candidates"),
    "gold",
)
_LABELS = ("id", "stratum", "cluster")
PAIR_GOLD = ("candidate_1", "candidate_2", "tie")

_NEEDED = {
    "pairwise": ("id", "instruction", "candidate_1", "candidate_2"),
    "pointwise": ("id", "instruction", "candidate_1"),
    "choose": ("id", "instruction", "candidates"),
}
_LATER = ("more", "cluster", "fields")
"""Fields of an item that are kept and hashed only where it has them."""
_LONGEST_ID = 200
_FEWEST = 2
_SHOWN = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """One thing to judge; `candidate_2` is None where single answers are judged.

    `more` holds the candidates beyond the second, where one of several is chosen; `cluster` names
    what the item shares with others (a document, a conversation). `fields` are all other fields of
    its record by name, their values as JSON.
    """

    id: str
    stratum: str | None
    instruction: str
    candidate_1: str
    candidate_2: str | None
    gold: str | None
    more: tuple[str, ...] = ()
    cluster: str | None = None
    fields: tuple[tuple[str, str], ...] = ()

    @property
    def others(self) -> dict[str, Any]:
        """The other fields, with their values as the record has them."""
        return {name: json.loads(value) for name, value in self.fields}

    @property
    def texts(self) -> dict[str, str]:
        """The other fields as a prompt shows them: texts as they are, lists line by line."""
        return {name: _shown(value) for name, value in self.others.items()}

    @property
    def candidates(self) -> tuple[str, ...]:
        """All candidates, the first one first."""
        second = () if self.candidate_2 is None else (self.candidate_2,)
        return (self.candidate_1, *second, *self.more)

    def changed(self, place: int, text: str) -> "Item":
        """Return the item with another text for one candidate, and without gold."""
        texts = (*self.candidates[:place], text, *self.candidates[place + 1 :])
        second = None if self.candidate_2 is None else texts[1]
        return replace(self, candidate_1=texts[0], candidate_2=second, more=texts[2:], gold=None)

    def as_dict(self) -> dict[str, Any]:
        """Return what is kept and hashed; `more` and `cluster` only where an item has them."""
        values = {**asdict(self), "fields": self.others}
        return {k: v for k, v in values.items() if v or k not in _LATER}

    @property
    def sha256(self) -> str:
        """SHA-256 of everything that the item is."""
        return sha256_hex(canonical_json(self.as_dict()))


def read_items(
    source: str,
    path: Path,
    fields: dict[str, str],
    task: str,
    *,
    given: Iterable[Record] | None = None,
    split: bool = False,
    criteria: Collection[str] = (),
    verdicts: tuple[str, ...] | None = None,
    ends: tuple[float, float] | None = None,
) -> tuple[Item, ...]:
    """Read the items of a study; every bad record is named with its line.

    Args:
        source: `jsonl`, `csv`, `parquet` or `llmbar`.
        path: the file or folder.
        given: the records themselves, in place of those of the file.
        fields: names in the file by contract name.
        task: `pairwise` needs two candidates, `pointwise` one, `choose` a list of them.
        verdicts: what gold may be of single answers; anything where None.
        ends: of a continuous scale, between which gold is.
        split: make strata of split and subset, where the file is one of LLMBar.
        criteria: of the study; gold then names a verdict for each of them.
    """
    items: dict[str, Item] = {}
    seen: dict[str, str] = {}
    problems: list[str] = []
    for where, found in records(source, path) if given is None else given:
        record = dict(found)
        if split:
            _split_stratum(record, where, problems)
        if task == "pointwise" and record.get("candidate_1") is None and "candidate" in record:
            record["candidate_1"] = record.pop("candidate")
        renamed = _renamed(record, fields)
        gold = renamed.pop("gold") if criteria else None
        item = _item({"gold": None, **renamed}, where, task, problems)
        if item is None:
            continue
        item = replace(item, fields=_others(record, fields))
        item = replace(item, gold=_checked(item.gold, verdicts, ends, where, problems))
        if item.id in seen:
            problems.append(
                f"{where}: id: {item.id!r}, already used at {seen[item.id]}; ids must be distinct"
            )
            continue
        seen[item.id] = where
        if criteria:
            read = partial(_right, where=where, task=task, verdicts=verdicts, problems=problems)
            item = replace(item, gold=gold_text(gold, criteria, where, read, problems))
        items[item.id] = item
    if task == "choose":
        problems.extend(_unequal(items, seen))
    _refuse(problems)
    if not items:
        raise StudyError(f"{path}: no items; a study needs at least one")
    return tuple(items.values())


def _refuse(problems: Sequence[str]) -> None:
    """Refuse items that are wrong, naming the first of them."""
    if problems:
        more = len(problems) - _SHOWN
        tail = [f"... and {more} more problems"] if more > 0 else []
        raise StudyError("\n".join([*problems[:_SHOWN], *tail]))


def _split_stratum(record: dict[str, Any], where: str, problems: list[str]) -> None:
    if record.get("split") is None:
        problems.append(
            f"{where}: split: missing, strata: split needs one; give every record a field split, "
            "or put the files of each split into a folder of its name"
        )
    record["stratum"] = f"{record.get('split')}-{record['stratum']}"


def _renamed(record: dict[str, Any], fields: dict[str, str]) -> dict[str, Any]:
    return {name: record.get(fields.get(name, name)) for name in FIELDS}


def _others(record: Mapping[str, Any], fields: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the fields of a record that are no part of every item, sorted; empty ones left out.

    A frozen copy of items has them under `fields`.
    """
    read = {fields.get(name, name) for name in FIELDS} | {"split"}
    nested = record.get("fields")
    flat = {**record, **nested} if isinstance(nested, Mapping) else record
    if isinstance(nested, Mapping):
        read.add("fields")
    found = ((storable(name) or "", _as_json(flat[name])) for name in flat if name not in read)
    return tuple(sorted((name, value) for name, value in found if value is not None))


def _as_json(value: Any) -> str | None:
    """Return a value as JSON; None for what is missing or empty."""
    if value is None or value == "" or (isinstance(value, float) and not math.isfinite(value)):
        return None
    try:
        return canonical_json(value)
    except (TypeError, ValueError):
        return canonical_json(storable(str(value)))


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return "\n\n".join(value)
    return json.dumps(value, ensure_ascii=False)


def _item(record: dict[str, Any], where: str, task: str, problems: list[str]) -> Item | None:
    """Check one record; a bad one adds to the problems."""
    before = len(problems)
    problems.extend(
        f"{where}: {name}: missing, every item needs it; add it or map it in items.fields"
        for name in _NEEDED[task]
        if record[name] is None
    )
    several = record.pop("candidates")
    listed = _candidates(several, where, problems) if task == "choose" else []
    text = {name: _as_text(name, value, where, problems) for name, value in record.items()}
    if task == "choose":
        text["gold"] = _gold_of_several(text["gold"], where, len(listed), problems)
    else:
        text["gold"] = _gold(record["gold"], text["gold"], where, task, problems)
    _check_names(text, where, problems)
    if len(problems) > before:
        return None
    if task == "pointwise":
        text["candidate_2"] = None
    if task == "choose":
        text["candidate_1"], text["candidate_2"] = listed[:2]
    return Item(
        id=text["id"] or "",
        stratum=text["stratum"] or None,
        instruction=text["instruction"] or "",
        candidate_1=text["candidate_1"] or "",
        candidate_2=text["candidate_2"],
        gold=text["gold"],
        more=tuple(listed[2:]),
        cluster=text["cluster"] or None,
    )


def _candidates(value: Any, where: str, problems: list[str]) -> list[str]:
    """Read the candidates of an item: a list, or a list as JSON where a file holds text alone."""
    if value is None:
        return []
    if isinstance(value, str):
        try:
            value = json_of(value)
        except ValueError:
            value = None
    if not isinstance(value, list | tuple):
        problems.append(f"{where}: candidates: no list of texts; write them as a list")
        return []
    if not _FEWEST <= len(value) <= MOST_CANDIDATES:
        problems.append(
            f"{where}: candidates: {len(value)}, must be {_FEWEST} to {MOST_CANDIDATES}; add or "
            "leave out some"
        )
        return []
    found = [_as_text(f"candidates[{n}]", text, where, problems) for n, text in enumerate(value)]
    empty = [n for n, text in enumerate(value) if text is None]
    problems.extend(f"{where}: candidates[{n}]: missing; write its text" for n in empty)
    return [text or "" for text in found]


def _unequal(items: Mapping[str, Item], seen: Mapping[str, str]) -> Iterator[str]:
    """Yield the items whose number of candidates is not that of most."""
    sizes = Counter(len(item.candidates) for item in items.values())
    usual = max(sizes, key=lambda size: sizes[size], default=0)
    for item in items.values():
        if (size := len(item.candidates)) != usual:
            word = "fewer" if size < usual else "more"
            yield (
                f"{seen[item.id]}: candidates: {size}, {word} than the {usual} of "
                f"{sizes[usual]} other items; give every item the same number"
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
    for name in _LABELS:
        value = text[name]
        if value is None or (name != "id" and not value):
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


def _right(
    value: Any, where: str, task: str, verdicts: tuple[str, ...] | None, problems: list[str]
) -> str | None:
    """Read one right verdict, which must be one of those that are declared."""
    gold = _gold(value, _as_text("gold", value, where, problems), where, task, problems)
    return gold if gold is None or not verdicts else _among(gold, verdicts, where, problems)


def _gold_of_several(
    text: str | None, where: str, candidates: int, problems: list[str]
) -> str | None:
    """Read the right verdict of several candidates; numbers name them too."""
    if not text:
        return None
    names = candidate_names(candidates)
    gold = dict(zip(map(str, range(1, candidates + 1)), names, strict=True)).get(text, text)
    if names and gold not in names:
        problems.append(
            f"{where}: gold: {text[:40]!r}, must be candidate_1 to candidate_{candidates} (or 1 to "
            f"{candidates}); correct it"
        )
    return gold


def _among(gold: str, verdicts: tuple[str, ...], where: str, problems: list[str]) -> str:
    """Return the verdict that a gold value names: `4.0` is the score 4."""
    if gold in verdicts:
        return gold
    with suppress(ValueError):  # a label
        gold = plain_number(float(gold))
    if gold not in verdicts:
        known = ", ".join(verdicts)
        problems.append(f"{where}: gold: {gold[:40]!r}, must be one of {known}; correct it")
    return gold


def _checked(
    gold: str | None,
    verdicts: tuple[str, ...] | None,
    ends: tuple[float, float] | None,
    where: str,
    problems: list[str],
) -> str | None:
    """Return a gold value as the verdicts that are declared write it."""
    if gold is None or (verdicts is None and ends is None):
        return gold
    if verdicts is not None:
        return _among(gold, verdicts, where, problems)
    return _between(gold, ends or (-math.inf, math.inf), where, problems)


def _between(gold: str, ends: tuple[float, float], where: str, problems: list[str]) -> str:
    """Return the score that a gold value names, in plain digits."""
    try:
        score = float(gold)
    except ValueError:
        score = math.nan
    if not ends[0] <= score <= ends[1]:
        text = f"{gold[:40]!r}, must be a score from {ends[0]:g} to {ends[1]:g}; correct it"
        problems.append(f"{where}: gold: {text}")
        return gold
    return plain_number(score)


def to_jsonl(items: Iterable[Item]) -> str:
    """Write items as the frozen copy that a run keeps."""
    return "".join(canonical_json(item.as_dict()) + "\n" for item in items)


def from_jsonl(text: str) -> Iterator[Item]:
    """Read the frozen copy back."""
    for line in text.split("\n"):
        if line:
            yield from_dict(json_of(line))


def from_dict(values: dict[str, Any]) -> Item:
    """Return an item from what `as_dict` gave."""
    others = {"fields": values.get("fields", {})}
    return Item(**{**values, "more": tuple(values.get("more", ())), "fields": _others(others, {})})


SAMPLE = "sample"
"""The name of the study's own selection in the seed's stream."""


def select(
    items: Sequence[Item], name: str, selections: Mapping[str, Selection], seed: int
) -> tuple[Item, ...]:
    """Return the items of the selection `name`, in the sequence of the file.

    A sample depends on the seed, the selection's name and the ids of a stratum, not on the
    sequence of the file. A selection that declares nothing holds every item.
    """
    chosen = _members(items, name, selections, seed)
    return tuple(item for item in items if item.id in chosen)


def _members(
    items: Sequence[Item], name: str, selections: Mapping[str, Selection], seed: int
) -> set[str]:
    selection = selections[name]
    if selection.complement_of is not None:
        others = _members(items, selection.complement_of, selections, seed)
        rest = {item.id for item in items} - others
        if not rest:
            raise InputError(
                f"complement_of {selection.complement_of!r} holds no item; that selection takes all"
            )
        return rest
    if selection.per_stratum is None:
        return {item.id for item in items}
    return _sample(items, name, selection.per_stratum, seed)


def _sample(items: Sequence[Item], name: str, size: int, seed: int) -> set[str]:
    strata: dict[str, list[str]] = defaultdict(list)
    for item in items:
        strata[item.stratum or ""].append(item.id)
    chosen: set[str] = set()
    for stratum, ids in sorted(strata.items()):
        if len(ids) < size:
            raise InputError(
                f"per_stratum {size} exceeds the {len(ids)} items of stratum {stratum!r}; ask for "
                "fewer or add items"
            )
        drawn = stream(seed, "items", name, stratum).choice(len(ids), size, replace=False)
        ids.sort()
        chosen.update(ids[place] for place in drawn)
    return chosen
