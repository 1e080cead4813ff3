"""What moves a benchmark score: items, dice, prompts, orders, and their interaction.

Every verdict has a value; repeats are averaged, not voted. From cell means `y_iko` and the variance
of their calls, the effects of prompt, order and interaction are taken on every item (squared and
averaged: `U`) and on cells averaged over items (`B`), less the noise that calls add to them. With
`Sigma = sum v` over cells, `v` the variance of a cell mean (for B, of a cell mean over items):

    prompt (K-1)/K^2 Sigma/O^2     order (O-1)/O^2 Sigma/K^2     interaction (K-1)(O-1)/(KO)^2 Sigma

`M = (N B - U) / (N - 1)` is what items share, `S2_item = var(y_i) - mean Sigma_i / (KO)^2`, and
`call` the mean variance of a call within its cell. All are unbiased, for unequal repeats too. Then

    F(s, K) = (1 - s/K) K / (K-1) / s,    F_interaction = F_prompt F_order
    Var(score) = call / (N s b m) + sum_g F_g G_g  [+ S2_item / N for new items]

for s of K prompts, b of O orders and m repeats, with G = B where one draw serves these very items,
M + (U - M)/N for N items like them, U/N where every item draws its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil, isnan, nan, sqrt
from typing import Any, Final, Literal

from judgelaw.arrays import Floats, as_whole
from judgelaw.errors import InputError
from judgelaw.estimate import Array
from judgelaw.uncertainty import carried_distances, t_quantile

Draw = Literal["once", "item"]

FACETS: Final = ("prompt", "order", "interaction")
POWER = 2.8
"""1.96 + 0.84: a two-sided test at 5% that finds a difference in 80 of 100 studies."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CellScores:
    """Scores of cells.

    Attributes:
        y: mean of every cell, (items, prompts, orders).
        s2: variance of one call within its cell.
        v: variance of the mean.
    """

    y: Array
    s2: Array
    v: Array

    def minus(self, other: "CellScores") -> "CellScores":
        """Return the difference of two systems, judged on separate calls."""
        return CellScores(y=self.y - other.y, s2=self.s2 + other.s2, v=self.v + other.v)


def cell_scores(n: Array, values: Array) -> CellScores:
    """Score counts (items, prompts, orders, verdicts), two calls or more in every cell.

    `values` are those of the verdicts, (verdicts,), or of each item's own, (items, verdicts).
    """
    each = values if values.ndim == 1 else values[:, None, None]
    R = n.sum(axis=-1)
    y = (n * each).sum(axis=-1) / R
    s2 = ((n * each**2).sum(axis=-1) - R * y**2) / (R - 1)
    return CellScores(y=y, s2=s2, v=s2 / R)


