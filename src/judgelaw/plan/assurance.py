"""How narrow an interval will be, with a stated chance; and what a wanted width takes.

The width of an interval is itself random: it hangs on which items a study asks and on how the
judge's dice fall. A forecast of the average width is missed by half of all studies. So a width is
promised with a chance, the assurance: studies of N items and R repeats are simulated from the laws
that a pilot lets us expect, the 95% interval of each is computed by the very code that will compute
it in the end, and the promise is a high quantile of the half widths.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, isqrt
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from judgelaw.errors import InputError
from judgelaw.estimate import COMPONENTS, Design
from judgelaw.estimate.weights import Weights
from judgelaw.plan.laws import Floats, Laws, laws_from_pilot, suppose
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty.inference import Inference, infer
from judgelaw.uncertainty.projection import Scope
from judgelaw.worlds.checks import check_at_least, check_number

ASSURANCE: Final = 0.8
STUDIES: Final = 100
MOST_REPEATS: Final = 256
MOST_ITEMS: Final = 2_000
_LEAST_ASSURANCE, _MOST_ASSURANCE = 0.5, 0.95
_SIDE = 0.975
_DRAWS = 2_000
"""Random weightings behind a simulated bound: enough for its width."""
_PAIR = 2
_CLOSE = 0.02
"""Numbers of items are looked for to within this share."""


@dataclass(frozen=True, kw_only=True)
class Promise:
    """The half width that a 95% interval will have at most, with a stated chance.

    Attributes:
        component: whose interval.
        scope: "fixed" for the items asked, "new" for items like them.
        items, repeats: size of the study.
        assurance: chance that the interval is as narrow as promised, or narrower.
        half_width: half the distance of its ends; nan where there will be no interval.
        reason: why there will be none, or None.
    """

    component: str
    scope: Scope
    items: int
    repeats: int
    assurance: float
    half_width: float
    reason: str | None = None

    def reaches(self, half_width: float) -> bool:
        """Whether the promise is as narrow as wanted."""
        return self.half_width <= half_width


Advance = Callable[[int], None]
"""Told how many simulated studies were just done."""


def _silent(studies: int) -> None:
    del studies


@dataclass(frozen=True, kw_only=True, eq=False)
class Outlook:
    """Studies of a judge that are still to come, as far as they can be foreseen.

    Attributes:
        laws: where the laws of their items are drawn from.
        source: "pilot" or "laws".
        design, order_weights: as for `decompose`.
        assurance: chance with which a width is promised.
        studies: how many are simulated for each answer.
        seed: of the named streams.
    """

    laws: Laws
    source: str
    design: Design = "census"
    order_weights: Weights = None
    assurance: float = ASSURANCE
    studies: int = STUDIES
    seed: int = 0

    def __post_init__(self) -> None:
        chance = check_number("assurance", self.assurance)
        if not _LEAST_ASSURANCE <= chance <= _MOST_ASSURANCE:
            raise InputError(
                f"assurance = {chance}: a chance between {_LEAST_ASSURANCE} and "
                f"{_MOST_ASSURANCE} can be promised; take 0.8"
            )
        least = ceil(_MOST_ASSURANCE / (1 - _MOST_ASSURANCE))
        check_at_least("studies", self.studies, least, "a quantile of fewer would be a guess")

    def promises(
        self,
        components: Sequence[str],
        scopes: Sequence[Scope],
        *,
        items: int,
        repeats: Sequence[int],
        advance: Advance = _silent,
    ) -> Iterator[Promise]:
        """Yield a promise for every depth, target and component; the same items serve them all."""
        for component in components:
            if component not in COMPONENTS:
                raise InputError(
                    f"no component is called {component!r}; there are {list(COMPONENTS)}"
                )
        check_at_least("items", items, 1, "a benchmark has an item")
        for R in repeats:
            check_at_least("repeats", R, _PAIR, "a cell needs two calls to be corrected at all")
        asked = [(scope, component) for scope in scopes for component in components]
        found = np.empty((self.studies, len(repeats), len(asked)))
        for study in range(self.studies):
            laws = self.laws.draw(items, stream(self.seed, "plan", "laws", study))
            for at, R in enumerate(repeats):
                seen = self._infer(laws, R, study)
                found[study, at] = [_half_width(seen, c, scope) for scope, c in asked]
                advance(1)
        widths = self._assured(found)
        for at, R in enumerate(repeats):
            for (scope, component), width in zip(asked, widths[at], strict=True):
                yield Promise(
                    component=component,
                    scope=scope,
                    items=items,
                    repeats=R,
                    assurance=self.assurance,
                    half_width=float(width),
                    reason=seen.refusal(component, scope),
                )

    def at(
        self,
        component: str,
        *,
        items: int,
        repeats: int,
        scope: Scope = "fixed",
        advance: Advance = _silent,
    ) -> Promise:
        """Return the half width to count on with `repeats` calls a cell on `items` items."""
        (found,) = self.promises(
            [component], [scope], items=items, repeats=[repeats], advance=advance
        )
        return found

    def repeats_for(
        self,
        component: str,
        half_width: float,
        *,
        items: int,
        scope: Scope = "fixed",
        advance: Advance = _silent,
    ) -> Promise | None:
        """Return the promise with the fewest repeats that reaches a half width.

        None where MOST_REPEATS do not: for new items, repeats cannot replace items.
        """

        def promise(repeats: int) -> Promise:
            return self.at(component, items=items, repeats=repeats, scope=scope, advance=advance)

        # For new items the answer is often "none": one look at the end of the range tells.
        if not promise(MOST_REPEATS).reaches(_wanted(half_width)):
            return None
        return _fewest(promise, half_width, start=4, most=MOST_REPEATS, close=0.0)

    def items_for(
        self,
        component: str,
        half_width: float,
        *,
        repeats: int,
        scope: Scope = "fixed",
        start: int = 50,
        advance: Advance = _silent,
    ) -> Promise | None:
        """Return the promise with the fewest items, to within 2%, that reaches a half width.

        The search begins at `start`; None where MOST_ITEMS do not suffice.
        """

        def promise(items: int) -> Promise:
            return self.at(component, items=items, repeats=repeats, scope=scope, advance=advance)

        return _fewest(promise, _wanted(half_width), start=start, most=MOST_ITEMS, close=_CLOSE)

    def _infer(self, laws: Floats, repeats: int, study: int) -> Inference:
        rng = stream(self.seed, "plan", "calls", study)
        return infer(
            rng.multinomial(repeats, laws),
            design=self.design,
            order_weights=self.order_weights,
            draws=_DRAWS,
            seed=self.seed,
        )

    def _assured(self, found: Floats) -> Floats:
        """Return the quantile over studies.

        Of S + 1 exchangeable studies the last is at most the k-th smallest of the others with a
        chance of k / (S + 1).
        """
        rank = ceil(self.assurance * (self.studies + 1))
        return np.asarray(np.sort(found, axis=0)[rank - 1])


def outlook_from_pilot(
    pilot: VerdictTensor | ArrayLike,
    *,
    design: Design = "census",
    order_weights: Weights = None,
    assurance: float = ASSURANCE,
    studies: int = STUDIES,
    seed: int = 0,
) -> Outlook:
    """Look ahead from the counts of a pilot, two repeats or more in every cell."""
    if isinstance(pilot, VerdictTensor) and isinstance(order_weights, dict):
        order_weights = [order_weights[name] for name in pilot.orders]
    return Outlook(
        laws=laws_from_pilot(pilot),
        source="pilot",
        design=design,
        order_weights=order_weights,
        assurance=assurance,
        studies=studies,
        seed=seed,
    )


def outlook_from_law(
    law: ArrayLike,
    *,
    prompts: int,
    orders: int,
    design: Design = "census",
    order_weights: Weights = None,
    assurance: float = ASSURANCE,
    studies: int = STUDIES,
    seed: int = 0,
) -> Outlook:
    """Look ahead from one law supposed in every cell: dice alone, no effect, all items alike."""
    return Outlook(
        laws=suppose(law, prompts=prompts, orders=orders),
        source="laws",
        design=design,
        order_weights=order_weights,
        assurance=assurance,
        studies=studies,
        seed=seed,
    )


def _half_width(seen: Inference, component: str, scope: Scope) -> float:
    low, high = seen.bounds(component, _SIDE, scope)
    return (high - low) / 2


def _wanted(half_width: float) -> float:
    if not check_number("half_width", half_width) > 0:
        raise InputError(f"half_width = {half_width}: a wanted half width is positive")
    return half_width


def _fewest(
    promise: Callable[[int], Promise], wanted: float, *, start: int, most: int, close: float
) -> Promise | None:
    """Return the promise of the smallest number that reaches a width; numbers begin at two.

    Doubles until the width is reached, then halves the gap, on a logarithmic scale.
    """
    short, enough, best = _PAIR - 1, 0, None
    number = min(max(start, _PAIR), most)
    while True:
        found = promise(number)
        if found.reaches(wanted):
            enough, best = number, found
        else:
            short = number
        if best is not None and enough - short <= max(1, close * enough):
            return best
        if best is not None:
            number = min(max(isqrt(short * enough), short + 1), enough - 1)
        elif number == most or found.reason is not None:
            return None
        else:
            number = min(2 * number, most)
