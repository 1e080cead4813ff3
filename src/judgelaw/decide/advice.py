"""What the owner of a judge should do, as values and in words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite, isnan, nan
from typing import Any

from judgelaw.decide.prompt_choice import FEW_ITEMS, PromptChoice
from judgelaw.decide.protocols import Protocol
from judgelaw.frames import ByJudge
from judgelaw.quantities import Estimate

LEVEL = 0.95
_SHOWN = 0.5
"""Points of 100 from which a part is named: less would be printed as none."""


def forecast(low: float, high: float) -> Estimate:
    """Return where the stability of a protocol may lie that the calls do not reach: no point."""
    return Estimate(estimate=nan, low=low, high=high)


@dataclass(frozen=True, kw_only=True)
class ProtocolRow:
    """What one protocol costs and comes to.

    Attributes:
        protocol: which.
        calls: of one item.
        stability: chance of the same verdict when the whole protocol is run again; without a
            point where it is a forecast.
        accuracy: share of right final verdicts; None without gold, or where R < m.
        cost: US dollars of an item; None where no price is declared.
    """

    protocol: Protocol
    calls: int
    stability: Estimate
    accuracy: Estimate | None
    cost: float | None

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        p = self.protocol
        return {
            "prompts": p.prompts,
            "orders": p.orders,
            "repeats": p.repeats,
            "calls": self.calls,
            "rule": p.rule,
            "stability": self._stability(),
            "accuracy": None if self.accuracy is None else self.accuracy.to_json(),
            "cost": self.cost,
        }

    def _stability(self) -> dict[str, Any]:
        s = self.stability
        return {"forecast": [s.low, s.high]} if s.absent else s.to_json()


@dataclass(frozen=True, kw_only=True)
class Target:
    """Whether a protocol is shown to meet a target, and the cheapest that is.

    Protocols that differ in their repeats alone are tested from the dearest down, each by its lower
    bound, until one does not reach the target; the last that did is claimed. The bounds share the
    error between these ladders, so that in 95 of 100 studies no claim is wrong.

    Attributes:
        quantity, value: what is wanted.
        row: the cheapest protocol that is shown to meet it; None where none is.
        lower: its lower bound; nan where there is none.
        ladders: how many ladders were walked.
        level: chance that no claim is wrong.
    """

    quantity: str
    value: float
    row: ProtocolRow | None
    lower: float
    ladders: int
    level: float = LEVEL

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            self.quantity: self.value,
            "met": self.row is not None,
            "protocol": None if self.row is None else self.row.to_json(),
            "lower": None if isnan(self.lower) else self.lower,
            "ladders": self.ladders,
            "level": self.level,
        }


@dataclass(frozen=True, kw_only=True)
class WrongVerdicts:
    """How many verdicts are wrong, and what makes them wrong; shares of all calls that add up.

    Attributes:
        share: of calls that do not give the gold verdict.
        parts: how much of it is dice (`call`), `prompt`, `order`, their `interaction`, and
            `systematic`: what stays wrong however often and in whatever way the judge is asked.
        items: with a gold verdict.
    """

    share: Estimate
    parts: Mapping[str, Estimate]
    items: int

    def in_words(self) -> str:
        """Say what makes verdicts wrong, as far as the intervals tell."""
        words = {
            "call": "chance",
            "prompt": "the prompt",
            "order": "the order",
            "interaction": "prompt and order together",
            "systematic": "the judge itself, however it is asked",
        }
        wrong = f"{_points(self.share)} of 100 calls are wrong"
        said = [
            f"{_points(x)} because of {words[name]} ({_range(x)})"
            for name, x in self.parts.items()
            if x.low > 0 and 100 * x.estimate >= _SHOWN
        ]
        if isnan(self.share.low):
            return f"On this item, {wrong}."
        wrong += f" ({_range(self.share)})"
        if not said:
            return f"{wrong}."
        return f"{wrong}: {', '.join(said)}."

    def to_json(self) -> dict[str, Any]:
        """Return plain values, None for what is nan."""
        return {
            **self.share.to_json(),
            "parts": {
                name: None if isnan(x.estimate) else x.to_json() for name, x in self.parts.items()
            },
            "items": self.items,
        }


def _points(x: Estimate) -> str:
    return f"{100 * x.estimate:.0f}"


def _range(x: Estimate) -> str:
    """Write the ends of an interval of a share, never beyond none and all."""
    return f"{100 * max(0.0, x.low):.0f} to {100 * min(1.0, x.high):.0f}"


@dataclass(frozen=True, kw_only=True)
class JudgeAdvice:
    """What ways to ask come to, of one judge.

    Attributes:
        sentence: what a newcomer reads first: the answer, then what a target costs.
        choice: the prompts, and which of them are not shown to be worse than another.
        protocols: what every protocol costs and comes to.
        target: the cheapest protocol that is shown to meet a target; None where none was asked.
        items: how many items this rests on.
        wrong: how many verdicts are wrong, and why; None without gold.
        notes: what to know before acting on it.
    """

    sentence: str
    choice: PromptChoice
    protocols: tuple[ProtocolRow, ...]
    target: Target | None
    items: int
    wrong: WrongVerdicts | None = None
    notes: tuple[str, ...] = ()

    def worth_showing(self) -> list[tuple[int, ProtocolRow]]:
        """Return protocols by calls, with their places; not those where a repeat adds nothing.

        With ties drawn, the second vote changes neither stability nor accuracy.
        """
        seen = {(r.protocol.ladder, r.protocol.repeats): r.stability for r in self.protocols}
        shown = [
            (at, row)
            for at, row in enumerate(self.protocols)
            if seen.get((row.protocol.ladder, row.protocol.repeats - 1)) != row.stability
        ]
        return sorted(shown, key=lambda pair: pair[1].calls)

    def to_json(self) -> dict[str, Any]:
        """Return plain values, None for what is nan."""
        return {
            "sentence": self.sentence,
            "prompts": [_plain(asdict(row)) for row in self.choice.rows],
            "best": _plain(
                {
                    "prompt": self.choice.best,
                    "by": self.choice.merit,
                    "estimate": self.choice.value,
                    "low": self.choice.low,
                    "high": self.choice.high,
                    "optimism": self.choice.optimism,
                    "more_items": self.choice.more_items,
                }
            ),
            "protocols": [row.to_json() for row in self.protocols],
            "target": None if self.target is None else self.target.to_json(),
            "wrong": None if self.wrong is None else self.wrong.to_json(),
            "items": self.items,
            "notes": list(self.notes),
        }


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(x, float) and not isfinite(x) else x for name, x in values.items()
    }


@dataclass(frozen=True, kw_only=True, repr=False)
class Advice(ByJudge):
    """What ways to ask come to, of every judge by name."""

    judges: Mapping[str, JudgeAdvice]

    schema = "judgelaw.advice/1"
    brief = ("judge", "prompts", "orders", "repeats", "calls", "stability", "low", "high")

    def records(self) -> list[dict[str, Any]]:
        """Return one row for each judge and protocol."""
        return [
            {"judge": name, **_flat(row)}
            for name, judge in self.judges.items()
            for row in judge.protocols
        ]


def _flat(row: ProtocolRow) -> dict[str, Any]:
    p, s, a = row.protocol, row.stability, row.accuracy
    return {
        "prompts": p.prompts,
        "orders": p.orders,
        "repeats": p.repeats,
        "rule": p.rule,
        "calls": row.calls,
        "stability": s.estimate,
        "low": s.low,
        "high": s.high,
        "forecast": s.absent,
        "accuracy": nan if a is None else a.estimate,
    }


def advice_sentences(rows: Sequence[ProtocolRow], target: Target | None) -> Iterator[str]:
    """Say what ways to ask come to; nothing that an interval does not carry."""
    known = [row for row in rows if not row.stability.absent and not isnan(row.stability.low)]
    if known:
        yield _stability_sentence(known)
    if target is not None:
        yield _target_sentence(target)


def _stability_sentence(rows: Sequence[ProtocolRow]) -> str:
    """Set the plainest protocol beside the dearest; neither is chosen by how well it did.

    Where fewer repeats of the dearest come to the very same, these are named.
    """
    first = next((r for r in rows if r.protocol.drawn == 1), rows[0])
    last = max(rows, key=lambda r: (r.calls, r.protocol.orders != "one"))
    same = (r for r in rows if r.protocol.ladder == last.protocol.ladder)
    last = min((r for r in same if r.stability == last.stability), key=lambda r: r.calls)
    said = f"Run again, {in_words(first)} gives the same verdict on {_of_hundred(first)}"
    return said + ("." if last is first else f"; {in_words(last)} on {_of_hundred(last)}.")


def _of_hundred(row: ProtocolRow) -> str:
    s = row.stability
    point = f"{100 * s.estimate:.0f} of 100 items" if not s.absent else "some items"
    return f"{point} ({_range(s)})"


def _target_sentence(target: Target) -> str:
    wanted = f"a {target.quantity} of {target.value:g}"
    if target.row is None:
        return f"No protocol looked at is shown to reach {wanted}: ask more often, or more items."
    said = (
        f"The cheapest way that is shown to reach {wanted} is {in_words(target.row)} "
        f"(at least {target.lower:.3f})"
    )
    if target.row.protocol.orders == "consistent":
        said += "; it is steady because it rules a tie wherever the orders disagree"
    right = target.row.accuracy
    if right is not None and target.quantity != "accuracy" and not isnan(right.low):
        said += (
            f"; its verdict is right on {100 * right.estimate:.0f} of 100 items ({_range(right)})"
        )
    return f"{said}."


def in_words(row: ProtocolRow) -> str:
    """Describe a protocol: how many calls, of what."""
    p = row.protocol
    if p.fixed is not None:
        prompts = f"under prompt {p.fixed}"
    elif p.drawn == 1:
        prompts = "under a prompt drawn each time"
    else:
        prompts = "over all prompts" if p.drawn is None else f"over {p.drawn} prompts drawn"
    orders = {"one": "", "both": ", both orders", "consistent": ", both orders or a tie"}[p.orders]
    calls = "one call" if row.calls == 1 else f"the vote of {row.calls} calls"
    return f"{calls} {prompts}{orders}"


def advice_notes(
    choice: PromptChoice,
    rows: Sequence[ProtocolRow],
    *,
    repeats: int,
    sampled: bool,
    scored: bool = False,
) -> Iterator[str]:
    """Say what to know before acting on the advice."""
    if scored:
        yield (
            "A vote takes the most frequent score. `judgelaw score` says how sure the mean of "
            "several calls is."
        )
    if choice.items == 1:
        yield "One item says nothing about other items: there are no intervals."
    elif choice.items < FEW_ITEMS and len(choice.rows) > 1:
        yield (
            f"{choice.items} items: below {FEW_ITEMS}, the prompts to keep are a rough guide; "
            "ask about more items."
        )
    if any(row.stability.absent for row in rows):
        yield (
            f"Where a range is called a forecast, {repeats} repeats are too few to run the vote "
            "twice: acquire twice as many repeats as it has votes."
        )
    if choice.merit == "noise":
        yield "There is no gold: a judge may be steady and wrong, and stability does not show it."
    if sampled:
        yield (
            "Prompts were drawn from a generator: protocols that draw them have no interval here, "
            "since it would have to cover the drawing."
        )
