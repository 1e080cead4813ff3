"""Benchmark scores as values and in words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import isfinite, isnan, nan
from typing import Any

from judgelaw.arrays import Floats
from judgelaw.decide.score_parts import FACETS, ScoreParts, ScoreProtocol
from judgelaw.estimate import Design
from judgelaw.frames import ByJudge
from judgelaw.quantities import Estimate
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import MIN_PROMPTS


@dataclass(frozen=True, kw_only=True)
class Scale:
    """What verdicts are worth.

    Attributes:
        metric: "win rate", "accuracy", "mean score", "pass rate", or "margin" of ranked pairs.
        values: of the verdicts, (verdicts,), or of each item's own, (items, verdicts).
        low, high: the least and the largest value.
    """

    metric: str
    values: Floats
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class ScoreDifference:
    """One system minus another, on the items that both have.

    Attributes:
        a, b: the systems, or the two candidates of a pairwise judge.
        estimate: mean difference.
        low, high: interval for items like these that holds together with all others printed.
        smallest: the smallest difference that so many items find in 80 of 100 studies.
        items_needed: items that find a difference of `worth`; None where no number does.
        worth: that difference.
    """

    a: str
    b: str
    estimate: float
    low: float
    high: float
    smallest: float
    items_needed: int | None
    worth: float

    @property
    def separated(self) -> bool:
        """Whether the interval leaves out zero."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, kw_only=True)
