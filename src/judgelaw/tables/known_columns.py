"""What is known of the columns of a table so far, and what their values are asked for."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from judgelaw.record_files import number_text
from judgelaw.tables.columns import INPUTS, NAMES, folded, forms, is_empty
from judgelaw.tables.look import FEW, Look
from judgelaw.tables.opening import FILE, INDEX, OpenTable
from judgelaw.tables.positions import meaning, swapped
from judgelaw.tables.reading import Problem, Question, Role
from judgelaw.tables.said import Wishes, check_named, named_columns

CELL = ("layer", "judge", "criterion", "date", "item", "prompt", "order")
LONG = 80
"""Characters beyond which a value is a text and no label."""
WORDY = 60
MOST_VALUES = 1000
SHOWN = 4
_SENTENCE = 3
"""Words of a text that is no label."""
_NEAR = 0.75
"""How alike a name has to be to be a slip of the pen."""
NUMERIC = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
DATE = re.compile(r"\d{4}-\d{2}-\d{2}.*")
RECORDS = re.compile(r"\s*\[\s*\{")
LISTS = re.compile(r"""\s*\[\s*("[^"]{0,60}"|-?\d[\d.eE+-]*|null|true|false)\s*[,\]]""")
"""Lists of records, and of words or numbers."""
_PASSING = frozenset(
    {"pass", "fail", "passed", "failed", "yes", "no", "correct", "incorrect", "good", "bad", "win",
     "lose", "loss", "won", "lost", "safe", "unsafe", "valid", "relevant", "irrelevant", "partial"}
)  # fmt: skip


