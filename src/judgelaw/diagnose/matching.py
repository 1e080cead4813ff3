"""Judges side by side: the same items, the same cells, the same depth."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from judgelaw.arrays import PAIR
from judgelaw.errors import InputError
from judgelaw.tensor import VerdictTensor


@dataclass(frozen=True, kw_only=True, eq=False)
class Matched:
    """Calls of several judges on the same items and cells, cut to the depth that all have.

    Attributes:
        tensors: by judge, with items, prompts and orders in one sequence.
        items: the common items.
        lost: items of each judge that another lacks.
        depth: repeats in every cell; the smallest of all judges.
        differences: cells of the first judge that another lacks, or the reverse, by judge.
    """

    tensors: Mapping[str, VerdictTensor]
    items: tuple[str, ...]
    lost: Mapping[str, int]
    depth: int
    differences: Mapping[str, int]

    @property
    def strata(self) -> tuple[str, ...] | None:
        """Strata of the common items, as the first judge's calls name them."""
        return next(iter(self.tensors.values())).strata


def match(tensors: Mapping[str, VerdictTensor]) -> Matched:
    """Put judges side by side.

    Depths are made equal by frozen prefixes, since a plug-in value depends on the depth.

    Raises:
        InputError: fewer than two judges, cells that differ, or no common item.
    """
    if len(tensors) < PAIR:
        raise InputError(f"{len(tensors)} judge: a comparison needs two or more")
    first_name, first = next(iter(tensors.items()))
    for name, other in tensors.items():
        for axis in ("prompts", "orders"):
            here, there = set(getattr(first, axis)), set(getattr(other, axis))
            if here != there:
                raise InputError(
                    f"{name!r} was asked with {axis} {sorted(there)}, {first_name!r} with "
                    f"{sorted(here)}: a comparison needs the same cells; select the common ones "
                    "(--prompt on the command line)"
                )
    common = set.intersection(*(set(t.items) for t in tensors.values()))
    if not common:
        raise InputError("the judges have no item in common: match them by item id")
    items = tuple(item for item in first.items if item in common)
    chosen = {
        name: t.select(items=items, prompts=first.prompts, orders=first.orders)
        for name, t in tensors.items()
    }
    depth = min(t.depth[0] for t in chosen.values())
    cut = {name: _cut(t, depth) for name, t in chosen.items()}
    return Matched(
        tensors=cut,
        items=items,
        lost={name: len(t.items) - len(items) for name, t in tensors.items()},
        depth=min(t.depth[0] for t in cut.values()),
        differences={name: cell_differences(first, t) for name, t in tensors.items()},
    )


def cell_differences(a: VerdictTensor, b: VerdictTensor) -> int:
    """Count the cells (item, prompt, order) that one of two judges has and the other lacks."""
    return len(_cells(a) ^ _cells(b))


def _cells(t: VerdictTensor) -> set[tuple[str, str, str]]:
    return {(i, k, o) for i in t.items for k in t.prompts for o in t.orders}


def _cut(t: VerdictTensor, depth: int) -> VerdictTensor:
    """Keep the ranks below `depth`, where ranks are known and every cell has them."""
    if t.ranked is None or t.depth == (depth, depth):
        return t
    prefix = t.prefix(depth)
    return prefix if prefix.depth[0] >= PAIR else replace(t)
