"""What a rewording has to keep, whoever wrote it: checked by rule, before a person reads it.

A rule can see that a label, a number or a mark of a list is gone. It cannot see whether the
meaning is the same: that is for people, and `hints` says where to look.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from judgelaw.study.passages import MARK, Labels, sentences, word_count

_BRACES = re.compile(r"[{}]")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*%?")
_QUOTED = re.compile(r"[\"“”«»„]([^\"“”«»„\n]{1,200})[\"“”«»„]|`([^`\n]+)`")
_CAPITALS = re.compile(r"(?<!\w)[A-Z][A-Z0-9]+(?!\w)")
_TALK = re.compile(
    r"\s*(?:sure\b|certainly\b|of course\b|here(?: is|'s|’s| are)\b|okay\b"
    r"|i(?:'m|’m| have| can| will)\b"
    r"|(?:\W*)(?:re-?word(?:ed|ing)?|rephras(?:ed|ing)|re-?written|revised|text|output|answer)"
    r"(?: text| version)?\W*:)",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nor|neither|without|unless|except|cannot|avoid|ignore|\w+n['’]t)\b",
    re.IGNORECASE,
)
_LEAST, _MOST, _SLACK = 0.5, 2.0, 3
_STEM, _SHARED, _FEWEST_STEMS = 5, 5, 5


@dataclass(frozen=True, kw_only=True)
class Kept:
    """What every rewording of a template has to hold.

    Attributes:
        labels: the words that the judge answers with.
        texts: what the study declares under `keep`.
    """

    labels: Labels
    texts: tuple[str, ...] = ()


def refusal(original: str, reply: str, kept: Kept) -> str | None:
    """Say what a rewording of a passage has lost or added; None where nothing is."""
    return next(_faults(original, reply, kept), None)


def _faults(original: str, reply: str, kept: Kept) -> Iterator[str]:
    if not reply.strip():
        yield "empty: nothing was written"
    if _BRACES.search(reply):
        yield "placeholder: it holds a brace, which would stand for a field of an item"
    if _TALK.match(reply) and not _TALK.match(original):
        yield "talk: it speaks of the rewording before it begins"
    counts = {
        "labels": (kept.labels.count(original), kept.labels.count(reply)),
        "kept text": (_of(kept.texts, original), _of(kept.texts, reply)),
        "numbers": (_counted(_NUMBER, original), _counted(_NUMBER, reply)),
        "quoted words": (_counted(_QUOTED, original), _counted(_QUOTED, reply)),
        "questions": (Counter("?" * original.count("?")), Counter("?" * reply.count("?"))),
    }
    for name, (was, now) in counts.items():
        if changed := _changed(was, now):
            yield f"{name}: {changed}"
    before, after = set(_CAPITALS.findall(original)), set(_CAPITALS.findall(reply))
    if before != after:
        yield f"words in capitals: {', '.join(sorted(before ^ after))} not in both"
    if (marks := _marks(original)) != (found := _marks(reply)):
        yield f"lists: {len(found)} entries in place of {len(marks)}, or other marks"
    words, there = word_count(original), word_count(reply)
    if not _LEAST * words - _SLACK <= there <= _MOST * words + _SLACK:
        yield f"length: {there} words in place of {words}"
    stems, own = _stems(original), _stems(reply)
    if len(stems) >= _FEWEST_STEMS and _SHARED * len(stems & own) < len(stems):
        yield f"subject: it shares {len(stems & own)} of {len(stems)} longer words with the text"


def _stems(text: str) -> set[str]:
    """Return how the longer words of a text begin."""
    return {word[:_STEM].casefold() for word in re.findall(r"\w+", text) if len(word) >= _STEM}


def _of(texts: Sequence[str], said: str) -> Counter[str]:
    return Counter({text: said.count(text) for text in texts})


def _marks(text: str) -> list[str]:
    return [m.group().strip() for line in text.split("\n") if (m := MARK.match(line))]


def _counted(pattern: re.Pattern[str], text: str) -> Counter[str]:
    plain = "\n".join(MARK.sub("", line, count=1) for line in text.split("\n"))
    return Counter(next(g for g in (*m.groups(), m.group()) if g) for m in pattern.finditer(plain))


def _changed(before: Counter[str], after: Counter[str]) -> str:
    """Say what is there more or less often than before."""
    names = [name for name in (before | after) if before[name] != after[name]]
    shown = [f"{name!r} {after[name]} times, was {before[name]}" for name in sorted(names)]
    return ", ".join(shown[:3])


def hints(original: str, reworded: str) -> tuple[str, ...]:
    """Say where a reader should look first; none of it is wrong by itself."""
    found = []
    no, now = len(_NEGATION.findall(original)), len(_NEGATION.findall(reworded))
    if no != now:
        found.append(f"words of negation: {now}, was {no}")
    had, has = len(sentences(original)), len(sentences(reworded))
    if had != has:
        found.append(f"sentences: {has}, was {had}")
    return tuple(found)


def chosen(reply: str, choices: Sequence[Sequence[str]]) -> tuple[tuple[int, ...] | None, str]:
    """Read a reply that has to hold one of the alternatives of every sentence, a line each.

    Returns:
        The place of each in its list, or None and what is wrong.
    """
    lines = [line.strip() for line in reply.strip().split("\n") if line.strip()]
    if len(lines) != len(choices):
        return None, f"alternatives: {len(lines)} lines in place of {len(choices)}"
    places = []
    for number, (line, listed) in enumerate(zip(lines, choices, strict=True), 1):
        if line not in listed:
            return None, f"alternatives: line {number} is none of the {len(listed)} listed"
        places.append(listed.index(line))
    return tuple(places), ""
