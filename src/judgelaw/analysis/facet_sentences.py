"""Sentences about single facets: which slot is favoured, which factor of prompts moves verdicts."""

from collections.abc import Sequence

from judgelaw.analysis.facet_values import SlotPreference
from judgelaw.analysis.values import JudgeAnalysis
from judgelaw.blocks import Place, Run, joined
from judgelaw.words import joined as spoken_list, visible


def slot_sentence(slots: Sequence[SlotPreference], items: int, place: Place) -> Run:
    """Say which displayed slot is favoured on the items asked, the furthest from even first.

    `place` is where the document holds the slots.
    """
    here = _here(items)
    shown = sorted((i for i, x in enumerate(slots) if x.shown), key=lambda i: -abs(slots[i].lean))
    if not shown:
        i, end = max(
            ((i, end) for i in range(len(slots)) for end in (0, 1)),
            key=lambda at: abs(slots[at[0]].call_interval[at[1]]),
        )
        most = _number(abs(slots[i].call_interval[end]))
        return (
            f"No slot is shown to be favoured {here}: ",
            place.at(i, "call_interval", end).said(most),
            " points of 100 at most.",
        )
    parts = [_slot(slots[i], place.at(i)) for i in shown]
    return (f"{here[0].upper()}{here[1:]}, ", *joined(parts), ".")


def _slot(x: SlotPreference, place: Place) -> Run:
    way = "more" if x.lean > 0 else "less"
    ends = [
        place.at("call_interval", i).said(f"{100 * abs(x.call_interval[i]):.0f}") for i in (0, 1)
    ]
    low, high = ends if x.lean > 0 else ends[::-1]
    return (
        f"slot {x.slot} is chosen in ",
        place.at("share").said(_number(x.share)),
        " of 100 calls, ",
        place.at("lean").said(f"{100 * abs(x.lean):.0f}"),
        f" points {way} than an even share (",
        low,
        " to ",
        high,
        ")",
    )


def factor_sentence(judge: JudgeAnalysis, place: Place) -> Run:
    """Say which parts of the prompt component are told from zero, and how large the rest can be.

    `place` is where the document holds the factors.
    """
    found = {
        name: c.call_interval for name, c in judge.factors.items() if c.call_interval is not None
    }
    shown = [name for name, ends in found.items() if ends[0] > 0]
    rest = [name for name in found if name not in shown]
    parts: list[Run] = [
        (
            f"{visible(name)} moves verdicts (",
            place.value(name, "estimate", form=".3f"),
            "; ",
            place.span(name, "call_interval", form=".3f", to=True),
            ")",
        )
        for name in sorted(shown, key=lambda name: -judge.factors[name].estimate)
    ]
    if rest:
        most = max(rest, key=lambda name: found[name][1])
        verb = "is" if len(rest) == 1 else "are"
        parts.append(
            (
                f"{spoken_list([*map(visible, rest)])} {verb} not distinguishable from zero (",
                place.value(most, "call_interval", 1, form=".3f"),
                " at most)",
            )
        )
    here = _here(judge.items)
    return (f"{here[0].upper()}{here[1:]}, ", *joined(parts, "; ", "; "), ".")


def _here(items: int) -> str:
    return "on this item" if items == 1 else f"on these {items:,} items"


def _number(share: float) -> str:
    value = 100 * max(share, 0.0)
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"  # noqa: PLR2004 - two digits
