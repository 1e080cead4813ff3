"""Items: the things that are judged, read from files and chosen for layers."""

import csv
import gzip
import io
import json
import sys
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from judgelaw.duck import one_file
from judgelaw.errors import InputError, StudyError
from judgelaw.streams import stream
from judgelaw.study.models import Selection
from judgelaw.wire import canonical_json, sha256_hex
from judgelaw.words import plain_number

Record = tuple[str, dict[str, Any]]
"""Where a record stands (`file:line`) and its fields under the file's own names."""


def records(source: str, path: Path) -> Iterator[Record]:
    """Yield the records of an item file, or of a folder of LLMBar files."""
    if not path.exists():
        raise StudyError(f"{path}: no such file or folder; paths are relative to the study file")
    yield from _READERS[source](path)


def _text(path: Path) -> str:
    """Read UTF-8, and name the line of the first byte that is not."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = _unpacked(content, path)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise StudyError(
            f"{path}:{line}: byte 0x{content[error.start]:02x}, items must be UTF-8; convert the "
            "file"
        ) from None


def _unpacked(content: bytes, path: Path) -> bytes:
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise StudyError(f"{path}: no gzip file ({error}); fetch or make it again") from None


def _jsonl(path: Path) -> Iterator[Record]:
    # Split at line feeds only: JSON strings may hold the other line breaks of Unicode.
    for number, line in enumerate(_text(path).split("\n"), 1):
        if line.strip():
            yield f"{path}:{number}", _object(line, path, number)


def _object(text: str, path: Path, line: int) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise StudyError(f"{path}:{line}: no JSON ({error}); write one object a line") from None
    if not isinstance(value, dict):
        raise StudyError(
            f"{path}:{line}: a JSON {type(value).__name__}, must be an object; write one object "
            "a line"
        )
    return value


def _csv(path: Path) -> Iterator[Record]:
    csv.field_size_limit(sys.maxsize)
    # newline="" keeps the line breaks inside quoted fields as they are.
    reader = csv.reader(io.StringIO(_text(path), newline=""), strict=True)
    header: list[str] | None = None
    start = 1
    try:
        for row in reader:
            where, start = f"{path}:{start}", reader.line_num + 1
            if header is None:
                header = row
            elif row:
                yield where, _row(header, row, where)
    except csv.Error as error:
        raise StudyError(f"{path}:{reader.line_num}: no CSV ({error}); quote the field") from None


def _row(header: list[str], row: list[str], where: str) -> dict[str, Any]:
    if len(row) != len(header):
        raise StudyError(
            f"{where}: {len(row)} fields, the header has {len(header)}; quote text with commas"
        )
    return dict(zip(header, row, strict=True))


def _parquet(path: Path) -> Iterator[Record]:
    import duckdb  # noqa: PLC0415 - heavy, and only Parquet needs it

    with duckdb.connect() as connection:
        try:
            found = connection.execute(f"SELECT * FROM {one_file(path)}")  # noqa: S608 - the path is quoted
        except duckdb.Error as error:
            raise StudyError(f"{path}: no Parquet file ({error}); check the file") from None
        names = [column[0] for column in found.description or []]
        for number, row in enumerate(iter(found.fetchone, None), 1):
            yield f"{path}: row {number}", dict(zip(names, row, strict=True))


def _llmbar(path: Path) -> Iterator[Record]:
    """Yield the records of LLMBar: a file of one subset, or a folder of them, by split or not.

    The released repository keeps one `dataset.json` in a folder of each subset. A split is the
    folder above the subset's (`test/Natural.json`), or the field `split` of a record.
    """
    files = [path]
    if path.is_dir():
        found = (path.glob("*.json"), path.rglob("dataset.json"), path.rglob("*.json"))
        files = next((each for each in map(sorted, found) if each), [])
    if not files:
        raise StudyError(f"{path}: no *.json files; llmbar is a folder of LLMBar files")
    places = {file: _place(file, path) for file in files}
    twice = len({subset for subset, _ in places.values()}) < len(files)
    for file, (subset, split) in places.items():
        prefix = f"{split}-{subset}" if split and twice else subset
        for number, (line, fields) in enumerate(_array(file)):
            yield (
                f"{file}:{line}",
                {
                    "id": f"{prefix}-{number:03d}",
                    "stratum": subset,
                    "split": fields.get("split", split),
                    "instruction": fields.get("input"),
                    "candidate_1": fields.get("output_1"),
                    "candidate_2": fields.get("output_2"),
                    "gold": fields.get("label"),
                },
            )


def _place(file: Path, root: Path) -> tuple[str, str | None]:
    """Return the subset and the split that the place of a file says."""
    names = [*file.relative_to(root if root.is_dir() else root.parent).parent.parts]
    if file.stem != "dataset":
        names.append(file.stem)
    elif not names:
        names = [file.parent.name]
    *above, subset = names
    # The released repository has its adversarial subsets in a folder of their own.
    above = [name for name in above if name != "Adversarial"]
    return subset, above[-1] if above else None


def _array(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a JSON array with the line on which each starts."""
    text, decoder = _text(path), json.JSONDecoder()
    place = _skip(text, 0, "[")
    if place is None:
        raise StudyError(f"{path}:1: no JSON array; an LLMBar file is a list of objects")
    while (start := _skip(text, place, "")) is not None and text[start : start + 1] != "]":
        line = text.count("\n", 0, start) + 1
        try:
            value, end = decoder.raw_decode(text, start)
        except (json.JSONDecodeError, RecursionError) as error:
            raise StudyError(f"{path}:{line}: no JSON ({error}); repair the file") from None
        if not isinstance(value, dict):
            raise StudyError(f"{path}:{line}: no object; an LLMBar file is a list of objects")
        yield line, value
        place = _skip(text, end, ",") or end
    if start is None:
        raise StudyError(f"{path}: the list is not closed; the file is cut, fetch it again")


