"""Token probabilities of a calls table: the columns `p_VERDICT` and `missing` of every call."""

# ruff: noqa: S608 - names in the SQL below are our own, or quoted by `duck`
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import ABSENT, ROUNDING_OF_SOFT, soft_fault
from judgelaw.duck import foreign_errors, name
from judgelaw.errors import TableError
from judgelaw.tables.calls import Calls, Pair, place_of
from judgelaw.tables.census import Alphabet
from judgelaw.tables.columns import MISSING, SOFT, is_soft
from judgelaw.tensor import VerdictTensor

_AXES = ("item", "prompt", "order")
_LEAVE_OUT = "or leave the column out with columns={{{part!r}: None}}"

Columns = Mapping[str, NDArray[Any]]


def with_vectors(
    tensor: VerdictTensor, pair: Pair, calls: Calls, alphabet: Alphabet
) -> VerdictTensor:
    """Put the token probabilities of a judge's calls beside its verdicts, where it has some.

    Columns whose name is no verdict are carried and not read. A call without a vector has all of
    its mass missing; a judge without any has none.
    """
    parts = {
        part: alphabet.codes[part.removeprefix(SOFT)]
        for part in calls.layout.columns
        if part.startswith(SOFT) and part.removeprefix(SOFT) in alphabet.codes
    }
    if not parts or tensor.ranked is None:
        return tensor
    missing = [MISSING] if calls.layout.has(MISSING) else []
    found = _rows(calls, pair, [*parts, *missing])
    given = np.stack([~np.isnan(found[part]) for part in parts], axis=-1)
    if not given.any():
        return tensor
    places = _places(tensor, found)
    _refuse_half(calls, tensor, places, given, list(parts))
    y = np.zeros((*tensor.ranked.shape, len(tensor.verdicts)))
    for part, code in parts.items():
        y[..., code][places] += np.nan_to_num(found[part])
    if missing:
        _refuse_sum(calls, tensor, places, y, np.where(given.any(-1), found[MISSING], np.nan))
    y[tensor.ranked == ABSENT] = np.nan
    if (fault := soft_fault(y, tensor.ranked, tensor.verdicts)) is not None:
        at, words = fault
        raise TableError(f"{_where(calls, tensor, at)}: {words}")
    return replace(tensor, soft=y)


def without_vectors(calls: Calls) -> Calls:
    """Forget the columns of token probabilities."""
    columns = calls.layout.columns
    kept = {part: c for part, c in columns.items() if not is_soft(part) and part != MISSING}
    return replace(calls, layout=replace(calls.layout, columns=kept))


def _rows(calls: Calls, pair: Pair, parts: Sequence[str]) -> Columns:
    """Read labels, rank and probabilities of every call of a layer and judge."""
    columns = {part: name(calls.layout.columns[part]) for part in parts}
    numbers = [f"TRY_CAST({c} AS DOUBLE)::DOUBLE AS {name(part)}" for part, c in columns.items()]
    labels = [f"{calls.label(axis)} AS {name(axis)}" for axis in _AXES]
    blank = " AND ".join(
        f"({c} IS NULL OR {c}::VARCHAR = '' OR TRY_CAST({c} AS DOUBLE) IS NOT NULL)"
        for c in columns.values()
    )
    mine = calls.in_pairs([pair])
    with foreign_errors(calls.table):
        strange = calls.con.execute(
            f"SELECT {', '.join([*labels, calls.rank()])} FROM {calls.source} "
            f"WHERE {mine} AND NOT ({blank}) LIMIT 1"
        ).fetchone()
        if strange is not None:
            where = dict(zip((*_AXES, "repeat"), strange, strict=True))
            raise _no_number(calls, where, parts[0])
        found = calls.con.execute(
            f"SELECT {', '.join([*labels, f'{calls.rank()} AS rank', *numbers])} "
            f"FROM {calls.source} WHERE {mine}"
        ).fetchnumpy()
    return {part: _filled(column) for part, column in found.items()}


def _filled(column: NDArray[Any]) -> NDArray[Any]:
    """Return numbers with nan where there is none."""
    if isinstance(column, np.ma.MaskedArray) and column.dtype.kind == "f":
        return np.asarray(column.filled(np.nan))
    return np.asarray(column)


def _no_number(calls: Calls, where: Mapping[str, Any], part: str) -> TableError:
    known = {axis: value for axis, value in where.items() if calls.layout.has(axis)}
    return TableError(
        f"{place_of(calls, known)}: a column of token probabilities ({SOFT}...) holds what is no "
        "number: write a probability between 0 and 1, nothing where there is none, "
        + _LEAVE_OUT.format(part=part)
    )


def _places(tensor: VerdictTensor, found: Columns) -> tuple[NDArray[np.intp], ...]:
    """Return where every row stands in the tensor."""
    axes = (tensor.items, tensor.prompts, tensor.orders)
    places = []
    for axis, labels in zip(_AXES, axes, strict=True):
        at = {label: i for i, label in enumerate(labels)}
        places.append(np.array([at[label] for label in found[axis].tolist()], dtype=np.intp))
    return (*places, found["rank"].astype(np.intp))


def _refuse_half(
    calls: Calls,
    tensor: VerdictTensor,
    places: tuple[NDArray[np.intp], ...],
    given: NDArray[np.bool_],
    parts: Sequence[str],
) -> None:
    """Refuse a vector of which some entries are there and some are not."""
    half = given.any(axis=-1) & ~given.all(axis=-1)
    if half.any():
        row = int(np.argmax(half))
        at = tuple(int(axis[row]) for axis in places)
        part = parts[int(np.argmin(given[row]))]
        raise TableError(
            f"{_where(calls, tensor, at)}: {part} is empty beside other token probabilities: "
            "write 0 for what the provider gave no probability, and the rest into missing"
        )


def _refuse_sum(
    calls: Calls,
    tensor: VerdictTensor,
    places: tuple[NDArray[np.intp], ...],
    y: NDArray[np.float64],
    missing: NDArray[np.float64],
) -> None:
    """Refuse probabilities that do not sum to one with the mass that is declared missing."""
    sums = y[places].sum(axis=-1) + missing
    off = np.abs(sums - 1) > ROUNDING_OF_SOFT
    if off.any():
        row = int(np.argmax(off))
        at = tuple(int(axis[row]) for axis in places)
        raise TableError(
            f"{_where(calls, tensor, at)}: the token probabilities and {MISSING} sum to "
            f"{sums[row]:.6g}, not to 1: {MISSING} is what no verdict got; correct it, "
            + _LEAVE_OUT.format(part=MISSING)
        )


def _where(calls: Calls, tensor: VerdictTensor, at: Sequence[int]) -> str:
    i, k, o, r = at
    cell = {"item": tensor.items[i], "prompt": tensor.prompts[k], "order": tensor.orders[o]}
    who = {"judge": tensor.judge, "layer": tensor.layer}
    where = {part: v for part, v in {**who, **cell}.items() if calls.layout.has(part)}
    return place_of(calls, {**where, "repeat": r})
