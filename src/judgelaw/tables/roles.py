"""Which column is what: by what was said, by its name, by its values; else it is asked.

Rows of a cell are repeats only if nothing that is left unused tells them apart. Times, ids, costs
and the words of the reply differ between repeats and are left aside.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from judgelaw.errors import DuplicateCallsError, TableError
from judgelaw.tables.asking import Asking, judge_names, nobody, some_values, without_shared
from judgelaw.tables.beside import Beside
from judgelaw.tables.columns import (
    MISSING,
    NAMES,
    PARTS,
    REQUIRED,
    SHARED,
    SOFT,
    TURNS,
    aside,
    folded,
    forms,
    hints,
    is_empty,
    is_soft,
)
from judgelaw.tables.known_columns import (
    CELL,
    DATE,
    LISTS,
    LONG,
    MOST_VALUES,
    NUMERIC,
    RECORDS,
    SHOWN,
    WORDY,
    is_verdict,
    of_gold,
    of_others,
    of_people,
)
from judgelaw.tables.look import FEW
from judgelaw.tables.opening import OpenTable
from judgelaw.tables.positions import are_orders, meaning
from judgelaw.tables.reading import (
    AS_GIVEN,
    CRITERION,
    HUMAN,
    IGNORED,
    JUDGE,
    RATER,
    UNNAMED,
    VERDICT,
    Choice,
    Problem,
    Question,
    Role,
    TableReading,
    unclear,
)
from judgelaw.tables.said import CONSTANT, Wishes, check_named, named_columns
from judgelaw.words import counted, listed

_SEQUENCE = (
    *("verdict", "order", "item", "judge", "prompt", "repeat", "criterion", "layer", "date"),
    *("human", "rater", "gold", "stratum", "cluster", "answer", "text"),
)
"""In which parts look for their columns: what is sure comes first."""
_FIRST_TIERS = 2
_FAR = 3
"""How many times more labels an item's column has than any other."""
_HELD = ("order", "prompt", "stratum", "date", "text", "cluster")
"""Parts whose own name is held against the values too."""
_LABELS = frozenset({"label", "answer", "result", "value", "rating", "score", "grade"})
"""Names of verdicts that are as often those of labels by people."""
_ID = re.compile(r"(.*_)?(id|ids|key|uid|uuid|idx|index|no|nr|number)")
_OF_REPLIES = re.compile(
    r"(request|response|reply|completion|message|generation|call)_?(id|uuid)|uuid"
)
_COUNTER = re.compile(r"(^|_)(rep|reps|repeat\w*|trial|iter|copy|draw)(_|$|\d)")


def read_roles(opened: OpenTable, said: Wishes, question: Question = "calls") -> TableReading:
    """Decide what each column is.

    Raises:
        UnclearTableError: the table does not tell; the message says what settles it.
        TableError: a column that was named is not there.
    """
    from judgelaw.tables.words_read import read_words  # noqa: PLC0415 - it needs these roles

    reader = _Reader(_laid_long(opened, said, question), said, question)
    reading = reader.reading()
    if question == "items":
        return reading
    words, problems, blanks = read_words(reader.look, reading, said, question)
    problems = [*reader.problems, *problems]
    if problems:
        raise unclear(opened.table, problems)
    return replace(reading, words=words, blanks=blanks)


def _laid_long(opened: OpenTable, said: Wishes, question: Question) -> OpenTable:
    """Lay wide columns below one another: a row for each judge, criterion or person."""
    from judgelaw.tables.relation import laid_below  # noqa: PLC0415 - it knows no roles

    people = named_columns(said.of("human") or (), opened.columns)
    check_named(people, opened.columns, opened.table, what="columns maps 'human' to")
    if len(people) > 1 and question != "calls" and len(people) != len(_criteria(opened, said)):
        opened = laid_below(opened, {RATER: people}, {HUMAN: people})
        people = ()
    if not (said.judges or said.criteria):
        return opened
    if said.judges and said.criteria:
        raise TableError(
            f"{opened.table}: judges and criteria in columns at once: name one of them"
        )
    given = named_columns(said.judges or said.criteria, opened.columns)
    kind = "judges" if said.judges else "criteria"
    check_named(given, opened.columns, opened.table, what=f"{kind} names the column")
    made = JUDGE if said.judges else CRITERION
    labels = judge_names(given) if said.judges else without_shared(given)
    values = {VERDICT: given}
    if said.criteria and len(people) == len(given) > 1:
        values[HUMAN] = _paired(given, people)
    return laid_below(opened, {made: tuple(labels)}, values)


