"""How narrow an interval will be, with a stated chance; and what a wanted width takes.

The width of an interval is itself random: it hangs on which items a study asks and on how the
judge's dice fall. A forecast of the average width is missed by half of all studies. So a width is
promised with a chance, the assurance: studies of N items and R repeats are simulated from the laws
that a pilot lets us expect, the 95% interval of each is computed by the very code that will compute
it in the end, and the promise is a high quantile of the half widths.

Measured over worlds that look like real judges, with pilots of 20 and 50 items: see
`tests/calibration/test_plan.py`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, log
from typing import Final, cast

import numpy as np
from numpy.typing import ArrayLike

from judgelaw.arrays import PAIR, Floats, check_at_least, check_number
from judgelaw.decide.pilot_laws import Laws, laws_from_pilot, suppose
from judgelaw.errors import InputError
from judgelaw.estimate import CENSUS, COMPONENTS
from judgelaw.steps import Advance, unheard
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import Estimand, Inference, Scope, declare, infer

ASSURANCE: Final = 0.8
STUDIES: Final = 100
MOST_REPEATS: Final = 256
MOST_ITEMS: Final = 2_000
_LEAST_ASSURANCE, _MOST_ASSURANCE = 0.5, 0.95
_SIDE = 0.975
_DRAWS = 2_000
"""Random weightings behind a simulated bound: enough for its width."""
_RISK: Final = 0.5
_RESERVE: Final = 1.05
"""Both chosen by simulation over eight worlds, with pilots of 20 items; tested on other seeds."""
_ROUNDING = 1e-9


_CLOSE = 0.05
"""Numbers of items and of repeats are looked for to within this share."""
_AMPLE = 1.1
_LEAP = 16.0
"""How far beyond a known width, and how many times at most, the next number lies."""


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


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """What a wanted half width takes.

    Attributes:
        component, half_width, scope: what is wanted.
        repeats: the promise with the fewest repeats on given items, None where none are enough.
        items: the promise with the fewest items at given repeats, None where none are enough.
    """

    component: str
    half_width: float
    scope: Scope
    repeats: Promise | None
    items: Promise | None


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
        dissimilarity: as for `decompose`.
    """

    laws: Laws
    source: str
    estimand: Estimand = CENSUS
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
        least = ceil(1 / (_RISK * (1 - _MOST_ASSURANCE))) - 1
        check_at_least("studies", self.studies, least, "a quantile of fewer would be a guess")

    def promises(
        self,
        components: Sequence[str],
        scopes: Sequence[Scope],
        *,
        items: int,
        repeats: Sequence[int],
        advance: Advance = unheard,
    ) -> Iterator[Promise]:
        """Yield a promise for every depth, target and component; the same items serve them all."""
        asked = [(scope, component) for scope in scopes for component in components]
        found, seen = self.simulate(asked, items=items, repeats=repeats, advance=advance)
        widths = self.assured(found)
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

    def simulate(
        self,
        asked: Sequence[tuple[Scope, str]],
        *,
        items: int,
        repeats: Sequence[int],
        advance: Advance = unheard,
    ) -> tuple[Floats, Inference]:
        """Simulate studies; return half widths (studies, repeats, asked), and what one saw."""
        for _, component in asked:
            if component not in COMPONENTS:
                raise InputError(
                    f"no component is called {component!r}; there are {list(COMPONENTS)}"
                )
        check_at_least("items", items, 1, "a benchmark has an item")
        for R in repeats:
            check_at_least("repeats", R, PAIR, "a cell needs two calls to be corrected at all")
        found = np.empty((self.studies, len(repeats), len(asked)))
        for study in range(self.studies):
            laws = self.laws_of(study, items)
            for at, R in enumerate(repeats):
                seen = self._infer(laws, R, study)
                found[study, at] = [_half_width(seen, c, scope) for scope, c in asked]
                advance(1)
        return found, seen

    def laws_of(self, study: int, items: int) -> Floats:
        """Draw the laws of one simulated study."""
        return self.laws.draw(items, stream(self.seed, "plan", "laws", study))

    def at(
        self,
        component: str,
        *,
        items: int,
        repeats: int,
        scope: Scope = "fixed",
        advance: Advance = unheard,
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
        advance: Advance = unheard,
    ) -> Promise | None:
        """Return the promise with the fewest repeats, to within 5%, that reaches a half width.

        None where MOST_REPEATS do not: for new items, repeats cannot replace items.
        """

        def promise(repeats: int) -> Promise:
            return self.at(component, items=items, repeats=repeats, scope=scope, advance=advance)

        # For new items the answer is often "none": one look at the end of the range tells.
        if not promise(MOST_REPEATS).reaches(_wanted(half_width)):
            return None
        return _fewest(promise, half_width, start=4, most=MOST_REPEATS)

    def items_for(
        self,
        component: str,
        half_width: float,
        *,
        repeats: int,
        scope: Scope = "fixed",
        start: int = 50,
        advance: Advance = unheard,
    ) -> Promise | None:
        """Return the promise with the fewest items, to within 5%, that reaches a half width.

        The search begins at `start`; None where MOST_ITEMS do not suffice.
        """

        def promise(items: int) -> Promise:
            return self.at(component, items=items, repeats=repeats, scope=scope, advance=advance)

        return _fewest(promise, _wanted(half_width), start=start, most=MOST_ITEMS)

    def sizes_for(
        self,
        component: str,
        half_width: float,
        *,
        items: int,
        repeats: int,
        scope: Scope = "fixed",
        advance: Advance = unheard,
    ) -> Sizes:
        """Return both: the fewest repeats on `items`, and the fewest items at `repeats`."""
        return Sizes(
            component=component,
            half_width=half_width,
            scope=scope,
            repeats=self.repeats_for(
                component, half_width, items=items, scope=scope, advance=advance
            ),
            items=self.items_for(
                component, half_width, repeats=repeats, scope=scope, start=items, advance=advance
            ),
        )

    def _infer(self, laws: Floats, repeats: int, study: int) -> Inference:
        rng = stream(self.seed, "plan", "calls", study)
        return infer(
            rng.multinomial(repeats, laws),
            self.estimand,
            draws=_DRAWS,
            seed=self.seed,
        )

    def with_reserve(self, widths: Floats) -> Floats:
        """Return simulated widths, a twentieth wider where a pilot is behind them."""
        return widths * _RESERVE if self.source == "pilot" else widths

    def assured(self, found: Floats) -> Floats:
        """Return the quantile over studies that is promised.

        Of S + 1 exchangeable studies the last is at most the k-th smallest of the others with a
        chance of k / (S + 1). A pilot is one sample of items, and studies simulated from it are too
        much like it: half the risk is kept back for that, and a twentieth of the width.
        """
        chance, found = self.assurance, self.with_reserve(found)
        if self.source == "pilot":
            chance = 1 - _RISK * (1 - chance)
        rank = ceil(chance * (self.studies + 1) - _ROUNDING)
        return np.asarray(np.sort(found, axis=0)[rank - 1])


