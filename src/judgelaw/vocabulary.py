"""What every quantity is called and means, told once to terminal, page, reference and tables.

One name for one quantity in every place. A key of the JSON is a word for programs and never changes
its name; what people read of it is its title here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the project.

    Attributes:
        title: what people read.
        meaning: what it is, in a sentence or a part of one.
    """

    title: str
    meaning: str


COMPONENTS: Final[Mapping[str, Term]] = {
    "call": Term(
        "Chance",
        "Disagreement of two calls of the very same request: the dice. More repeats average it "
        "out, rewording does not touch it.",
    ),
    "prompt": Term(
        "Prompt",
        "How far the verdict law moves between the declared prompts, after averaging the orders.",
    ),
    "order": Term(
        "Answer order",
        "How far the law moves when the answers change places, after averaging the prompts.",
    ),
    "interaction": Term(
        "Prompt × order",
        "What neither explains alone: an order effect that depends on the prompt.",
    ),
    "total": Term("Total", "How often two calls of an item disagree, whatever differs."),
}
"""What the disagreement of a judge is made of."""

OF_ORDER: Final = ("order", "interaction")
"""Components that single answers have no part in."""

CHANGES: Final[Mapping[str, Term]] = {
    "ask_again": Term("just asked again", "nothing else changes"),
    "reword": Term("another prompt", "the item is asked with another prompt"),
    "swap": Term("answers swapped", "the answers are shown in another order"),
    "both": Term("prompt and order", "both of these change"),
}
"""What may differ between two calls on an item; each is how often their verdicts differ then."""

PANEL_COMPONENTS: Final[Mapping[str, Term]] = {
    **{name: term for name, term in COMPONENTS.items() if name != "total"},
    "judge": Term(
        "Judge",
        "How far the verdict laws of several judges are from their mean. It belongs to the panel, "
        "to no one judge.",
    ),
    "total": COMPONENTS["total"],
}
"""What the disagreement of several judges is made of: a sixth component beside those of one."""

PANEL_CHANGES: Final[Mapping[str, Term]] = {
    **CHANGES,
    "another_judge": Term("another judge", "the item is put to another judge"),
}
"""What may differ between two calls of several judges."""

REASONS: Final[Mapping[str, Term]] = {
    "chance": Term("Chance", "the usual verdict there is right"),
    "order": Term("The order", "all orders together give the right verdict"),
    "prompt": Term("The prompt", "all prompts together give the right verdict"),
    "judge": Term("The judge itself", "wrong whichever way it is asked"),
}
"""Why verdicts are wrong, in the order in which reasons are looked for."""

REASONS_OF_SCORES: Final[Mapping[str, str]] = {
    "chance": "the usual score there is nearer to right",
    "order": "the usual score over all orders is nearer",
    "prompt": "the usual score over all prompts is nearer",
    "judge": "so far off whichever way it is asked",
}
"""What the same reasons mean where scores are some points off."""

KEYS: Final[Mapping[str, Term]] = {
    "estimate": Term("Estimate", "corrected, raw; `null` where the design has one level"),
    "interval": Term(
        "{level}, items like these",
        "for new items like these: the claim. `null` where none can be had",
    ),
    "call_interval": Term(
        "{level}, these items", "for the same items asked again: it covers chance alone"
    ),
    "call_se": Term("Standard error, these items", "of the same items asked again"),
    "plugin": Term(
        "Plug-in",
        "the same from relative frequencies taken as laws, biased by finite repeats",
    ),
    "band": Term("Item band", "percentile band of whole items, too narrow where few items change"),
    "plugin_band": Term("Item band of the plug-in", "the item band of the plug-in"),
    "share": Term(
        "Share", "estimate over total; `null` where the total is zero or the facet absent"
    ),
    "share_band": Term("Item band of the share", "at the full depth"),
    "share_interval": Term(
        "Share, these items", "shares that the calls allow with items fixed, at the full depth"
    ),
    "share_item_interval": Term(
        "Share, items like these", "shares that new items like these allow, at the full depth"
    ),
    "evidence": Term("Evidence", "what it rests on: `sampled` verdicts or `soft` probabilities"),
    "bounds": Term(
        "Missing mass allows",
        "between which a soft estimate lies wherever missing mass belongs; else `null`",
    ),
    "more": Term(
        "More than just asked again",
        "how much more often than when just asked again; `null` for asking again",
    ),
    "more_interval": Term("{level}, these items", "of that, for the same items asked again"),
    "low": Term("At least", "low end of the interval for items like these"),
    "high": Term("At most", "high end of the interval for items like these"),
    "reason": Term("Why not", "why a number cannot be had; empty where it can"),
}
"""What stands in the JSON beside a quantity, and what columns of it are called."""