def _criteria(opened: OpenTable, said: Wishes) -> tuple[str, ...]:
    return named_columns(said.criteria, opened.columns)


def _paired(criteria: Sequence[str], people: Sequence[str]) -> tuple[str, ...]:
    """Find the column of people's labels for each criterion, by the end of its name."""
    ends = dict(zip(without_shared(people), people, strict=True))
    wanted = without_shared(criteria)
    if set(ends) == set(wanted):
        return tuple(ends[name] for name in wanted)
    return tuple(people)


class _Reader(Asking, Beside):
    """Finds the roles of one table."""

    def __init__(self, opened: OpenTable, said: Wishes, question: Question) -> None:
        super().__init__(opened, said, question)
        self.people_only = False
        self.order_once = False
        self.notes: list[str] = []
        self._said()

    def reading(self) -> TableReading:
        """Decide everything."""
        if not self.present:
            raise TableError(f"{self.table} has no column: the first line names the columns")
        for part in _SEQUENCE:
            if part not in self.roles and self.said.of(part) is None and part != "repeat":
                self._find(part)
        self._need()
        if self.problems:
            raise unclear(self.table, self.problems)
        if self.look.rows == 0:
            raise TableError(f"{self.table} holds no call: there is nothing to read")
        if "verdict" in self.roles and self.question != "items":
            if self._verdict():
                self._soft()
            self._hold()
            if "repeat" not in self.roles and self.said.of("repeat") is None:
                self._find("repeat")
                self._repeat_by_values()
            self._beside()
            self._assume()
            self._shared()
        return TableReading(
            opened=self.opened,
            roles={part: self.roles[part] for part in self._in_order()},
            unused=tuple(self.unused.items()),
            wishes=self.said,
            people=self.people,
            people_only=self.people_only,
            order_once=self.order_once,
            notes=tuple(self.notes),
        )

    def _in_order(self) -> list[str]:
        known = [part for part in PARTS if part in self.roles]
        return known + [part for part in self.roles if part not in known]

    # What was said

    def _said(self) -> None:
        for part, given in self.said.columns.items():
            if not given:
                continue
            columns = named_columns(given, self.present)
            if part == "human" and HUMAN in self.present:
                columns = (HUMAN,)
            check_named(columns, self.present, self.table, what=f"columns maps {part!r} to")
            if columns[0].startswith(CONSTANT):
                self.roles[part] = Role(constant=columns[0][1:], why="as said")
            elif part == "human":
                self.roles[part] = Role(columns=columns[:1], why="as said")
                self.people = columns[1:]
            else:
                turns = part == "order" and len(columns) == 2  # noqa: PLR2004 - a pair
                self.roles[part] = Role(columns=columns, why="as said", turns=turns)
        for made, part in ((JUDGE, "judge"), (CRITERION, "criterion"), (VERDICT, "verdict")):
            if made in self.present and part not in self.said.columns:
                self.roles.setdefault(part, Role(columns=(made,), why="names of columns"))
        if HUMAN in self.present:
            by = "person" if RATER in self.present else "criterion"
            self.roles["human"] = Role(columns=(HUMAN,), why=f"a column for each {by}")
            self.people = ()
        if RATER in self.present:
            self.roles["rater"] = Role(columns=(RATER,), why="names of columns")

    # By name

    def _find(self, part: str) -> None:
        """Find the column of a part by its name, as far as its values allow."""
        for number in range(len(NAMES[part])):
            for whole in (True, False):
                if found := self._named(part, number, whole=whole):
                    self._take(part, found)
                    return
        if part in ("order", "verdict", "item"):
            self._by_values(part)

    def _named(self, part: str, number: int, *, whole: bool) -> list[str]:
        """Return the columns that bear a name of one tier, as far as their values allow it."""
        found = [c for c in self.free() if self._bears(c, NAMES[part][number], whole=whole)]
        if part in found and number == 0:
            found = [part]
        if part not in REQUIRED:
            found = [c for c in found if self.look.holds_anything(c)]
        asked = part == "repeat" and len(found) > 1
        if (number > 0 and not asked) or part in _HELD:
            found = [c for c in found if self._may_be(part, c, tier=number)]
        elif part == "verdict":
            found = [c for c in found if not self.are_sentences(c)]
        if part == "item" and number == _FIRST_TIERS:
            found += [c for c in self._ids() if c not in found]
        if part == "verdict" and number == _FIRST_TIERS and len(found) == 1:
            found = [*self._as_likely(found[0]), *found]
        return found

    @staticmethod
    def _bears(column: str, tier: Sequence[str], *, whole: bool) -> bool:
        first, *rest = forms(column)
        return first in tier if whole else any(form in tier for form in rest)

    def _take(self, part: str, found: list[str]) -> None:
        if len(found) > 1:
            found = self._one_of(part, found)
        if len(found) > 1:
            wide = part == "verdict" and self.alike(found) == found != without_shared(found)
            self.problems.append(self.in_several(found) if wide else self.which(part, found))
        self.roles[part] = Role(columns=(found[0],), why="by name")

    def _one_of(self, part: str, found: list[str]) -> list[str]:
        """Choose among columns that could all take a part, where their values tell."""
        if part == "judge":
            named = [c for c in found if not _is_model(c)]
            models = [c for c in found if _is_model(c)]
            if named and models and all(self.look.stat(c).distinct > 1 for c in models):
                return named
        if part == "item":
            return self._finest(found)
        if part == "human" and self.question == "calls":
            return found[:1]
        if part in ("stratum", "text", "cluster"):
            return found[:1]
        return found

    def _finest(self, found: list[str]) -> list[str]:
        """Return the column that tells most items apart, a number of each row aside."""
        rows = self.look.rows
        counts = {column: self.look.count_sql(self.key(column)) for column in found}
        again = [column for column in found if counts[column] < rows]
        among = again or found
        if again and len(again) < len(found):
            for column in found:
                if column not in again:
                    self.unused.setdefault(column, "a number of each row")
        best = max(among, key=lambda c: (counts[c], -among.index(c)))
        others = [c for c in among if c != best]
        if not others or not any(self.look.varying([self.key(best)], others).within.values()):
            return [best]
        return among

    def _may_be(self, part: str, column: str, *, tier: int) -> bool:
        """Whether the values of a column allow what its name says."""
        if part in ("verdict", "order", "repeat"):
            return {
                "verdict": self._may_be_verdict,
                "order": self._may_be_order,
                "repeat": self._may_be_repeat,
            }[part](column, tier=tier)
        if part == "judge":
            return tier < _FIRST_TIERS or column not in self.people_columns()
        if part in ("text", "cluster") or (part in ("gold", "stratum") and tier):
            fits = part != "gold" or self.says_verdicts(column)
            return fits and "item" in self.roles and self.of_item(column, dated=part == "text")
        if part == "date" and tier:
            return any(DATE.fullmatch(value.strip()) for value in self.look.words(column))
        if part in ("prompt", "criterion"):
            return tier == 0 or self.look.stat(column).longest <= 10 * LONG
        return True

    def _may_be_verdict(self, column: str, *, tier: int) -> bool:
        stat = self.look.stat(column)
        if stat.filled == 0 or self.are_sentences(column):
            return False
        if tier == _FIRST_TIERS and stat.distinct > FEW and not self.are_numbers(column):
            return False
        if stat.distinct > MOST_VALUES or stat.longest > WORDY:
            values = self.look.values(column)
            return all(NUMERIC.fullmatch(value.strip()) for value, _ in values)
        return True

    def _as_likely(self, column: str) -> list[str]:
        """Return columns with the same words as one that may hold verdicts, or labels of people."""
        if folded(column) not in _LABELS:
            return []
        words = self.look.words(column)
        others = [c for c in self.free() if c != column and aside(c) is None and not of_people(c)]
        others = [c for c in others if not of_gold(c)]
        return [c for c in others if len(words) > 1 and self.look.words(c) == words][:1]

    def _may_be_order(self, column: str, *, tier: int) -> bool:
        """Whether values are display orders, or few words that may be."""
        del tier  # numbers are nobody's displays, whatever their column is called
        values = self.look.words(column)
        if self.knows_orders(column, values):
            return True
        # Numbers may count calls as well as displays.
        numbers = all(value.strip().replace(".", "").isdigit() for value in values)
        return len(values) <= FEW and not (numbers and len(values) > 1)

    def _may_be_repeat(self, column: str, *, tier: int) -> bool:
        """Whether values count: whole numbers, or one word and a number."""
        values = self.look.words(column)
        stat = self.look.stat(column)
        if stat.distinct >= self.look.rows > FEW:
            return False
        if tier < _FIRST_TIERS:
            return True
        stems = {re.sub(r"\d+(\.0+)?$", "", value.strip()) for value in values}
        if len(stems) != 1 or not all(re.search(r"\d", value) for value in values):
            return False
        keys = [*self.keys(CELL), self.look.text(column)]
        return self.look.varying(keys, []).rows <= 1

    # By values

    def _by_values(self, part: str) -> None:
        if part == "order":
            self._order_by_values()
        elif part == "verdict":
            self._verdict_by_values()
        else:
            self._item_by_values()

    def _order_by_values(self) -> None:
        """Take a column that says AB and BA, whatever it is called; or two that change places."""
        found = []
        for column in self.free():
            stat = self.look.stat(column)
            if stat.distinct > 2 or stat.longest > LONG:  # noqa: PLR2004 - a pair
                continue
            values = self.look.words(column)
            letters = {value.strip().casefold() for value in values}
            if (letters and letters <= {"ab", "ba"}) or (
                are_orders(values) and "order" in hints(column)
            ):
                found.append(column)
        if len(found) > 1:
            self.problems.append(self.which("order", found))
        if found:
            values = self.look.words(found[0])
            why = f"by its values, {' and '.join(values)}"
            self.roles["order"] = Role(columns=(found[0],), why=why)
        else:
            self._pair_by_values()

    def _pair_by_values(self) -> None:
        """Take two columns that name the answers, where every pair comes both ways round."""
        pairs = pairwise(self.free())
        # Names rather than texts: names stand in the ids of items too.
        for first, second in sorted(pairs, key=lambda pair: self.look.stat(pair[0]).longest):
            mine, theirs = self.look.stat(first), self.look.stat(second)
            if mine.distinct < 2 or mine.distinct != theirs.distinct:  # noqa: PLR2004 - a pair
                continue
            if self.look.come_both_ways(first, second):
                self.roles["order"] = Role(
                    columns=(first, second), why="the two change places", turns=True
                )
                return

    def _repeat_by_values(self) -> None:
        """Take a column whose name hints at it and that counts the rows of every cell."""
        if "repeat" in self.roles:
            return
        hinted = [c for c in self.free() if _COUNTER.search(folded(c))]
        for column in hinted:
            values = self.look.words(column)
            counts = 1 < len(values) <= FEW and self.counts(column, values)
            if counts and self.look.crossed(self.keys(CELL), column):
                why = "by its name, and it counts the rows of every cell"
                self.roles["repeat"] = Role(columns=(column,), why=why)
                return

    def _verdict_by_values(self) -> None:
        """Take the only column whose values say nothing but who won, or pass and fail."""
        if self.slips("verdict"):
            return  # a slip of the pen is told, not guessed
        found = []
        for column in self.free():
            stat = self.look.stat(column)
            if stat.distinct > FEW or stat.longest > LONG or column in self.people_columns():
                continue
            if of_people(column) or of_gold(column):
                continue
            words = [word for word in self.look.words(column) if not is_empty(word)]
            if len(words) > 1 and all(is_verdict(word) for word in words):
                found.append(column)
        if len(found) == 1 and not self._scores_beside(found[0]):
            values = listed(self.look.words(found[0])[:SHOWN])
            self.roles["verdict"] = Role(columns=(found[0],), why=f"by its values, {values}")

    def _scores_beside(self, column: str) -> bool:
        """Whether another column of few numbers may be the verdict as well."""
        for other in self.free():
            stat = self.look.stat(other)
            few = other != column and 1 < stat.distinct <= FEW and aside(other) is None
            if few and self.are_numbers(other) and not is_soft(other):
                return True
        return False

    def _item_by_values(self) -> None:
        """Take the only column that names something, else the only one of ids."""
        free = self.free()
        ids = self._ids()
        several = [c for c in ids if self.look.stat(c).distinct < self.look.rows]
        if len(chosen := several or ids) == 1:
            self.roles["item"] = Role(columns=(chosen[0],), why="by name")
            return
        rest = [c for c in free if not is_soft(c) and c != MISSING and aside(c) is None]
        rest = [c for c in rest if self._may_be_item(c) and not of_others(c)]
        if len(rest) == 1:
            if not self._finer_than(rest[0]):
                self.roles["item"] = Role(columns=(rest[0],), why="the only column that is left")
        elif "verdict" in self.roles:
            self._item_by_number(rest)

    def _may_be_item(self, column: str) -> bool:
        """Whether values tell something apart, and are no lists and no verdicts of somebody."""
        if self.look.stat(column).distinct < 2 or self.says_verdicts(column):  # noqa: PLR2004
            return False
        return not (self.holds(column, RECORDS) or self.holds(column, LISTS))

    def _finer_than(self, column: str) -> bool:
        """Whether an id of something else has more labels: then that may be what was judged."""
        mine = self.look.stat(column).distinct
        others = [c for c in self.free() if c != column and of_others(c)]
        return any(self.look.stat(c).distinct > max(mine, FEW) for c in others)

    def _item_by_number(self, rest: Sequence[str]) -> None:
        """Take the column of by far the most labels, if they come again."""
        counts = {c: self.look.stat(c).distinct for c in rest}
        best = max(rest, key=counts.__getitem__, default=None)
        if best is None or counts[best] <= FEW // 2 or self.look.stat(best).longest > WORDY:
            return
        others = [n for column, n in counts.items() if column != best]
        unique = counts[best] >= self.look.rows
        if not unique and counts[best] >= _FAR * max(others, default=1):
            why = f"by its values, {counts[best]} labels that come again"
            self.roles["item"] = Role(columns=(best,), why=why)

    def _ids(self) -> list[str]:
        """Return the columns of ids that may be those of what was judged."""
        ids = [c for c in self.free() if _ID.fullmatch(folded(c)) and aside(c) is None]
        ids = [c for c in ids if not of_others(c) and not TURNS.fullmatch(folded(c))]
        return [c for c in ids if self._may_be_item(c)]

    # What is needed

    def _need(self) -> None:
        """Ask for what every question needs."""
        if "verdict" not in self.roles and self.question == "items":
            if "item" not in self.roles:
                self.problems.append(self.no_item())
            return
        if "verdict" not in self.roles:
            self.problems.append(self.no_verdict())
            return
        if "item" not in self.roles:
            self.problems.append(self.no_item())
        if self.question == "people" and not {"human", "gold"} & {*self.roles}:
            people = [c for c in self.free() if folded(c).startswith(("human", "label"))]
            blank = [c for c in people if not self.look.stat(c).filled]
            people = [c for c in people if c not in blank]
            if people or blank:
                self.problems.append(nobody(people, blank, self.for_criteria(people)))

    # Names against values

    def _soft(self) -> None:
        """Take columns of token probabilities, where one of them is named by a verdict."""
        soft = [c for c in self.free() if is_soft(c) and self.said.of(c) is None]
        words = {word.strip().casefold() for word in self.look.words(self._verdict())}
        named = [c for c in soft if c.removeprefix(SOFT).casefold() in words]
        named += [c for c in soft if c not in named and meaning(c.removeprefix(SOFT)) is not None]
        if not named:
            return
        for column in soft:
            if column in named or self._are_shares(column):
                self.roles[column] = Role(columns=(column,), why="by name")
        if MISSING in self.free() and self.said.of(MISSING) is None:
            self.roles[MISSING] = Role(columns=(MISSING,), why="by name")

    def _verdict(self) -> str:
        return next(iter(self.columns_of("verdict")), "")

    def _are_shares(self, column: str) -> bool:
        """Whether a column holds numbers between 0 and 1 in most rows, or nothing; slips are rare.

        What is no number is refused with its row, by whoever reads the probabilities.
        """
        values = [(value.strip(), rows) for value, rows in self.look.values(column)]
        numbers = [(float(value), rows) for value, rows in values if NUMERIC.fullmatch(value)]
        if any(not 0 <= value <= 1 for value, _ in numbers):
            return False
        return 2 * sum(rows for _, rows in numbers) >= sum(rows for _, rows in values)

    def _hold(self) -> None:
        """Hold what was found by name against the values: factors are met by several items."""
        self._hold_judge()
        self._hold_item()
        checked = [p for p in ("prompt", "order", "date") if self._is_by_name(p)]
        if checked:
            columns = {part: self.roles[part].columns[0] for part in checked}
            keys = self.keys(("layer", "judge", "criterion", "item"))
            found = self.look.varying(keys, list(columns.values()))
            for part, column in columns.items():
                if self.look.stat(column).distinct < 2:  # noqa: PLR2004 - one parts nothing
                    continue
                if not found.within[column]:
                    self._nested(part, column)
                elif part == "prompt" and self._is_text_of_items(column):
                    del self.roles[part]
        if self._is_by_name("date"):
            self._hold_date()
        if self._turned() and not self._met_both_ways():
            self._met_one_way("the two columns")

    def _is_text_of_items(self, column: str) -> bool:
        """Whether every value belongs to one item: a text of the task, and no level of a prompt."""
        items = self.look.count_sql(f"({', '.join(self.keys(('item',)))})")
        if not 1 < items <= self.look.stat(column).distinct:
            return False  # one item tells nothing; fewer values than items are shared
        found = self.look.varying([self.look.text(column)], list(self.columns_of("item")))
        return not any(found.within.values())

    def _turned(self) -> bool:
        return "order" in self.roles and self.roles["order"].turns

    def _met_both_ways(self) -> bool:
        """Whether some item was shown in both sequences of two columns."""
        keys = self.keys(("layer", "judge", "criterion", "item"))
        return any(self.look.varying(keys, list(self.roles["order"].columns)).within.values())

    def _met_one_way(self, what: str) -> None:
        self.order_once = True
        self.notes.append(
            f"{what} say what was shown first, once for each item: what a swap changes cannot be "
            "told"
        )

    def _is_by_name(self, part: str) -> bool:
        role = self.roles.get(part)
        return role is not None and len(role.columns) == 1 and role.why != "as said"

    def _hold_judge(self) -> None:
        """A column called model is the judge, or the system that was judged."""
        role = self.roles.get("judge")
        if role is None or role.why != "by name" or not _is_model(role.columns[0]):
            return
        column = role.columns[0]
        if self.look.stat(column).distinct < 2 or self._asked_again_by_design():  # noqa: PLR2004
            return
        values = [value for value, _ in self.look.values(column)]
        item = self.roles["item"].columns
        self.problems.append(
            Problem(
                text=f"{column!r} holds {counted(len(values), 'name')}, {listed(values[:SHOWN])}: "
                "nothing tells whether they judged or were judged",
                choices=(
                    Choice(
                        when="they are the systems judged",
                        wish=Wishes(columns={"judge": None, "item": (*item, column)}),
                    ),
                    Choice(when="they judged", wish=Wishes(columns={"judge": (column,)})),
                ),
            )
        )
        del self.roles["judge"]
        self.unused[column] = "asked about"

    def _asked_again_by_design(self) -> bool:
        """Whether the table names prompts, orders or repeats: then its models are judges."""
        texts = [
            c for c in self.free() if re.fullmatch(r"(.*_)?(response|answer|output)", folded(c))
        ]
        names = {form for column in self.present for form in forms(column)}
        ranks = {*NAMES["repeat"][0], *NAMES["repeat"][1]}
        return not texts and bool(names & ranks or {"prompt", "order"} & {*self.roles})

    def _hold_item(self) -> None:
        """Turns of a conversation are items of their own."""
        role = self.roles.get("item")
        if role is None or role.why == "as said" or role.constant is not None:
            return
        if len(role.columns) == 1 and (better := self._behind_a_number(role.columns[0])):
            self.problems.append(self.numbered(role.columns[0], *better))
        turns = [c for c in self.free() if TURNS.fullmatch(folded(c))]
        turns = [c for c in turns if self.look.varying(self.keys(("item",)), [c]).within[c]]
        if turns:
            why = f"by name, and {' and '.join(turns)} as part of what was judged"
            self.roles["item"] = Role(columns=(*role.columns, *turns), why=why)

    def _behind_a_number(self, column: str) -> tuple[str, str] | None:
        """Return what was judged, and a part of the design, where a column numbers rows alone.

        Labels that come with all values of another column equally often were laid out so.
        """
        stat = self.look.stat(column)
        named = {name for tier in NAMES["item"][:_FIRST_TIERS] for name in tier}
        if not self.look.rows == stat.distinct > FEW or named & {*forms(column)}:
            return None
        for other in self.present:
            if other == column or not 1 < self.look.stat(other).distinct <= FEW // 2:
                continue
            by = self.laid_out_by(other)
            if by is not None and self.look.stat(by).distinct > FEW // 2 and aside(by) is None:
                return by, other
        return None

    def _nested(self, part: str, column: str) -> None:
        """Leave out levels that no item shares: texts of the task, or one order for each item."""
        values = len(self.look.values(column))
        if part == "prompt":
            del self.roles[part]
            self.unused[column] = "another for each item, so it is no prompt of a crossed design"
            shown = self.look.words(column)[:SHOWN]
            self.roles[part] = Role(
                constant=AS_GIVEN if values > FEW else column,
                why=f"one; each item has its own of {values}: {some_values(shown)}",
            )
        elif part == "order":
            if self.knows_orders(column, self.look.words(column)):
                self._met_one_way(repr(column))
                return
            del self.roles[part]
            self.unused[column] = "another for each item, so it is no display order"

    def _hold_date(self) -> None:
        """A date parts waves only where its items are asked again on the others."""
        column = self.roles["date"].columns[0]
        if self.look.stat(column).distinct < 2:  # noqa: PLR2004 - one date parts nothing
            return
        if self.question == "people" and column == "date":
            return
        items = self.look.count_sql(f"({', '.join(self.keys(('item',)))})")
        if self.look.met_by(column, self.roles["item"].columns) < items / 2:
            del self.roles["date"]
            self.unused[column] = "a time: most items were not asked on most of its dates"

    # What is left

    def _beside(self) -> None:
        """Look at every column that is left: does it tell rows of a cell apart?"""
        for column in (*self.ignored, *self._left_out()):
            self.unused[column] = IGNORED
        left = [c for c in self.present if c not in self.taken() and c not in self.unused]
        rated = "rater" in self.roles or "human" in self.roles
        people = [c for part in ("rater", "human") for c in self.columns_of(part)]
        people += [c for c in left if folded(c).startswith("human")]
        if not left and not rated:
            return
        cells = self.keys(CELL)
        found = self.look.varying(cells, [*left, *people])
        if not found.several:
            self.unused |= {c: aside(c) or "the same within each cell" for c in left}
            return
        self._refuse_copies([c for c in left if found.within[c]], cells)
        unclear_ones: list[str] = []
        for column in left:
            if column in people:
                self.unused[column] = "labels of people"
            elif not found.within[column]:
                self.unused[column] = aside(column) or "the same within each cell"
            elif (why := self.why_aside(column)) is not None:
                self.unused[column] = why
            else:
                unclear_ones.append(column)
        if unclear_ones:
            # One at a time: what one of them tells apart, another may not have to.
            column = max(unclear_ones, key=lambda c: (found.within[c], -left.index(c)))
            self.problems.append(self.differs(column, found.within[column], found.several))
        elif people and any(self.look.varying(cells, people, blanks=False).within.values()):
            self._people_differ(people)

    def _refuse_copies(self, columns: Sequence[str], cells: Sequence[str]) -> None:
        """Refuse rows of a cell that have the id of one reply: a reply is no repeat of itself."""
        for column in columns:
            name, stat = folded(column), self.look.stat(column)
            if not _OF_REPLIES.fullmatch(name) or 2 * stat.distinct < stat.filled:
                continue
            twice = self.look.varying([*cells, self.look.text(column)], [])
            if twice.rows > 1 and stat.filled == self.look.rows:
                replies = (
                    "1 reply stands" if twice.several == 1 else f"{twice.several} replies stand"
                )
                raise DuplicateCallsError(
                    f"{self.table}: {replies} there again, under the same {column!r} in the same "
                    f"cell: a reply is no repeat of itself; leave the "
                    f"copies out, or leave {column!r} out of the table if it names no reply"
                )

    def _left_out(self) -> list[str]:
        """Return the columns of parts that were said to be left out."""
        found = []
        for part in (part for part, columns in self.said.columns.items() if not columns):
            names = {name for tier in NAMES.get(part, ()) for name in tier} | {part}
            found += [c for c in self.free() if folded(c) in names]
            if part == "order":
                found += [
                    c
                    for c in self.free()
                    if self.look.stat(c).distinct <= FEW
                    and {v.strip().casefold() for v in self.look.words(c)} <= {"ab", "ba"}
                ]
        return found

    def _people_differ(self, people: Sequence[str]) -> None:
        """Rows that differ in people alone are one call; with several verdicts they are not."""
        verdict = self.roles["verdict"].columns
        within = [*self.keys(CELL), *self.keys(("repeat",))]
        if any(self.look.varying(within, verdict, blanks=False).within.values()):
            if "repeat" in self.roles or self.question == "people":
                return
            columns = [c for c in people if self.look.stat(c).distinct > 1]
            values = listed([v for v, _ in self.look.values(columns[0])][:SHOWN])
            item = self.roles["item"].columns
            self.problems.append(
                Problem(
                    text=f"rows of a cell differ in {columns[0]!r} ({values}) and in the verdict: "
                    "they are not repeats of one call",
                    choices=(
                        Choice(
                            when="each value judged",
                            wish=Wishes(columns={"judge": (columns[0],)}),
                        ),
                        Choice(
                            when="it makes another item",
                            wish=Wishes(columns={"item": (*item, columns[0])}),
                        ),
                    ),
                )
            )
            return
        self.people_only = True

    def _shared(self) -> None:
        """Name a column whose values items share, where nobody said what items hang together."""
        if "cluster" in self.roles or "cluster" in self.said.columns:
            return
        key = self.roles["item"].columns
        among = [
            c for c in (*(key if len(key) > 1 else ()), *self.free()) if self._may_be_shared(c)
        ]
        if not among:
            return
        column = min(among, key=lambda c: self.look.stat(c).distinct)
        shared = f"{column!r} ({self.look.stat(column).distinct} values)"
        self.notes.append(
            f"items share {shared}: where items of one stand or fall together, as questions on one "
            "document do, intervals for other items are too narrow without "
            f"--columns cluster={column}"
        )

    def _may_be_shared(self, column: str) -> bool:
        if not any(SHARED.fullmatch(form) for form in forms(column)):
            return False
        items = self.look.count_sql(f"({', '.join(self.keys(('item',)))})")
        shared = self.look.stat(column).distinct
        return 1 < shared <= items / 2 and self.of_item(column)

    def _assume(self) -> None:
        """Name the judge and the prompt of a table that names none."""
        for part, label in (("judge", UNNAMED), ("prompt", AS_GIVEN)):
            if part not in self.roles:
                self.roles[part] = Role(constant=label, why="not in the table")


def _is_model(column: str) -> bool:
    return folded(column).rpartition(".")[2] in ("model", "model_id", "model_name")
