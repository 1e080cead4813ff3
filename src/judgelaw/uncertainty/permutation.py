"""Exact permutation tests of "every prompt has the same law", and of "every order has".

Under the hypothesis the calls of an item-order block are exchangeable across prompts (of an
item-prompt block across orders). They are shuffled within the repeat rank where ranks are known:
that survives a shock shared by all calls of a rank, and it is the randomisation test of control
layers. Where only counts are known they are shuffled within the whole block.

    p = (1 + #{draws whose statistic >= observed}) / (1 + draws)

The statistic is the macro component, or the component over its call standard error ("studentised").
The plain test is exact for equality of laws. It is none of "component = 0": with an interaction
present it can reject that too often (15% at 5% in a planted case, where the studentised one
rejects 2%).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf, nan
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgelaw.errors import InputError
from judgelaw.estimate.weights import Weights
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty.call_variance import call_covariance
from judgelaw.uncertainty.declared import Declared, declare, require_four
from judgelaw.uncertainty.forms import absent_reason, form_of
from judgelaw.uncertainty.shuffle import Counts, Facet, Shuffler

Within = Literal["rank", "block"]
Statistic = Callable[[Counts], NDArray[np.float64]]
Progress = Callable[[int, int], None]
"""Called with the draws done and the draws asked for."""

DRAWS = 999
_CHUNK = 1 << 16
"""Calls shuffled at a time: 512 kB."""
_TIE = 1e-11
"""In units of the largest dissimilarity. Rounding makes equal statistics differ by 1e-15; distinct
ones differ by 1e-10 in common designs. Without it p was wrong in a fifth of data sets; with it a
near tie counts, which is conservative."""


@dataclass(frozen=True, kw_only=True)
class PermutationTest:
    """A permutation test and exactly what it tested.

    Attributes:
        p: the p value, nan with a reason where nothing can be shuffled.
        statistic: the observed statistic.
        at_least: draws whose statistic reached the observed one, ties included.
        draws: number of draws.
        facet: "prompt" or "order".
        within: "rank" if calls were shuffled within repeat ranks, "block" if within whole blocks.
        studentised: whether the statistic is the component over its call standard error.
        hypothesis: what was tested, in words.
        reason: why p is nan, or None.
    """

    p: float
    statistic: float
    at_least: int
    draws: int
    facet: Facet
    within: Within
    studentised: bool
    hypothesis: str
    reason: str | None = None


def permutation_test(
    x: VerdictTensor | ArrayLike,
    facet: Facet = "prompt",
    *,
    draws: int = DRAWS,
    seed: int = 0,
    studentised: bool = False,
    within: Within | None = None,
    order_weights: Weights = None,
    prompt_weights: Weights = None,
    dissimilarity: ArrayLike | str | None = None,
    progress: Progress | None = None,
) -> PermutationTest:
    """Test that all levels of a facet share one law in every block.

    Args:
        x: a VerdictTensor, or counts (items, prompts, orders, verdicts).
        facet: "prompt" (within item and order) or "order" (within item and prompt).
        draws: random shuffles.
        seed: seed of the test's named stream.
        studentised: divide the component by its call standard error; needs four repeats.
        within: "rank" or "block"; by default ranks where they are known. Cells with fewer calls
            than others have no call at some ranks; a rank shuffles the levels that have one.
        order_weights: as in `decompose`.
        prompt_weights: as in `decompose`.
        dissimilarity: as in `decompose`.
        progress: called with (done, draws) after every chunk of draws.
    """
    _check_request(facet, within, draws)
    r, unit = _in_unit(dissimilarity)
    known = declare(x, order_weights=order_weights, prompt_weights=prompt_weights, dissimilarity=r)
    if studentised:
        require_four(known, instead="use the plain test, which needs two")
    scheme = _scheme(known, within)
    statistic = _statistic(known, facet, studentised=studentised)
    observed = float(statistic(known.n[None])[0])
    shuffler = Shuffler.of(known.n, known.ranked if scheme == "rank" else None, facet)
    reason = _refusal(known, facet, shuffler, observed)
    at_least = 0
    if reason is None:
        rng = stream(seed, "permutation", facet, scheme)
        reached = _reached(known, facet, statistic, observed, studentised=studentised)
        for size, done in _chunks(draws, shuffler.calls):
            at_least += reached(shuffler.draw(rng, size))
            if progress is not None:
                progress(done, draws)
    return PermutationTest(
        p=(1 + at_least) / (1 + draws) if reason is None else nan,
        statistic=observed if studentised else observed * unit,
        at_least=at_least,
        draws=draws if reason is None else 0,
        facet=facet,
        within=scheme,
        studentised=studentised,
        hypothesis=_hypothesis(facet, scheme),
        reason=reason,
    )


def _in_unit(
    dissimilarity: ArrayLike | str | None,
) -> tuple[ArrayLike | str | None, float]:
    """Return a dissimilarity whose largest entry is 1, and the unit that was divided out.

    What counts as a tie, and so p, then does not depend on the unit of the scores.
    """
    if dissimilarity is None or isinstance(dissimilarity, str):
        return dissimilarity, 1.0
    r = np.asarray(dissimilarity)
    unit = float(r.max()) if r.size else nan
    if not 0 < unit < inf:  # nothing to divide by: `declare` judges it
        return dissimilarity, 1.0
    return np.asarray(r / unit), unit


def _chunks(draws: int, calls: int) -> Iterator[tuple[int, int]]:
    size = max(1, _CHUNK // calls)
    for first in range(0, draws, size):
        done = min(first + size, draws)
        yield done - first, done


def _statistic(known: Declared, facet: Facet, *, studentised: bool) -> Statistic:
    """Return the function from counts (draws, items, ...) to the statistic of every draw."""

    def component(counts: Counts) -> NDArray[np.float64]:
        return np.asarray(known.decompose(counts)[facet].mean(axis=-1))

    if not studentised or _levels(known, facet) == 1:
        return component
    c = form_of(facet, known.w, known.q)[None]
    cells = known.cells.shape[1:]

    def over_error(counts: Counts) -> NDArray[np.float64]:
        U = component(counts)
        V = call_covariance(counts.reshape(-1, *cells), c, known.M).reshape(len(U), -1)
        variance = V.sum(axis=-1) / V.shape[1] ** 2
        # A table without call noise to divide by counts as extreme, on the side of its component.
        extreme = np.copysign(np.inf, U)
        np.divide(U, np.sqrt(np.abs(variance)), out=extreme, where=variance > 0)
        return extreme

    return over_error


def _reached(
    known: Declared, facet: Facet, statistic: Statistic, observed: float, *, studentised: bool
) -> Callable[[Counts], int]:
    """Return the function that counts the draws whose statistic reaches the observed one."""
    R = known.n.sum(axis=-1)
    uniform = known.given_w is None and known.given_q is None and known.M is None
    if uniform and not studentised and (R.flat[0] == R).all():
        least = _varying(known.n[None], facet)[0]
        return lambda counts: int((_varying(counts, facet) >= least).sum())
    bar = observed - _TIE * max(1.0, abs(observed))
    return lambda counts: int((statistic(counts) >= bar).sum())


def _varying(counts: Counts, facet: Facet) -> NDArray[np.int64]:
    """Return the part of the macro component that shuffles change, as a whole number.

    With equal weights and R calls in every cell, a component of L levels is, but for a positive
    factor and for margins that no shuffle across its levels moves,

        L (R - 1) sum |n_x|^2 + (L - 1) sum |n_xo|^2

    where n_x are the counts of a level and n_xo those of a cell (Proposition 3, distinct calls).
    In whole numbers equal statistics are ties, and nothing else is.
    """
    axis = 2 if facet == "prompt" else 3
    levels, repeats = counts.shape[axis], int(counts[0, 0, 0, 0].sum())
    # As they lie in memory: the facet that is shuffled comes after the other one.
    n_xo = np.ascontiguousarray(np.moveaxis(counts, axis, 3), dtype=np.float64)
    n_x = np.einsum("diolc->dilc", n_xo)
    varying = levels * (repeats - 1) * _squares(n_x) + (levels - 1) * _squares(n_xo)
    return np.asarray(varying)


def _squares(n: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the sum of squares of every draw; floats hold whole numbers exactly below 2^53."""
    flat = n.reshape(len(n), -1)
    return np.asarray(np.einsum("ij,ij->i", flat, flat).astype(np.int64))