class Known:
    """The roles that columns have so far.

    Attributes:
        opened: the table, wide columns laid below one another.
        said: what was said about it.
        question: what is asked of it.
        look: looks at its values.
        roles: what takes each part.
        people: columns of people's labels beside the first.
        ignored: columns that were said to mean nothing.
        unused: columns that are left, with the reason.
        problems: what has to be asked.
    """

    def __init__(self, opened: OpenTable, said: Wishes, question: Question) -> None:
        self.opened = opened
        self.said = said
        self.question = question
        self.look = Look(opened)
        self.table = opened.table
        self.present = list(opened.columns)
        self.problems: list[Problem] = []
        self.roles: dict[str, Role] = {}
        self.people: tuple[str, ...] = ()
        self.unused: dict[str, str] = {}
        self.ignored = named_columns(said.ignore, self.present)
        check_named(self.ignored, self.present, self.table, what="ignore names the column")

    def free(self) -> list[str]:
        """Return the columns that nobody took and nobody ruled out."""
        taken = {column for role in self.roles.values() for column in role.columns}
        taken |= {*self.people, *self.ignored}
        return [c for c in self.present if c not in taken and c != FILE and not c.endswith(INDEX)]

    def taken(self) -> set[str]:
        """Return the columns that take a part."""
        return {c for role in self.roles.values() for c in role.columns} | {*self.people}

    def columns_of(self, part: str) -> tuple[str, ...]:
        """Return the columns of a part, none where it has none."""
        return self.roles[part].columns if part in self.roles else ()

    def keys(self, parts: Iterable[str]) -> list[str]:
        """Return the SQL of the labels of some parts."""
        return [
            self.key(column) if part == "item" else self.look.text(column)
            for part in parts
            if part in self.roles
            for column in self.roles[part].columns
        ]

    def key(self, column: str) -> str:
        """Return the SQL of a label of items: the same in both orders."""
        from judgelaw.tables.relation import unturned_sql  # noqa: PLC0415 - it knows no roles

        return unturned_sql(self.opened, self.roles.get("order"), self.look.text(column))

    def of_item(self, column: str, *, dated: bool = False) -> bool:
        """Whether a column has one value for each item; `dated`: for each item and date."""
        keys = self.keys(("item", "date") if dated else ("item",))
        return not self.look.varying(keys, [column]).within[column]

    def says_verdicts(self, column: str) -> bool:
        """Whether a column speaks the words of the verdicts, or words that mean them."""
        role = self.roles.get("verdict")
        if role is None or not role.columns or self.look.stat(column).distinct > MOST_VALUES:
            return False
        said = {number_text(w).strip().casefold() for w in self.look.words(role.columns[0])}
        words = [word for word in self.look.words(column) if not is_empty(word)]
        known = [
            word
            for word in words
            if meaning(word) is not None or number_text(word).strip().casefold() in said
        ]
        return bool(words) and len(known) == len(words)

    def knows_orders(self, column: str, values: Sequence[str]) -> bool:
        """Whether every value says which answer was shown first."""
        flag = is_flag(column)
        mapped = self.said.map_order
        return bool(values) and all(
            value in mapped or swapped(value, flag=flag) is not None for value in values
        )

    def are_verdicts(self, column: str) -> bool:
        """Whether a column holds nothing but words that say who won, or pass and fail."""
        words = [word for word in self.look.words(column) if not is_empty(word)]
        return bool(words) and len(words) <= FEW and all(map(is_verdict, words))

    def are_numbers(self, column: str) -> bool:
        """Whether a column holds numbers."""
        values = [v for v, _ in self.look.values(column)]
        return bool(values) and all(NUMERIC.fullmatch(value.strip()) for value in values)

    def are_dates(self, column: str) -> bool:
        """Whether a column holds dates or times."""
        values = [v for v, _ in self.look.values(column)]
        return bool(values) and all(DATE.fullmatch(value.strip()) for value in values)

    def are_ids(self, column: str) -> bool:
        """Whether a column holds one word with a digit in each row, and no text by its name."""
        if INPUTS.fullmatch(folded(column)):
            return False
        values = [v for v, _ in self.look.values(column)]
        return all(" " not in v.strip() and any(map(str.isdigit, v)) for v in values)

    def counts(self, column: str, values: Sequence[str]) -> bool:
        """Whether values are whole numbers in a row, each at most once in a cell."""
        if not all(value.strip().isdigit() for value in values):
            return False
        numbers = sorted(int(value) for value in values)
        if numbers != list(range(numbers[0], numbers[0] + len(numbers))) or numbers[0] > 1:
            return False
        return self.once_a_cell(column)

    def once_a_cell(self, column: str) -> bool:
        """Whether no value of a column stands twice in a cell."""
        keys = [*self.keys(CELL), self.look.text(column)]
        return self.look.varying(keys, []).rows == 1

    def is_laid_out(self, column: str) -> bool:
        """Whether each label of another column comes with all values of this one, equally often.

        A design does that, and verdicts do not.
        """
        return self.laid_out_by(column) is not None

    def laid_out_by(self, column: str) -> str | None:
        """Return the column whose labels come with all values of this one, equally often."""
        mine = self.look.stat(column).distinct
        others = [c for c in self.present if c not in (column, FILE) and not c.endswith(INDEX)]
        for other in others:
            come_again = mine < self.look.stat(other).distinct <= self.look.rows / 2
            if come_again and self.look.crossed([self.look.text(other)], column):
                return other
        return None

    def holds(self, column: str, pattern: re.Pattern[str]) -> bool:
        """Whether every value of a column is such a list."""
        values = [value for value, _ in self.look.values(column)]
        return bool(values) and all(map(pattern.match, values))

    def are_sentences(self, column: str) -> bool:
        """Whether values are texts in which a verdict stands, and no labels."""
        from judgelaw.tables.words_read import choice_in_texts  # noqa: PLC0415 - it knows no roles

        values = self.look.values(column)
        texts = [value for value, _ in values if len(value.split()) >= _SENTENCE]
        return 2 * len(texts) > len(values) and choice_in_texts(self.look, column) is not None

    def slips(self, part: str) -> list[str]:
        """Return the free columns whose names are nearly that of a part, and no other part's."""
        others = {
            name for p, tiers in NAMES.items() if p != part for tier in tiers for name in tier
        }
        free = [column for column in self.free() if not others & {*forms(column)}]
        return get_close_matches(part, free, n=1, cutoff=_NEAR)

    def people_columns(self) -> list[str]:
        """Return columns of raters, where a column of people's labels stands beside them."""
        people = [c for c in self.present if folded(c).startswith("human")]
        raters = [c for c in self.present if folded(c) in NAMES["rater"][1]]
        return raters if people or self.question == "people" else []


_PEOPLE = re.compile(r"(human|annotator|rater|expert|crowd|worker|labell?er)s?(_.*|\d*)")


def of_people(column: str) -> bool:
    """Whether a column holds labels of people by its name."""
    return any(_PEOPLE.fullmatch(form) for form in forms(column))


def of_gold(column: str) -> bool:
    """Whether a column holds the right labels by its name."""
    return folded(column).startswith(("gold", "label", "true", "expected", "ground_truth", "right"))


def is_flag(column: str) -> bool:
    """Whether a column says by its name whether the answers were swapped."""
    return re.search(r"swap|flip|revers", folded(column)) is not None


def is_verdict(word: str) -> bool:
    """Whether a word says who won, or whether something passed."""
    return meaning(word) is not None or word.strip().casefold() in _PASSING


_OF_OTHERS = re.compile(r"(rating|user|worker|annotator|rater|judge|prompt|model|system|run)_")


def of_others(column: str) -> bool:
    """Whether an id is that of something else than what was judged."""
    others = {name for part, tiers in NAMES.items() if part != "item" for t in tiers for name in t}
    return any(name in others or _OF_OTHERS.match(name) for name in forms(column))
