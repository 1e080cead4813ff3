"""A template as its sentences: those that may be reworded, and what has to stay as it is.

Stays: placeholders, headings, marks of lists, and every sentence that says how to reply (it holds
two labels, or a label or a word of form in an order such as "Reply with ..."), or holds code,
JSON, a tag or braces. What lies between is reworded passage by passage: a passage reaches from one
sentence that stays to the next, and has five words or more.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

MARK = re.compile(r"[ \t]*(?:[-*•–]|\d{1,2}[.)]|\([a-z0-9]{1,2}\)|[a-z][.)])[ \t]+")
"""How an entry of a list begins."""

_END = re.compile(r"[.!?]+[\"'”’)\]]*(\s+)(?=[\"'“‘(\[]?[^\W_a-z])")
_ABBREVIATED = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|resp|approx|no|[A-Za-z]))\.$")
_MARKUP = re.compile(r"#{1,6}\s.*|\[[^\]]*\]|</?[\w-]+>|\*\*[^*]*\*\*:?|[-=_*~]{3,}")
_LONGEST_TITLE = 6
_LONGEST_ALONE = 4
_FEWEST_WORDS = 3
_SHORTEST_PASSAGE = 5
_CODE = re.compile(r"`|[{}]|</?[\w-]+/?>|\"[\w -]+\"\s*:|https?://")
_ORDER = re.compile(
    r"(?:please |then |finally,? |now |do not |don't |never |always |only )*"
    r"(?:reply|respond|answer|return|output|write|print|say|give|state|end|begin|start|finish|put"
    r"|choose|pick|select|use)\b",
    re.IGNORECASE,
)
_FORM = re.compile(
    r"\b(?:lines?|tokens?|words?|json|yaml|xml|markdown|verdict|number|integer|letters?|labels?"
    r"|format|score|rating|explanations?|reply|output)\b",
    re.IGNORECASE,
)
_SAYS_FORM = re.compile(
    r"\b(?:json|yaml|(?:one|single|exactly one|exactly) (?:word|token|line|letter|number)"
    r"|(?:on|in|before|after) (?:the|that|this|a) (?:[\w-]+ )?line|nothing else|output format"
    r"|no (?:explanation|other text|additional)|(?:do not|don't) (?:explain|add|write|include))\b",
    re.IGNORECASE,
)
_AFTER_ARTICLE = re.compile(r" (?!(?:and|or|if|is|was|for|when|means|wins|beats)\b)[a-z]")
_WORD = re.compile(r"\w+(?:['’-]\w+)*")


def word_count(text: str) -> int:
    """Count the words of a text."""
    return len(_WORD.findall(text))


@dataclass(frozen=True)
class Labels:
    """The words that a judge answers with, as they stand in a text.

    A letter that is a word of its own right, as the A of "A candidate is better", is no label
    where it begins a sentence and goes on in small letters.
    """

    words: tuple[str, ...]

    def count(self, text: str) -> Counter[str]:
        """Count every label in a text; marks of lists do not count."""
        plain = "\n".join(MARK.sub("", line, count=1) for line in text.split("\n"))
        return Counter(found.group() for found in self.find(plain))

    def find(self, text: str) -> Iterator[re.Match[str]]:
        """Yield every place of a label."""
        for found in self._pattern.finditer(text) if self.words else ():
            if not (len(found.group()) == 1 and found.group().isalpha() and _article(text, found)):
                yield found

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest = sorted(self.words, key=lambda word: (-len(word), word))
        return re.compile(r"(?<![\w'’])(?:" + "|".join(map(re.escape, longest)) + r")(?![\w'’])")


def _article(text: str, found: re.Match[str]) -> bool:
    before = text[: found.start()].rstrip(" \t\"'“‘(")
    begins = not before or before[-1] in ".!?:\n"
    return begins and _AFTER_ARTICLE.match(text, found.end()) is not None


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stretch of text: a sentence that is free or stays, a title, or what lies between."""

    text: str
    kind: str


FREE, BETWEEN, STAYS, TITLE = "free", "between", "stays", "title"


@dataclass(frozen=True, kw_only=True)
class Outline:
    """A template taken apart.

    Attributes:
        chunks: of every literal part, texts with the number of their passage; None for what stays.
        fields: the placeholders between the literal parts.
    """

    chunks: tuple[tuple[tuple[str, int | None], ...], ...]
    fields: tuple[str, ...]

    @cached_property
    def passages(self) -> tuple[str, ...]:
        """The texts that may be reworded, in their sequence."""
        found = [(n, text) for part in self.chunks for text, n in part if n is not None]
        return tuple(text for _, text in sorted(found))

    def filled(self, passages: Sequence[str]) -> tuple[str, ...]:
        """Return the parts of the template with other passages."""
        literals = [
            "".join(text if which is None else passages[which] for text, which in part)
            for part in self.chunks
        ]
        parts = [literals[0]]
        for field, literal in zip(self.fields, literals[1:], strict=True):
            parts += [field, literal]
        return tuple(parts)


def outline(parts: Sequence[str], labels: Labels) -> Outline:
    """Take a template apart; `filled(passages)` puts it together again."""
    chunks: list[tuple[tuple[str, int | None], ...]] = []
    number = 0
    for literal in parts[::2]:
        found: list[tuple[str, int | None]] = []
        for text, free in _merged(list(_pieces(literal, labels))):
            worth = free and word_count(text) >= _SHORTEST_PASSAGE
            found.append((text, number if worth else None))
            number += worth
        chunks.append(tuple(found))
    return Outline(chunks=tuple(chunks), fields=tuple(parts[1::2]))