GLOSSARY: Final[Mapping[str, str]] = {
    "Right": (
        "A verdict that equals the right answer you gave. A tie where one answer is right counts "
        "half; a reply without a verdict counts nothing."
    ),
    "Always the same answer": (
        "The best one could do by giving every item the same verdict. A judge at that number has "
        "looked at nothing."
    ),
    "Changes": (
        "Two calls on one item give different verdicts. Just asked again: nothing else differs. "
        "Another prompt, answers swapped: that differs too."
    ),
    "Changes often": (
        "The judge is shown to go against its own commonest verdict on this item in more than 1 "
        "call of 10."
    ),
    "Items like these": (
        "The interval for other items of the same kind. It covers the choice of items and chance, "
        "and allows for a kind of item that is rare and was not drawn."
    ),
    "These items": (
        "The interval for the same items, prompts and orders asked again. It covers chance alone."
    ),
    "Cell": "One item under one prompt in one answer order. It holds the repeats.",
    "Verdict law": "The probabilities with which the judge gives each verdict in one cell.",
    "Disagreement": (
        "The probability that two calls give different verdicts. All components are in this unit."
    ),
    **{term.title: term.meaning for name, term in COMPONENTS.items() if name != "total"},
    "Estimate": (
        "Counts pairs of distinct calls only, so that finite repeats add no bias. May be negative."
    ),
    "Plug-in": (
        "Takes relative frequencies for the laws. Too large for every effect, by an amount that "
        "falls as one over the repeats. Flip rates share this bias."
    ),
    "Share": "A component over the total, as the range that the calls or items allow.",
    "Item band": (
        "In the tables that are named as in the paper: where the average falls when items are "
        "resampled within strata. A picture of the benchmark, too narrow for a claim where few "
        "items change."
    ),
    "Census, sampled": (
        "A census takes the declared prompts as all that matter; sampled prompts stand for the "
        "generator that drew them."
    ),
    "Barycentre": "The mean of verdict laws: the ordinary verdict rate.",
    "Invalid": "A completed reply from which no verdict could be read. An outcome, not a gap.",
}
"""Words of the page, explained."""

_OF_SINGLE: Final[Mapping[str, str]] = {
    "Right": "A verdict that equals the right one you gave; a reply without a verdict does not.",
    "Changes": (
        "Two calls on one item give different verdicts. Just asked again: nothing else differs. "
        "Another prompt: that differs too."
    ),
    "Cell": "One item under one prompt. It holds the repeats.",
    "Prompt": "How far the verdict law moves between the declared prompts.",
    "These items": (
        "The interval for the same items and prompts asked again. It covers chance alone."
    ),
}


def glossary(*, single: bool = False) -> dict[str, str]:
    """Return the words with what they mean; `single` answers have no order."""
    absent = {COMPONENTS[name].title for name in OF_ORDER} if single else set()
    words = {**GLOSSARY, **(_OF_SINGLE if single else {})}
    return {word: meaning for word, meaning in words.items() if word not in absent}


def title(key: str, level: float = 0.95) -> str:
    """Return the title of a column that holds a key of the JSON."""
    return KEYS[key].title.format(level=f"{100 * level:g}%")


def components_of(names: Iterable[str], *, single: bool) -> list[str]:
    """Return the components that a judge has; single answers have none of an order."""
    return [name for name in names if not (single and name in OF_ORDER)]
