"""Every item of a judge as one row: its texts, its verdicts, how often it was right and changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from judgelaw.analysis.answer import merit_of
from judgelaw.arrays import Counts, Floats
from judgelaw.frames import Result
from judgelaw.tensor import VerdictTensor

Texts = Mapping[str, Mapping[str, str]]
"""What is known of an item beside its verdicts, by item and name of the text."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ItemTable(Result):
    """The items of one judge, those to look at first before the others.

    Mostly wrong ones come first, then those that change often, then those whose calls differ most.

    Attributes:
        items: their names.
        strata, gold: of each item; None where there are none.
        verdicts: the alphabet.
        counts: (items, verdicts) calls that gave each.
        right: how often each item was judged right; nan without a right answer.
        contested: whether it goes against itself in more than one call of ten, with an error rate.
        texts: by item.
    """

    items: tuple[str, ...]
    strata: tuple[str, ...] | None
    gold: tuple[str | None, ...] | None
    verdicts: tuple[str, ...]
    counts: Counts
    right: Floats
    contested: tuple[bool, ...]
    texts: Texts = field(default_factory=dict)

    schema = "judgelaw.item_table/1"

    def in_words(self) -> str:
        """Say how many are mostly wrong, and how many change often."""
        known = ~np.isnan(self.right)
        wrong = f"{int((self.right[known] < _HALF).sum())} mostly wrong, " if known.any() else ""
        return f"{len(self.items):,} items: {wrong}{sum(self.contested)} that change often"

    def records(self) -> list[dict[str, Any]]:
        """Return one row for each item, those to look at first before the others."""
        named = list(dict.fromkeys(name for texts in self.texts.values() for name in texts))
        given = np.flatnonzero(self.counts.sum(axis=0))
        rows = []
        for i, item in enumerate(self.items):
            texts = self.texts.get(item, {})
            row: dict[str, Any] = {"item": item}
            if self.strata is not None:
                row["stratum"] = self.strata[i]
            if self.gold is not None:
                row |= {"gold": self.gold[i], "right": float(self.right[i])}
            row |= {f"n_{self.verdicts[c]}": int(self.counts[i, c]) for c in given}
            row["changed"] = bool((self.counts[i] > 0).sum() > 1)
            row["contested"] = self.contested[i]
            rows.append(row | {name: texts.get(name) for name in named})
        return rows

    def only(self, keep: "Sequence[bool] | np.ndarray[Any, Any]") -> "ItemTable":
        """Return some of the items, in their sequence."""
        at = np.flatnonzero(np.asarray(keep))
        return _taken(self, at)

    def with_texts(self, texts: Texts) -> "ItemTable":
        """Return the same items with what is known of them beside."""
        return replace(self, texts={item: texts[item] for item in self.items if item in texts})

    @property
    def wrong(self) -> "ItemTable":
        """The items that were judged wrong at least once, or score less than full credit."""
        return self.only(self.right < 1)

    @property
    def unstable(self) -> "ItemTable":
        """The items whose calls gave different verdicts."""
        return self.only((self.counts > 0).sum(axis=1) > 1)


_HALF = 0.5


def item_table(
    tensor: VerdictTensor, contested: Sequence[str], texts: Texts | None = None
) -> ItemTable:
    """Return the items of a judge, those to look at first before the others.

    Args:
        tensor: the calls.
        contested: the items that go against themselves often, the worst first.
        texts: what is known of the items beside.
    """
    often = {name: place for place, name in enumerate(contested)}
    counts = tensor.counts.sum(axis=(1, 2))
    right = right_by_item(tensor)
    table = ItemTable(
        items=tensor.items,
        strata=tensor.strata,
        gold=tensor.gold,
        verdicts=tensor.verdicts,
        counts=counts,
        right=right,
        contested=tuple(name in often for name in tensor.items),
        texts={item: texts[item] for item in tensor.items if item in texts} if texts else {},
    )
    return _taken(table, reading_order(counts, right, [often.get(n) for n in tensor.items]))


def _taken(table: ItemTable, at: "np.ndarray[Any, Any]") -> ItemTable:
    where = at.tolist()
    names = {table.items[i] for i in where}
    return replace(
        table,
        items=tuple(table.items[i] for i in where),
        strata=None if table.strata is None else tuple(table.strata[i] for i in where),
        gold=None if table.gold is None else tuple(table.gold[i] for i in where),
        counts=table.counts[at],
        right=table.right[at],
        contested=tuple(table.contested[i] for i in where),
        texts={item: texts for item, texts in table.texts.items() if item in names},
    )


def right_by_item(tensor: VerdictTensor) -> Floats:
    """Return how often each item was judged right, nan without a right answer."""
    found = np.full(len(tensor.items), np.nan)
    merit = merit_of(tensor)
    if merit is not None:
        laws = tensor.counts[merit.counted].sum(axis=(1, 2))
        found[list(merit.counted)] = (laws * merit.credit).sum(axis=-1) / laws.sum(axis=-1)
    return found


def reading_order(
    counts: Counts, right: Floats, often: Sequence[int | None]
) -> "np.ndarray[Any, Any]":
    """Return the items in reading order: mostly wrong, then those that change often, then others.

    Within each, the least right first, then those whose verdicts differ most.
    """
    places = np.array([len(often) if place is None else place for place in often])
    shares = counts / counts.sum(axis=1)[:, None]
    known = np.nan_to_num(right, nan=1.0)
    return np.lexsort((shares.max(axis=1), known, places, known >= _HALF))
