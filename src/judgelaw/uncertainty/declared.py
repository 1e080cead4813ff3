"""What is declared about a set of calls: counts, weights, similarity; checked at the door."""

from dataclasses import dataclass
from typing import Literal

from numpy.typing import ArrayLike

from judgelaw.errors import InputError, NotIdentifiedError
from judgelaw.estimate import Decomposition, Design, decompose
from judgelaw.estimate.cells import Array
from judgelaw.estimate.checks import check_depth, counts_of
from judgelaw.estimate.crossed import check_design
from judgelaw.estimate.dissimilarity import similarity_of
from judgelaw.estimate.weights import Weights, weights_of
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty.call_variance import MIN_REPEATS

_AXES = 4
_PAIR: Literal[2] = 2
_WIDER = "use call_interval, which falls back on smoothed laws below four"


@dataclass(frozen=True, kw_only=True, eq=False)
class Declared:
    """Counts of a design with everything that an estimator needs to know about it.

    Attributes:
        n: counts (items, prompts, orders, verdicts).
        w, q: weights of prompts and of orders.
        M: similarity of verdicts, None for equality.
        design: "census" or "sampled".
        given_w, given_q: the same weights where they were given, None where they are equal.
        dissimilarity: as given.
        items: labels of the items, or None.
        ranked: verdict codes (items, prompts, orders, repeats), or None.
    """

    n: Array
    w: Array
    q: Array
    M: Array | None
    design: Design
    given_w: Array | None
    given_q: Array | None
    dissimilarity: ArrayLike | str | None
    items: tuple[str, ...] | None
    ranked: Array | None

    @property
    def cells(self) -> Array:
        """Counts with prompts and orders in one axis, prompt-major: (items, cells, verdicts)."""
        N, K, O, C = self.n.shape
        return self.n.reshape(N, K * O, C)

    def decompose(self, counts: Array | None = None) -> Decomposition:
        """Decompose these counts, or others of the same design (..., items, prompts, ...)."""
        return decompose(
            self.n if counts is None else counts,
            design=self.design,
            order_weights=self.given_q,
            prompt_weights=self.given_w,
            dissimilarity=self.dissimilarity,
        )


def declare(
    x: VerdictTensor | ArrayLike,
    *,
    design: Design = "census",
    order_weights: Weights = None,
    prompt_weights: Weights = None,
    dissimilarity: ArrayLike | str | None = None,
    minimum: Literal[2, 4] = _PAIR,
) -> Declared:
    """Check the arguments that `decompose` takes too; every cell holds `minimum` calls or more.

    Two calls identify the components, four their call variance.
    """
    tensor = x if isinstance(x, VerdictTensor) else None
    n, _ = counts_of(x)
    if n.ndim != _AXES:
        raise InputError(
            f"counts have shape {n.shape}; errors of macroaverages need the four axes "
            "(items, prompts, orders, verdicts)"
        )
    K, O, C = n.shape[1:]
    check_design(design, prompt_weights, K)
    names = None if tensor is None else (tensor.items, tensor.prompts, tensor.orders)
    check_depth(n, n.sum(axis=-1), minimum=_PAIR, names=names)
    w = weights_of("prompt", prompt_weights, K, names and names[1])
    q = weights_of("order", order_weights, O, names and names[2])
    known = Declared(
        n=n,
        w=w,
        q=q,
        # Equal weights stay unsaid, which lets `decompose` take its exact integer path.
        given_w=None if prompt_weights is None else w,
        given_q=None if order_weights is None else q,
        dissimilarity=dissimilarity,
        M=similarity_of(dissimilarity, C),
        design=design,
        items=names and names[0],
        ranked=None if tensor is None else tensor.ranked,
    )
    if minimum == MIN_REPEATS:
        require_four(known)
    return known


def require_four(known: Declared, *, instead: str = _WIDER) -> None:
    """Require the calls that call variance takes; `instead` is what serves with fewer."""
    R = known.n.sum(axis=-1)
    short = int((R < MIN_REPEATS).sum())
    if short:
        raise NotIdentifiedError(
            f"{short} of {R.size} cells hold fewer than {MIN_REPEATS} calls (R = {R.min()}): no "
            "unbiased estimate of call-sampling variance exists below four. Acquire four repeats "
            f"of every cell, or {instead}"
        )
