"""The answer in one plain sentence: what the disagreement is made of, and what would help."""

from judgelaw.analysis.values import Components, LargestComponent

_WORDS = {
    "call": "repeat-to-repeat noise",
    "prompt": "the prompt wrapper",
    "order": "answer order",
    "interaction": "prompt and order together",
}
_ADVICE = {
    "call": "more repeats help",
    "prompt": "average over prompts or settle on one, more repeats will not help",
    "order": "ask in both orders and average, more repeats alone will not help",
    "interaction": "average over prompts and orders together, changing one of them will not do",
}
_FACETS = {"prompt": "the prompt", "order": "the answer order"}


def sentence(components: Components, lead: LargestComponent | None, *, unanimous: bool) -> str:
    """Say what the disagreement of one judge is made of, and what to do about it.

    Shares are raw, so one may be negative and another may pass 100%.
    """
    fixed = [words for name, words in _FACETS.items() if components[name].absent]
    return f"{_finding(components, lead, unanimous=unanimous)}{_unknown(fixed)}."


def _finding(components: Components, lead: LargestComponent | None, *, unanimous: bool) -> str:
    total = components["total"].estimate
    if unanimous and total == 0:
        return (
            "This judge gave one verdict to each item in every call, whatever the prompt and order "
            "asked here: there is no disagreement to split"
        )
    if lead is None:
        return (
            f"Two calls of this judge on the same item disagree {100 * total:.1f}% of the time, "
            "and repeat-to-repeat noise is all that was measured"
        )
    if total <= 0:
        return (
            f"The total disagreement of this judge came out at {total:.4f}, too small for these "
            "calls to see, so it has no shares"
        )
    if unanimous:
        return (
            f"This judge repeated itself in every cell, so {_shares(components)}: "
            f"{_ADVICE[lead.largest]}"
        )
    return f"{_shares(components)}: {_advice(components, lead)}"


def _shares(components: Components) -> str:
    present = [name for name in _WORDS if not components[name].absent]
    ranked = sorted(present, key=lambda name: -components[name].share)
    first, *others = (f"{_percent(components[name].share)} {_WORDS[name]}" for name in ranked)
    size, words = first.split(" ", maxsplit=1)
    return ", ".join([f"{size} of this judge's disagreement is {words}", *others])


def _percent(share: float) -> str:
    return f"{round(100 * share)}%"


def _advice(components: Components, lead: LargestComponent) -> str:
    if not lead.settled:
        first, second = _WORDS[lead.largest], _WORDS[lead.second]
        return f"whether {first} or {second} is larger is open on these items"
    if lead.largest != "call":
        return _ADVICE[lead.largest]
    if not components["prompt"].absent:
        return f"{_ADVICE['call']}, rewording will not"
    return f"{_ADVICE['call']}, changing the answer order does little"


def _unknown(fixed: list[str]) -> str:
    if not fixed:
        return ""
    were = "was not varied, so its part is" if len(fixed) == 1 else "were not varied, so they are"
    return f" ({' and '.join(fixed)} {were} not known)"