def _scheme(known: Declared, within: Within | None) -> Within:
    if within == "rank" and known.ranked is None:
        raise InputError(
            "within='rank' needs ranked verdicts, and only counts are known: leave it out to "
            "shuffle within whole blocks"
        )
    return within or ("block" if known.ranked is None else "rank")


def _refusal(known: Declared, facet: Facet, shuffler: Shuffler, observed: float) -> str | None:
    if _levels(known, facet) == 1:
        return absent_reason(facet)
    if not shuffler.movable:
        return (
            f"no shuffle across {facet}s changes the table: all calls that may be exchanged have "
            "the same verdict, so there is nothing to test"
        )
    if not np.isfinite(observed):
        return (
            "the call variance of the observed table is not positive, so its component cannot be "
            "studentised: use the plain test, or acquire more repeats"
        )
    return None


def _levels(known: Declared, facet: Facet) -> int:
    return int(known.n.shape[1 if facet == "prompt" else 2])


def _hypothesis(facet: Facet, within: Within) -> str:
    other = "order" if facet == "prompt" else "prompt"
    how = "within repeat ranks" if within == "rank" else "within whole blocks"
    return (
        f"every {facet} has the same law in every item-{other} block; calls exchanged across "
        f"{facet}s {how}"
    )


def _check_request(facet: str, within: str | None, draws: int) -> None:
    if facet not in get_args(Facet):
        raise InputError(f"facet {facet!r}: calls are exchanged across 'prompt' or 'order'")
    if within is not None and within not in get_args(Within):
        raise InputError(f"within {within!r}: calls are exchanged within a 'rank' or a 'block'")
    if draws < 1:
        raise InputError(f"draws = {draws}: a permutation test needs one draw or more")
