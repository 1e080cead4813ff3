"""What to do about the judges of a run or a table: advice, scores, and a baseline to hold."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from judgelaw.arrays import check_number
from judgelaw.errors import InputError
from judgelaw.option_types import Option, by_name, checked, each, one_of, text
from judgelaw.processes import begin
from judgelaw.runs.reading_options import SEED, Reading
from judgelaw.runs.source import Source, read_source
from judgelaw.steps import Progress, unseen

if TYPE_CHECKING:
    from judgelaw.decide import Advice, JudgeAdvice, Protocol, Score
    from judgelaw.runs.folder import RunFolder
    from judgelaw.tensor import VerdictTensor


Wanted = Mapping[str, float] | float | str | None
"""A target: `{"stability": 0.9}`, `"stability=0.9"`, or the stability alone."""
_SCORED = ("prompts", "orders", "repeats", "items", "draw")


def _protocol(name: str, value: Any) -> None:
    """One way to ask: in words, or as the value that they stand for."""
    if not hasattr(value, "rule"):
        text(name, value)


def _score_protocol(name: str, value: Any) -> None:
    by_name(lambda *_: None, "{'prompts': 1, 'items': 500}")(name, value)
    for part in value:
        one_of(*_SCORED)(f"a part of {name}", part)


@checked
def advise(
    x: Any,
    target: Wanted = None,
    *,
    protocols: Annotated[
        "Sequence[Protocol | str] | None",
        Option(rule=each(_protocol, "['drawn:3 both 2 random']")),
    ] = None,
    gold: str | None = None,
    price: float | None = None,
    seed: Annotated[int, SEED] = 0,
    **reading: Unpack[Reading],
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
        reading: which calls, and how to read them.

    >>> import numpy as np, judgelaw as jl
    >>> counts = np.random.default_rng(1).multinomial(8, [0.6, 0.3, 0.1, 0], size=(50, 2, 1))
    >>> advice = jl.advise(jl.VerdictTensor.from_counts(counts), 0.99)
    >>> advice.judges["judge"].target.row is None
    True
    """
    return advise_source(
        read_source(x, reading),
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
    progress: Progress = unseen,
) -> "Advice":
    """Advise on the judges of the main layer."""
    from judgelaw.decide import Protocol, advise as decided

    tensors = calls.main()
    if gold is not None:
        tensors = {name: _with_gold(t, gold) for name, t in tensors.items()}
    prices = None if price is None else dict.fromkeys(tensors, price)
    found = decided(
        tensors,
        target=target,
        protocols=None
        if protocols is None
        else [p if isinstance(p, Protocol) else Protocol.parse(p) for p in protocols],
        **_declared(calls, prices),
        seed=seed,
        progress=progress,
    )
    said = {
        name: _with_answer(judge, tensors[name], calls, judges=len(tensors), seed=seed)
        for name, judge in found.judges.items()
    }
    return replace(found, judges=said)


def _with_answer(
    found: "JudgeAdvice", tensor: "VerdictTensor", calls: Source, *, judges: int, seed: int
) -> "JudgeAdvice":
    """Put the answer first: what to do is decided there alone."""
    from judgelaw.analysis import answer_of, in_a_line

    answer = answer_of(tensor, calls.estimand, judges=judges, seed=seed, at_least=calls.at_least)
    said = [answer.headline, *(in_a_line(action, answer) for action in answer.actions)]
    return replace(found, sentence=" ".join([*said, found.sentence]).strip())


def begin_advice(calls: Source, *, seed: int) -> "Callable[[], Advice]":
    """Begin to advise beside the rest where processes wait for work; return how to get it."""
    from judgelaw.decide import advise as decided

    return begin(partial(decided, seed=seed, **_declared(calls)), calls.main())


def _declared(calls: Source, prices: Mapping[str, float] | None = None) -> dict[str, Any]:
    """Return what is known about the calls beside their verdicts."""
    if prices is None:
        prices = {} if calls.folder is None else call_prices(calls.folder)
    return {"estimand": calls.estimand, "price": prices}


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