def outlook_from_pilot(
    pilot: VerdictTensor | ArrayLike,
    estimand: Estimand = CENSUS,
    *,
    assurance: float = ASSURANCE,
    studies: int = STUDIES,
    seed: int = 0,
) -> Outlook:
    """Look ahead from the counts of a pilot, two repeats or more in every cell.

    Where prompts were drawn, those of the pilot stay: their number is that of the pilot.

    Raises:
        NotIdentifiedError: a cell holds one call.
    """
    known = declare(pilot, estimand)
    return Outlook(
        laws=laws_from_pilot(known),
        source="pilot",
        estimand=known.estimand,
        assurance=assurance,
        studies=studies,
        seed=seed,
    )


def outlook_from_law(
    law: ArrayLike,
    estimand: Estimand = CENSUS,
    *,
    prompts: int,
    orders: int,
    assurance: float = ASSURANCE,
    studies: int = STUDIES,
    seed: int = 0,
) -> Outlook:
    """Look ahead from one law supposed in every cell: dice alone, no effect, all items alike."""
    return Outlook(
        laws=suppose(law, prompts=prompts, orders=orders),
        source="laws",
        estimand=estimand,
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
    promise: Callable[[int], Promise], wanted: float, *, start: int, most: int
) -> Promise | None:
    """Return the promise of the smallest number that reaches a width; numbers begin at two.

    The next number to try is where a width that falls as a power of the number would be reached.
    """
    short, enough = None, None
    number = min(max(start, PAIR), most)
    while True:
        found = promise(number)
        if found.reason is not None:
            return None
        if found.reaches(wanted):
            enough = (number, found)
        elif number == most:
            return None
        else:
            short = (number, found)
        low = short[0] if short else PAIR - 1
        if enough and enough[0] - low <= max(1, _CLOSE * enough[0]):
            return enough[1]
        high = enough[0] if enough else most + 1
        number = min(max(_guess(short, enough, wanted), low + 1), high - 1)


Tried = tuple[int, Promise]


def _guess(short: Tried | None, enough: Tried | None, wanted: float) -> int:
    """Return a number that may just do; with one width known, one that lies beyond it."""
    if short is not None and enough is not None:
        (low, wide), (high, narrow) = short, enough
        part = log(wide.half_width / wanted) / log(wide.half_width / narrow.half_width)
        # Never too near an end of the range: the search would become slow there.
        return int(low * float(high / low) ** min(max(part, 0.2), 0.8)) + 1
    number, found = cast("Tried", short or enough)
    # Widths shrink about as one over the square root of the number.
    times = (found.half_width / wanted) ** 2
    times = max(1.5, _AMPLE * times) if enough is None else min(0.7, times / _AMPLE)
    return ceil(number * min(max(times, 1 / _LEAP), _LEAP))