@dataclass(frozen=True, kw_only=True)
class ScoreProtocol:
    """How a benchmark is scored.

    Attributes:
        prompts, orders: how many are used; fewer than there are: drawn.
        repeats: calls of every cell.
        items: how many.
        draw: "once" where one draw of prompts (orders) serves all items, "item" where every item
            draws its own.
        new_items: whether the items are others like these, or these very ones.
    """

    prompts: int
    orders: int
    repeats: int
    items: int
    draw: Draw = "once"
    new_items: bool = True

    def __post_init__(self) -> None:
        for name in ("prompts", "orders", "repeats", "items"):
            if as_whole(getattr(self, name), name) < 1:
                raise InputError(f"{name} = {getattr(self, name)}: a protocol uses one or more")
        if self.draw not in {"once", "item"}:
            raise InputError(f"draw = {self.draw!r}: 'once' for all items, or 'item' for each")

    @property
    def calls(self) -> int:
        """All calls of the benchmark."""
        return self.prompts * self.orders * self.repeats * self.items


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoreParts:
    """The variances behind a score, unbiased and unclipped; nan where the design has none.

    Attributes:
        items: S2_item, between items.
        call: of one call within its cell.
        per_item: U of every facet.
        asked: B of every facet, for these very items.
        shared: M of every facet, what items like these share.
        noise: variance of the score of these items that calls leave, as they were asked.
        shape: numbers of items, prompts and orders.
        generator: whether prompts were drawn from a generator, and are never all there are.
    """

    items: Any
    call: Any
    per_item: Mapping[str, Any]
    asked: Mapping[str, Any]
    shared: Mapping[str, Any]
    noise: Any
    shape: tuple[int, int, int]
    generator: bool = False

    def parts(self, p: ScoreProtocol) -> dict[str, float]:
        """Return what each source adds to the variance of a score; absent ones add nothing."""
        self._check(p)
        N = p.items
        found = {
            "items": self.items / N if p.new_items else 0.0,
            "call": self.call / (N * p.prompts * p.orders * p.repeats),
        }
        factors = self._factors(p)
        for facet in FACETS:
            U, M, F = self.per_item[facet], self.shared[facet], factors[facet]
            if F == 0 or isnan(float(U)):
                shared = own = 0.0
            elif p.draw == "item":
                shared, own = 0.0, F * U / N
            elif p.new_items or self.shape[0] != N:
                shared, own = F * M, F * (U - M) / N
            else:
                B = self.asked[facet]
                shared, own = F * M, F * (B - M)
            found |= {f"{facet}_shared": shared, f"{facet}_item": own}
        return found

    def variance(self, p: ScoreProtocol) -> float:
        """Return the variance of a score."""
        return float(sum(self.parts(p).values()))

    def se(self, p: ScoreProtocol) -> float:
        """Return the standard error of a score; nan where its variance comes out negative."""
        variance = self.variance(p)
        return sqrt(variance) if variance > 0 else nan

    def items_for(self, difference: float, p: ScoreProtocol, power: float = POWER) -> int | None:
        """Return the items that find a difference in 80 of 100 studies; None where none do.

        What prompts and orders add that all items share does not shrink with their number. `power`
        is how many standard errors a difference must have.
        """
        one = self.parts(replace(p, items=1, new_items=True))
        shared = sum(x for name, x in one.items() if name.endswith("_shared"))
        # An estimate below zero is noise: no effect of prompts makes a difference easier to find.
        room = (difference / power) ** 2 - max(0.0, shared)
        if room <= 0:
            return None
        return max(2, ceil((sum(one.values()) - shared) / room))

    def best_repeats(self, item_cost: float, p: ScoreProtocol) -> float:
        """Return the repeats of a cell that narrow a score most for the money; nan where unknown.

        With A what one more item shrinks beside the dice (items, and prompts and orders as far as
        each item has its own), and `item_cost` what an item costs beside its calls, in calls:

            s b m = sqrt(call / A item_cost)      for s prompts and b orders an item

        What all items share does not shrink with their number, and has no say.
        """
        one = self.parts(replace(p, items=1, new_items=True))
        own = sum(x for name, x in one.items() if name != "call" and not name.endswith("_shared"))
        if isnan(own) or own <= 0 or self.call <= 0:
            return nan
        return sqrt(self.call / own * item_cost) / (p.prompts * p.orders)

    def _factors(self, p: ScoreProtocol) -> dict[str, float]:
        _, K, O = self.shape
        of_prompts = K / (K - 1) / p.prompts if self.generator else _drawn(p.prompts, K)
        of_orders = _drawn(p.orders, O)
        return {
            "prompt": of_prompts,
            "order": of_orders,
            "interaction": of_prompts * of_orders,
        }

    def _check(self, p: ScoreProtocol) -> None:
        _, K, O = self.shape
        if (p.prompts > K and not self.generator) or p.orders > O:
            raise InputError(
                f"a protocol of {p.prompts} prompts and {p.orders} orders: there are {K} and {O}"
            )


def _drawn(s: int, K: int) -> float:
    """Return F(s, K): the share of an effect's variance that is left when s of K are drawn."""
    return 0.0 if s == K else (1 - s / K) * K / (K - 1) / s


