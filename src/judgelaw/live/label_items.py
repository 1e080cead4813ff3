"""What is labelled: the items of a run, of a calls table or of an item file, without verdicts."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from judgelaw.acquire import CALLS
from judgelaw.errors import InputError
from judgelaw.live.label_book import Label
from judgelaw.record_files import json_of
from judgelaw.streams import stream
from judgelaw.study import RECORD, open_run, records
from judgelaw.tables import ALIASES, Wishes, read_items
from judgelaw.tensor import INVALID
from judgelaw.words import listed, visible

TIE = "tie"
_PAIR = ("candidate_1", "candidate_2")
_CANDIDATES = "candidates"
_MOST_LABELS = 20
_LONGEST_RANGE = 21
_UNSEEN = {
    *(name for part, names in ALIASES.items() for name in (part, *names)),
    *("id", "criterion", "date", "label", "labeller", "labels", "note", "time", "human", "score"),
    *("seed", "position", "call_id", "reply", "completion", "rationale", "reason", "reasoning"),
    *("explanation", "confidence", "missing", "raw", "parser", "displayed"),
}
"""Columns that say what the judge said, or say nothing about the item."""


Marked = tuple[tuple[str, bool], ...]
"""A text in pieces, each with whether it is to be marked."""


@dataclass(frozen=True, kw_only=True)
class ToLabel:
    """One item, as a person sees it.

    Attributes:
        id: of the item.
        texts: headings and texts that belong to it.
        candidates: answers to choose from, by the label that each stands for; empty where labels
            are classes or scores.
        answers: texts that stand beside each other under headings of their own, in pieces.
    """

    id: str
    texts: tuple[tuple[str, str], ...]
    candidates: tuple[tuple[str, str], ...] = ()
    answers: tuple[tuple[str, Marked], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Labelling:
    """Items to label, and the labels that may be given.

    Attributes:
        name: what they are from.
        items: in the sequence of the file.
        labels: that may be given, in their sequence.
        calls: rows with verdicts on these items; empty where nobody judged them yet.
        key: the column of these rows that names the item.
    """

    name: str
    items: Mapping[str, ToLabel]
    labels: tuple[str, ...]
    calls: Sequence[Mapping[str, Any]] = ()
    key: str = "item"

    def sequence(self, labeller: str) -> list[str]:
        """Return the items in a random sequence, the same one for this person every time."""
        ids = list(self.items)
        shuffled = stream(0, "labelling", self.name, labeller).permutation(len(ids))
        return [ids[n] for n in shuffled]

    def shown(self, item: str, labeller: str) -> dict[str, Any]:
        """Return an item for the page: answers stand in a random order and have no names."""
        found = self.items[item]
        if not found.candidates:
            choices = [{"label": label, "shown": visible(label)} for label in self.labels]
            answers = [[heading, _pieces(pieces)] for heading, pieces in found.answers]
            texts = _pairs(found.texts)
            return {"item": item, "texts": texts, "answers": answers, "choices": choices}
        turned = stream(0, "answers", self.name, labeller, item).permutation(len(found.candidates))
        told = [found.candidates[n] for n in turned]
        named = [f"Answer {n}" for n in range(1, len(told) + 1)]
        choices = [
            {"label": label, "shown": name} for (label, _), name in zip(told, named, strict=True)
        ]
        others = [label for label in self.labels if label not in dict(found.candidates)]
        choices += [{"label": label, "shown": visible(label.capitalize())} for label in others]
        shown = [text for _, text in told]
        return {
            "item": item,
            "texts": _pairs(found.texts),
            "answers": _pairs(zip(named, shown, strict=True)),
            "choices": choices,
        }


def _pairs(pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    return [[visible(heading), visible(text)] for heading, text in pairs]


def _pieces(text: Marked) -> list[list[str | bool]]:
    return [[visible(piece), marked] for piece, marked in text]


def joined(labelling: Labelling, labels: Iterable[Label]) -> list[dict[str, str]]:
    """Return the calls with what people said of their items: a row for each call and person.

    Calls on items that nobody labelled, or could not tell, have a blank label.
    """
    by_item: dict[str, list[Label]] = {}
    for given in labels:
        if given.label:
            by_item.setdefault(given.item, []).append(given)
    blank = [Label(item="", label="", labeller="", note="", time="")]
    return [
        {
            **{name: _text(value) for name, value in row.items()},
            "label": given.label,
            "labeller": given.labeller,
        }
        for row in labelling.calls
        for given in by_item.get(_text(row.get(labelling.key)), blank)
    ]


_MOST_ROWS = 1_000_000


def read_labelling(
    source: Path,
    *,
    labels: Sequence[str] = (),
    show: Sequence[str] = (),
    said: Wishes | None = None,
) -> Labelling:
    """Read what is to be labelled.

    Args:
        source: a run folder, a calls table or an item file, as every question reads it.
        labels: that may be given, or one range as `1-5`; by default the candidates of pairs, the
            labels of the study, or the verdicts of the table.
        show: the columns that a person sees; by default texts that belong to the item.
        said: how to read a table.
    """
    asked = _labels(labels)
    if source.is_dir():
        return _of_run(source, asked)
    if source.is_file() and not source.stat().st_size:
        raise InputError(f"{source}: no rows; there is nothing to label")
    found = read_items(str(source), said, most=_MOST_ROWS)
    return _of_rows(source, found.rows, asked, show, key=found.item, verdict=found.verdict)


def _labels(given: Sequence[str]) -> tuple[str, ...]:
    """Return the labels as declared; `1-5` is a range of scores."""
    words = tuple(word.strip() for word in given if word.strip())
    if len(words) == 1:
        low, dash, high = words[0].partition("-")
        if not (dash and low.isdigit() and high.isdigit() and int(low) < int(high)):
            raise InputError(
                f"--labels {words[0]}: one label is no choice; write --labels pass,fail or a range "
                "of scores as --labels 1-5"
            )
        words = tuple(map(str, range(int(low), int(high) + 1)))
    if len(set(words)) < len(words):
        raise InputError(f"--labels {','.join(words)}: a label stands there twice; name each once")
    if len(words) > _LONGEST_RANGE:
        raise InputError(
            f"{len(words)} labels, a page has keys for {_LONGEST_RANGE}; use a coarser scale"
        )
    return words


def _of_run(run: Path, asked: tuple[str, ...]) -> Labelling:
    if not (run / RECORD).is_file():
        raise InputError(
            f"{run}: no run was frozen here; name a run folder, a table or an item file"
        )
    frozen = open_run(run)
    rows: list[dict[str, Any]] = [
        {
            "id": item.id,
            "instruction": item.instruction,
            "candidate_1": item.candidate_1,
            "candidate_2": item.candidate_2,
        }
        for item in frozen.items.values()
    ]
    if any(item.more for item in frozen.items.values()):
        rows = [
            {"id": i.id, "instruction": i.instruction, _CANDIDATES: list(i.candidates)}
            for i in frozen.items.values()
        ]
    single = all("candidate_2" in row and row["candidate_2"] is None for row in rows)
    if single:
        rows = [
            {"id": r["id"], "instruction": r["instruction"], "answer": r["candidate_1"]}
            for r in rows
        ]
    found = _of_rows(run, rows, asked or frozen.study.verdicts or (), (), key="id", verdict=None)
    if not (run / CALLS).is_file():
        return found
    return replace(found, calls=[row for _, row in records("parquet", run / CALLS)])


def _of_rows(
    source: Path,
    rows: Sequence[Mapping[str, Any]],
    asked: tuple[str, ...],
    show: Sequence[str],
    *,
    key: str,
    verdict: str | None,
) -> Labelling:
    if not rows:
        raise InputError(f"{source}: no rows; there is nothing to label")
    names = list(dict.fromkeys(name for row in rows for name in row))
    if unknown := [name for name in show if name not in names]:
        raise InputError(
            f"--show {unknown[0]}: {source} has no such column; it has {listed(names)}"
        )
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if _text(row.get(key)):
            groups.setdefault(_text(row[key]), []).append(row)
    hidden = [name for name in names if name != verdict]
    columns = list(show) or _seen(hidden, groups.values(), key)
    items = {name: _item(name, group[0], columns) for name, group in groups.items()}
    if not any(item.texts or item.candidates for item in items.values()):
        raise InputError(
            f"{source}: no column says what an item is; it has {listed(names)}: add texts, label "
            "the item file or the run, or name columns with --show"
        )
    return Labelling(
        name=source.name,
        items=items,
        labels=asked or _default(source, items, rows, verdict),
        calls=() if verdict is None else rows,
        key=key,
    )


def _seen(
    names: Sequence[str], groups: Iterable[Sequence[Mapping[str, Any]]], key: str
) -> list[str]:
    """Return the columns that belong to items: one text each, and nothing of what a judge said."""
    left = [n for n in names if n != key and n.strip().casefold() not in _UNSEEN]
    left = [n for n in left if not n.casefold().startswith("p_")]
    for group in groups:
        left = [n for n in left if len({_text(row.get(n)) for row in group}) == 1]
    return left


def _item(name: str, row: Mapping[str, Any], columns: Sequence[str]) -> ToLabel:
    pair = all(_text(row.get(part)) for part in _PAIR) and set(_PAIR) <= set(columns)
    several = row.get(_CANDIDATES) if _CANDIDATES in columns else None
    if isinstance(several, str) and several.lstrip().startswith("["):
        with suppress(ValueError):  # a text that begins with a bracket
            several = json_of(several)
    candidates: tuple[tuple[str, str], ...] = ()
    hidden: set[str] = set()
    if pair:
        candidates, hidden = tuple((part, _text(row[part])) for part in _PAIR), set(_PAIR)
    elif isinstance(several, list | tuple):
        candidates = tuple((f"candidate_{n}", _text(x)) for n, x in enumerate(several, 1))
        hidden = {_CANDIDATES}
    texts = tuple(
        (column.replace("_", " ").capitalize(), _text(row.get(column)))
        for column in columns
        if column not in hidden and _text(row.get(column))
    )
    return ToLabel(id=name, texts=texts, candidates=candidates)


def _default(
    source: Path,
    items: Mapping[str, ToLabel],
    rows: Sequence[Mapping[str, Any]],
    column: str | None,
) -> tuple[str, ...]:
    """Return the labels that follow from the items: candidates, or what the judge may say."""
    most = max((item.candidates for item in items.values()), key=len)
    if most:
        labels = [label for label, _ in most]
        return (*labels, TIE) if len(labels) == len(_PAIR) else tuple(labels)
    said = sorted({_text(row.get(column)) for row in rows} - {"", INVALID}) if column else []
    if not 1 < len(said) <= _MOST_LABELS:
        raise InputError(
            f"{source}: nothing says which labels may be given; name them, as in "
            "--labels pass,fail or --labels 1-5"
        )
    return tuple(said)


def _text(value: Any) -> str:
    """Write a value of a file as people read it."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