class Purchase:
    """What more calls would do: `buy`, the calls that it adds, and the standard error then."""

    buy: str
    calls: int
    se: float
    per_call: float


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgeScore:
    """The score that one judge gives.

    Attributes:
        sentence: what a newcomer reads first.
        metric: what the score is.
        score: with its interval for items like these.
        parts: the variances behind it.
        asked: the protocol of these calls; repeats are the least of any cell.
        protocol: the protocol that is looked at.
        se: its standard error.
        purchases: what would narrow it, the most per call first.
        differences: of systems, or of the two candidates.
        systems: score of every system, best first.
        groups: systems that are not separated, best first.
        item_cost: what an item costs beside its calls, in calls; None where it was not given.
        best_repeats: repeats of a cell that narrow the score most for the money, then; nan where
            that is not known.
        notes: what to know.
    """

    sentence: str
    metric: str
    score: Estimate
    parts: ScoreParts
    asked: ScoreProtocol
    protocol: ScoreProtocol
    se: float
    purchases: tuple[Purchase, ...]
    differences: tuple[ScoreDifference, ...] = ()
    systems: Mapping[str, Estimate]
    groups: tuple[tuple[str, ...], ...] = ()
    item_cost: float | None = None
    best_repeats: float = nan
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain values, None for what is nan."""
        adds = {name: float(x) for name, x in self.parts.parts(self.protocol).items()}
        return {
            "sentence": self.sentence,
            "metric": self.metric,
            "score": self.score.to_json(),
            "variance": _plain(variances(self.parts)),
            "protocol": _plain(
                {
                    **asdict(self.protocol),
                    "calls": self.protocol.calls,
                    "se": self.se,
                    "parts": _plain(adds),
                }
            ),
            "purchases": [_plain(asdict(p)) for p in self.purchases],
            "differences": [
                {**_plain(asdict(d)), "separated": d.separated} for d in self.differences
            ],
            "systems": {name: e.to_json() for name, e in self.systems.items()},
            "groups": [list(group) for group in self.groups],
            "best_repeats": None
            if self.item_cost is None
            else _plain({"item_cost": self.item_cost, "repeats": self.best_repeats}),
            "notes": list(self.notes),
        }


def variances(parts: ScoreParts) -> dict[str, float]:
    """Return the variances behind a score: between items, of a call, and of every facet.

    A facet's is what all items share, and what is each item's own.
    """
    found = {"items": float(parts.items), "call": float(parts.call)}
    for facet in FACETS:
        U, M = float(parts.per_item[facet]), float(parts.shared[facet])
        found |= {f"{facet}_shared": M, f"{facet}_item": U - M}
    return found


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(x, float) and not isfinite(x) else x for name, x in values.items()
    }


@dataclass(frozen=True, kw_only=True, repr=False)
class Score(ByJudge):
    """The scores of every judge, by name."""

    judges: Mapping[str, JudgeScore]

    schema = "judgelaw.score/1"

    def records(self) -> list[dict[str, Any]]:
        """Return one row for each judge and system; the system is empty where there is none."""
        return [
            {
                "judge": name,
                "system": system,
                "metric": judge.metric,
                "score": e.estimate,
                "low": e.low,
                "high": e.high,
            }
            for name, judge in self.judges.items()
            for system, e in (judge.systems or {"": judge.score}).items()
        ]


def ranking_sentence(groups: Sequence[Sequence[str]]) -> str:
    """Say which systems are told apart."""
    if len(groups) == 1:
        return f"No two of the systems {', '.join(groups[0])} are told apart."
    return (
        "Ranking, with those in one bracket not told apart: "
        + " > ".join(f"({', '.join(group)})" if len(group) > 1 else group[0] for group in groups)
        + "."
    )


def score_sentences(
    scale: Scale,
    score: Estimate,
    parts: ScoreParts,
    p: ScoreProtocol,
    differences: Sequence[ScoreDifference],
) -> Iterator[str]:
    """Say what the score is, how sure it is, and what would move it."""
    N, K, _ = parts.shape
    of = " of candidate_1" if scale.metric == "win rate" else ""
    said = f"The {scale.metric}{of} is {score.estimate:.3f}"
    if isnan(score.low):
        yield f"{said} on {'this item' if N == 1 else 'these items'}."
    else:
        # An end beyond the scale is no news in words; the figures keep it.
        low, high = max(scale.low, score.low), min(scale.high, score.high)
        yield f"{said} ({low:.3f} to {high:.3f}) on items like these."
    se = parts.se(p)
    if isnan(se):
        return
    if p.prompts == K and K > 1 and not parts.generator:
        once = parts.se(replace(p, prompts=1))
        each = parts.se(replace(p, prompts=1, draw="item"))
        if not isnan(once) and not isnan(each):
            yield (
                f"Its standard error is {se:.4f}; with one prompt drawn for all items it would be "
                f"about {once:.4f}, with a prompt drawn for every item {each:.4f}."
            )
    else:
        yield f"Its standard error under this protocol is {se:.4f}."
    if any(d.items_needed is None for d in differences) and p.items > 1:
        adds = parts.parts(p)
        remedy = "average over prompts"
        if adds["order_shared"] > adds["prompt_shared"]:
            remedy = "use both orders"
        yield (
            f"No number of items decides a difference of {differences[0].worth:g} under this "
            f"protocol; {remedy}."
        )


def repeats_sentence(repeats: float, item_cost: float, p: ScoreProtocol, parts: ScoreParts) -> str:
    """Say how often to ask a cell, given what an item costs."""
    cost = f"Where an item costs as much as {item_cost:g} calls"
    if isnan(repeats):
        return f"{cost}, these calls do not tell how many repeats narrow the score most."
    _, K, O = parts.shape
    calls = max(1, round(repeats * p.prompts * p.orders))
    said = f"{cost}, about {calls} calls of an item narrow the score most for the money"
    if calls > 1 and (p.prompts < K or p.orders < O):
        said += "; use other prompts and orders before you repeat one"
    return f"{said}."


def score_notes(tensor: VerdictTensor, design: Design) -> Iterator[str]:
    """Say what to know before acting on a score."""
    if len(tensor.items) == 1:
        yield "One item says nothing about other items: there is no interval."
    if design == "sampled" and len(tensor.prompts) < MIN_PROMPTS:
        yield (
            f"{len(tensor.prompts)} prompts were drawn: the error of drawing them needs "
            f"{MIN_PROMPTS} or more"
        )
