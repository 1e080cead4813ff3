"""Prompts sampled from a grammar of wrappers, for estimates about the grammar itself."""

from itertools import product

from judgelaw.design.instrument import CRITERION, OUTPUT, surround
from judgelaw.design.study import Generator, Grammar
from judgelaw.design.templates import Template, split
from judgelaw.errors import InputError
from judgelaw.streams import stream

WRAPPERS = Grammar(
    headings=(
        "pairwise judgment",
        "judge instructions",
        "evaluation task",
        "instructions",
        "comparison of two candidates",
    ),
    cases=("upper", "title", "sentence", "lower"),
    styles=("none", "plain", "colon", "brackets", "xml", "markdown", "bold", "rule"),
    separators=("\n\n", "\n"),
)
"""The grammar called `wrappers`; a declared grammar takes from here what it leaves out."""

_ID_DIGITS = 12

_CASES = {
    "upper": str.upper,
    "title": str.title,
    "sentence": str.capitalize,
    "lower": str.lower,
}


def generate(
    policy: Generator, seed: int, block: str, fields: tuple[str, ...]
) -> tuple[Template, ...]:
    """Draw `count` distinct prompts; a larger count only adds to a smaller one's prompts."""
    texts = sentences(policy)
    if policy.count > len(texts):
        raise InputError(
            f"count {policy.count} exceeds the {len(texts)} distinct prompts of the grammar; "
            "declare more headings, cases, styles or separators, or ask for fewer"
        )
    drawn = stream(seed, "prompts").permutation(len(texts))[: policy.count]
    item = split(block, fields)
    output = OUTPUT if policy.output is None else policy.output
    return tuple(_template(surround(texts[place], item, output)) for place in drawn)


def sentences(policy: Generator) -> tuple[str, ...]:
    """Return every distinct instruction block of the grammar, in a fixed sequence."""
    grammar = WRAPPERS if policy.grammar == "wrappers" else policy.grammar
    criterion = CRITERION if policy.criterion is None else policy.criterion
    choices = product(
        grammar.styles or WRAPPERS.styles or (),
        grammar.headings or WRAPPERS.headings or (),
        grammar.cases or WRAPPERS.cases or (),
        grammar.separators or WRAPPERS.separators or (),
    )
    texts = (
        wrap(criterion, style=style, heading=_CASES[case](heading), separator=separator)
        for style, heading, case, separator in choices
    )
    return tuple(dict.fromkeys(texts))


def wrap(criterion: str, *, style: str, heading: str, separator: str) -> str:
    """Wrap the criterion in one heading."""
    tag = heading.replace(" ", "_")
    before, after = {
        "none": ("", ""),
        "plain": (heading, ""),
        "colon": (f"{heading}:", ""),
        "brackets": (f"[BEGIN {heading}]", f"[END {heading}]"),
        "xml": (f"<{tag}>", f"</{tag}>"),
        "markdown": (f"## {heading}", ""),
        "bold": (f"**{heading}**", ""),
        "rule": (f"{heading}\n{'-' * len(heading)}", ""),
    }[style]
    return separator.join(part for part in (before, criterion, after) if part)


def _template(parts: tuple[str, ...]) -> Template:
    content = Template(id="", parts=parts).sha256
    return Template(id=f"g-{content[:_ID_DIGITS]}", parts=parts)