def _skip(text: str, place: int, mark: str) -> int | None:
    """Step over blanks and one mark; None where the mark is missing or the text ends."""
    while place < len(text) and text[place] in " \t\r\n":
        place += 1
    if place == len(text) or not text.startswith(mark, place):
        return None
    return place + len(mark)


_READERS: dict[str, Callable[[Path], Iterator[Record]]] = {
    "jsonl": _jsonl,
    "csv": _csv,
    "parquet": _parquet,
    "llmbar": _llmbar,
}


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


def read_items(
    source: str,
    path: Path,
    fields: dict[str, str],
    task: str,
    *,
    split: bool = False,
    verdicts: tuple[str, ...] | None = None,
) -> tuple[Item, ...]:
    """Read the items of a study; every bad record is named with its line.

    Args:
        source: `jsonl`, `csv`, `parquet` or `llmbar`.
        path: the file or folder.
        fields: names in the file by contract name.
        task: `pairwise` needs two candidates, `pointwise` one.
        verdicts: what gold may be of single answers; anything where None.
        split: make strata of split and subset, where the file is one of LLMBar.
    """
    items: dict[str, Item] = {}
    seen: dict[str, str] = {}
    problems: list[str] = []
    for where, record in records(source, path):
        if split:
            _split_stratum(record, where, problems)
        item = _item(_renamed(record, fields), where, task, problems)
        if item is None:
            continue
        if verdicts is not None and item.gold is not None:
            item = replace(item, gold=_among(item.gold, verdicts, where, problems))
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


def _split_stratum(record: dict[str, Any], where: str, problems: list[str]) -> None:
    if record.get("split") is None:
        problems.append(
            f"{where}: split: missing, strata: split needs one; give every record a field split, "
            "or put the files of each split into a folder of its name"
        )
    record["stratum"] = f"{record.get('split')}-{record['stratum']}"


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


def to_jsonl(items: Iterable[Item]) -> str:
    """Write items as the frozen copy that a run keeps."""
    return "".join(canonical_json(asdict(item)) + "\n" for item in items)


def from_jsonl(text: str) -> Iterator[Item]:
    """Read the frozen copy back."""
    for line in text.split("\n"):
        if line:
            yield Item(**json.loads(line))


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
