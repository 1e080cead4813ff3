"""How often to ask each item again, from how noisy it was in an earlier run.

The call variance of an item falls with its repeats, V_i(R) = l_i/R + c_i/R^2 + p_i/(R(R-1)), and
the error of the mean over items is the sum of them. Where a few items hold most of the noise, the
same number of calls says more if those are asked more often. The parts l, c and p of each item
come from the earlier run, at its smoothed laws; the calls go, one after the other, to the item
whose variance the next repeat lowers most.

The estimates of the new run stay unbiased whatever the rule is, since the earlier calls are no
part of it: for every allocation each item's estimate has its own expectation, and the mean over
items weighs all items alike. Calls whose number is chosen by looking at those very calls have no
such property, and are biased by up to 67 standard errors.

Where noise is even, what differs between items in the earlier run is its own dice, and equal
repeats are better. So the gain is foreseen first, honestly: half of the earlier calls choose, the
other half say what the choice would be worth.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import PAIR, Floats, check_at_least
from judgelaw.errors import InputError
from judgelaw.estimate import CENSUS, COMPONENTS, Estimand
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import (
    component_map,
    concentration_forms,
    declare,
    smoothed_laws,
    true_variance_parts,
)

_SPLITS: Final = 20
_WORTH: Final = 0.95
"""By-item repeats are taken where they are foreseen to lower the variance to this share."""

Whole = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class ChosenRepeats:
    """Repeats of every item.

    Attributes:
        repeats: by item; all the same where equal repeats are better.
        by_item: whether items differ.
        foreseen: call variance that is foreseen, as a share of that with equal repeats and as many
            calls.
        reason: why, in a sentence.
    """

    repeats: Mapping[str, int]
    by_item: bool
    foreseen: float
    reason: str


def choose_repeats(
    earlier: VerdictTensor,
    estimand: Estimand = CENSUS,
    *,
    least: int,
    most: int,
    mean: int,
    component: str = "prompt",
    seed: int = 0,
) -> ChosenRepeats:
    """Choose the repeats of the items of an earlier run, for calls that are still to be made.

    Args:
        earlier: the calls of the earlier run; four repeats or more, so that halves can be told.
        estimand: what is estimated.
        least: repeats of a cell at least.
        most: repeats of a cell at most.
        mean: repeats of a cell on average.
        component: whose error is to be small.
        seed: of the splits that foresee the gain.
    """
    _check(earlier, component, (least, most, mean))
    noise = _Noise(
        component=component,
        estimand=estimand,
        size=(least, most, mean),
        M=declare(earlier, estimand).M,
    )
    foreseen = noise.foresee(earlier.counts, seed)
    share = f"{foreseen:.0%} of the variance of {mean} repeats each"
    chosen = np.full(len(earlier.items), mean)
    reason = (
        "equal repeats are better: the earlier noise is spread over the items, and repeats by item "
        f"would leave {share}"
    )
    if foreseen <= _WORTH:
        chosen = noise.allocate(noise.parts(earlier.counts))
        reason = (
            f"the earlier noise is concentrated: {int((chosen > mean).sum())} of {len(chosen)} "
            f"items are asked more than {mean} times, which leaves about {share}"
        )
    return ChosenRepeats(
        repeats=dict(zip(earlier.items, chosen.tolist(), strict=True)),
        by_item=foreseen <= _WORTH,
        foreseen=foreseen,
        reason=reason,
    )


def _check(earlier: VerdictTensor, component: str, size: tuple[int, int, int]) -> None:
    """Refuse what cannot be chosen, or told from these calls."""
    least, most, mean = size
    check_at_least("min", least, PAIR, "a cell needs two calls to be corrected at all")
    if component not in COMPONENTS:
        raise InputError(f"no component is called {component!r}; there are {list(COMPONENTS)}")
    if not least <= mean <= most:
        raise InputError(f"mean = {mean}: it lies between min = {least} and max = {most}")
    if earlier.depth[0] < 2 * PAIR:
        raise InputError(
            f"the earlier run has {earlier.depth[0]} calls in a cell: noise by item can be told "
            "from four repeats on; write repeats: as a number"
        )


@dataclass(frozen=True, kw_only=True)
class _Noise:
    """The call variance of every item, from counts, at any number of repeats.

    Attributes:
        component, estimand: whose error it is.
        size: repeats at least, at most, on average.
        M: similarity of verdicts, None for equality.
    """

    component: str
    estimand: Estimand
    size: tuple[int, int, int]
    M: Floats | None = None

    def parts(self, counts: Whole) -> Floats:
        """Return l, c and p of every item at its smoothed laws, (3, items)."""
        known = declare(counts, self.estimand)
        return self.parts_of_laws(smoothed_laws(known.cells), known.w, known.q)

    def parts_of_laws(self, laws: Floats, w: Floats, q: Floats) -> Floats:
        """Return l, c and p of every item at laws (items, cells, verdicts)."""
        found = true_variance_parts(laws, concentration_forms(w, q), self.M)
        row = component_map(len(w), len(q), self.estimand.design)[COMPONENTS.index(self.component)]
        parts = (found.linear, found.cross, found.pair)
        return np.stack([np.einsum("a,nab,b->n", row, part, row) for part in parts])

    def allocate(self, parts: Floats) -> Whole:
        """Return the repeats of every item that make the summed variance smallest."""
        least, most, mean = self.size
        depths = np.arange(least, most + 1)
        gains = -np.diff(variance(parts, depths[:, None]), axis=0)  # (steps, items), falling
        given = np.argsort(-gains, axis=None, kind="stable")[: (mean - least) * parts.shape[1]]
        taken = np.zeros(gains.size, dtype=np.int64)
        taken[given] = 1
        return np.asarray(least + taken.reshape(gains.shape).sum(axis=0))

    def foresee(self, counts: Whole, seed: int) -> float:
        """Return the variance that a choice by one half has in the other, over that of equality."""
        mean = self.size[2]
        chosen, equal = 0.0, 0.0
        for split in range(_SPLITS):
            one = _half(counts, stream(seed, "repeats", split))
            for choosing, telling in ((one, counts - one), (counts - one, one)):
                parts = self.parts(telling)
                chosen += float(variance(parts, self.allocate(self.parts(choosing))).sum())
                equal += float(variance(parts, np.array(mean)).sum())
        return chosen / equal if equal > 0 else 1.0


def variance(parts: Floats, repeats: Whole) -> Floats:
    """Return the call variance of every item at so many repeats."""
    l, c, p = parts
    R = repeats.astype(float)
    return np.asarray(l / R + c / R**2 + p / (R * (R - 1)))


def _half(counts: Whole, rng: np.random.Generator) -> Whole:
    """Draw half of the calls of every cell, without replacement."""
    flat = counts.reshape(-1, counts.shape[-1])
    halves = [rng.multivariate_hypergeometric(cell, int(cell.sum()) // 2) for cell in flat]
    return np.array(halves, dtype=np.int64).reshape(counts.shape)
