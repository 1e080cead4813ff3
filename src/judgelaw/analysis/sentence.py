"""The answer in one plain sentence: what the disagreement is made of, and what would help."""

from judgelaw.analysis.values import Component, Components, LargestComponent

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
_TOO = {
    "prompt": "averaging over prompts",
    "order": "asking in both orders",
    "interaction": "averaging over prompts and orders together",
}
_FACETS = {"prompt": "the prompt", "order": "the answer order"}
_VISIBLE = 0.005
"""A share below it, negative ones included, is too small for the sentence; tables show it raw."""
_WORTH = 0.05
"""A share from which a component that is told from zero deserves advice of its own."""
_MANY_INVALID = 0.1


def sentence(
    components: Components,
    lead: LargestComponent | None,
    *,
    unanimous: bool,
    invalid: float = 0.0,
) -> str:
    """Say what the disagreement of one judge is made of, and what to do about it.

    Args:
        components: of the judge.
        lead: its largest component, None where there is one only.
        unanimous: whether all calls of every cell agree.
        invalid: share of calls without a verdict; if it is large, that comes first.
    """
    fixed = [words for name, words in _FACETS.items() if components[name].absent]
    found = _finding(components, lead, unanimous=unanimous)
    if invalid >= _MANY_INVALID:
        found = (
            f"{_percent(invalid)} of this judge's calls gave no verdict: repair the prompt or the "
            f"parser first. As it is, {found[0].lower()}{found[1:]}"
        )
    return f"{found}{_unknown(fixed)}."


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
    shares = _shares(components)
    return f"{shares[0].upper()}{shares[1:]}: {_advice(components, lead)}"


def _shares(components: Components) -> str:
    present = [name for name in _WORDS if not components[name].absent]
    ranked = sorted(present, key=lambda name: -components[name].share)
    small = [_WORDS[name] for name in ranked if components[name].share < _VISIBLE]
    (first, size), *others = (
        (_WORDS[name], components[name].share)
        for name in ranked
        if components[name].share >= _VISIBLE
    )
    how_much = _percent(size) if size < 1 - _VISIBLE else "all"
    said = [f"{how_much} of this judge's disagreement is {first}"]
    said += [f"{_percent(share)} {words}" for words, share in others]
    if not small:
        return ", ".join(said)
    return (
        f"{', '.join(said)}; {_listed(small)} {'is' if len(small) == 1 else 'are'} too small to see"
    )


def _listed(words: list[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def _percent(share: float) -> str:
    return f"{round(100 * share)}%"


def _advice(components: Components, lead: LargestComponent) -> str:
    if not lead.settled:
        first, second = _WORDS[lead.largest], _WORDS[lead.second]
        return f"whether {first} or {second} is larger is open on these items"
    if lead.largest != "call":
        return _ADVICE[lead.largest]
    too = [words for name, words in _TOO.items() if _counts(components[name])]
    rewording = not components["prompt"].absent and not _counts(components["prompt"])
    advice = _ADVICE["call"] + (", rewording will not" if rewording else "")
    if too:
        return f"{advice}; {_listed(too)} {'helps' if len(too) == 1 else 'help'} too"
    if components["prompt"].absent:
        return f"{advice}, changing the answer order does little"
    return advice


def _counts(c: Component) -> bool:
    """Whether a component is told from zero, and large enough to do something about."""
    return c.share >= _WORTH and c.band is not None and c.band[0] > 0


def _unknown(fixed: list[str]) -> str:
    if not fixed:
        return ""
    were = "was not varied, so its part is" if len(fixed) == 1 else "were not varied, so they are"
    return f" ({' and '.join(fixed)} {were} not known)"
