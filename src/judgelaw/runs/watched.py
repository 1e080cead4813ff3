"""The same items asked on several dates, out of one table, one run, or one of each date."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from judgelaw.errors import InputError, TableError
from judgelaw.option_types import Option, checked, names
from judgelaw.runs.labelled import HUMAN, of_criterion, of_judge, rows_of
from judgelaw.runs.reading_options import SEED, Selection
from judgelaw.runs.several_sources import several
from judgelaw.runs.source import said_in

if TYPE_CHECKING:
    from judgelaw.labels import DatedCall, Watch
    from judgelaw.tables import LabelledRows

LOOKS = 52
"""The declared number of looks unless told: a year of weeks."""


@checked
def watch(
    *xs: Any,
    looks: Annotated[int, Option(least=1, why="a watch looks at least once")] = LOOKS,
    human: Annotated[str, Option(rule=names)] = HUMAN,
    positive: str | None = None,
    judge: str | None = None,
    criterion: str | None = None,
    permutations: Annotated[int, Option(least=1, why="a p value needs one")] = 39_999,
    seed: Annotated[int, SEED] = 0,
    **reading: Unpack[Selection],
) -> "Watch":
    """Say whether a judge moved, since when, how far, and on which items.

    Args:
        xs: one table or run with a column `date`, or tables or runs of one date each, one by one,
            in a list or by name; each as for `validate`. What has no date goes by its name, in the
            sequence given.
        looks: the declared number of looks, 104 at most: false alarms over all of them stay at 5%.
        human: the column of people's labels on anchors, where there are some.
        positive: the verdict whose share is the score.
        judge: the judge to look at; needed where there are several.
        criterion: the criterion to look at; needed where there are several.
        permutations: the most behind a p value; 199 are enough where it is not small.
        seed: of the permutations.
        reading: which calls, and how to read the tables.

    >>> import judgelaw as jl
    >>> rows = [{"date": f"2026-05-{d:02}", "item": i, "repeat": r, "verdict": "ab"[(i + r) % 2]}
    ...         for d in (3, 10, 17) for i in range(20) for r in range(3)]
    >>> jl.watch(rows).alarm is None
    True
    """
    from judgelaw.labels import lay_out_waves, watch_waves

    names_given, sources, own_names = several(xs)
    if not sources:
        raise InputError("nothing to watch: give a table with a column date, or one of each date")
    said = said_in(reading)
    read = [of_criterion(rows_of(x, human=human, said=said), criterion) for x in sources]
    named = names_given if own_names else [_named(x, i) for i, x in enumerate(sources)]
    dates, notes = _dates(read, named)
    calls = [
        call
        for rows, name, x in zip(read, named, sources, strict=True)
        for call in _calls(of_judge(rows, judge, reading)[1], name, _texts(x))
    ]
    waves = lay_out_waves(calls, dates, positive=positive)
    found = watch_waves(waves, looks=looks, positive=positive, permutations=permutations, seed=seed)
    return _with_notes(found, notes)


def _named(x: Any, place: int) -> str:
    """Return what a source without dates is called: its file or folder, else its place."""
    path = getattr(x, "path", x)
    if isinstance(path, str | PathLike):
        return Path(path).name.split(".")[0]
    return f"{place + 1}"


def _dates(read: "Sequence[LabelledRows]", named: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return all dates in the sequence of time, and what is to be said about them."""
    from judgelaw.labels import check_dates, out_of_order

    dated = ["date" in rows.columns for rows in read]
    if any(dated) and not all(dated):
        lacking = read[dated.index(False)].table
        raise TableError(f"{lacking} has no column 'date', and others have one: add it")
    if not any(dated):
        _refuse_twice(named)
        return list(named), []
    every = [sorted({_day(rows, day) for day in rows.column("date")}) for rows in read]
    _refuse_twice([day for days in every for day in days])
    flat = [day for days in every for day in days]
    note = out_of_order(flat)
    return check_dates(flat, table=read[0].table), [] if note is None else [note]


def _day(rows: "LabelledRows", day: str | None) -> str:
    if day is None:
        raise TableError(
            f"{rows.table}: a call has no date, and others have one: fill the column, or leave it "
            "out with columns={'date': None}"
        )
    return day.strip()


def _refuse_twice(dates: Sequence[str]) -> None:
    date, times = Counter(dates).most_common(1)[0]
    if times > 1:
        raise InputError(
            f"{date} is there {times} times: a date is asked once; put its calls into one table, "
            "or give each wave a date of its own"
        )


def _texts(x: Any) -> dict[str, str]:
    """Return what identifies the text of each item of a run; nothing for a table."""
    from judgelaw.study import open_run

    path = getattr(x, "path", x)
    if not isinstance(path, str | PathLike) or not (Path(path) / "study.yaml").is_file():
        return {}
    return {name: item.sha256 for name, item in open_run(Path(path)).items.items()}


def _calls(rows: "LabelledRows", name: str, texts: Mapping[str, str]) -> "list[DatedCall]":
    from judgelaw.labels import DatedCall

    parts = ("date", "item", "verdict", "prompt", "order", "repeat", "human", "text")
    found: dict[tuple[str | None, ...], DatedCall] = {}
    for place, values in enumerate(zip(*(rows.column(part) for part in parts), strict=True)):
        date, item, verdict, prompt, order, repeat, human, text = values
        if verdict is None or item is None:
            continue
        rank = str(place) if repeat is None else repeat
        call = DatedCall(
            date=name if date is None else date.strip(),
            item=item,
            verdict=verdict.strip(),
            prompt=prompt,
            order=order,
            repeat=rank,
            human=human,
            text=texts.get(item, text),
        )
        key = (call.date, item, prompt, order, rank)
        if found.setdefault(key, call).verdict != call.verdict:
            raise TableError(
                f"{rows.table}: item {item!r}, repeat {rank} of {call.date} has two verdicts: "
                "a call has one verdict: remove the surplus row"
            )
    return list(found.values())


def _with_notes(found: "Watch", notes: Sequence[str]) -> "Watch":
    return replace(found, notes=(*notes, *found.notes))
