"""Anything that holds verdicts and labels, held against people."""

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from judgelaw.errors import InputError, TableError
from judgelaw.option_types import Option, checked, names
from judgelaw.runs.reading_options import SEED, Selection, select, selected
from judgelaw.runs.source import key_of, said_in
from judgelaw.tables import Wishes
from judgelaw.words import listed, stream_name

if TYPE_CHECKING:
    from judgelaw.labels import LabelChoice, Row, Validation
    from judgelaw.tables import LabelledRows
    from judgelaw.tensor import VerdictTensor

HUMAN = "human"
"""The column of people's labels unless another one is named; `gold` where there is none."""


def _column_or_labels(name: str, value: Any) -> None:
    """Names of columns, or the labels themselves."""
    if _flat(value) is None:
        names(name, value)


def _flat(x: Any) -> list[Any] | None:
    """Return the values of a list, array or Series of plain values; None for all else."""
    if isinstance(x, str | bytes | PathLike | Mapping) or hasattr(x, "columns"):
        return None
    values = x.tolist() if hasattr(x, "tolist") else x.to_list() if hasattr(x, "to_list") else x
    plain = isinstance(values, list | tuple) and all(
        value is None or isinstance(value, str | int | float) for value in values
    )
    return list(values) if plain and values else None


def _paired(x: Any, human: Any) -> list[dict[str, Any]] | None:
    """Return a row for each verdict with its label; None where x is no list of verdicts."""
    verdicts, labels = _flat(x), _flat(human)
    if verdicts is None or labels is None or any(Path(str(v)).is_file() for v in verdicts[:1]):
        return None
    if len(labels) != len(verdicts):
        raise InputError(
            f"{len(verdicts):,} verdicts and {len(labels):,} labels: pass a label for each "
            "verdict, None where nobody labelled"
        )
    return [
        {"item": str(i), "verdict": _word(v), HUMAN: _word(h)}
        for i, (v, h) in enumerate(zip(verdicts, labels, strict=True))
    ]


def _word(value: Any) -> str | None:
    """Return a verdict or label as text; True is `true`, and nan is no label."""
    if value is None or value != value:  # noqa: PLR0124 - nan
        return None
    return str(value).lower() if isinstance(value, bool) else f"{value}"


@checked
def validate(
    x: Any,
    human: Annotated[Any, Option(rule=_column_or_labels)] = HUMAN,
    positive: str | None = None,
    labels: "LabelChoice | None" = None,
    *,
    minimum: Annotated[Mapping[str, float] | None, Option(example="{'recall': 0.8}")] = None,
    certify: Annotated[Mapping[str, float] | None, Option(example="{'kappa': 0.6}")] = None,
    judge: str | None = None,
    date: str | None = None,
    criterion: str | None = None,
    seed: Annotated[int, SEED] = 0,
    **reading: Unpack[Selection],
) -> "Validation":
    """Hold a judge against people: recall of each class, agreement, kappa, errors, what to correct.

    Args:
        x: a table or run, a frame, a list of dicts, or a tensor with gold; see `analyze`. Or the
            verdicts alone, a list, array or Series.
        human: the column of labels, blank where nobody labelled; several for several people, or
            one for each of `criteria`; else `gold` is taken. Of verdicts alone, as many
            labels, None where nobody labelled.
        positive: the class that `tpr` and the corrected rate speak of; by default the last of two.
        labels: "random" for a random subset of all items, "chosen" for any other; not guessed.
        minimum: least recall, tpr, tnr, agreement or kappa, decided as pass, fail, inconclusive.
        certify: targets of the same names: how many labels would show them.
        judge: the judge to look at; needed where there are several.
        date: the date to look at; by default the latest.
        criterion: the criterion to look at; needed where there are several.
        seed: of the draws.
        reading: which calls, and how to read the table.

    >>> said = [("pass", "pass")] * 30 + [("fail", "fail")] * 8 + [("pass", "fail")] * 2
    >>> rows = [{"item": i, "verdict": v, "human": h} for i, (v, h) in enumerate(said)]
    >>> validate(rows, positive="fail").tpr.estimate
    0.8
    """
    from judgelaw.labels import gather_opinions, validate_opinions

    if (rows := _paired(x, human)) is not None:
        x, human = rows, HUMAN
    read = of_date(_with_labels(rows_of(x, human=human, said=said_in(reading))), date)
    name, read = of_judge(of_criterion(read, criterion), judge, reading)
    return validate_opinions(
        gather_opinions(typed_rows(read), table=read.table),
        human=read.human or HUMAN,
        judge=name,
        positive=positive,
        labels=labels,
        minimum=minimum,
        certify=certify,
        seed=seed,
    )


def _with_labels(read: "LabelledRows") -> "LabelledRows":
    if read.human is None:
        raise TableError(
            f"{read.table} has no column {HUMAN!r} and no {'gold'!r}: name the column of people's "
            "labels with human=... (--human COLUMN)"
        )
    return read


_MOST_CALLS = 500_000
"""Calls of a judge beyond which a report leaves the labels to `judgelaw validate`."""


