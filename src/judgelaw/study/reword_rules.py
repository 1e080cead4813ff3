"""Rewordings by rule: no model, no network, and a law that is known.

Every choice is drawn by itself and evenly, from the stream of the draw's own number, so that draw 7
is the same whether 12 or 40 are drawn. What was chosen stands beside the text.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from judgelaw.streams import stream
from judgelaw.study.passages import MARK, Labels, instructions, outline_at
from judgelaw.study.prompt_models import Rules
from judgelaw.study.prompts import CASES, WRAPPERS, split, wrap

MARKS: Mapping[str, str] = {
    "dash": "- ",
    "star": "* ",
    "bullet": "• ",
    "number": "{n}. ",
    "bracket": "{n}) ",
    "letter": "({a}) ",
}
AS_IT_IS = "as it is"
"""The name of what a study wrote itself, among the languages of its template."""

_FEWEST = 2
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, kw_only=True)
class RuleSource:
    """What is drawn from by rule.

    Attributes:
        parts: the template.
        fields: what a template of the study may name.
        rules: what may change.
        alternatives: sentences with what may stand in their place.
        labels: the words that the judge answers with.
        seed: of the draws.
    """

    parts: tuple[str, ...]
    fields: tuple[str, ...]
    rules: Rules
    alternatives: tuple[tuple[str, ...], ...]
    labels: Labels
    seed: int

    def draw(self, number: int) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Return the parts of one rewording, and what was chosen."""
        rng, made = stream(self.seed, "reworded", number), dict[str, Any]()
        parts = self._language(rng, made)
        if self.alternatives and made.get("language", AS_IT_IS) == AS_IT_IS:
            places = [int(rng.integers(len(listed))) for listed in self.alternatives]
            at = outline_at(parts, [listed[0] for listed in self.alternatives])
            texts = [listed[n] for listed, n in zip(self.alternatives, places, strict=True)]
            parts, made["alternatives"] = at.filled(texts), places
        literals = [self._lists(literal, rng, made) for literal in parts[::2]]
        literals = self._labels(literals, rng, made)
        parts = _with_literals(parts, literals)
        return self._wrapped(parts, rng, made), made

    def _language(self, rng: np.random.Generator, made: dict[str, Any]) -> tuple[str, ...]:
        languages = self.rules.languages
        if not languages:
            return self.parts
        names = [AS_IT_IS, *languages]
        name = made["language"] = names[int(rng.integers(len(names)))]
        return self.parts if name == AS_IT_IS else split(languages[name], self.fields)

    def _lists(self, literal: str, rng: np.random.Generator, made: dict[str, Any]) -> str:
        """Return a literal with its lists in another order, or marked in another way."""
        whole, last = list[str](), 0
        for listing in lists(literal, self.labels):
            entries = list(listing.entries)
            if self.rules.order and not listing.in_sequence:
                sequence = [int(n) for n in rng.permutation(len(entries))]
                made.setdefault("order", []).append(sequence)
                entries = [entries[n] for n in sequence]
            marks = listing.marks
            if self.rules.numbering:
                kind = self._kinds[int(rng.integers(len(self._kinds)))]
                made.setdefault("numbering", []).append(kind)
                marks = tuple(
                    f"{listing.indent}{MARKS[kind].format(n=n + 1, a=_LETTERS[n % 26])}"
                    for n in range(len(entries))
                )
            whole += [literal[last : listing.start], listing.joined(marks, entries)]
            last = listing.end
        return "".join([*whole, literal[last:]])

    @cached_property
    def _kinds(self) -> tuple[str, ...]:
        """How entries may be marked; numbers are left to labels that are numbers."""
        if not isinstance(self.rules.numbering, bool):
            return self.rules.numbering
        digits = any(word.isdigit() for word in self.labels.words)
        return tuple(kind for kind in MARKS if not (digits and "{n}" in MARKS[kind]))

    def _labels(
        self, literals: list[str], rng: np.random.Generator, made: dict[str, Any]
    ) -> list[str]:
        if not self.rules.labels:
            return literals
        columns = [(label, *others) for label, others in self.rules.labels.items()]
        at = int(rng.integers(len(columns[0])))
        said = {column[0]: column[at] for column in columns}
        made["labels"] = said
        known = Labels(tuple(said))
        return [_replaced(literal, known, said) for literal in literals]

    def _wrapped(
        self, parts: tuple[str, ...], rng: np.random.Generator, made: dict[str, Any]
    ) -> tuple[str, ...]:
        """Put a heading around the instructions."""
        if not self.rules.wrappers:
            return parts
        grammar = self.rules.wrappers
        grammar = WRAPPERS if grammar is True else grammar

        def one(name: str) -> str:
            listed: Sequence[str] = getattr(grammar, name) or getattr(WRAPPERS, name)
            return listed[int(rng.integers(len(listed)))]

        style, heading, case, separator = map(one, ("styles", "headings", "cases", "separators"))
        title = CASES[case](heading)
        made["wrapper"] = {"style": style, "heading": title, "separator": separator}
        place, start, end = instructions(parts, self.labels)
        literal = parts[2 * place]
        text = wrap(literal[start:end], style=style, heading=title, separator=separator)
        return (
            *parts[: 2 * place],
            literal[:start] + text + literal[end:],
            *parts[2 * place + 1 :],
        )