@checked
def score(
    x: Any,
    by: str | None = None,
    *,
    protocol: Annotated[Mapping[str, Any] | None, Option(rule=_score_protocol)] = None,
    values: Annotated[Mapping[str, float] | None, Option(example="{'pass': 1}")] = None,
    worth: float | None = None,
    item_cost: float | None = None,
    **reading: Unpack[Reading],
) -> "Score":
    """Return the benchmark score, what moves it, and which systems it tells apart.

    Args:
        x: as for `analyze`.
        by: the column that names the systems judged; each is scored on the items that all have.
            Two columns with a comma between name who is candidate 1 and who candidate 2: then
            several systems are ranked from comparisons of two.
        protocol: another way to score, as far as it differs from these calls: `{"prompts": 1,
            "orders": 1, "repeats": 1, "items": 500, "draw": "item"}`.
        values: what verdicts are worth; by default right verdicts where there is gold, else wins
            of candidate 1 (a tie counts half), numbers, or passes.
        worth: the difference that is worth finding, 0.02 by default.
        item_cost: what a new item costs beside its calls, in calls: then the repeats that narrow
            the score most for the money are given.
        reading: which calls, and how to read them.

    >>> import numpy as np, judgelaw as jl
    >>> counts = np.random.default_rng(1).multinomial(4, [0.6, 0.3, 0.1, 0], size=(50, 3, 1))
    >>> round(jl.score(jl.VerdictTensor.from_counts(counts)).judges["judge"].score.estimate, 2)
    0.68
    """
    how: dict[str, Any] = {"protocol": protocol, "values": values, "worth": worth}
    if by is None:
        return with_item_cost(score_source(read_source(x, reading), **how), item_cost)
    if reading.get("layer") is not None:
        raise InputError(f"layer and by={by!r} cannot go together: write the layer's own table")
    mapped = reading.get("columns") or {}

    def read(column: str | None) -> Source:
        return read_source(x, {**reading, "columns": {**mapped, **apart_by(column)}})

    return with_item_cost(score_by(by, read, **how), item_cost)


def with_item_cost(found: "Score", item_cost: float | None) -> "Score":
    """Add how often to ask a cell, given what an item costs; nothing where that is not given."""
    if item_cost is None:
        return found
    from judgelaw.decide import repeats_sentence

    cost = check_number("item_cost", item_cost)
    if cost <= 0:
        raise InputError(f"item_cost = {cost:g}: an item costs more than nothing, in calls")
    judges = {}
    for name, judge in found.judges.items():
        best = judge.parts.best_repeats(cost, judge.protocol)
        said = repeats_sentence(best, cost, judge.protocol, judge.parts)
        judges[name] = replace(
            judge, item_cost=cost, best_repeats=best, sentence=f"{judge.sentence} {said}"
        )
    return replace(found, judges=judges)


def score_source(
    calls: Source,
    *,
    protocol: Mapping[str, Any] | None = None,
    values: Mapping[str, float] | None = None,
    worth: float | None = None,
) -> "Score":
    """Score the judges of the main layer."""
    from judgelaw.decide import WORTH, Score, score_judge

    judges = {
        name: score_judge(
            tensor,
            protocol=protocol,
            values=values,
            design=calls.estimand.design,
            worth=WORTH if worth is None else worth,
        )
        for name, tensor in calls.main().items()
    }
    if calls.estimand.order_weights is not None:
        alike = "In a score all orders count alike, whatever their weights."
        judges = {name: replace(j, notes=(*j.notes, alike)) for name, j in judges.items()}
    return Score(judges=judges)


def apart_by(column: str | None) -> dict[str, str | None]:
    """Name the column that parts the calls: it takes the place of the layer, which does so too."""
    return {"layer": column}


def score_by(by: str, read: Callable[[str | None], Source], **how: Any) -> "Score":
    """Score systems named by a column, or rank those named by two; `read` parts calls by one."""
    columns = [column.strip() for column in by.split(",")]
    if len(columns) == 1:
        return score_systems_of(read(by), **how)
    if len(columns) != 2 or not all(columns):  # noqa: PLR2004 - candidate 1 and candidate 2
        raise InputError(
            f"by = {by!r}: name one column of systems, or two with a comma between, for candidate "
            "1 and candidate 2"
        )
    first, second = (_named_by(read(column)) for column in columns)
    return score_pairs_of(read(None), first, second, **how)


def _named_by(calls: Source) -> dict[tuple[str, str], str]:
    """Return the system of every judge and item, from calls that were read apart by system."""
    return {
        (judge, item): str(system)
        for (system, judge), tensor in calls.tensors.items()
        for item in tensor.items
    }


def score_pairs_of(
    calls: Source,
    first: Mapping[tuple[str, str], str],
    second: Mapping[tuple[str, str], str],
    *,
    protocol: Mapping[str, Any] | None = None,
    values: Mapping[str, float] | None = None,
    worth: float | None = None,
) -> "Score":
    """Rank systems that every judge compared two at a time."""
    from judgelaw.decide import WORTH, Score, score_pairs

    if values is not None:
        raise InputError("values are for scores of single answers; a ranking of pairs counts wins")
    return Score(
        judges={
            judge: score_pairs(
                tensor,
                {item: (first[judge, item], second[judge, item]) for item in tensor.items},
                protocol=protocol,
                design=calls.estimand.design,
                worth=WORTH if worth is None else worth,
            )
            for judge, tensor in calls.main().items()
        }
    )


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
                design=calls.estimand.design,
                worth=WORTH if worth is None else worth,
            )
            for judge, tensors in systems.items()
        }
    )