def validations(tensors: "Mapping[str, VerdictTensor]") -> "list[Validation]":
    """Hold each judge against the gold of its items, where they have some.

    A judge that never says any of the labels has nothing to be held against.
    """
    found = []
    for judge, t in tensors.items():
        said = {t.verdicts[c] for c in t.counts.sum(axis=(0, 1, 2)).nonzero()[0]}
        if said & set(t.gold or ()) and t.counts.sum() <= _MOST_CALLS:
            found.append(validate({judge: t}))
    return found


def rows_of(
    x: Any, *, human: str | Sequence[str] | None = None, said: Wishes | None = None
) -> "LabelledRows":
    """Return the rows behind anything that holds verdicts."""
    from judgelaw.tables import read_rows
    from judgelaw.tensor import VerdictTensor

    place = getattr(x, "path", x)  # a Run names its folder
    if isinstance(place, str | PathLike):
        x = str(place)
    if isinstance(x, VerdictTensor):
        return _of_tensors({stream_name(x.judge or "judge", x.criterion): x})
    if isinstance(x, Mapping) and x and all(isinstance(t, VerdictTensor) for t in x.values()):
        return _of_tensors({key_of(name)[1]: t for name, t in x.items()})
    plain = human is None or human == HUMAN or [*human] == [HUMAN]
    return read_rows(x, human=None if plain else human, said=said)


def _of_tensors(tensors: "Mapping[str, VerdictTensor]") -> "LabelledRows":
    """Return the calls of tensors as rows, their gold labels as what people said."""
    from judgelaw.tables import LabelledRows

    parts = ("judge", "item", "stratum", "prompt", "order", "repeat", "verdict", "human")
    columns: dict[str, list[str | None]] = {part: [] for part in parts}
    for judge, t in tensors.items():
        gold = t.gold or (None,) * len(t.items)
        strata = t.strata or (None,) * len(t.items)
        for i, k, o, c in zip(*t.counts.nonzero(), strict=True):
            n = int(t.counts[i, k, o, c])
            before = int(t.counts[i, k, o, :c].sum())
            row = (judge, t.items[i], strata[i], t.prompts[k], t.orders[o])
            for r in range(before, before + n):
                for part, value in zip(parts, (*row, str(r), t.verdicts[c], gold[i]), strict=True):
                    columns[part].append(value)
    there = any(label is not None for label in columns["human"])
    return LabelledRows(
        table="the tensor",
        human="gold" if there else None,
        columns=columns,
        rows=len(columns["item"]),
    )


def of_date(read: "LabelledRows", date: str | None) -> "LabelledRows":
    """Keep the rows of one date, the latest unless told."""
    if date is not None:
        return select(read, "date", (date,))
    there = read.names("date")
    return read.only("date", there[-1:]) if there and len(set(read.column("date"))) > 1 else read


def of_criterion(read: "LabelledRows", criterion: str | None) -> "LabelledRows":
    """Keep the rows of one criterion: the one named, or the only one; judges bear its name then."""
    there = read.names("criterion")
    if criterion is not None:
        return select(read, "criterion", (criterion,))
    if len(set(read.column("criterion"))) > 1:
        raise InputError(
            f"{read.table} holds {len(there)} criteria, {listed(there)}, and none is named: pass "
            f"criterion={there[0]!r} (--criterion on the command line)"
        )
    return read


def of_judge(
    read: "LabelledRows", judge: str | None, reading: Mapping[str, Any]
) -> "tuple[str | None, LabelledRows]":
    """Keep what is selected of one judge: the one named, else the only one of the main layer."""
    read = selected(_of_main_layer(read) if reading.get("layer") is None else read, reading)
    if judge is not None:
        return judge, select(read, "judge", (judge,))
    there = read.names("judge")
    if len(there) > 1:
        raise InputError(
            f"{read.table} holds {len(there)} judges, {listed(there)}, and none is named: "
            f"pass judge={there[0]!r} (--judge on the command line)"
        )
    return (there[0], read.only("judge", there)) if there else (None, read)


def _of_main_layer(read: "LabelledRows") -> "LabelledRows":
    from judgelaw.analysis import infer_roles, main_layer

    there = [name for name in dict.fromkeys(read.column("layer")) if name is not None]
    if not there:
        return read
    return read.only("layer", (main_layer(infer_roles(there, _roles(read.table))),))


def _roles(table: str) -> dict[str, str] | None:
    """Return the roles that a run declares, None for a table."""
    from judgelaw.study import open_run

    folder = Path(fspath(table))
    if not (folder.is_dir() and (folder / "study.yaml").is_file()):
        return None
    return {layer.name: layer.role for layer in open_run(folder).study.streams}


def typed_rows(read: "LabelledRows") -> "list[Row]":
    """Return rows as values with names."""
    from judgelaw.labels import Row

    parts = ("item", "verdict", "human", "rater", "repeat", "stratum", "prompt", "order")
    found = zip(*(read.column(part) for part in parts), strict=True)
    return [Row(**dict(zip(parts, values, strict=True))) for values in found]
