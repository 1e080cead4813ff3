"""What to do about the judges of a run or a table: advice, scores, and a baseline to hold."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from judgelaw.errors import InputError
from judgelaw.runs.answers import source_of
from judgelaw.runs.source import Source

if TYPE_CHECKING:
    from judgelaw.decide import Advice, Protocol
    from judgelaw.estimate import Design
    from judgelaw.study import FrozenRun


Wanted = Mapping[str, float] | float | str | None
"""A target: `{"stability": 0.9}`, `"stability=0.9"`, or the stability alone."""


def advise(
    x: Any,
    target: Wanted = None,
    *,
    protocols: "Sequence[Protocol | str] | None" = None,
    gold: str | None = None,
    price: float | None = None,
    judge: str | Sequence[str] | None = None,
    layer: str | None = None,
    design: "Design | None" = None,
    seed: int = 0,
) -> "Advice":
    """Say which prompt to keep, how to ask, and what a target costs.

    Args:
        x: a tensor, a mapping of tensors by judge, a run, a frame, or the path of a run or table.
        target: the stability, or accuracy, that a protocol should be shown to have: 0.9, or
            `{"accuracy": 0.8}`.
        protocols: the ways to ask that are looked at, such as "drawn:3 both 2 random"; by default
            every prompt fixed, one and three drawn, all; every way to use the orders; 1 to 4
            repeats.
        gold: the right verdict of every item, where the calls name none.
        price: US dollars of a call; by default as the run declares it.
        judge: these judges only.
        layer: this layer only.
        design: "census" or "sampled"; by default as the run declares it.
        seed: of every random stream.

    >>> import numpy as np, judgelaw as jl
    >>> counts = np.random.default_rng(1).multinomial(8, [0.6, 0.3, 0.1, 0], size=(50, 2, 1))
    >>> advice = jl.advise(jl.VerdictTensor.from_counts(counts), 0.99)
    >>> advice.judges["judge"].target.row is None
    True
    """
    calls = source_of(x, judge=judge, layer=layer, design=design)
    return advise_source(
        calls, target=target_of(target), protocols=protocols, gold=gold, price=price, seed=seed
    )


def advise_source(
    calls: Source,
    *,
    target: Mapping[str, float] | None = None,
    protocols: "Sequence[Protocol | str] | None" = None,
    gold: str | None = None,
    price: float | None = None,
    seed: int = 0,
) -> "Advice":
    """Advise on the judges of the main layer."""
    from judgelaw.decide import Protocol
    from judgelaw.decide import advise as decided

    tensors = calls.main()
    if gold is not None:
        tensors = {name: _with_gold(t, gold) for name, t in tensors.items()}
    prices = {} if calls.frozen is None else call_prices(calls.frozen)
    if price is not None:
        prices = dict.fromkeys(tensors, price)
    return decided(
        tensors,
        target=target,
        protocols=None
        if protocols is None
        else [p if isinstance(p, Protocol) else Protocol.parse(p) for p in protocols],
        design=calls.design,
        order_weights=calls.order_weights,
        price=prices,
        seed=seed,
    )


def target_of(given: Wanted) -> dict[str, float] | None:
    """Return a target by name, however it was written."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        return dict(given)
    if not isinstance(given, str):
        return {"stability": given}
    name, equals, number = given.partition("=")
    try:
        return {name.strip(): float(number)} if equals else {"stability": float(given)}
    except ValueError as error:
        raise InputError(f"target {given!r}: write NAME=NUMBER, as in stability=0.9") from error


def _with_gold(tensor: Any, gold: str) -> Any:
    if gold not in tensor.verdicts:
        raise InputError(f"gold {gold!r}: the verdicts are {', '.join(tensor.verdicts)}")
    return replace(tensor, gold=(gold,) * len(tensor.items))


def call_prices(frozen: "FrozenRun") -> dict[str, float]:
    """Return what a call of each judge cost on average, as far as prices are declared."""
    from judgelaw.acquire import usd
    from judgelaw.ledger import LEDGER_NAME, SqliteView

    priced = {name: spec for name, spec in frozen.judges.items() if spec.price is not None}
    ledger = frozen.path / LEDGER_NAME
    if not priced or not ledger.is_file():
        return {}
    found = {}
    with SqliteView(ledger) as view:
        for name, spec in priced.items():
            totals = view.totals(name)
            if totals.completed:
                spent = usd(
                    spec.price,
                    tokens_in=totals.input_tokens,
                    tokens_out=totals.output_tokens,
                    cached=totals.cached_tokens,
                )
                found[name] = spent / totals.completed
    return found
