"""Logs whose format says what everything means: one row shape, and what was decided on the way."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import Any

from judgelaw.record_files import (
    check_regular,
    csv_rows,
    file_errors,
    json_document,
    json_lines,
    open_text,
)
from judgelaw.steps import Advance, unheard
from judgelaw.tables.importers.entries import as_text, mapping
from judgelaw.tables.importers.log_files import Archive
from judgelaw.tables.reading import Scale
from judgelaw.tensor import DEFAULT_VERDICTS, INVALID
from judgelaw.words import listed

Row = dict[str, str | None]
"""A call: its parts by name (`ROW`), and by names of `TEXTS` what was judged and replied."""

ROW = (
    *("judge", "criterion", "layer", "date", "item", "stratum", "prompt", "order", "repeat"),
    *("verdict", "gold", "human", "cluster", "answer"),
)
TEXTS = ("instruction", "candidate_1", "candidate_2", "reference", "reply")
PLACE, RESPONSE, CACHED = "@place", "@response", "@cached"
"""Where a row stands in the log, the provider's id of the reply, and whether a cache gave it."""

FIRST, SECOND, TIE = DEFAULT_VERDICTS[:3]
_LETTERS = 12
_PEEKED = 2**20
_BINARY = {b"PK\x03\x04": "archive", b"PAR1": "parquet"}


@dataclass(frozen=True, kw_only=True)
class KnownLog:
    """A log as calls, with what was decided on the way.

    Attributes:
        format: what `--from` calls it.
        name: what wrote it, in words.
        says: one sentence for each choice: what is the judge, the item, the verdict.
        left_out: what is no call of a judge, by name and count.
        rows: the calls; candidates are restored. `known_log` gives them without copies, all with
            the same keys, and with the repeat counted from 0 in each cell.
        scale: None where verdicts are labels, or nothing says which scores there are.
    """

    format: str
    name: str
    says: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    rows: list[Row]
    scale: Scale | None = None


