"""The answer in plain words: only what the bounds carry, for the items asked and for others.

A claim is a statistical statement. Each rests on one-sided 95% bounds of a share of the total:

    nearly all of it is dice    the share of call is above 90%
    X is the largest part       its share is above half, or it is shown to exceed every other part
    rewording will not help     the share of prompt is below 5%
    X matters little            its share is below 5%, or it is below .02 itself
    X helps too                 its share is above 5%, and it does not matter little

Where a bound does not carry a claim, the sentence says what can be told: at most, or at least.
The first part speaks of the items that were asked, the last one of items like them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from judgelaw.analysis.components import CLAIM
from judgelaw.analysis.facet_values import (
    Component,
    Components,
    Pair,
    PromptLean,
    SlotPreference,
)
from judgelaw.analysis.values import JudgeAnalysis, LargestComponent
from judgelaw.estimate import COMPONENTS
from judgelaw.scale import ScoreScale
from judgelaw.uncertainty import Inference, Scope
from judgelaw.words import of_orders

_WORDS = {
    "call": "repeat-to-repeat noise",
    "prompt": "the prompt",
    "order": "answer order",
    "interaction": "prompt and order together",
}
_ADVICE = {
    "call": "averaging over repeats helps",
    "prompt": "average over prompts or settle on one, more repeats will not help",
    "order": "ask in both orders and average, more repeats alone will not help",
    "interaction": "average over prompts and orders together, changing one of them will not do",
}
_TOO = {
    "prompt": "averaging over prompts",
    "order": "asking in both orders",
    "interaction": "averaging over prompts and orders together",
}
_FACETS = {"prompt": "the prompt", "order": "the answer order"}
NEARLY_ALL = 0.9
MOST = 0.5
LITTLE = 0.05
LITTLE_ITSELF = 0.02
MANY_INVALID = 0.1


@dataclass(frozen=True, kw_only=True)
class Claims:
    """What the bounds carry for one target: the items asked, or items like them.

    Attributes:
        shares: smallest and largest share of each part, each at the level of a claim.
        highest: upper bound of each part itself, as a share of the largest dissimilarity.
        nearly_all_call: whether nearly all disagreement is between repeated calls.
        largest: the part that is shown to be larger than every other, or None.
        no_rewording: whether rewording is shown not to help.
        little: parts shown to be too small to matter.
        worth: facets shown to be large enough to do something about.
    """

    shares: Mapping[str, Pair]
    highest: Mapping[str, float]
    nearly_all_call: bool
    largest: str | None
    no_rewording: bool
    little: tuple[str, ...]
    worth: tuple[str, ...]


def claims_of(inference: Inference, scope: Scope) -> Claims:
    """Return what the bounds of one judge carry."""
    parts = [c for c in COMPONENTS[:-1] if inference.calls.refusal(c) is None]
    shares = {c: inference.share(c, CLAIM, scope) for c in parts}
    unit = inference.calls.shown.unit
    highest = {c: inference.bounds(c, CLAIM, scope)[1] / unit for c in parts}
    facets = [c for c in parts if c != "call"]
    little = tuple(c for c in facets if shares[c][1] < LITTLE or highest[c] < LITTLE_ITSELF)
    return Claims(
        shares=shares,
        highest=highest,
        nearly_all_call=shares["call"][0] > NEARLY_ALL,
        largest=_largest(inference, shares, scope),
        no_rewording="prompt" in shares and shares["prompt"][1] < LITTLE,
        little=little,
        worth=tuple(c for c in facets if shares[c][0] > LITTLE and c not in little),
    )


def _largest(inference: Inference, shares: Mapping[str, Pair], scope: Scope) -> str | None:
    if len(shares) == 1:
        return None
    first = max(shares, key=inference.estimate)
    if shares[first][0] > MOST:
        return first
    others = [c for c in shares if c != first]
    return first if all(inference.leads(first, c, CLAIM, scope) for c in others) else None


def sentence(
    components: Components,
    inference: Inference,
    lead: LargestComponent | None,
    *,
    leans: Sequence[PromptLean] = (),
    invalid: float = 0.0,
    single: bool = False,
    scored: ScoreScale | None = None,
) -> str:
    """Say what the disagreement of one judge is made of, and what to do about it.

    Args:
        components: of the judge.
        inference: its bounds.
        lead: its largest component, None where there is one only.
        leans: how far each prompt leans to a position.
        invalid: share of calls without a verdict; if it is large, that comes first.
        single: whether single answers were judged: nothing is said about their order.
        scored: the scale of the scores, None where verdicts are no scores.
    """
    facets = {"prompt": _FACETS["prompt"]} if single else _FACETS
    fixed = [words for name, words in facets.items() if components[name].absent]
    said = _Spoken(single=single, scale=scored)
    found = _finding(components["total"], inference, lead, said)
    if invalid >= MANY_INVALID:
        found = (
            f"{round(100 * invalid)}% of this judge's calls gave no verdict: repair the prompt or "
            f"the parser first. As it is, {found[0].lower()}{found[1:]}"
        )
    _, orders = inference.calls.shown.facets
    return of_orders(f"{found}{_unknown(fixed)}.{_leaning(leans)}", orders)


@dataclass(frozen=True, kw_only=True)
class _Spoken:
    """How a total is spoken of: pairs of calls that differ, or the distance of two scores."""

    single: bool
    scale: ScoreScale | None

    @property
    def asked(self) -> str:
        return "prompt asked here" if self.single else "prompt and order asked here"

    @property
    def nothing(self) -> str:
        return "verdict" if self.scale is None else "score"

    def apart(self, value: float) -> str:
        """Say how far two calls are apart, of one item."""
        if self.scale is None or self.scale.dissimilarity == "nominal":
            return f"differ in {_of_100(value)} pairs"
        if self.scale.dissimilarity == "numeric":
            return f"have a variance of {value:.2g} squared points"
        if self.scale.even:
            return f"lie {value * self.scale.span:.2g} points apart"
        return f"lie {_number(value)}% of the scale apart"


def _finding(
    total: Component, inference: Inference, lead: LargestComponent | None, said: _Spoken
) -> str:
    here = _here(len(inference.items.values))
    if (reason := inference.refusal("total", "fixed")) is not None:
        return f"What this judge's disagreement is made of cannot be told: {reason}"
    least, most = inference.bounds("total", CLAIM, "fixed")
    if inference.calls.shown.unanimous and total.estimate == 0:
        return (
            f"This judge gave one {said.nothing} to each item in every call {here}, whatever the "
            f"{said.asked}; {_at_most_apart(most, said, would='would ')}"
        )
    if lead is None and said.scale is not None:
        return (
            f"Two calls of this judge on the same item {said.apart(total.estimate)} on average "
            f"{here}, and repeat-to-repeat noise is all that was measured"
        )
    if lead is None:
        return (
            f"Two calls of this judge on the same item disagree in {_of_100(total.estimate)} cases "
            f"{here} ({_number(least)} to {_number(most)}), and repeat-to-repeat noise is all that "
            "was measured"
        )
    if least <= 0:
        return (
            f"Too little disagreement to split {here}: {_at_most_apart(most, said)}, and these "
            "calls cannot tell what that little is made of"
        )
    asked = claims_of(inference, "fixed")
    return f"{here[0].upper()}{here[1:]}, {_said(asked)}{_elsewhere(asked, inference)}"


def _at_most_apart(most: float, said: _Spoken, *, would: str = "") -> str:
    if said.scale is None:
        return f"at most {_of_100(most)} pairs of calls {would}differ"
    return f"two calls {would}{said.apart(most)} on average at most"


def _said(claims: Claims) -> str:
    """Say what holds for one target: the largest part, advice, and what is small or open."""
    text = f"{_headline(claims)}: {_advice(claims)}" if claims.largest else _headline(claims)
    parts = [text]
    if claims.little:
        parts.append(f"{_with_most(claims, claims.little)} {_verb(claims.little)} little")
    said = {claims.largest, *claims.little, *claims.worth}
    left = [c for c in claims.shares if c not in said]
    if claims.largest and left:
        parts.append(f"how much is {_with_most(claims, left)} cannot be told")
    return "; ".join(parts)


def _headline(claims: Claims) -> str:
    if claims.nearly_all_call:
        least = claims.shares["call"][0]
        return (
            f"nearly all of this judge's disagreement is {_WORDS['call']} (at least {_down(least)})"
        )
    if claims.largest is not None:
        low, high = claims.shares[claims.largest]
        return (
            f"{_WORDS[claims.largest]} is the largest part of this judge's disagreement "
            f"({_down(low)} to {_up(high)})"
        )
    ranges = [
        f"{_WORDS[c]} {_down(low)} to {_up(high)}"
        for c, (low, high) in claims.shares.items()
        if c not in claims.little
    ]
    return (
        "which part of this judge's disagreement is largest cannot be told from these calls "
        f"({_listed(ranges)})"
    )


def _advice(claims: Claims) -> str:
    if claims.largest != "call":
        return _ADVICE[str(claims.largest)]
    advice = _ADVICE["call"] + (", rewording will not" if claims.no_rewording else "")
    too = [_TOO[c] for c in claims.worth]
    if too:
        return f"{advice}; {_listed(too)} {'helps' if len(too) == 1 else 'help'} too"
    return advice


def _elsewhere(asked: Claims, inference: Inference) -> str:
    """Say whether the headline holds for items like these as well."""
    if inference.refusal("total", "new") is not None:
        return "; what holds for other items cannot be told from these"
    other = claims_of(inference, "new")
    if asked.nearly_all_call and other.nearly_all_call:
        return "; the same holds for other items like these"
    if asked.largest is not None and other.largest == asked.largest:
        return f"; {_WORDS[asked.largest]} is the largest part for other items like these too"
    return "; whether this holds for other items like these cannot be told"


def _leaning(leans: Sequence[PromptLean]) -> str:
    """Name the prompts whose lean to a position is told from zero, the strongest first."""
    shown = sorted((x for x in leans if x.shown), key=lambda x: -abs(x.lean))
    if not shown:
        return ""
    first = shown[0]
    low, high = sorted(abs(end) for end in first.interval)
    side = "first" if first.lean > 0 else "second"
    others = len(shown) - 1
    more = f"; so {'does' if others == 1 else 'do'} {others} more" if others else ""
    same = all((x.lean > 0) == (first.lean > 0) for x in shown)
    if others and not same:
        more = f"; {others} more {'leans' if others == 1 else 'lean'} to one side or the other"
    points = round(100 * abs(first.lean))
    return (
        f" Prompt {first.prompt!r} leans to the answer shown {side} by {points} points of 100 "
        f"({100 * low:.0f} to {100 * high:.0f}){more}."
    )


def _with_most(claims: Claims, parts: Sequence[str]) -> str:
    return _listed([f"{_WORDS[c]} ({_at_most(claims, c)})" for c in parts])


def _at_most(claims: Claims, part: str) -> str:
    """Say how large a part can be, in points of 100 where only that is small."""
    share = claims.shares[part][1]
    if part in claims.little and share >= LITTLE:
        return f"at most {_number(claims.highest[part])} points of 100"
    return f"at most {_up(share)}"


def _verb(parts: Sequence[str]) -> str:
    return "matters" if len(parts) == 1 else "matter"


def _listed(words: Sequence[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def _down(share: float) -> str:
    """Write a lower bound in percent, never rounded up, and never as all of it."""
    return f"{min(99, int(100 * share + 1e-9))}%"


def _up(share: float) -> str:
    """Write an upper bound in percent, never rounded down, and never as nothing."""
    return f"{max(1, ceil(100 * share - 1e-9))}%"


def _of_100(share: float) -> str:
    return f"{_number(share)} of 100"


def _number(share: float) -> str:
    value = 100 * max(share, 0.0)
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"  # noqa: PLR2004 - two digits


def _unknown(fixed: list[str]) -> str:
    if not fixed:
        return ""
    were = "was not varied, so its part is" if len(fixed) == 1 else "were not varied, so they are"
    return f" ({' and '.join(fixed)} {were} not known)"


def slot_sentence(slots: Sequence[SlotPreference], items: int) -> str:
    """Say which displayed slot is favoured on the items asked, the furthest from even first."""
    here = _here(items)
    shown = sorted((x for x in slots if x.shown), key=lambda x: -abs(x.lean))
    if not shown:
        most = max(abs(end) for x in slots for end in x.call_interval)
        return f"No slot is shown to be favoured {here}: {_number(most)} points of 100 at most."
    return f"{here[0].upper()}{here[1:]}, {_listed([_slot(x) for x in shown])}."


def _slot(x: SlotPreference) -> str:
    way = "more" if x.lean > 0 else "less"
    low, high = sorted(100 * abs(end) for end in x.call_interval)
    return (
        f"slot {x.slot} is chosen in {_of_100(x.share)} calls, {100 * abs(x.lean):.0f} points "
        f"{way} than an even share ({low:.0f} to {high:.0f})"
    )


def factor_sentence(judge: JudgeAnalysis) -> str:
    """Say which parts of the prompt component are told from zero, and how large the rest can be."""
    found = {name: c for name, c in judge.factors.items() if c.call_interval is not None}
    shown = {name: c for name, c in found.items() if c.call_interval and c.call_interval[0] > 0}
    rest = {name: c for name, c in found.items() if name not in shown}
    parts = [
        f"{name} moves verdicts ({c.estimate:.3f}; {c.call_interval[0]:.3f} to "
        f"{c.call_interval[1]:.3f})"
        for name, c in sorted(shown.items(), key=lambda pair: -pair[1].estimate)
        if c.call_interval
    ]
    if rest:
        most = max(c.call_interval[1] for c in rest.values() if c.call_interval)
        verb = "is" if len(rest) == 1 else "are"
        parts.append(f"{_listed([*rest])} {verb} not told from zero ({most:.3f} at most)")
    here = _here(judge.items)
    return f"{here[0].upper()}{here[1:]}, {'; '.join(parts)}."


def _here(items: int) -> str:
    return "on this item" if items == 1 else f"on these {items:,} items"
