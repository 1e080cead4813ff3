"""How a table is read: what each column is and why, what is left, what has to be asked.

A reading is a value. It is made from names first; each name is then held against the values of its
column, and what nobody named is looked at too: rows of a cell are repeats only where nothing else
tells them apart. What the table does not tell is asked, all of it at once, with words that settle
it when they are copied.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from judgelaw.errors import TableError, UnclearTableError
from judgelaw.tables.columns import BESIDE, PARTS, is_soft
from judgelaw.tables.opening import OpenTable
from judgelaw.tables.said import CONSTANT, Wishes
from judgelaw.words import counted

Scale = tuple[float, ...] | Mapping[str, float]
"""Scores from low to high, or `{"from": 0, "to": 1}` where they are continuous."""

Question = Literal["calls", "people", "rows", "items"]
"""What is asked of a table: what a judge's calls say, how they go with people's labels, all of it,
or what was judged, whether or not there are verdicts."""

JUDGE, CRITERION, VERDICT, HUMAN, RATER = "@judge", "@criterion", "@verdict", "@human", "@rater"
"""Columns that are made of names of columns, where a table is wide."""

UNNAMED = "judge"
"""The judge of a table that names none."""
AS_GIVEN = "as given"
"""The prompt of a table that names none."""

_MOST_ROUNDS = 12
_LISTED = 4


@dataclass(frozen=True, kw_only=True)
class Role:
    """What takes a part of the contract.

    Attributes:
        columns: of the table; several are taken together.
        why: how that was found, in words.
        constant: one label for all rows, where no column says it.
        turns: whether two columns name the answers in the order in which they were shown.
    """

    columns: tuple[str, ...] = ()
    why: str
    constant: str | None = None
    turns: bool = False

    @property
    def shown(self) -> str:
        """What is taken, as a user writes it."""
        return f"{CONSTANT}{self.constant}" if not self.columns else ",".join(self.columns)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One answer to a question about a table.

    Attributes:
        when: what is so if this is the answer, after "if".
        wish: what is said then.
        more: options beside it, which are about the question and not about the table.
    """

    when: str
    wish: Wishes
    more: tuple[str, ...] = ()

    @property
    def options(self) -> list[str]:
        """The options that say it."""
        return [*self.wish.options(), *self.more]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What a table does not tell.

    Attributes:
        text: what is unclear, with the values and the number of rows.
        choices: the answers that are possible, the likeliest first; none where only another table
            helps.
        whole: whether the text names the answers itself.
    """

    text: str
    choices: tuple[Choice, ...] = ()
    whole: bool = False

    def __str__(self) -> str:
        """Write the question and the words of each answer."""
        if self.whole or not self.choices:
            return self.text
        if len(self.choices) == 1:
            (only,) = self.choices
            return f"{self.text}: {only.when}: {_words(only)}"
        answers = "; ".join(f"if {one.when}: {_words(one)}" for one in self.choices)
        return f"{self.text}: {answers}"


def _words(choice: Choice) -> str:
    from shlex import quote  # noqa: PLC0415 - only where something is asked

    return " ".join(map(quote, choice.options))


@dataclass(frozen=True, kw_only=True)
class Words:
    """What the words of verdicts and gold labels become.

    Attributes:
        plain: by word, where the first answer was shown first or there is no order.
        turned: by word, where the second answer was shown first; the same as `plain` if None.
        swapped: the labels of the order under which the second answer was shown first.
        gold: by word, what a gold label becomes.
        gold_turned: the same under swapped orders; as `gold` if None.
        people: by word, what a label of people becomes.
        numbers: whether verdicts are numbers, too many to be listed.
        why: what was decided about positions, in words; empty where there was nothing to decide.
        wish: what says so.
        notes: what has to be told with every answer.
        texts: what the column of texts says of each item, by item and the column's name.
    """

    plain: Mapping[str, str] = field(default_factory=dict)
    turned: Mapping[str, str] | None = None
    swapped: tuple[str, ...] = ()
    gold: Mapping[str, str] = field(default_factory=dict)
    gold_turned: Mapping[str, str] | None = None
    people: Mapping[str, str] = field(default_factory=dict)
    numbers: bool = False
    why: str = ""
    wish: Wishes = field(default_factory=Wishes)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TableReading:
    """How a table is read.

    Attributes:
        opened: the table with all its columns, wide ones laid below one another.
        roles: what takes each part that the table has.
        unused: columns that are left, with the reason.
        words: what verdicts and gold labels become.
        wishes: what was said about the table.
        kind: what kind of file it is; a known log by name.
        says: what the format of a known log says of itself.
        blanks: rows without a verdict.
        people: columns of labels by people, beside the first.
        people_only: whether rows of a cell differ in people only: they are one call.
        order_once: whether each item was shown in one order alone: it restores candidates, and
            there is no swap to tell of.
        scale: the scores of a known log, from low to high, or their ends.
        notes: what has to be told with every answer.
    """

    opened: OpenTable
    roles: Mapping[str, Role]
    unused: tuple[tuple[str, str], ...] = ()
    words: Words = field(default_factory=Words)
    wishes: Wishes = field(default_factory=Wishes)
    kind: str = ""
    says: tuple[str, ...] = ()
    blanks: int = 0
    people: tuple[str, ...] = ()
    people_only: bool = False
    order_once: bool = False
    scale: Scale | None = None
    notes: tuple[str, ...] = ()
    texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def table(self) -> str:
        """What the user calls the table."""
        return self.opened.table

    @property
    def plain(self) -> bool:
        """Whether the table is a calls table as the contract has it, with nothing to explain."""
        own = all(
            role.columns == (part,) or role.constant is not None or role.why == SAID
            for part, role in self.roles.items()
        )
        left = any(why != IGNORED for _, why in self.unused)
        return own and not (left or self.words.why or self.says or self.opened.skipped)

    def line(self) -> str:
        """Say in one line how the table was read."""
        if self.says:
            parts = [self.kind, *self.says, *self.opened.skipped]
            return "; ".join(part for part in parts if part)
        found = list(self.opened.skipped) + [
            f"{part}: {_told(role)}"
            for part, role in self.roles.items()
            if not is_soft(part) and (part not in BESIDE or role.why == SAID)
        ]
        if "repeat" not in self.roles:
            found.append("repeat: by row")
        if self.words.why:
            found.append(f"verdicts: {self.words.why}")
        if self.blanks:
            done = "are invalid" if self.wishes.blank == "invalid" else "were left out"
            found.append(f"{counted(self.blanks, 'row')} without a verdict {done}")
        left = [column for column, _ in self.unused]
        if left:
            more = f" and {len(left) - _LISTED} more" if len(left) > _LISTED else ""
            found.append(f"not used: {', '.join(left[:_LISTED])}{more}")
        return "; ".join(found)

    def sentences(self) -> list[str]:
        """Say it column by column, with the reason of each."""
        lines = [f"{self.table}: {self.kind}"] if self.kind else []
        lines += [f"  {said}" for said in (*self.says, *self.opened.skipped)]
        if not self.says:
            for part in PARTS:
                if (role := self.roles.get(part)) is not None:
                    lines.append(f"  {part}: {_told(role)}")
            if "repeat" not in self.roles:
                lines.append("  repeat: by row, nothing else tells the rows of a cell apart")
        if self.words.why:
            lines.append(f"  verdicts: {self.words.why}")
        lines += [f"  not used: {column} ({why})" for column, why in self.unused]
        return lines

    def to_json(self) -> dict[str, Any]:
        """Return how it was read as plain values."""
        return {
            "line": self.line(),
            "format": self.kind or None,
            "columns": {
                part: {"columns": list(role.columns), "why": role.why}
                if role.columns
                else {"constant": role.constant, "why": role.why}
                for part, role in self.roles.items()
            },
            "unused": dict(self.unused),
            "said": self.explicit().said(),
        }

    def explicit(self) -> Wishes:
        """Return what says this reading without anything being inferred."""
        columns: dict[str, tuple[str, ...] | None] = {}
        for part, role in self.roles.items():
            if part in ("judge", "prompt") and role.constant in (UNNAMED, AS_GIVEN):
                continue
            made = any(column in (JUDGE, CRITERION, VERDICT, RATER) for column in role.columns)
            if made or self.says or is_soft(part) or role.columns == (part,):
                continue
            if part in BESIDE and role.why != SAID:
                continue
            columns[part] = role.columns or (f"{CONSTANT}{role.constant}",)
        if (people := self.wishes.of("human")) is not None and "human" in self.roles:
            columns["human"] = people
        said = replace(self.wishes, columns={**columns, **_left_out(self.wishes)})
        asked = [column for column, why in self.unused if why == IGNORED]
        return replace(said, ignore=tuple(asked)).and_also(self.words.wish)


IGNORED = SAID = "as said"


def _left_out(said: Wishes) -> dict[str, None]:
    return {part: None for part, columns in said.columns.items() if not columns}


def _told(role: Role) -> str:
    what = role.constant if not role.columns else " + ".join(role.columns)
    return f"{what} ({role.why})"


def unclear(table: str, problems: Sequence[Problem]) -> UnclearTableError:
    """Return the error that names all that is unclear, and what settles it."""
    if len(problems) == 1:
        text = str(problems[0])
        said = text if text.startswith((table, "the list", "the frame")) else f"{table}: {text}"
    else:
        parts = [f"\n  {number}. {problem}" for number, problem in enumerate(problems, 1)]
        said = f"{table}: {len(problems)} things to say about this table{''.join(parts)}"
    together = settled(problems)
    if together.said() and not (len(problems) == 1 and problems[0].whole):
        said += f"\nin Python: {together.in_python()}"
    return UnclearTableError(said, problems)


def settled(problems: Sequence[Problem]) -> Wishes:
    """Return what the likeliest answers say together."""
    together = Wishes()
    for problem in problems:
        if problem.choices:
            together = _with_all(together, problem.choices[0].wish)
    return together


def _with_all(one: Wishes, other: Wishes) -> Wishes:
    """Return both; columns that two answers add to one part all count."""
    columns = dict(other.columns)
    for part, theirs in other.columns.items():
        mine = one.columns.get(part)
        if mine and theirs and mine[0] == theirs[0]:
            columns[part] = tuple(dict.fromkeys((*mine, *theirs)))
    return one.and_also(replace(other, columns=columns))


Decide = Callable[[Wishes], TableReading]


def all_problems(decide: Decide, said: Wishes, table: str) -> TableReading:
    """Read a table, or raise one error with everything that is unclear about it.

    Each question is answered by its likeliest answer to find the next one, so that the words of the
    message lead to a reading.
    """
    problems: list[Problem] = []
    wish = said
    for _ in range(_MOST_ROUNDS):
        try:
            reading = decide(wish)
        except UnclearTableError as error:
            new = [each for each in error.problems if isinstance(each, Problem)]
            problems += [each for each in new if str(each) not in {*map(str, problems)}]
            step = settled(new)
            after = _with_all(wish, step)
            if not step.said() or after == wish:
                break
            wish = after
        except TableError:
            # What the likeliest answers lead to is another fault: it is told once they are given.
            if not problems:
                raise
            break
        else:
            if not problems:
                return reading
            break
    raise unclear(table, problems)
