"""What to do about the judges of a run or a table: advice, scores, and a baseline to hold."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from judgelaw.errors import InputError
from judgelaw.runs.source import Source, Which, source_of

if TYPE_CHECKING:
    from judgelaw.decide import Advice, Protocol, Score
    from judgelaw.runs.folder import RunFolder
    from judgelaw.tensor import VerdictTensor


Wanted = Mapping[str, float] | float | str | None
"""A target: `{"stability": 0.9}`, `"stability=0.9"`, or the stability alone."""


def advise(
    x: Any,
    target: Wanted = None,
    *,
    protocols: "Sequence[Protocol | str] | None" = None,
    gold: str | None = None,
    price: float | None = None,
    seed: int = 0,
    **which: Unpack[Which],
) -> "Advice":
    """Say which prompt to keep, how to ask, and what a target costs.

    Args:
        x: as for `analyze`.
        target: the stability, or accuracy, that a protocol should be shown to have: 0.9, or
            `{"accuracy": 0.8}`.
        protocols: the ways to ask that are looked at, such as "drawn:3 both 2 random"; by default
            every prompt fixed, one and three drawn, all; every way to use the orders; 1 to 4
            repeats.
        gold: the right verdict of every item, where the calls name none.
        price: US dollars of a call; by default as the run declares it.
        seed: of every random stream.
        which: judge, layer, date, repeats, design, order_weights, incomplete, columns, verdicts.

    >>> import numpy as np, judgelaw as jl
    >>> counts = np.random.default_rng(1).multinomial(8, [0.6, 0.3, 0.1, 0], size=(50, 2, 1))
    >>> advice = jl.advise(jl.VerdictTensor.from_counts(counts), 0.99)
    >>> advice.judges["judge"].target.row is None
    True
    """
    return advise_source(
        source_of(x, **which),
        target=target_of(target),
        protocols=protocols,
        gold=gold,
        price=price,
        seed=seed,
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
    from judgelaw.decide import Protocol, advise as decided

    tensors = calls.main()
    if gold is not None:
        tensors = {name: _with_gold(t, gold) for name, t in tensors.items()}
    prices = {} if calls.folder is None else call_prices(calls.folder)
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


def _with_gold(tensor: "VerdictTensor", gold: str) -> "VerdictTensor":
    if gold not in tensor.verdicts:
        raise InputError(f"gold {gold!r}: the verdicts are {', '.join(tensor.verdicts)}")
    return replace(tensor, gold=(gold,) * len(tensor.items))


def call_prices(folder: "RunFolder") -> dict[str, float]:
    """Return what a call of each judge cost on average, as far as prices are declared."""
    from judgelaw.acquire import usd

    found = {}
    for name, spec in folder.frozen.judges.items():
        if spec.price is None or folder.ledger is None:
            continue
        totals = folder.ledger.totals(name)
        if totals.completed:
            spent = usd(
                spec.price,
                tokens_in=totals.input_tokens,
                tokens_out=totals.output_tokens,
                cached=totals.cached_tokens,
            )
            found[name] = spent / totals.completed
    return found


def score(
    x: Any,
    by: str | None = None,
    *,
    protocol: Mapping[str, Any] | None = None,
    values: Mapping[str, float] | None = None,
    worth: float | None = None,
    **which: Unpack[Which],
) -> "Score":
    """Return the benchmark score, what moves it, and which systems it tells apart.

    Args:
        x: as for `analyze`.
        by: the column that names the systems judged; each is scored on the items that all have.
        protocol: another way to score, as far as it differs from these calls: `{"prompts": 1,
            "orders": 1, "repeats": 1, "items": 500, "draw": "item"}`.
        values: what verdicts are worth; by default right verdicts where there is gold, else wins
            of candidate 1 (a tie counts half), numbers, or passes.
        worth: the difference that is worth finding, 0.02 by default.
        which: judge, layer, date, repeats, design, order_weights, incomplete, columns, verdicts.

    >>> import numpy as np, judgelaw as jl
    >>> counts = np.random.default_rng(1).multinomial(4, [0.6, 0.3, 0.1, 0], size=(50, 3, 1))
    >>> round(jl.score(jl.VerdictTensor.from_counts(counts)).judges["judge"].score.estimate, 2)
    0.66
    """
    how: dict[str, Any] = {"protocol": protocol, "values": values, "worth": worth}
    if by is None:
        return score_source(source_of(x, **which), **how)
    if which.get("layer") is not None:
        raise InputError(f"layer and by={by!r} cannot go together: write the layer's own table")
    which["columns"] = {**(which.get("columns") or {}), **apart_by(by)}
    return score_systems_of(source_of(x, **which), **how)


def score_source(
    calls: Source,
    *,
    protocol: Mapping[str, Any] | None = None,
    values: Mapping[str, float] | None = None,
    worth: float | None = None,
) -> "Score":
    """Score the judges of the main layer."""
    from judgelaw.decide import WORTH, Score, score_judge

    return Score(
        judges={
            name: score_judge(
                tensor,
                protocol=protocol,
                values=values,
                design=calls.design,
                worth=WORTH if worth is None else worth,
            )
            for name, tensor in calls.main().items()
        }
    )


def apart_by(column: str) -> dict[str, str | None]:
    """Name the column that parts the calls: it takes the place of the layer, which does so too."""
    return {"layer": column}


def score_systems_of(
    calls: Source,
    *,
    protocol: Mapping[str, Any] | None = None,
    values: Mapping[str, float] | None = None,
    worth: float | None = None,
) -> "Score":
    """Score the systems of calls that were read apart by system, for every judge."""
    from judgelaw.decide import WORTH, Score, score_systems

    systems: dict[str, dict[str, VerdictTensor]] = {}
    for (system, judge), tensor in calls.tensors.items():
        systems.setdefault(judge, {})[str(system)] = tensor
    return Score(
        judges={
            judge: score_systems(
                tensors,
                protocol=protocol,
                values=values,
                design=calls.design,
                worth=WORTH if worth is None else worth,
            )
            for judge, tensors in systems.items()
        }
    )
