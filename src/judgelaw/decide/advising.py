"""Advice worked out: protocols with their bounds, and the walk to a target."""

from collections.abc import Mapping, Sequence
from math import isnan, nan

import numpy as np

from judgelaw.arrays import PAIR, Floats, check_number
from judgelaw.decide.advice import (
    LEVEL,
    Advice,
    JudgeAdvice,
    ProtocolRow,
    Target,
    WrongVerdicts,
    advice_notes,
    advice_sentences,
    forecast,
)
from judgelaw.decide.prompt_choice import (
    SOURCES,
    choose_prompts,
    gold_codes,
    right_of,
    wrong_by_source,
)
from judgelaw.decide.protocols import (
    STEPS,
    Outcome,
    Protocol,
    check_protocols,
    default_protocols,
    outcomes_of,
    single_cell,
)
from judgelaw.decide.vote_forecast import MixingLaws, mixing_laws
from judgelaw.errors import InputError
from judgelaw.estimate import CENSUS, Design, Estimand, Weights, check_depth, counts_of, weights_of
from judgelaw.quantities import Estimate
from judgelaw.steps import Advance, Progress, unseen, within
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import (
    Draws,
    lower_bound,
    signed_intervals,
    upper_bound,
    weigh,
    weightings_for,
)
from judgelaw.words import listed, of_orders

QUANTITIES = ("stability", "accuracy")
_SIDE = 0.975
_MOST_VOTES = 3
_SEVERAL = 3
_FEW_CALLS = 50_000
"""Up to so many calls a vote over every prompt is worked out in a fraction of a second."""


def advise(
    tensors: Mapping[str, VerdictTensor],
    *,
    target: Mapping[str, float] | None = None,
    protocols: Sequence[Protocol] | None = None,
    estimand: Estimand = CENSUS,
    price: Mapping[str, float] | None = None,
    seed: int = 0,
    progress: Progress = unseen,
) -> Advice:
    """Say what every way to ask comes to, and what a target costs.

    Args:
        tensors: the calls, by judge.
        target: least stability or accuracy that a protocol should have: `{"stability": 0.9}`.
        protocols: the protocols to look at; by default `default_protocols`.
        estimand: the design, and how often each order is used, for the noise of prompts.
        price: US dollars of a call, by judge.
        seed: of every random stream.
        progress: opens what shows how far it is.

    Raises:
        NotIdentifiedError: a cell holds one call.
    """
    wanted = check_target(target)
    with progress("advising", 2 * STEPS * len(tensors)) as advance:
        return Advice(
            judges={
                name: _judge(
                    tensor,
                    wanted=wanted,
                    protocols=protocols,
                    estimand=estimand,
                    price=(price or {}).get(name),
                    seed=seed,
                    advance=advance,
                )
                for name, tensor in tensors.items()
            }
        )


def check_target(target: Mapping[str, float] | None) -> tuple[str, float] | None:
    """Return the one quantity that is wanted, and its least value."""
    if target is None:
        return None
    if len(target) != 1 or next(iter(target)) not in QUANTITIES:
        raise InputError(
            f"target {dict(target)!r}: name one of {listed(QUANTITIES)}, as in stability=0.9"
        )
    ((quantity, value),) = target.items()
    if not 0 < check_number(f"target {quantity}", value) < 1:
        raise InputError(f"target {quantity}={value:g}: a share lies between 0 and 1")
    return quantity, float(value)


def _judge(
    tensor: VerdictTensor,
    *,
    wanted: tuple[str, float] | None,
    protocols: Sequence[Protocol] | None,
    estimand: Estimand,
    price: float | None,
    seed: int,
    advance: Advance,
) -> JudgeAdvice:
    n, names = counts_of(tensor)
    check_depth(n, n.sum(axis=-1), minimum=PAIR, names=names)
    design, order_weights = estimand.design, estimand.order_weights
    if protocols is None:
        protocols = default_protocols(tensor, design=design)
    check_protocols(protocols, tensor, design)
    if wanted is not None and wanted[0] == "accuracy" and tensor.gold is None:
        raise InputError("target accuracy: there are no gold verdicts; ask for stability")
    choice = choose_prompts(tensor, order_weights=order_weights, seed=seed)
    found = outcomes_of(tensor, protocols, design=design, seed=seed, advance=advance)
    bounds = _Bounds(tensor, found, design, seed)
    told = within(advance, share=STEPS, of=len(found))
    rows = tuple(bounds.row(at, price, told) for at in range(len(found)))
    target = None if wanted is None else _walk(rows, bounds, *wanted)
    return JudgeAdvice(
        sentence=of_orders(" ".join(advice_sentences(rows, target)), len(tensor.orders)),
        choice=choice,
        protocols=rows,
        target=target,
        items=len(tensor.items),
        wrong=wrong_verdicts(tensor, order_weights),
        notes=tuple(
            advice_notes(
                choice,
                rows,
                repeats=tensor.depth[0],
                sampled=design == "sampled",
                scored=tensor.scale is not None,
            )
        ),
    )


def wrong_verdicts(tensor: VerdictTensor, order_weights: Weights = None) -> WrongVerdicts | None:
    """Return how many verdicts are wrong and why, with intervals for items like these."""
    gold = gold_codes(tensor)
    if gold is None:
        return None
    rows, codes = gold
    q = weights_of("order", order_weights, len(tensor.orders), tensor.orders)
    found = wrong_by_source(tensor.counts[rows], codes, q)
    values = np.stack([np.asarray(x, dtype=float) for x in found.values()], axis=1)
    parts = {
        name: Estimate(estimate=i.estimate, low=i.low, high=i.high)
        for name, i in zip(found, signed_intervals(values), strict=True)
    }
    return WrongVerdicts(
        share=parts["wrong"], parts={name: parts[name] for name in SOURCES}, items=len(rows)
    )


