"""Checks at the door: what the counts must hold before a kernel sees them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgelaw.arrays import as_counts
from judgelaw.errors import IncompleteDesignError, InputError, NotIdentifiedError
from judgelaw.tensor import VerdictTensor

_NAMED_AT_MOST = 3

CellNames = Sequence[Sequence[str]]
"""Labels of the item, prompt and order axes, for messages."""


def counts_of(x: VerdictTensor | ArrayLike) -> tuple[NDArray[Any], CellNames | None]:
    """Return the counts of a tensor or an array, and the names of a tensor's cells.

    Calls of pooled prompts are no repeats of one law: pairs of them would bias every estimate.
    """
    if not isinstance(x, VerdictTensor):
        return as_counts(x), None
    if x.pooled:
        raise InputError(
            "the cells of this tensor pool several prompts (coarsen_prompts), and calls of "
            "different prompts are no repeats of one law: pass the tensor before it was "
            "coarsened, with the groups, to judgelaw.estimate.decompose_coarsened"
        )
    return x.counts, (x.items, x.prompts, x.orders)


def check_depth(
    n: NDArray[Any], R: NDArray[Any], *, minimum: int, names: CellNames | None = None
) -> None:
    """Require items, verdicts, and `minimum` calls in every cell; R are the calls of each cell."""
    check_size(n)
    low = int(R.min())
    if low >= minimum:
        return
    if low == 0:
        count, first = _first(np.equal(R, 0), names)
        raise IncompleteDesignError(
            f"{count} of {R.size} cells hold no call, first {first}: "
            "every cell needs calls; complete the run or drop the incomplete items"
        )
    count, first = _first(np.less(R, minimum), names)
    raise NotIdentifiedError(
        f"{count} of {R.size} cells hold fewer than {minimum} calls (R = {low}), first {first}: "
        "one call cannot tell the judge's dice from the prompt's effect; "
        "acquire a second repeat of every cell (judgelaw.estimate.plugin exists at R = 1, biased)"
    )


def check_size(n: NDArray[Any]) -> None:
    """Require at least one item, one cell and one verdict."""
    if n.size == 0:
        raise InputError(f"counts of shape {n.shape} hold no item, no cell or no verdict")


def _first(wrong: NDArray[Any], names: CellNames | None) -> tuple[int, str]:
    where = np.argwhere(wrong)
    return len(where), "; ".join(_name(cell, names) for cell in where[:_NAMED_AT_MOST])


def _name(cell: NDArray[Any], names: CellNames | None) -> str:
    if names is None:
        return "cell " + str(tuple(int(j) for j in cell))
    return " x ".join(axis[j] for axis, j in zip(names, cell, strict=True))
