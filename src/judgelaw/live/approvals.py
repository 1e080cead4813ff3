"""Rewordings for people to read: each text once, beside the prompt, with what differs marked."""

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from judgelaw.live.label_items import Labelling, Marked, ToLabel

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from judgelaw.study import Draw

_YOURS, _REWORDED, _LOOK = "Your prompt", "Reworded", "Look here first"


def rewordings_to_read(
    folder: "Path",
    template: str,
    draws: "Iterable[Draw]",
    hints: "Mapping[str, tuple[str, ...]]",
) -> Labelling:
    """Return rewordings as the labelling page shows them.

    Args:
        folder: where the draws are; it names the sequence in which a person reads them.
        template: the prompt that is reworded.
        draws: those that passed the checks.
        hints: where to look first, by the name of the text.
    """
    from judgelaw.study import SAME, STRUCK

    items: dict[str, ToLabel] = {}
    for draw in draws:
        if draw.wording not in items:
            before, after = compared(template, draw.template.text)
            told = hints.get(draw.wording, ())
            items[draw.wording] = ToLabel(
                id=draw.wording,
                texts=((_LOOK, "; ".join(told)),) if told else (),
                answers=((_YOURS, before), (_REWORDED, after)),
            )
    return Labelling(name=folder.name, items=items, labels=(SAME, STRUCK))


def compared(before: str, after: str) -> tuple[Marked, Marked]:
    """Return two texts in pieces, each with whether the other text lacks it; whole words."""
    old, new = _words(before), _words(after)
    steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    left = tuple(("".join(old[a:b]), kind != "equal") for kind, a, b, _, _ in steps if b > a)
    right = tuple(("".join(new[a:b]), kind != "equal") for kind, _, _, a, b in steps if b > a)
    return left, right


def _words(text: str) -> list[str]:
    """Split a text into words with the blanks behind them."""
    found: list[str] = []
    for character in text:
        if found and (character.isspace() or not found[-1][-1].isspace()):
            found[-1] += character
        else:
            found.append(character)
    return found
