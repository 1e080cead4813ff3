"""Why rows that differ in a column are repeats of one call all the same."""

import re
from collections.abc import Sequence

from judgelaw.tables.columns import aside, folded, is_empty
from judgelaw.tables.known_columns import CELL, Known
from judgelaw.tables.look import FEW
from judgelaw.tables.opening import FILE, INDEX
from judgelaw.tables.positions import FLIPPED, letter_in, meaning

_MOSTLY, _MORE, _STEADY = 0.8, 0.3, 0.95
"""Shares of rows: that say their verdict, more than say another, and keep to one rule."""
_MEASURED = ("a time or cost", "perhaps a time or cost")
_NEARLY_ALL = 0.9
_SAYS = re.compile(
    r"text|content|response|output|reply|completion|said|raw|parsed|extracted|verdict_text|"
    r"(raw|parsed|extracted)_.*|.*_raw"
)
"""Names of a reply, where it holds nothing but a verdict."""


class Beside(Known):
    """Looks at columns that stand beside the design: times, ids, costs, words of the reply."""

    def why_aside(self, column: str) -> str | None:
        """Say why rows that differ in a column are repeats; None where they are not."""
        if column == FILE:
            return self._of_one_record()
        if column.endswith(INDEX) and self._goes_with_repeat(column):
            return "the same as the repeat"
        why = aside(column)
        if why == "about the call":
            return None if self._is_level(column) else why
        return self._held(column, why)

    def _is_level(self, column: str) -> bool:
        """Whether every cell holds each of few values equally often, as it does of a condition."""
        few = self.look.stat(column).distinct <= FEW
        return few and self.look.crossed(self.keys(CELL), column)

    def _held(self, column: str, why: str | None) -> str | None:
        """Hold what a name says against the values."""
        if why in _MEASURED and (self.are_numbers(column) or self.are_dates(column)):
            clock = why == _MEASURED[0] and self.are_dates(column)
            return None if self._is_level(column) and not clock else _MEASURED[0]
        recurs = self.look.recurs(column, self.roles["item"].columns)
        if why == "an id" and not recurs:
            return why
        if self._says_the_verdict(column) or self._repeats_the_verdict(column):
            return "words of the reply"
        return None if recurs else why or self._of_values(column)

    def _of_values(self, column: str) -> str | None:
        """Say what values are that do not come again; None for texts, which may be anything."""
        stat = self.look.stat(column)
        if stat.distinct > FEW and self.are_numbers(column):
            return "a number that does not come again"
        if stat.distinct > FEW and self.are_dates(column):
            return "a time"
        if stat.distinct >= _NEARLY_ALL * stat.filled and self.are_ids(column):
            return "an id"
        return None

    def _of_one_record(self) -> str | None:
        """Say that files hold one record each, if their names differ in numbers and items alone."""
        item = self.roles["item"].columns
        columns = {"file": self.look.text(FILE), "item": self.look.text(item[0])}
        if self.look.stat(FILE).distinct < self.look.rows:
            return None
        stems = {
            re.sub(r"\d+", "", str(file).replace(str(label or ""), ""))
            for file, label in self.look.sample(columns)
        }
        return "a file for each call" if len(stems) == 1 else None

    def _goes_with_repeat(self, column: str) -> bool:
        """Whether a count of entries says what the repeat says."""
        repeat = self.columns_of("repeat")
        if len(repeat) != 1:
            return False
        one = self.look.varying([self.look.text(repeat[0])], [column])
        other = self.look.varying([self.look.text(column)], list(repeat))
        return not one.within[column] and not other.within[repeat[0]]

    def _repeats_the_verdict(self, column: str) -> bool:
        """Whether a column named as a reply holds words of verdicts, and no design."""
        if not _SAYS.fullmatch(folded(column)) or not self.are_verdicts(column):
            return False
        known = self.said.parser is not None or self.says_verdicts(column)
        return known and not self.look.crossed(self.keys(CELL), column)

    def _says_the_verdict(self, column: str) -> bool:
        """Whether a text says its row's verdict, and seldom another row's."""
        role = self.roles["verdict"]
        if not role.columns:
            return False
        if self.said.parser is not None:
            return self._says_what_is_parsed(column, role.columns[0])
        columns = {"text": self.look.text(column), "verdict": self.look.text(role.columns[0])}
        order = self.columns_of("order")
        if len(order) == 1:
            columns["order"] = self.look.text(order[0])
        longest = max(map(len, self.look.words(role.columns[0])), default=0)
        if self.look.stat(column).longest <= longest + 1:
            return False  # a word like a verdict may be anybody's: a label, a condition
        if self.look.crossed(self.keys(CELL), column):
            return False  # a design may lead to verdicts, and never the other way round
        rows = self.look.sample(columns)
        return says_the_verdict([row[:2] for row in rows]) or says_the_letter(rows)

    def _says_what_is_parsed(self, column: str, texts: str) -> bool:
        """Whether a column says what the parser finds in the texts."""
        from judgelaw.tables.relation import parse_texts  # noqa: PLC0415 - it knows no roles

        rows = self.look.sample({"own": self.look.text(column), "text": self.look.text(texts)})
        pairs = [(own, said) for own, said in rows if own and said]
        ordered = "order" in self.roles
        found = parse_texts(self.said, sorted({s for _, s in pairs}), displayed=ordered)
        alike = sum((letter_in(own) or own) == found[said] for own, said in pairs)
        return bool(pairs) and alike >= _MOSTLY * len(pairs)


def says_the_verdict(rows: Sequence[tuple[str | None, str | None]]) -> bool:
    """Whether texts say the verdict of their row, more often than that of another."""
    pairs = [(text, word) for text, word in rows if text and word and not is_empty(word)]
    words = sorted({word for _, word in pairs})
    if len(pairs) < 2 or not 1 < len(words) <= FEW:  # noqa: PLR2004 - one row compares with none
        return False
    patterns = {word: _token(word) for word in words}
    own, other = 0, 0.0
    for text, word in pairs:
        own += patterns[word].search(text) is not None
        other += sum(patterns[w].search(text) is not None for w in words if w != word) / (
            len(words) - 1
        )
    return own >= _MOSTLY * len(pairs) and own - other >= _MORE * len(pairs)


def says_the_letter(rows: Sequence[Sequence[str | None]]) -> bool:
    """Whether texts say the letter of their row's verdict, or the other one in the other order."""
    alike: dict[str, list[bool]] = {}
    pairs = 0
    for text, word, *order in rows:
        meant = None if word is None else meaning(word)
        if meant is None or meant[1] not in FLIPPED:
            continue
        pairs += 1
        said = letter_in(text) if text else None
        if said in FLIPPED:
            alike.setdefault(str(order), []).append(said == meant[1])
    found = sum(map(len, alike.values()))
    steady = sum(max(sum(each), len(each) - sum(each)) for each in alike.values())
    return pairs > 1 and found >= _MOSTLY * pairs and steady >= _STEADY * found


def _token(word: str) -> re.Pattern[str]:
    said = meaning(word)
    text = re.escape(word.strip().strip("[]"))
    if said is not None and said[0] == "place" and len(word.strip("[] ")) == 1:
        # A letter is a word in many texts: it counts where it stands apart.
        return re.compile(rf"(^|[\[(:=\"'*]\s*){text}(\s*[\])\"'*.,]|\s*$)", re.MULTILINE)
    return re.compile(rf"(?<!\w){text}(?!\w)", re.IGNORECASE)
