"""Judges of several sources brought together, for a comparison."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from judgelaw.errors import InputError
from judgelaw.runs.source import Source
from judgelaw.words import judge_of

if TYPE_CHECKING:
    from judgelaw.tensor import VerdictTensor
    from judgelaw.uncertainty import Estimand


def several(xs: Sequence[Any]) -> tuple[list[str], list[Any], bool]:
    """Return what several sources are called, the sources, and whether the caller named them.

    They come one by one, as one list of sources, or as a mapping by name:
    `{"old": frame, "new": frame}`. A list of rows and tensors by judge are one source.
    """
    if len(xs) == 1 and isinstance(xs[0], Mapping) and _are_sources(list(xs[0].values())):
        return list(map(str, xs[0])), list(xs[0].values()), True
    if len(xs) == 1 and isinstance(xs[0], list | tuple) and _are_sources(xs[0]):
        xs = xs[0]
    return [_place(x, i) for i, x in enumerate(xs)], list(xs), False


def _are_sources(values: Sequence[Any]) -> bool:
    """Whether each is a table, a run or calls of its own: no row, no column, no tensor by judge."""
    return bool(values) and all(
        isinstance(x, str | PathLike)
        or hasattr(x, "path")
        or (isinstance(x, list | tuple) and bool(x) and isinstance(x[0], Mapping))
        or (isinstance(x, Mapping) and all(hasattr(v, "counts") for v in x.values()))
        or hasattr(x, "columns")
        for x in values
    )


def _place(x: Any, place: int) -> str:
    path = getattr(x, "path", x)
    return fspath(path) if isinstance(path, str | PathLike) else f"{place + 1}"


@dataclass(frozen=True, kw_only=True)
class Compared:
    """Judges of several sources under names that tell them apart, and what is estimated.

    Attributes:
        tensors: by name.
        estimand: that all of them share.
        at_least: the user's own bar, the highest that a study declares.
    """

    tensors: "Mapping[str, VerdictTensor]"
    estimand: "Estimand"
    at_least: float | None = None


def compared(
    names: Sequence[str],
    read: Sequence[Source],
    *,
    judges: Sequence[str] = (),
    by_source: bool = False,
) -> Compared:
    """Bring the judges of several sources together; `names` are what the sources are called.

    With `by_source`, sources of one judge each give it their own name.
    """
    if by_source and all(len(calls.main()) == 1 for calls in read):
        tensors = {n: next(iter(c.main().values())) for n, c in zip(names, read, strict=True)}
    else:
        tensors = _told_apart(names, read, judges)
    bars = [calls.at_least for calls in read if calls.at_least is not None]
    return Compared(
        tensors=tensors, estimand=_one_estimand(names, read), at_least=max(bars, default=None)
    )


def _one_estimand(names: Sequence[str], read: Sequence[Source]) -> "Estimand":

    first = read[0]
    for name, calls in zip(names, read, strict=True):
        now, then = calls.estimand, first.estimand
        if now != then:
            raise InputError(
                f"{name} declares design {now.design!r} with order weights "
                f"{now.order_weights}, {names[0]} {then.design!r} with {then.order_weights}: "
                "a difference needs one estimand; pass --design, or run one study twice"
            )
    _one_scale(names, read)
    return first.estimand


def _one_scale(names: Sequence[str], read: Sequence[Source]) -> None:
    """Refuse to compare scores of different scales, or in different units."""
    told = [{tensor.scale for tensor in calls.main().values()} for calls in read]
    for name, scales in zip(names, told, strict=True):
        if scales != told[0]:
            raise InputError(
                f"{name} and {names[0]} have different scales, or measure them by different "
                "dissimilarities: a difference needs one; run one study twice"
            )


def _told_apart(
    names: Sequence[str], read: Sequence[Source], judges: Sequence[str]
) -> "dict[str, VerdictTensor]":
    """Name every judge, with its source where a name comes twice."""
    found = [
        (name, judge, tensor)
        for name, calls in zip(names, read, strict=True)
        for judge, tensor in calls.main().items()
    ]
    known = Counter(judge for _, judge, _ in found)
    asked = {*known, *map(judge_of, known)}
    if unknown := [judge for judge in judges if judge not in asked]:
        raise InputError(f"no judge is called {unknown[0]!r}: there are {', '.join(known)}")
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise InputError(f"{twice} is named twice: nothing differs from itself")
    return {
        judge if known[judge] == 1 else f"{name}: {judge}": tensor
        for name, judge, tensor in found
        if not judges or judge in judges or judge_of(judge) in judges
    }
