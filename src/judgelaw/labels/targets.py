"""Limits that a judge must reach, and the labels that would show that it does."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from judgelaw.errors import InputError
from judgelaw.labels.against import Against, against
from judgelaw.labels.label_budget import LabelBudget, label_budget
from judgelaw.labels.opinions import Opinions
from judgelaw.quantities import Estimate
from judgelaw.words import did_you_mean

GATE_TAIL = 0.05
"""What a one-sided bound of the gate leaves out."""

_TWO = 2
UNDECIDED: Literal["inconclusive"] = "inconclusive"


@dataclass(frozen=True, kw_only=True)
class Minimum:
    """One limit of the gate: a quantity, the least value, and whether it is reached.

    `low` and `high` are the one-sided bounds that decide a pass and a failure.
    """

    quantity: str
    value: float
    estimate: float
    low: float
    high: float
    verdict: Literal["pass", "fail", "inconclusive"]


def _quantities(found: Opinions, positive: str | None, name: str) -> list[tuple[str, str | None]]:
    """Return the quantities that a limit names: (its name, the class if it is a recall)."""
    two = len(found.classes) == _TWO
    named = positive or (found.classes[-1] if two else None)
    if name == "recall":
        return [("recall", c) for c in ([positive] if positive else found.classes)]
    if name in ("tpr", "tnr"):
        if not two:
            raise InputError(f"{name}: there are {len(found.classes)} classes; ask for recall")
        other = found.classes[0] if named == found.classes[1] else found.classes[1]
        return [(name, named if name == "tpr" else other)]
    if name in ("agreement", "kappa"):
        return [(name, None)]
    known = ("recall", "tpr", "tnr", "agreement", "kappa")
    raise InputError(
        f"{name!r} is no limit here{did_you_mean(name, known)}: name one of {', '.join(known)}"
    )


def minima(
    found: Opinions, positive: str | None, asked: Mapping[str, float], seed: int
) -> tuple[Minimum, ...]:
    """Decide limits: each is passed at 95%, failed at 95% for all of them together.

    All must pass, so none needs an adjustment there; a judge that reaches all of them fails by
    chance in 5 of 100 cases at most, however many limits there are. Kappa takes its two-sided
    interval, whose draws were calibrated at that level only.
    """
    if not asked:
        return ()
    for name, value in asked.items():
        if not 0 <= value <= 1:
            raise InputError(f"{name}={value:g}: a limit lies between 0 and 1")
    limits = [(*q, asked[name]) for name in asked for q in _quantities(found, positive, name)]
    passing = against(found, seed=seed, tail=GATE_TAIL)
    failing = against(found, seed=seed, tail=GATE_TAIL / len(limits))
    return tuple(_decide(q, of, value, passing, failing) for q, of, value in limits)


def _decide(
    quantity: str, of: str | None, value: float, passing: Against, failing: Against
) -> Minimum:
    low = _named(passing, quantity, of)
    high = _named(failing, quantity, of)
    return Minimum(
        quantity=quantity if of is None else f"{quantity} of {of}",
        value=value,
        estimate=low.estimate,
        low=low.low,
        high=high.high,
        verdict="pass" if low.low >= value else "fail" if high.high < value else UNDECIDED,
    )


def _named(found: Against, quantity: str, of: str | None) -> Estimate:
    if of is not None:
        return found.recall[of]
    return found.kappa if quantity == "kappa" else found.agreement


def budgets(
    found: Opinions, positive: str | None, asked: Mapping[str, float], overall: Against
) -> tuple[LabelBudget, ...]:
    """Count the labels that would show each target."""
    labelled = max(int((found.label >= 0).sum()), 1)
    counted = []
    for name, value in asked.items():
        if name == "kappa":
            raise InputError("certify kappa: labels are counted for recall, tpr, tnr or agreement")
        for quantity, of in _quantities(found, positive, name):
            now = overall.agreement if of is None else overall.recall[of]
            mine = 1.0 if of is None else (found.label == found.classes.index(of)).sum() / labelled
            counted.append(
                label_budget(
                    quantity if of is None else f"{quantity} of {of}",
                    value,
                    now.estimate,
                    of="items" if of is None else f"items labelled {of}",
                    share=float(mine),
                )
            )
    return tuple(counted)
