"""A pattern tried on texts that make patterns backtrack, before anybody is asked anything."""

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from judgelaw.wire.bounded import SECONDS, BoundedParser, ParserTimeoutError
from judgelaw.wire.judge_spec import JudgeSpec
from judgelaw.wire.parsers import READ_AT_MOST, foreign_part

_SHORT = (60, 2_500)
"""Lengths of texts on which a pattern may never run out: the first takes exponential time for
ever, the second cubic."""
_COMMON = ("a", "A", "1", " ", "\n", "_", "-", ".", '"', "aA1 ", " \n")
_MOST_ATOMS = 24
_WORD = re.compile(r"\\.|[A-Za-z0-9_]+")
_META = re.compile(r"\(\?[^)]*?[:>)]|[()\[\]{}*+?|^$]")


@dataclass(frozen=True, kw_only=True)
class Slow:
    """A pattern that ran out of time; `refused` where a short reply is enough for that."""

    words: str
    refused: bool


def try_pattern(judge: JudgeSpec) -> Slow | None:
    """Try a judge's pattern; None where it has none, or none that is slow."""
    task = foreign_part(judge)
    if task is None or "regex" not in task:
        return None
    with closing(BoundedParser(task)) as parser:
        for text in _texts(task["regex"]):
            if _runs_out(parser, text):
                return _slow(task["regex"], text)
    return None


def _texts(pattern: str) -> Iterator[str]:
    """Yield texts, the short ones first: something the pattern likes, repeated, then a surprise."""
    prefixes, atoms = _prefixes(pattern), _atoms(pattern)
    for length in _SHORT:
        for prefix in prefixes:
            for atom in atoms:
                yield prefix + atom * (length // len(atom)) + "\x00"
    for atom in atoms:
        text = prefixes[-1] + atom * (READ_AT_MOST // len(atom)) + "\x00"
        yield text[: READ_AT_MOST - 1] + "\x00"


def _atoms(pattern: str) -> list[str]:
    """Return what to repeat: usual characters, and words and characters of the pattern."""
    words = [word for word in _WORD.findall(pattern) if not word.startswith("\\")]
    own = [character for character in pattern if not character.isalnum()]
    return list(dict.fromkeys([*_COMMON, *words, *own]))[:_MOST_ATOMS]


def _prefixes(pattern: str) -> list[str]:
    """Return what may have to stand before the part that repeats: nothing, or literal beginnings.

    A guess: classes and escapes of classes are left out, so that what is literal remains.
    """
    literal = ""
    found = [""]
    plain = re.sub(r"\\[wWdDsSbBAZ]|\[[^\]]*\]", "*", pattern)
    for part in _META.split(re.sub(r"\\(.)", r"\1", plain)):
        literal += part
        found.append(literal)
    return list(dict.fromkeys(found))[:4]


def _runs_out(parser: BoundedParser, text: str) -> bool:
    try:
        parser(text)
    except ParserTimeoutError:
        return True
    return False


def _slow(pattern: str, text: str) -> Slow:
    if len(text) >= READ_AT_MOST:
        words = (
            f"its pattern ran out of time on a reply of {len(text):,} characters; replies like "
            "that count as invalid (parser timeout)"
        )
        return Slow(words=words, refused=False)
    words = (
        f"{pattern!r}, takes more than {SECONDS:g} s for a reply of {len(text)} characters "
        f"({text[:12]!r}...): it backtracks, and such a reply could not be read; let no repeated "
        "part hold another one that matches the same characters, as (a+)+ does"
    )
    return Slow(words=words, refused=True)