class _Bounds:
    """Item values of every protocol, and their bounds for items like these, from the same draws."""

    def __init__(
        self, tensor: VerdictTensor, found: Sequence[Outcome], design: Design, seed: int
    ) -> None:
        self._tensor, self._found = tensor, found
        gold = gold_codes(tensor)
        N = len(tensor.items)
        # A prompt of a generator is drawn too: bounds over items alone would be too narrow.
        self._moves = {
            at: np.asarray(1 - o.same, dtype=float)
            for at, o in enumerate(found)
            if o.same is not None
        }
        self._unsure = {
            at for at, o in enumerate(found) if design == "sampled" and o.protocol.drawn is not None
        }
        self._right = {
            at: np.asarray(right, dtype=float)
            for at, o in enumerate(found)
            if o.law is not None and (right := right_of(o.law, gold)) is not None
        }
        together = gold is None or len(gold[0]) == N
        columns: list[tuple[str, int, Floats]] = [("same", at, x) for at, x in self._moves.items()]
        others = [("right", at, x) for at, x in self._right.items()]
        groups = [columns + others] if together else [columns, others]
        self._drawn: dict[tuple[str, int], Draws] = {}
        for group in groups:
            self._drawn |= _weighed(group, seed)
        self._mixing: dict[str, MixingLaws | None] = {}

    def bounds(self, quantity: str, at: int, p: float) -> tuple[float, float]:
        """Return lower and upper bounds of a protocol, each at level p; nan where none are."""
        kind = "same" if quantity == "stability" else "right"
        drawn = self._drawn.get((kind, at))
        if drawn is None or at in self._unsure:
            return nan, nan
        if kind == "right":
            return -_mirrored(drawn).quantile(p, 0.0), drawn.quantile(p, 1.0)
        x = self._moves[at]
        top = 1 - 1 / max(len(self._tensor.verdicts), 2)
        return (
            max(0.0, 1 - upper_bound(x, drawn, p, top=top, careful=True)),
            min(1.0, 1 - lower_bound(x, drawn, p)),
        )

    def row(self, at: int, price: float | None, told: Advance) -> ProtocolRow:
        """Return what is known of a protocol."""
        told(1)
        p = self._found[at].protocol
        calls = p.calls(len(self._tensor.prompts), len(self._tensor.orders))
        accuracy = None
        if at in self._right:
            accuracy = self._estimate("accuracy", at, float(self._right[at].mean()))
        stability: Estimate
        if at in self._moves:
            stability = self._estimate("stability", at, 1 - float(self._moves[at].mean()))
        else:
            stability = self._forecast(p)
        return ProtocolRow(
            protocol=p,
            calls=calls,
            stability=stability,
            accuracy=accuracy,
            cost=None if price is None else price * calls,
        )

    def _estimate(self, quantity: str, at: int, estimate: float) -> Estimate:
        low, high = self.bounds(quantity, at, _SIDE)
        return Estimate(estimate=estimate, low=low, high=high)

    def _forecast(self, p: Protocol) -> Estimate:
        """Return what the calls allow: anything, where several cells vote or a tie is ruled."""
        name = p.fixed
        if name is None or not single_cell(p) or p.rule != "random":
            return forecast(0.0, 1.0)
        if name not in self._mixing:
            k = self._tensor.prompts.index(name)
            self._mixing[name] = mixing_laws(self._tensor.counts[:, k, 0])
        laws = self._mixing[name]
        low, high = (0.0, 1.0) if laws is None else laws.stability(p.repeats)
        return forecast(low, high)


def _weighed(columns: Sequence[tuple[str, int, Floats]], seed: int) -> dict[tuple[str, int], Draws]:
    """Weigh the values of items, all from the same draws; nothing where there is one item."""
    if not columns or len(columns[0][2]) < PAIR:
        return {}
    values = np.stack([x for _, _, x in columns], axis=1)
    drawn = weigh(values, draws=weightings_for(len(values)), seed=seed)
    return {
        (kind, at): Draws(sums=drawn.sums[c], last=drawn.last)
        for c, (kind, at, _) in enumerate(columns)
    }


def _mirrored(drawn: Draws) -> Draws:
    return Draws(sums=-drawn.sums, last=drawn.last)


def _walk(rows: Sequence[ProtocolRow], bounds: _Bounds, quantity: str, value: float) -> Target:
    """Test every ladder from its dearest protocol down; claim the cheapest of the last that met."""
    ladders: dict[tuple[str, str, str], list[int]] = {}
    for at, row in enumerate(rows):
        if not isnan(bounds.bounds(quantity, at, _SIDE)[0]):
            ladders.setdefault(row.protocol.ladder, []).append(at)
    p = 1 - (1 - LEVEL) / max(len(ladders), 1)
    claimed: list[tuple[int, float, int]] = []
    for ladder in ladders.values():
        last: tuple[int, float, int] | None = None
        for at in sorted(ladder, key=lambda at: -rows[at].calls):
            lower, _ = bounds.bounds(quantity, at, p)
            if lower < value:
                break
            last = (rows[at].calls, -lower, at)
        if last is not None:
            claimed.append(last)
    if not claimed:
        return Target(quantity=quantity, value=value, row=None, lower=nan, ladders=len(ladders))
    _, minus, at = min(claimed)
    return Target(quantity=quantity, value=value, row=rows[at], lower=-minus, ladders=len(ladders))