def outline_at(parts: Sequence[str], texts: Sequence[str]) -> Outline:
    """Take a template apart at texts that each stand in it once; all else stays."""
    chunks: list[tuple[tuple[str, int | None], ...]] = []
    for literal in parts[::2]:
        found, start = list[tuple[str, int | None]](), 0
        for place, which in sorted((literal.find(t), n) for n, t in enumerate(texts)):
            if place < 0:
                continue
            if place > start:
                found.append((literal[start:place], None))
            found.append((texts[which], which))
            start = place + len(texts[which])
        if literal[start:]:
            found.append((literal[start:], None))
        chunks.append(tuple(found))
    return Outline(chunks=tuple(chunks), fields=tuple(parts[1::2]))


def instructions(parts: Sequence[str], labels: Labels) -> tuple[int, int, int]:
    """Return where the instructions stand: the literal with most to reword, from where to where.

    Titles at its ends belong to what comes before and after.
    """
    best, found = -1, (0, 0, 0)
    for place, literal in enumerate(parts[::2]):
        pieces = list(_pieces(literal, labels))
        free = sum(word_count(piece.text) for piece in pieces if piece.kind == FREE)
        said = [n for n, piece in enumerate(pieces) if piece.kind in (FREE, STAYS)]
        if said and free > best:
            start = sum(len(piece.text) for piece in pieces[: said[0]])
            end = sum(len(piece.text) for piece in pieces[: said[-1] + 1])
            best, found = free, (place, start, end)
    return found


def sentences(text: str) -> list[str]:
    """Split a text into its sentences, without the blanks and the marks of lists around them."""
    none = Labels(())
    return [piece.text for piece in _pieces(text, none) if piece.kind in (FREE, STAYS)]


def _merged(pieces: Sequence[_Piece]) -> Iterator[tuple[str, bool]]:
    """Join free pieces with what lies between two of them, and all others with each other."""
    run: list[str] = []
    waiting: list[str] = []
    kept: list[str] = []
    for piece in pieces:
        if piece.kind == FREE:
            if not run and kept:
                yield "".join(kept), False
                kept = []
            run += [*waiting, piece.text]
            waiting = []
        elif run and piece.kind == BETWEEN:
            waiting.append(piece.text)
        else:
            if run:
                yield "".join(run), True
            kept += [*waiting, piece.text]
            run, waiting = [], []
    if run:
        yield "".join(run), True
        kept = waiting
    if kept:
        yield "".join(kept), False


def _pieces(literal: str, labels: Labels) -> Iterator[_Piece]:
    for block, kind in _blocks(literal):
        if kind != FREE:
            yield _Piece(block, kind)
            continue
        marked = MARK.match(block)
        start = marked.end() if marked else 0
        if start:
            yield _Piece(block[:start], BETWEEN)
        yield from _sentences(block[start:], labels)


def _blocks(literal: str) -> Iterator[tuple[str, str]]:
    """Yield blanks, headings, entries of lists and paragraphs, the end of every line with it."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", literal)
    held: list[str] = []

    def paragraph() -> Iterator[tuple[str, str]]:
        if held:
            text = "".join(held)
            alone = len(held) == 1 and not MARK.match(text) and _is_short(text)
            yield text, TITLE if alone else FREE
            held.clear()

    for line in lines:
        bare = line.strip()
        if not bare:
            yield from paragraph()
            yield line, BETWEEN
        elif MARK.match(line):
            yield from paragraph()
            held.append(line)
        elif _is_title(bare):
            yield from paragraph()
            yield line, TITLE
        else:
            held.append(line)
    yield from paragraph()


def _is_title(line: str) -> bool:
    if _MARKUP.fullmatch(line):
        return True
    letters = [c for c in line if c.isalpha()]
    if letters and not any(c.islower() for c in letters):
        return True
    return line.endswith(":") and word_count(line) <= _LONGEST_TITLE


def _is_short(text: str) -> bool:
    return word_count(text) <= _LONGEST_ALONE and not text.rstrip().endswith((".", "!", "?"))


def _sentences(text: str, labels: Labels) -> Iterator[_Piece]:
    """Yield the sentences of a paragraph and the blanks between them."""
    start = 0
    ends = [m for m in _END.finditer(text) if not _ABBREVIATED.search(text[: m.start() + 1])]
    for end in ends:
        yield from _one(text[start : end.start(1)], labels)
        yield _Piece(end.group(1), BETWEEN)
        start = end.end()
    yield from _one(text[start:], labels)


def _one(sentence: str, labels: Labels) -> Iterator[_Piece]:
    bare = sentence.strip()
    before, _, after = sentence.partition(bare) if bare else (sentence, "", "")
    if before:
        yield _Piece(before, BETWEEN)
    if bare:
        yield _Piece(bare, STAYS if stays(bare, labels) else FREE)
    if after:
        yield _Piece(after, BETWEEN)


def stays(sentence: str, labels: Labels) -> bool:
    """Whether a sentence says how to reply, holds code, or says too little to be reworded."""
    named = len(labels.count(sentence))
    ordered = _ORDER.match(sentence) is not None
    return (
        word_count(sentence) < _FEWEST_WORDS
        or named > 1
        or (ordered and (named > 0 or _FORM.search(sentence) is not None))
        or _SAYS_FORM.search(sentence) is not None
        or _CODE.search(sentence) is not None
    )
