"""From bit masks to a VerdictTensor."""

from collections.abc import Iterable, Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import ABSENT
from judgelaw.tables._calls import Pair
from judgelaw.tables._gather import Masks, Part
from judgelaw.tables._verdicts import Alphabet
from judgelaw.tensor import VerdictTensor

_POSITIONS = (
    "the verdicts are letters, and answers were shown in several orders: if A means the answer "
    "shown first, a judge that likes a position looks steady here and a steady one does not; "
    "write candidate_1 and candidate_2 (`judgelaw import --from csv` turns letters back)"
)

UNSTRATIFIED = "(no stratum)"
"""The stratum of items without one, where other items have one."""


def assemble(parts: Sequence[Part], pair: Pair, *, alphabet: Alphabet, ranks: int) -> VerdictTensor:
    """Make the tensor of one layer and judge, complete or not, from parts with distinct items."""
    whole = parts[0] if len(parts) == 1 else _joined(parts)
    presence, *planes = whole.masks
    return labelled(
        pair,
        alphabet,
        counts=_counts(presence, planes, len(alphabet.verdicts)),
        ranked=_ranked(presence, planes, ranks),
        items=whole.items,
        prompts=whole.prompts,
        orders=whole.orders,
        strata=whole.strata,
        gold=whole.gold,
    )


def labelled(
    pair: Pair,
    alphabet: Alphabet,
    *,
    counts: NDArray[np.int64],
    ranked: NDArray[np.int16],
    items: tuple[str, ...],
    prompts: tuple[str, ...],
    orders: tuple[str, ...],
    strata: tuple[str | None, ...],
    gold: tuple[str | None, ...],
) -> VerdictTensor:
    """Make a tensor of what was counted; strata and gold labels may be missing, some or all.

    Letters under several orders may name positions: then swapping the answers swaps their meaning.
    """
    letters = alphabet.letters and len(orders) > 1
    return VerdictTensor(
        counts=counts,
        ranked=ranked,
        items=items,
        prompts=prompts,
        orders=orders,
        verdicts=alphabet.verdicts,
        strata=tuple(s or UNSTRATIFIED for s in strata) if any(strata) else None,
        gold=gold if any(gold) else None,
        layer=pair[0],
        judge=pair[1],
        notes=(*alphabet.notes, *((_POSITIONS,) if letters else ())),
        letters=letters,
    )


def _joined(parts: Sequence[Part]) -> Part:
    """Lay parts into one grid, items sorted."""
    prompts = tuple(sorted({label for part in parts for label in part.prompts}))
    orders = tuple(sorted({label for part in parts for label in part.orders}))
    items = [label for part in parts for label in part.items]
    ranking = sorted(range(len(items)), key=items.__getitem__)
    row = np.empty(len(items), dtype=np.intp)
    row[ranking] = np.arange(len(items))
    masks = []
    for m in range(len(parts[0].masks)):
        words = parts[0].masks[m].shape[-1]
        grid = np.zeros((len(items), len(prompts), len(orders), words), dtype="<u4")
        start = 0
        for part in parts:
            rows = row[start : start + len(part.items)]
            block = np.ix_(rows, _positions(part.prompts, prompts), _positions(part.orders, orders))
            grid[block] = part.masks[m]
            start += len(part.items)
        masks.append(grid)
    return Part(
        items=tuple(items[i] for i in ranking),
        prompts=prompts,
        orders=orders,
        strata=_reordered((part.strata for part in parts), ranking),
        gold=_reordered((part.gold for part in parts), ranking),
        masks=tuple(masks),
    )


def _positions(labels: Sequence[str], axis: Sequence[str]) -> NDArray[np.intp]:
    return np.array([axis.index(label) for label in labels], dtype=np.intp)


def _reordered(
    parts: Iterable[tuple[str | None, ...]], ranking: Sequence[int]
) -> tuple[str | None, ...]:
    labels = [label for part in parts for label in part]
    return tuple(labels[i] for i in ranking)


def _counts(presence: Masks, planes: Sequence[Masks], verdicts: int) -> NDArray[np.int64]:
    """Count, for every code, the ranks whose planes spell it."""
    counts = np.empty((*presence.shape[:-1], verdicts), dtype=np.int64)
    for code in range(verdicts):
        spelled = reduce(
            np.bitwise_and,
            (plane if code >> j & 1 else ~plane for j, plane in enumerate(planes)),
            presence,
        )
        np.sum(np.bitwise_count(spelled), axis=-1, dtype=np.int64, out=counts[..., code])
    return counts


def _ranked(presence: Masks, planes: Sequence[Masks], ranks: int) -> NDArray[np.int16]:
    """Spread the masks into one verdict code a rank."""

    def bits(mask: Masks) -> NDArray[np.uint8]:
        return np.unpackbits(mask.view(np.uint8), axis=-1, count=ranks, bitorder="little")

    # Codes are built in single bytes where they fit: the arrays are the largest of the whole read.
    narrow = np.dtype(np.uint8 if len(planes) <= 8 else np.uint16)  # noqa: PLR2004 - a byte
    codes = np.zeros((*presence.shape[:-1], ranks), dtype=narrow)
    for j, plane in enumerate(planes):
        codes |= np.left_shift(bits(plane), j, dtype=narrow)
    ranked = codes.astype(np.int16)
    ranked[bits(presence) == 0] = ABSENT
    return ranked
