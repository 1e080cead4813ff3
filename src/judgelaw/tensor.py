"""The waist: verdicts counted per item, prompt, order and verdict.

Left of it nothing knows statistics; right of it nothing does I/O.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgelaw.arrays import (
    ABSENT,
    as_array,
    as_counts,
    as_laws,
    as_whole,
    count_ranked,
    dropped_note,
    end_to_end,
    grouped,
    labels_of,
    numbered,
    per_item,
    positions,
    recoded,
    some,
)
from judgelaw.errors import IncompleteDesignError, InputError, NotIdentifiedError
from judgelaw.frames import Library, frame_of, plain, table_html
from judgelaw.scale import Dissimilarity, ScoreScale
from judgelaw.streams import stream

if TYPE_CHECKING:
    from os import PathLike

INVALID = "invalid"
SINGLE = "single"
"""The order label of single answers: there is nothing to show in an order."""
DEFAULT_VERDICTS = ("candidate_1", "candidate_2", "tie", INVALID)
_NAMED_AT_MOST = 5
_LABELS = (
    *("judge", "criterion", "layer", "items", "prompts", "orders", "verdicts"),
    *("strata", "clusters"),
)
"""What names the cells of a tensor, in its JSON."""


@dataclass(frozen=True, kw_only=True, eq=False)
class VerdictTensor:
    """Verdict counts of one judge, with the labels of every axis.

    Attributes:
        counts: calls per (item, prompt, order, verdict).
        items, prompts, orders, verdicts: the labels of the four axes.
        ranked: verdict codes per (item, prompt, order, repeat), `ABSENT` where a rank holds no
            call; None where only counts are known.
        soft: token probabilities of every ranked call, by verdict; nan where a rank holds no call,
            None where nobody asked for them. What a vector lacks to one is its missing mass.
        strata: the stratum of each item, or None.
        clusters: what each item belongs to (a document, a question), or None: other items like
            these are then items of other clusters.
        gold: the right verdict of each item (None where an item has none), or None.
        judge, criterion, layer: where the calls come from, if known.
        notes: what was left out on the way here, in words.
        dropped: how many items were left out as incomplete.
        pooled: whether cells hold calls of several prompts, which are no repeats of one law.
        looks: depths at which the calls were looked at, and might have stopped, over the last one.
        scale: the scores that the verdicts are, None where they are no scores. Estimators take
            from it how far two verdicts are apart.
    """

    counts: NDArray[np.int64]
    items: tuple[str, ...]
    prompts: tuple[str, ...]
    orders: tuple[str, ...]
    verdicts: tuple[str, ...]
    ranked: NDArray[np.int16] | None = None
    soft: NDArray[np.float64] | None = None
    strata: tuple[str, ...] | None = None
    clusters: tuple[str, ...] | None = None
    gold: tuple[str | None, ...] | None = None
    judge: str | None = None
    criterion: str | None = None
    layer: str | None = None
    notes: tuple[str, ...] = ()
    dropped: int = 0
    pooled: bool = False
    looks: tuple[float, ...] = ()
    scale: ScoreScale | None = None

    def __post_init__(self) -> None:
        """Refuse labels that do not fit the axes, and negative counts."""
        shape = tuple(map(len, (self.items, self.prompts, self.orders, self.verdicts)))
        if np.shape(self.counts) != shape:
            raise InputError(
                f"counts have shape {np.shape(self.counts)}, the labels of items, prompts, orders "
                f"and verdicts are {shape}: one label for each position"
            )
        if self.ranked is not None and self.ranked.shape[:-1] != shape[:-1]:
            raise InputError(f"ranked verdicts of shape {self.ranked.shape} for cells {shape[:-1]}")
        if self.soft is not None and self.soft.shape[-1:] != shape[-1:]:
            raise InputError(f"token probabilities of shape {self.soft.shape} for cells {shape}")
        for axis in ("strata", "clusters", "gold"):
            given = getattr(self, axis)
            if given is not None:
                per_item(axis, given, shape[0])
        if self.counts.size and self.counts.min() < 0:
            raise InputError(f"count {self.counts.min()}: a count of calls is never negative")
        known = self.verdicts if self.scale is None else (*self.scale.names, INVALID)
        if strange := [name for name in self.verdicts if name not in known]:
            raise InputError(
                f"{self._who()}the verdict {strange[0]!r} is not on the scale "
                f"{', '.join(known[:-1])}: recode it to {INVALID!r}, or give the whole scale"
            )

    @staticmethod
    def from_table(
        source: "str | PathLike[str] | Any",
        judge: str | None = None,
        layer: str | None = None,
        repeats: int | None = None,
        columns: Mapping[str, str | None] | None = None,
        *,
        verdicts: Sequence[str] | None = None,
        positions: Sequence[str] | None = None,
        blank: Literal["error", "invalid", "drop"] = "error",
        incomplete: Literal["error", "drop"] = "error",
        criterion: str | None = None,
    ) -> "VerdictTensor":
        """Read a calls table: a file, or any frame that narwhals accepts.

        Args:
            source: path of a table, a folder of Parquet or a run, an `s3://` address, or a frame.
            judge: the judge to read; needed where the table holds several.
            layer: the layer to read; needed where the table holds several.
            criterion: the criterion to read; needed where the table holds several.
            repeats: read the frozen prefix of repeat ranks below this number.
            columns: names of the table's columns by contract name, `{"verdict": "winner"}`.
            verdicts: the alphabet; by default the usual four, or what the table holds, sorted.
            positions: the words for the answer shown first, for the one shown second, and perhaps
                for a tie, `("A", "B")`: they become candidates by the order of each call.
            blank: what a verdict that is blank becomes: `"invalid"`, or `"drop"` for no call.
            incomplete: `"drop"` keeps the items with two calls in every cell and says what went.
        """
        from judgelaw import tables  # noqa: PLC0415 - the one door from the waist to I/O

        return tables.read_tensor(
            source,
            judge=judge,
            layer=layer,
            repeats=repeats,
            columns=columns,
            verdicts=verdicts,
            positions=positions,
            blank=blank,
            incomplete=incomplete,
            criterion=criterion,
        )

    @classmethod
    def from_counts(
        cls,
        counts: ArrayLike,
        *,
        items: Iterable[str] | None = None,
        prompts: Iterable[str] | None = None,
        orders: Iterable[str] | None = None,
        verdicts: Iterable[str] | None = None,
        strata: Iterable[str] | None = None,
        clusters: Iterable[str] | None = None,
        gold: Iterable[str | None] | None = None,
    ) -> Self:
        """Wrap an array of counts shaped (items, prompts, orders, verdicts)."""
        array = as_counts(counts)
        if array.ndim != 4:  # noqa: PLR2004 - the four axes of the tensor
            raise InputError(
                f"counts have {array.ndim} axes {array.shape}; a VerdictTensor has four "
                "(items, prompts, orders, verdicts): add the missing ones with numpy.newaxis"
            )
        n, k, o, c = array.shape
        if verdicts is None and c == len(DEFAULT_VERDICTS):
            verdicts = DEFAULT_VERDICTS
        return cls(
            counts=array,
            items=labels_of("items", items, n, "i"),
            prompts=labels_of("prompts", prompts, k, "p"),
            orders=labels_of("orders", orders, o, "o"),
            verdicts=labels_of("verdicts", verdicts, c, "v"),
            strata=None if strata is None else per_item("strata", strata, n),
            clusters=None if clusters is None else per_item("clusters", clusters, n),
            gold=None if gold is None else per_item("gold", gold, n),
        )

    @classmethod
    def from_ranked(
        cls, ranked: ArrayLike, *, verdicts: Iterable[str] = DEFAULT_VERDICTS, **labels: Any
    ) -> Self:
        """Wrap verdict codes shaped (items, prompts, orders, repeats); -1 marks an absent call."""
        given = ranked.filled(ABSENT) if isinstance(ranked, np.ma.MaskedArray) else ranked
        codes = as_array(given, "ranked verdicts")
        names = tuple(verdicts)
        if codes.ndim != 4 or codes.dtype.kind not in "iu":  # noqa: PLR2004 - the four axes
            raise InputError(
                f"ranked verdicts are integer codes with four axes (items, prompts, orders, "
                f"repeats), not {codes.dtype} with shape {codes.shape}"
            )
        if codes.size and (codes.min() < ABSENT or codes.max() >= len(names)):
            raise InputError(
                f"ranked verdicts hold codes {codes.min()} to {codes.max()}; with {len(names)} "
                f"verdicts the codes are 0 to {len(names) - 1}, and -1 for an absent call"
            )
        codes = codes.astype(np.int16, copy=False)
        tensor = cls.from_counts(count_ranked(codes, len(names)), verdicts=names, **labels)
        return replace(tensor, ranked=codes)

    @classmethod
    def from_laws(cls, laws: ArrayLike, *, repeats: int, seed: int, **labels: Any) -> Self:
        """Draw `repeats` independent calls in every cell of (items, prompts, orders, verdicts)."""
        p = as_laws(laws)
        if as_whole(repeats, "repeats") < 1:
            raise InputError(f"repeats = {repeats}: a cell needs at least one call")
        uniforms = stream(seed, "laws").random((*p.shape[:-1], repeats))
        edges = np.cumsum(p, axis=-1)
        # Divided by their own end, so that a verdict of probability 0 at the end is never drawn.
        edges = (edges / edges[..., -1:])[..., None, :-1]
        ranked = (uniforms[..., None] >= edges).sum(axis=-1)
        if labels.get("verdicts") is None:
            usual = p.shape[-1] == len(DEFAULT_VERDICTS)
            labels["verdicts"] = DEFAULT_VERDICTS if usual else numbered("v", p.shape[-1])
        return cls.from_ranked(ranked, **labels)

    @property
    def repeats(self) -> NDArray[np.int64]:
        """Calls per cell, shaped (items, prompts, orders)."""
        return np.asarray(self.counts.sum(axis=-1))

    @property
    def single(self) -> bool:
        """Whether single answers were judged: there is no order."""
        return self.scale is not None or self.orders == (SINGLE,)

    @property
    def depth(self) -> tuple[int, int]:
        """The smallest and the largest number of calls in a cell."""
        r = self.repeats
        if r.size == 0:
            raise InputError("the tensor holds no item: nothing can be estimated from it")
        return int(r.min()), int(r.max())

    def prefix(self, repeats: int) -> Self:
        """Keep the repeat ranks below `repeats`, as if the study had stopped there."""
        if as_whole(repeats, "repeats") < 1:
            raise InputError(f"repeats = {repeats}: a prefix keeps at least one rank")
        ranked = self._ranks("a prefix")
        if repeats > ranked.shape[-1]:
            raise InputError(
                f"repeats = {repeats}, but {self._who()}the ranks are 0 to {ranked.shape[-1] - 1}: "
                f"ask for {ranked.shape[-1]} at most, or acquire more calls"
            )
        return self.ranks(slice(repeats))

    def ranks(self, which: slice | Sequence[int]) -> Self:
        """Keep the calls of the given repeat ranks (split halves, panels)."""
        ranked = self._ranks("a choice of ranks")
        if not isinstance(which, slice):
            which = [as_whole(rank, "rank") for rank in which]
            if len(set(which)) < len(which) or not set(which) <= set(range(ranked.shape[-1])):
                raise InputError(
                    f"ranks {which}: choose distinct ones of 0 to {ranked.shape[-1] - 1}"
                )
        ranked = ranked[..., which]
        soft = None if self.soft is None else self.soft[..., which, :]
        counts = count_ranked(ranked, len(self.verdicts))
        return replace(self, ranked=ranked, soft=soft, counts=counts)

    def select(
        self,
        *,
        items: Iterable[str] | None = None,
        prompts: Iterable[str] | None = None,
        orders: Iterable[str] | None = None,
        strata: Iterable[str] | None = None,
    ) -> Self:
        """Keep the named items, prompts, orders or strata, in the order named."""
        rows = positions("item", self.items, items)
        if strata is not None:
            if self.strata is None:
                raise InputError("the tensor has no strata to select from")
            wanted = set(strata)
            if unknown := wanted - set(self.strata):
                raise InputError(
                    f"no item has stratum {min(unknown)!r}; there are "
                    f"{some(sorted(set(self.strata)))}"
                )
            rows = rows[[self.strata[i] in wanted for i in rows]]
        k = positions("prompt", self.prompts, prompts)
        o = positions("order", self.orders, orders)
        block = np.ix_(rows, k, o)
        return replace(
            self,
            counts=self.counts[block],
            ranked=None if self.ranked is None else self.ranked[block],
            soft=None if self.soft is None else self.soft[block],
            items=tuple(self.items[i] for i in rows),
            prompts=tuple(self.prompts[i] for i in k),
            orders=tuple(self.orders[i] for i in o),
            strata=None if self.strata is None else tuple(self.strata[i] for i in rows),
            clusters=None if self.clusters is None else tuple(self.clusters[i] for i in rows),
            gold=None if self.gold is None else tuple(self.gold[i] for i in rows),
        )

    def recode(self, mapping: Mapping[str, str]) -> Self:
        """Rename or merge verdicts, `{"invalid": "tie"}`; the others keep their names."""
        if unknown := [name for name in mapping if name not in self.verdicts]:
            raise InputError(
                f"unknown verdict {unknown[0]!r}; the alphabet is {list(self.verdicts)}"
            )
        renamed = [mapping.get(name, name) for name in self.verdicts]
        names = tuple(dict.fromkeys(renamed))
        places = [*map(names.index, renamed)]
        gold = self.gold and tuple(None if g is None else mapping.get(g, g) for g in self.gold)
        scale = self.scale if self.scale and self.scale.holds(names, (INVALID,)) else None
        return replace(self._coded(places, names), gold=gold, scale=scale)

    def on_scale(self, values: Iterable[float], dissimilarity: Dissimilarity = "ordinal") -> Self:
        """Read the verdicts as scores, rising; any other verdict than `invalid` is refused.

        Two scores are apart by steps ("ordinal"), by half the squared difference ("numeric"), or
        are the same or not ("nominal").
        """
        scale = ScoreScale(values=tuple(values), dissimilarity=dissimilarity)
        known = self.with_alphabet(dict.fromkeys((*scale.names, *self.verdicts)))
        return replace(known, scale=scale)

    def with_alphabet(self, verdicts: Iterable[str]) -> Self:
        """Put the verdicts in this sequence, with those that no call gave, and `invalid` last."""
        given = [name for name in verdicts if name != INVALID]
        names = (*given, INVALID)
        if unknown := [name for name in self.verdicts if name not in names]:
            raise InputError(f"verdict {unknown[0]!r} is not among {', '.join(names)}")
        places = [*map(names.index, self.verdicts)]
        return replace(self._coded(places, names), scale=self.scale)

    def _coded(self, places: Sequence[int], names: tuple[str, ...]) -> Self:
        """Return the calls with every verdict at its new place; several may share one."""
        counts, ranked = recoded(self.counts, self.ranked, places, len(names))
        soft = self.soft
        if soft is not None:
            soft = soft @ (np.array(places)[:, None] == np.arange(len(names))).astype(np.float64)
        return replace(self, counts=counts, ranked=ranked, soft=soft, verdicts=names, scale=None)

    def coarsen_prompts(self, groups: Mapping[str, Iterable[str]]) -> Self:
        """Pool prompts into declared groups, `{"plain": ["p1", "p2"], "xml": ["p5"]}`.

        The calls of a group are laid end to end, to be counted and shown. They are no repeats of
        one law, so estimators refuse the result: `estimate.decompose_coarsened` takes the groups
        and the tensor as it is, and stays unbiased.
        """
        members = {name: tuple(group) for name, group in groups.items()}
        blocks = grouped(self.prompts, members)
        counts = np.stack([self.counts[:, b].sum(axis=1) for b in blocks], axis=1)
        ranked = self.ranked
        if ranked is not None:
            longest = max(len(b) for b in blocks) * ranked.shape[-1]
            ranked = np.stack([end_to_end(ranked[:, b], longest) for b in blocks], axis=1)
        note = f"pooled {len(self.prompts)} prompts into {len(members)} groups"
        return replace(
            self,
            counts=counts,
            ranked=ranked,
            soft=None,
            prompts=tuple(members),
            pooled=True,
            notes=(*self.notes, note),
        )

    def complete(self, incomplete: Literal["error", "drop"] = "error") -> Self:
        """Require calls in every cell, or keep the items that have two in each.

        Where no cell holds two calls, one in each is what an item needs.

        Raises:
            IncompleteDesignError: cells are empty and `incomplete` is "error".
            NotIdentifiedError: no item has the calls that it needs in every cell.
        """
        if incomplete not in {"error", "drop"}:
            raise InputError(f"incomplete = {incomplete!r}: it is 'error' or 'drop'")
        if incomplete == "error":
            self._refuse_empty_cells()
            return self
        least = min(2, self.depth[1])  # a pair of distinct calls, where there is any
        keep = np.all(self.repeats >= least, axis=(1, 2))
        if not keep.any():
            needed = "a call" if least == 1 else "two calls"
            raise NotIdentifiedError(
                f"{self._who()}none of the {len(self.items)} items has {needed} in every one of "
                f"its {len(self.prompts)} x {len(self.orders)} cells: acquire what is missing, "
                "or select the prompts and orders that are complete"
            )
        if keep.all():
            return self
        lost = np.flatnonzero(~keep)
        kept = self.select(items=[self.items[i] for i in np.flatnonzero(keep)])
        notes = (*self.notes, dropped_note(len(self.items), lost, self.strata))
        return replace(kept, notes=notes, dropped=self.dropped + len(lost))

    def _refuse_empty_cells(self) -> None:
        empty = np.argwhere(self.repeats == 0)
        if len(empty) == 0:
            return
        first = "; ".join(
            f"{self.items[i]} x {self.prompts[k]} x {self.orders[o]}"
            for i, k, o in empty[:_NAMED_AT_MOST]
        )
        cells = self.repeats.size
        raise IncompleteDesignError(
            f"{self._who()}{len(empty)} of {cells} cells (item x prompt x order) hold no call, "
            f"first {first}: complete the run, or keep the complete items, --incomplete drop "
            "(incomplete='drop')"
        )

    def _who(self) -> str:
        """Say in a message whose tensor it is, if that is known."""
        judge = "" if self.judge is None else f"judge {self.judge!r}: "
        return judge if self.layer is None else f"layer {self.layer!r}, {judge}"

    def _ranks(self, purpose: str) -> NDArray[np.int16]:
        if self.ranked is None:
            raise InputError(
                f"{purpose} needs ranked verdicts, and this tensor was made from counts alone: "
                "make it from a calls table or with VerdictTensor.from_ranked"
            )
        return self.ranked

    def to_frame(self, library: Library = "pandas") -> Any:
        """Return one row for each item, prompt, order and verdict, with its count."""
        i, k, o, c = np.indices(self.counts.shape).reshape(4, -1)
        axes = {"item": self.items, "prompt": self.prompts, "order": self.orders}
        columns: dict[str, Any] = {
            name: np.array(labels)[at]
            for (name, labels), at in zip(axes.items(), (i, k, o), strict=True)
        }
        columns["verdict"] = np.array(self.verdicts)[c]
        columns["count"] = self.counts.ravel()
        return frame_of(columns, library)

    def to_json(self) -> dict[str, Any]:
        """Return the counts and their labels as plain values."""
        labels = {name: plain(getattr(self, name)) for name in (*_LABELS, "gold", "notes")}
        return {"schema": "judgelaw.tensor/1", **labels, "counts": plain(self.counts)}

    def _repr_html_(self) -> str:
        totals = self.counts.sum(axis=(0, 1, 2))
        rows = [[name, f"{n:,}"] for name, n in zip(self.verdicts, totals, strict=True)]
        return table_html(repr(self), ("verdict", "calls"), rows)

    def __repr__(self) -> str:
        n, k, o, c = self.counts.shape
        who = f"judge {self.judge!r}, " if self.judge else ""
        r = "" if self.counts.size == 0 else "R {}-{}, ".format(*self.depth)
        return f"VerdictTensor({who}{n} items x {k} prompts x {o} orders, {r}{c} verdicts)"