class LogFile:
    """A file, and what its first bytes show of it.

    Attributes:
        path: where it is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def _start(self) -> str:
        with open_text(self.path) as file:
            return file.read(_PEEKED).lstrip()

    @cached_property
    def kind(self) -> str:
        """What the first bytes show.

        `archive` (zip), `document` (one JSON object), `records` (JSON lines, or an array of
        objects), `parquet`, or `table` (other text).
        """
        check_regular(self.path)
        with file_errors(self.path), self.path.open("rb") as raw:
            magic = raw.read(4)
        if magic in _BINARY:
            return _BINARY[magic]
        start = self._start
        if start.startswith("["):
            return "records"
        if not start.startswith("{"):
            return "table"
        try:
            _, end = json.JSONDecoder().raw_decode(start)
        except ValueError:
            return "document"
        return "records" if start[end:].lstrip().startswith("{") else "document"

    @cached_property
    def archive(self) -> Archive:
        """The entries of a zip archive."""
        return Archive(self.path)

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """The JSON object that the file is; empty where it is none."""
        return mapping(json_document(self.path)) if self.kind == "document" else {}

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, or the fields of the first record."""
        return tuple(self.first)

    @cached_property
    def first(self) -> Mapping[str, Any]:
        """The first record; of one document, the document; empty where there is none."""
        if self.kind == "document":
            return self.document
        if self._start.startswith("["):
            try:
                found, _ = json.JSONDecoder().raw_decode(self._start[1:].lstrip())
            except ValueError:
                pass
            else:
                return mapping(found)
        return next((record for _, record in self.records()), {})

    def records(self, tick: Advance = unheard) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield every record with its place."""
        if self.kind == "document":
            yield str(self.path), self.document
        elif self.kind == "records" and self._start.startswith("["):
            found = json_document(self.path, tick)
            for number, record in enumerate(found if isinstance(found, list) else ()):
                if isinstance(record, dict):
                    yield f"{self.path}: entry {number}", record
        elif self.kind == "records":
            yield from json_lines(self.path, tick)
        elif self.kind == "table":
            yield from csv_rows(self.path, tick)


def hashed(*texts: Any) -> str:
    """Name what was judged by what it is: equal texts have equal names."""
    text = json.dumps(texts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:_LETTERS]


def candidate(word: str, order: str) -> str:
    """Return the candidate that a displayed position names; TIE and `invalid` stay themselves.

    >>> candidate("A", "AB"), candidate("A", "BA"), candidate("tie", "BA")
    ('candidate_1', 'candidate_2', 'tie')
    """
    pair = (FIRST, SECOND) if order == "AB" else (SECOND, FIRST)
    return dict(zip("AB", pair, strict=True)).get(word, word)


def better(decision: Any) -> str:
    """Return A, B, tie or invalid for a decision such as `A>B`, `B>>A`, `A=B`, `A<B`, `[[A]]`."""
    text = (as_text(decision) or "").strip().strip("[]").upper().replace(" ", "")
    if text in {"A", "A>B", "A>>B", "B<A", "B<<A"}:
        return "A"
    if text in {"B", "B>A", "B>>A", "A<B", "A<<B"}:
        return "B"
    return TIE if text in {"A=B", "B=A", "C", "TIE"} else INVALID


_HUMAN = ("human", "human_label", "human_score", "human_rating", "human_verdict", "human_grade")


def human_label(*records: Any) -> str | None:
    """Return what people said of it, where a record of a log holds that by name."""
    found = (as_text(mapping(record).get(name)) for record in records for name in _HUMAN)
    return next((text.strip() for text in found if text and text.strip()), None)


def finished(rows: Sequence[Row]) -> list[Row]:
    """Count the calls of every cell from 0, and give all rows the same keys."""
    seen: Counter[tuple[str | None, ...]] = Counter()
    whole = ("judge", "criterion", "layer", "date", "item", "prompt", "order")
    kept = [key for key in (*ROW, *TEXTS, PLACE, RESPONSE, CACHED) if _anywhere(rows, key)]
    found = []
    for row in rows:
        cell = tuple(row.get(part) for part in whole)
        known = {key: row.get(key) for key in kept}
        found.append({**known, "repeat": str(seen[cell])})
        seen[cell] += 1
    return found


def _anywhere(rows: Iterable[Row], key: str) -> bool:
    return any(row.get(key) is not None for row in rows)


def prompts_crossed(rows: Sequence[Row]) -> bool:
    """Whether an item was judged under several prompts: else their names belong to the items."""
    seen: dict[tuple[str | None, ...], str | None] = {}
    for row in rows:
        key = (row["judge"], row["item"], row.get("criterion"))
        if seen.setdefault(key, row["prompt"]) != row["prompt"]:
            return True
    return False


def one_prompt(rows: list[Row], name: str) -> str:
    """Replace prompts that no item shares by one, and say which it was.

    A tool that takes another template for each kind of question has one prompt policy, not several
    prompts of a crossed design.
    """
    names = sorted({str(row["prompt"]) for row in rows})
    if len(names) < 2 or prompts_crossed(rows):  # noqa: PLR2004 - two are several
        return f"prompt: {listed(names)}"
    for row in rows:
        row["prompt"] = name
    return f"prompt: one, {name!r}; each item has its own template of {listed(names)}"


def counts(left_out: Counter[str]) -> tuple[str, ...]:
    """Say what was left out, by name and count."""
    return tuple(f"{name}: {n}" for name, n in left_out.items())


_CELL = ("item", "prompt", "order")


def judged_by_the_model(source: str, path: Path, *records: Any) -> str:
    """Say how a log is read in which the model under test is itself the judge.

    The command is printed as it works where the records name cells of a judge; anywhere else it
    would import nonsense, and the parser is left to the reader.
    """
    command = f"judgelaw import --from {source} {quote(str(path))} --parser"
    if any(part in mapping(record) for record in records for part in _CELL):
        return (
            "Its records name item, prompt or order as those of a judge do: if the model under "
            f"test is the judge, its replies are read with {command} first-line"
        )
    return (
        "Nothing in it says that the model under test is itself a judge; if it is, its replies are "
        f"read with {command} RULE (first-line, regex:PATTERN, json:FIELD or score:MIN..MAX)"
    )
