"""Which criteria of a table are read: each is read by itself, with an alphabet of its own."""

from collections.abc import Iterable, Sequence

from judgelaw.errors import InputError, TableError
from judgelaw.tables.calls import Calls
from judgelaw.words import did_you_mean, listed, stream_name

Chosen = tuple[str | None, Sequence[str] | None]
"""A criterion, None where a verdict is of none, and the judges to read of it, None for all."""


def of_criterion(calls: Calls, criterion: str | None) -> Calls:
    """Keep the calls of one criterion, or those of none, where a table has criteria."""
    return calls.only("criterion", criterion) if calls.layout.has("criterion") else calls


def choose_criteria(
    calls: Calls, judges: Iterable[str] | None, criteria: Iterable[str] | None
) -> list[Chosen]:
    """Keep the named criteria and judges, all where none is named.

    A judge is named as the table has it, or with a criterion as answers name it.
    """
    if isinstance(judges, str) or isinstance(criteria, str):
        raise InputError(f"{judges or criteria!r} is one string: pass a list of names")
    names = None if judges is None else list(judges)
    if not calls.layout.has("criterion"):
        if criteria is not None:
            raise TableError(f"{calls.table} has no column 'criterion': leave criterion out")
        return [(None, names)]
    there = sorted(calls.distinct("criterion"), key=lambda found: found or "")
    wanted = there if criteria is None else _known(calls, list(criteria), there)
    if names is None:
        return [(criterion, None) for criterion in wanted]
    return _of_judges(calls, names, wanted)


def choose_criterion(calls: Calls, judge: str | None, criterion: str | None) -> Chosen:
    """Pick the one criterion that the caller named, or the only one there is."""
    judges = None if judge is None else [judge]
    found = choose_criteria(calls, judges, None if criterion is None else [criterion])
    if len(found) > 1:
        named = [name for name, _ in found if name is not None]
        raise TableError(
            f"{calls.table} holds {len(found)} criteria, {listed(named)}, and none is named: pass "
            f"criterion={named[0]!r} (--criterion on the command line), or take all of them with "
            "judgelaw.tables.read_tensors"
        )
    return found[0]


def _known(calls: Calls, asked: Sequence[str], there: Sequence[str | None]) -> list[str | None]:
    named = [name for name in there if name is not None]
    for name in asked:
        if name not in named:
            near = did_you_mean(name, named)
            raise TableError(
                f"{calls.table}: no criterion is called {name!r}{near}: it has {listed(named)}"
            )
    return [name for name in there if name in asked]


def _of_judges(calls: Calls, names: Sequence[str], criteria: Sequence[str | None]) -> list[Chosen]:
    """Find who is meant by each name, criterion by criterion."""
    found: list[Chosen] = []
    known: list[str] = []
    for criterion in criteria:
        judges = [name for name in of_criterion(calls, criterion).distinct("judge") if name]
        streams = [stream_name(judge, criterion) for judge in judges]
        known += [*judges, *streams]
        meant = [
            judge
            for judge, stream in zip(judges, streams, strict=True)
            if judge in names or stream in names
        ]
        if meant:
            found.append((criterion, meant))
    if strange := [name for name in names if name not in known]:
        every = sorted(set(known))
        raise TableError(
            f"{calls.table}: no judge is called {strange[0]!r}{did_you_mean(strange[0], every)}: "
            f"it has {listed(every)}"
        )
    return found