def score_parts(cells: CellScores, *, generator: bool = False) -> ScoreParts:
    """Return the variances behind a score; for one item, what items share is nan."""
    N, K, O = cells.y.shape
    U = _effects(cells.y, cells.v)
    average = cells.y.sum(axis=0) / N
    B = _effects(average[None], cells.v.sum(axis=0)[None] / (N * N))
    y = cells.y.sum(axis=(1, 2)) / (K * O)
    noise = cells.v.sum(axis=(1, 2)) / (K * O) ** 2
    per_item = {facet: U[facet].sum() / N for facet in FACETS}
    asked = {facet: B[facet][0] for facet in FACETS}
    absent = {"prompt": K == 1, "order": O == 1, "interaction": K == 1 or O == 1}
    shared: dict[str, Any] = {}
    for facet in FACETS:
        if absent[facet]:
            per_item[facet] = asked[facet] = nan
        one = absent[facet] or N == 1
        shared[facet] = nan if one else (N * asked[facet] - per_item[facet]) / (N - 1)
    spread = nan if N == 1 else ((y - y.sum() / N) ** 2).sum() / (N - 1)
    return ScoreParts(
        items=spread - noise.sum() / N,
        call=cells.s2.sum() / cells.s2.size,
        per_item=per_item,
        asked=asked,
        shared=shared,
        noise=noise.sum() / (N * N),
        shape=(N, K, O),
        generator=generator,
    )


def _effects(y: Array, v: Array) -> dict[str, Array]:
    """Return squared effects of every item, averaged over levels, less the noise of calls."""
    _, K, O = y.shape
    mean = y.sum(axis=(1, 2), keepdims=True) / (K * O)
    prompt = y.sum(axis=2, keepdims=True) / O - mean
    order = y.sum(axis=1, keepdims=True) / K - mean
    both = y - mean - prompt - order
    Sigma = v.sum(axis=(1, 2))
    return {
        "prompt": (prompt**2).sum(axis=(1, 2)) / K - (K - 1) * Sigma / (K * O) ** 2,
        "order": (order**2).sum(axis=(1, 2)) / O - (O - 1) * Sigma / (K * O) ** 2,
        "interaction": (both**2).sum(axis=(1, 2)) / (K * O)
        - (K - 1) * (O - 1) * Sigma / (K * O) ** 2,
    }


def drawn_bounds(
    y: Floats, p: float, *, above: Floats, below: Floats, top: float
) -> tuple[float, float]:
    """Return the bounds of the mean of y (items, prompts), items and prompts both sampled.

    With v_i = var(item means)/N, v_p = var(prompt means)/s, e = MS_res/(N s), r = e/v_i and h the
    distance of an item bound from the mean, items and prompts get quantiles of their own, since
    they have N - 1 and s - 1 degrees of freedom:

        distance^2 = h^2 - r^2/2 min(h^2, t_{N-1}^2 v_i) + t_{s-1}^2 max(0, v_p - (1 - 3/4 r) e)

    Dice and what a prompt does on single items, e, are in v_i and in v_p. Where items differ for
    other reasons (r near 0) they are taken off v_p; where items differ for none (r = 1) the scatter
    of prompt means tells nearly all, and taking e off it covers .91 with three prompts. For normal
    effects of any size and 3 to 10 prompts this covers .93 to .97. One t quantile with
    Satterthwaite's degrees of freedom covers .90 to .97 with three prompts: where their means
    happen to lie close, it takes the error of drawing them for known.

    Args:
        y: mean scores.
        p: level of each bound.
        above: how far each item is above the least it can be; for differences, these themselves.
        below: how far each item is below the most it can be; for differences, their negative.
        top: the most that these can be.
    """
    N, s = y.shape
    items, prompts, mean = y.mean(axis=1), y.mean(axis=0), float(y.mean())
    residual = y - items[:, None] - prompts + y.mean()
    v_i, v_p = float(items.var(ddof=1)) / N, float(prompts.var(ddof=1)) / s
    e = float((residual**2).sum()) / ((N - 1) * (s - 1)) / (N * s)
    r = min(1.0, e / v_i) if v_i > 0 else 0.0
    by_t = t_quantile(p, N - 1) ** 2 * v_i
    drawing = t_quantile(p, s - 1) ** 2 * max(0.0, v_p - (1 - 0.75 * r) * e)
    down, up = (
        sqrt(h**2 - r**2 / 2 * min(h**2, by_t) + drawing)
        for h in carried_distances(above, below, p, top=top)
    )
    return mean - down, mean + up