def _with_literals(parts: Sequence[str], literals: Sequence[str]) -> tuple[str, ...]:
    found = list(parts)
    found[::2] = literals
    return tuple(found)


def _replaced(text: str, labels: Labels, said: Mapping[str, str]) -> str:
    whole, last = list[str](), 0
    for found in labels.find(text):
        whole += [text[last : found.start()], said[found.group()]]
        last = found.end()
    return "".join([*whole, text[last:]])


@dataclass(frozen=True, kw_only=True)
class Listing:
    """A list in a text: marks and entries between two places.

    Attributes:
        start, end: its place.
        marks: how its entries begin.
        entries: without their marks.
        in_sequence: whether the text says that the sequence means something, as in "the most
            important first"; another order would be another rubric.
    """

    start: int
    end: int
    marks: tuple[str, ...]
    entries: tuple[str, ...]
    in_sequence: bool = False

    @property
    def indent(self) -> str:
        """The blanks before every mark."""
        return self.marks[0][: len(self.marks[0]) - len(self.marks[0].lstrip())]

    def joined(self, marks: Sequence[str], entries: Sequence[str]) -> str:
        """Return the list with other marks and entries."""
        lines = (mark + entry for mark, entry in zip(marks, entries, strict=True))
        return "\n".join(lines)


_ENTRY = re.compile(
    rf"(?m)^(?P<mark>{MARK.pattern})(?P<text>.*(?:\n[ \t]+(?!\s)(?!{MARK.pattern}).*)*)"
)
"""An entry of a list, with the lines that go on with it."""
_LEADS_SEQUENCE = re.compile(
    r"\b(?:(?:this|that|following|given|decreasing|descending|ascending|increasing) "
    r"(?:order|sequence)|in (?:order|sequence)|order of|(?:by|of) (?:importance|priority)"
    r"|priorit(?:y|ies|i[sz]e[sd]?)|important (?:\w+ )?(?:first|last)|most to least|least to most"
    r"|steps?|ranked|one after (?:the other|another))\b",
    re.IGNORECASE,
)
_IN_SEQUENCE = re.compile(
    r"(?:first(?:ly)?|second(?:ly)?|third(?:ly)?|then|next|after that|finally|last(?:ly)?"
    r"|step \d+|otherwise)\b",
    re.IGNORECASE,
)


def lists(text: str, labels: Labels) -> list[Listing]:
    """Return the lists of two entries or more, but for those that list labels.

    A list whose entries begin with a label, or are numbered by labels, says what labels mean.
    """
    found: list[list[re.Match[str]]] = []
    for entry in _ENTRY.finditer(text):
        if found and text[found[-1][-1].end() : entry.start()] == "\n":
            found[-1].append(entry)
        else:
            found.append([entry])
    return [
        Listing(
            start=entries[0].start(),
            end=entries[-1].end(),
            marks=tuple(e["mark"] for e in entries),
            entries=tuple(e["text"] for e in entries),
            in_sequence=_says_sequence(text[: entries[0].start()], [e["text"] for e in entries]),
        )
        for entries in found
        if len(entries) >= _FEWEST and not any(_says_label(e, labels) for e in entries)
    ]


def _says_label(entry: re.Match[str], labels: Labels) -> bool:
    mark = entry["mark"].strip(" \t-*•–.()")
    begins = next((m.start() for m in labels.find(entry["text"])), -1)
    return mark in labels.words or 0 <= begins <= 1


def _says_sequence(before: str, entries: Sequence[str]) -> bool:
    """Whether the paragraph that leads to a list, or one of its entries, speaks of a sequence."""
    lead = before.rstrip().rpartition("\n\n")[2]
    return bool(_LEADS_SEQUENCE.search(lead)) or any(map(_IN_SEQUENCE.match, entries))
