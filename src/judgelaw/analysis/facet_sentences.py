"""Sentences about single facets: which slot is favoured, which factor of prompts moves verdicts."""

from collections.abc import Sequence

from judgelaw.analysis.facet_values import SlotPreference
from judgelaw.analysis.values import JudgeAnalysis
from judgelaw.words import joined


def slot_sentence(slots: Sequence[SlotPreference], items: int) -> str:
    """Say which displayed slot is favoured on the items asked, the furthest from even first."""
    here = _here(items)
    shown = sorted((x for x in slots if x.shown), key=lambda x: -abs(x.lean))
    if not shown:
        most = max(abs(end) for x in slots for end in x.call_interval)
        return f"No slot is shown to be favoured {here}: {_number(most)} points of 100 at most."
    return f"{here[0].upper()}{here[1:]}, {joined([_slot(x) for x in shown])}."


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
        parts.append(f"{joined([*rest])} {verb} not told from zero ({most:.3f} at most)")
    here = _here(judge.items)
    return f"{here[0].upper()}{here[1:]}, {'; '.join(parts)}."


def _here(items: int) -> str:
    return "on this item" if items == 1 else f"on these {items:,} items"


def _of_100(share: float) -> str:
    return f"{_number(share)} of 100"


def _number(share: float) -> str:
    value = 100 * max(share, 0.0)
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"  # noqa: PLR2004 - two digits
