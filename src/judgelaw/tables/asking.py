"""What has to be asked about a table, and the answers that are possible, the likeliest first."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from judgelaw.tables.columns import INPUTS, aside, folded, hints, is_empty, is_soft
from judgelaw.tables.known_columns import (
    CELL,
    LISTS,
    LONG,
    MOST_VALUES,
    NUMERIC,
    RECORDS,
    SHOWN,
    WORDY,
    Known,
    of_gold,
    of_others,
    of_people,
)
from judgelaw.tables.look import FEW
from judgelaw.tables.opening import FILE, INDEX
from judgelaw.tables.positions import are_orders
from judgelaw.tables.reading import CRITERION, Choice, Problem
from judgelaw.tables.said import Wishes
from judgelaw.words import counted, did_you_mean, listed

_ID = re.compile(r"(.*_)?(id|ids|key|uid|uuid|idx|index|no|nr|number)")
_MODELS = re.compile(
    r"gpt|claude|llama|gemini|gemma|mistral|mixtral|qwen|deepseek|phi|prometheus|command|grok|palm|"
    r"vicuna|yi-|\bo[134]\b|\d+b\b",
    re.IGNORECASE,
)
_MARKS = "_-. /:"
_SIDES = ({"a", "b"}, {"chosen", "rejected"}, {"model_a", "model_b"}, {"first", "second"},
          {"response_a", "response_b"}, {"answer_a", "answer_b"}, {"left", "right"})  # fmt: skip


class Asking(Known):
    """Finds the words for what a table does not tell."""

    def which(self, part: str, found: Sequence[str]) -> Problem:
        """Ask which of several columns takes a part."""
        choices = tuple(
            Choice(when=f"it is {column!r}", wish=Wishes(columns={part: (column,)}))
            for column in found
        )
        first = found[0]
        return Problem(
            text=(
                f"{' and '.join(map(repr, found))} could each be the {part}: say which, "
                f"columns={{{part!r}: {first!r}}} (--columns {part}={first})"
            ),
            choices=choices,
            whole=True,
        )

    def in_several(self, found: list[str]) -> Problem:
        """Ask what columns of verdicts are that stand beside one another."""
        text = f"{counted(len(found), 'column')} could hold the verdicts: {listed(found[:SHOWN])}"
        text += f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        wide = self.wide(found)
        only = Choice(when=f"only {found[0]!r} does", wish=Wishes(columns={"verdict": (found[0],)}))
        return Problem(text=text, choices=(*wide, only))

    def no_verdict(self) -> Problem:
        """Ask what holds the verdicts."""
        near = self.slips("verdict")
        several = self.alike([c for c in self.free() if not of_people(c)])
        near = [column for column in near if column not in several]
        text = (
            "no column 'verdict'"
            if "verdict" not in self.present
            else ("the column 'verdict' holds texts and no labels")
        )
        text += f"{did_you_mean('verdict', near)}; it has {listed(self.present)}"
        if near:
            return Problem(
                text=f"{text}: rename it, or map it with columns={{'verdict': {near[0]!r}}} "
                f"(--columns verdict={near[0]})",
                choices=(Choice(when="it is that", wish=Wishes(columns={"verdict": (near[0],)})),),
                whole=True,
            )
        choices = tuple(self.verdicts_there()[:SHOWN])
        people = self.alike([c for c in self.free() if of_people(c)])
        if len(people) > 1 and not any(one.wish.criteria for one in choices):
            text += "; it holds labels of people, which go to the verdicts of a judge in another "
            text += "table (judgelaw validate TABLE --with THIS --on COLUMN,...)"
            wish = Wishes(criteria=tuple(people))
            choices = (Choice(when="people are the judge that is looked at", wish=wish), *choices)
        if not choices:
            text += ": rename it, or map it with columns={'verdict': 'NAME'}"
        return Problem(text=f"{text}", choices=choices)

    def verdicts_there(self) -> list[Choice]:
        """Find what could be verdicts: records, several columns at once, texts, or words."""
        lists = [column for column in self.free() if self.holds(column, RECORDS)]
        if lists:
            return [
                Choice(when=f"each entry of {column!r} is a call", wish=Wishes(explode=(column,)))
                for column in lists
            ]
        wide = self.alike([c for c in self.free() if not of_people(c)])
        if not wide:
            lists = [column for column in self.free() if self.holds(column, LISTS)]
        found = [*(self.wide(wide) if wide else ()), *self._in_texts(wide)]
        found += [
            Choice(
                when=f"each entry of {column!r} is a verdict",
                wish=Wishes(explode=(column,), columns={"verdict": (column,)}),
            )
            for column in lists
        ]
        return found or [*self._in_words()]

    def _in_texts(self, wide: Sequence[str]) -> Iterable[Choice]:
        """Yield columns of texts that say a verdict after one word."""
        from judgelaw.tables.words_read import choice_in_texts  # noqa: PLC0415 - see read_roles

        for column in self.free():
            stat = self.look.stat(column)
            short = stat.longest <= LONG and stat.distinct <= FEW
            if column in wide or (short and not self.are_sentences(column)):
                continue
            if (told := choice_in_texts(self.look, column)) is None:
                continue
            pattern, values = told
            columns: dict[str, tuple[str, ...] | None] = {"verdict": (column,)}
            if "judge" not in self.roles and _MODELS.search(column):
                columns["judge"] = (f"={column}",)
            yield Choice(
                when=f"the verdict stands in the words of {column!r}, as {listed(values)}",
                wish=Wishes(columns=columns, parser=f"regex:{pattern}"),
            )

    def _in_words(self) -> Iterable[Choice]:
        """Yield columns of few words, those that sound like verdicts first."""
        stats = {column: self.look.stat(column) for column in self.free()}
        few = [c for c, stat in stats.items() if 1 < stat.distinct <= FEW]
        few = [c for c in few if stats[c].longest <= LONG // 2 and aside(c) is None]
        few = [c for c in few if not (of_people(c) or of_gold(c))]
        few = [c for c in few if not self.is_laid_out(c)] or few
        for column in sorted(few, key=lambda c: not (self.are_verdicts(c) or self.are_numbers(c))):
            values = listed(self.look.words(column)[:SHOWN])
            wish = Wishes(columns={"verdict": (column,)})
            yield Choice(when=f"it is {column!r} ({values})", wish=wish)

    def alike(self, free: Sequence[str]) -> list[str]:
        """Return the largest group of columns that hold the same few values."""
        groups: dict[frozenset[str], list[str]] = {}
        # What is called `correctness` is about the call, unless it stands among its like.
        for column in sorted(free, key=lambda c: aside(c) is not None):
            stat = self.look.stat(column)
            if not 1 < stat.distinct <= FEW or stat.longest > WORDY or self.is_laid_out(column):
                continue
            words = frozenset(w for w in self.look.words(column) if not is_empty(w))
            numbers = all(NUMERIC.fullmatch(word) for word in words)
            key = frozenset({"#"}) if numbers else words
            if aside(column) is None or (aside(column) == "about the call" and key in groups):
                groups.setdefault(key, []).append(column)
        best = max(groups.values(), key=len, default=[])
        numbered = self._numbered(free)
        best = numbered if len(numbered) > len(best) else best
        return sorted(best, key=self.present.index) if len(best) > 1 else []

    def _numbered(self, free: Sequence[str]) -> list[str]:
        """Return columns of few words whose names differ in a number at the end alone."""
        stems: dict[str, list[str]] = {}
        for column in free:
            stat = self.look.stat(column)
            if column[-1:].isdigit() and 0 < stat.distinct <= FEW and stat.longest <= WORDY:
                stems.setdefault(_stem(column), []).append(column)
        best = max(stems.values(), key=len, default=[])
        return best if any(self.look.stat(column).distinct > 1 for column in best) else []

    def wide(self, columns: list[str]) -> Iterable[Choice]:
        """Yield what several columns of the same words may hold."""
        each = f"these {len(columns)} columns"
        more = ("--judge", judge_names(columns)[0]) if self.question == "people" else ()
        judges = Choice(
            when=f"each of {each} holds the verdicts of one judge",
            wish=Wishes(judges=tuple(columns)),
            more=more,
        )
        names = without_shared(columns)
        more = ("--criterion", names[0]) if self.question == "people" else ()
        criteria = Choice(
            when=f"each of {each} holds the verdicts on one criterion",
            wish=Wishes(criteria=tuple(columns)),
            more=more,
        )
        if "item" not in self.roles and len(columns) > FEW // 2:
            yield _as_part("item", columns, f"each of {each} holds the verdicts on one item")
        yield from self._by_number_or_side(columns, names)
        yield from (judges, criteria) if _are_models(columns) else (criteria, judges)

    def _by_number_or_side(self, columns: Sequence[str], names: Sequence[str]) -> Iterable[Choice]:
        """Yield what columns hold by what their names differ in: calls, orders, or answers."""
        each = f"each of these {len(columns)} columns holds"
        in_order = f"{each} the verdicts in one display order"
        item = self.columns_of("item")
        if len(set(map(_stem, names))) == 1 and all(name[-1:].isdigit() for name in names):
            yield _as_part("repeat", columns, f"{each} one of several calls")
            if len(names) == 2:  # noqa: PLR2004 - both orders
                shown = dict(zip(names, ("AB", "BA"), strict=True))
                yield _as_part("order", columns, in_order, map_order=shown)
        elif are_orders(names):
            yield _as_part("order", columns, in_order)
        elif item and {folded(name) for name in names} in _SIDES:
            yield _as_part("item", columns, f"{each} the verdicts on one of two answers", item)

    def no_item(self) -> Problem:
        """Ask what was judged."""
        present = self.present
        near = self.slips("item")
        column = "`item` or `id`" if self.question == "items" else "'item'"
        text = f"no column {column}{did_you_mean('item', near)}; it has {listed(present)}"
        if near:
            return Problem(
                text=f"{text}: rename it, or map it with columns={{'item': {near[0]!r}}} "
                f"(--columns item={near[0]})",
                choices=(Choice(when="it is that", wish=Wishes(columns={"item": (near[0],)})),),
                whole=True,
            )
        key = self.smallest_key()
        prompt = self.columns_of("prompt")
        if not key and prompt and self.look.stat(prompt[0]).distinct > FEW:
            key = [*prompt]
        if not key:
            return Problem(text=f"{text}: rename it, or map it with columns={{'item': 'NAME'}}")
        what = " and ".join(map(repr, key))
        return Problem(
            text=text,
            choices=(
                Choice(
                    when=f"{what} say{'s' if len(key) == 1 else ''} what was judged",
                    wish=Wishes(columns={"item": tuple(key)}),
                ),
            ),
        )

    def numbered(self, column: str, item: str, part: str) -> Problem:
        """Ask whether a column numbers rows, where another comes with all values of a third."""
        return Problem(
            text=f"{column!r} is another in each row, and each {item!r} comes with all values of "
            f"{part!r}: nothing tells which of the two says what was judged",
            choices=(
                Choice(when=f"{item!r} does", wish=Wishes(columns={"item": (item,)})),
                Choice(when=f"{column!r} does", wish=Wishes(columns={"item": (column,)})),
            ),
        )

    def smallest_key(self) -> list[str]:
        """Return few columns that together tell rows apart, what is about the call left out."""
        rest = [
            c
            for c in self.free()
            if aside(c) is None and not is_soft(c) and not folded(c).startswith("human")
        ]
        rest = [c for c in rest if self.look.stat(c).distinct > 1 and not self.says_verdicts(c)]
        # An id of a prompt names what was judged where nothing else does.
        rest = [c for c in rest if not of_others(c)] or [
            c for c in rest if self.look.stat(c).distinct > FEW
        ]
        rest = [c for c in rest if set(hints(c)) != {"order"}]
        most = max((self.look.stat(c).distinct for c in rest), default=0)
        rest = [c for c in rest if self.look.stat(c).distinct > min(FEW, most - 1) or _is_said(c)]
        rest.sort(key=lambda c: (-self.look.stat(c).distinct, self.present.index(c)))
        key: list[str] = []
        told = 0
        for column in rest[:8]:
            unique = self.look.stat(column).distinct >= self.look.rows > FEW and len(rest) > 1
            # A number of each row tells nothing; a text that is another in each row does.
            short = _ID.fullmatch(folded(column)) or self.look.stat(column).longest < FEW // 2
            if unique and short:
                continue
            now = self.look.count([*key, column])
            if now > told:
                key, told = [*key, column], now
        return sorted(key or rest[:1], key=self.present.index)

    def for_criteria(self, people: Sequence[str]) -> tuple[str, ...]:
        """Return the columns of people's labels that go with columns of criteria, one for each."""
        alike = tuple(self.alike(people))
        return alike if len(alike) == len(self.said.criteria) else ()

    def differs(self, column: str, cells: int, several: int) -> Problem:
        """Ask about a column in which rows of a cell differ."""
        values = self.look.values(column)
        some = some_values([value for value, _ in values])
        many = f"{len(values)} values" if len(values) <= MOST_VALUES else "many values"
        text = (
            f"rows of a cell differ in {column!r} ({many}: {some}; in {cells} of "
            f"{counted(several, 'cell')}), so they are not repeats of one call"
        )
        return Problem(text=text, choices=tuple(self.answers(column, [v for v, _ in values])))

    def answers(self, column: str, values: Sequence[str]) -> Iterable[Choice]:
        """Yield what such a column may be, the likeliest first."""
        item = self.roles["item"].columns
        known = {
            "item": Choice(
                when="each value makes another item",
                wish=Wishes(columns={"item": (*item, column)}),
            ),
            "prompt": Choice(
                when="each value is another prompt or condition of the judge",
                wish=Wishes(columns={"prompt": self.added_to("prompt", column)}),
            ),
            "order": Choice(
                when="it says in which order answers were shown",
                wish=Wishes(columns={"order": (column,)}),
            ),
            "judge": Choice(
                when="each value is another judge",
                wish=Wishes(columns={"judge": self.added_to("judge", column)}),
            ),
            "criterion": Choice(
                when="each value is another question to the judge",
                wish=Wishes(columns={"criterion": (column,)}),
            ),
            "repeat": Choice(
                when="it counts repeats of one call",
                wish=Wishes(columns={"repeat": (column,)}),
            ),
            "date": Choice(
                when="each value is a date on which all was asked again",
                wish=Wishes(columns={"date": (column,)}),
            ),
        }
        crossed = len(values) <= FEW and self.look.crossed(self.keys(CELL), column)
        for part in ("order", "criterion", "repeat", "date"):
            if part in self.roles:
                del known[part]
        if not crossed:  # what only some items met is no level of a design
            known = {part: known[part] for part in ("item", "repeat") if part in known}
        if "order" in known and not (len(values) == 2 or are_orders(values)):  # noqa: PLR2004
            del known["order"]
        first = [part for part in self.guesses(column, values) if part in known]
        rest = [part for part in ("prompt", "item") if part in known]
        chosen = list(dict.fromkeys([*first, *rest]))[:SHOWN]
        if "repeat" in known and "repeat" not in chosen and self.counts(column, values):
            chosen.append("repeat")
        for part in chosen:
            yield known[part]
        if crossed and values and len(values[0]) <= WORDY:
            yield Choice(
                when="only some rows are asked about", wish=Wishes(where={column: values[0]})
            )
        yield Choice(
            when="it changes nothing, so that its rows are repeats", wish=Wishes(ignore=(column,))
        )

    def added_to(self, part: str, column: str) -> tuple[str, ...]:
        """Return the columns of a part with one more."""
        role = self.roles.get(part)
        if role is None or not role.columns or self.look.stat(role.columns[0]).distinct < 2:  # noqa: PLR2004
            return (column,)
        return (*role.columns, column)

    def guesses(self, column: str, values: Sequence[str]) -> list[str]:
        """Return the parts at which a name and its values hint, the likeliest first."""
        if are_orders(values) or (len(values) <= FEW and self.are_dates(column)):
            return ["order" if are_orders(values) else "date"]
        if column == FILE and _are_numbered(values):
            return ["repeat", "prompt"]
        found = [] if column.endswith(INDEX) else hints(column)
        if not found and _are_models(values):
            found = ["judge"]
        if column == FILE:
            return [*found, "prompt", "item"]
        if "judge" in self.roles and "judge" in found:
            found = [*(part for part in found if part != "judge"), "judge"]
        counts = self.counts(column, values)
        once = counts or (len(values) <= FEW and self.once_a_cell(column))
        if "repeat" in found and once:
            return ["repeat"]
        # By its name it counts something; what else varies within a cell is asked about too.
        numbered = "repeat" in found and all(value.strip().isdigit() for value in values)
        found = [*(["repeat"] if numbered else []), *(part for part in found if part != "repeat")]
        if not numbered and (INPUTS.fullmatch(folded(column)) or len(values) > FEW):
            return ["item", *found]
        return found or (["repeat"] if counts and "repeat" not in self.roles else [])


def nobody(people: Sequence[str], blank: Sequence[str], of_criteria: tuple[str, ...]) -> Problem:
    """Ask which column holds people's labels; `blank` would, if anything stood there."""
    if blank and not people and not of_criteria:
        return Problem(text=f"nobody labelled anything: {listed(blank)} is blank: fill it")
    choices = [
        Choice(when=f"{column!r} holds people's labels", wish=Wishes(columns={"human": (column,)}))
        for column in people[:SHOWN]
    ]
    if of_criteria:
        when = f"{listed(of_criteria)} hold people's labels, one for each criterion"
        choices.insert(0, Choice(when=when, wish=Wishes(columns={"human": of_criteria})))
    return Problem(text="no column 'human' and no column 'gold'", choices=tuple(choices))


def some_values(values: Sequence[str]) -> str:
    """Quote the first values, cut where they are long."""
    shown = [repr(v if len(v) <= FEW + 10 else v[:FEW] + "...") for v in values[:SHOWN]]
    more = ", ..." if len(values) > SHOWN else ""
    return f"{', '.join(shown)}{more}"


def _are_numbered(names: Collection[str]) -> bool:
    """Whether names of files differ in a number alone."""
    stems = {re.sub(r"\d+", "", name) for name in names}
    return len(stems) == 1 and any(
        re.search(r"(rep|run|seed|trial|sample|iter|pass|try)\w*\d", name) for name in names
    )


def _are_models(names: Sequence[str]) -> bool:
    """Whether most names are those of language models, by what they do not share."""
    found = [name for name in without_shared(names) if _MODELS.search(name)]
    return 2 * len(found) > len(names)


def _is_said(column: str) -> bool:
    """Whether a name says that a column is part of what was judged."""
    return INPUTS.fullmatch(folded(column)) is not None or hints(column)[:1] == ["item"]


def _stem(column: str) -> str:
    """Return a name without the number at its end."""
    return re.sub(r"\d+$", "", column)


def _as_part(
    part: str,
    columns: Sequence[str],
    when: str,
    also: Sequence[str] = (),
    map_order: Mapping[str, str] | None = None,
) -> Choice:
    """Return the choice that columns laid below one another are levels of a part."""
    said: dict[str, tuple[str, ...] | None] = {part: (*also, CRITERION), "criterion": None}
    wish = Wishes(criteria=tuple(columns), columns=said, map_order=map_order or {})
    return Choice(when=when, wish=wish)


def without_shared(names: Sequence[str]) -> list[str]:
    """Leave out what all names begin and end with, up to a mark.

    >>> without_shared(["judge_clarity", "judge_tone"]), without_shared(["r.a.score", "r.b.score"])
    (['clarity', 'tone'], ['a', 'b'])
    """
    if len(names) < 2:  # noqa: PLR2004 - one name shares nothing
        return list(names)
    first = _parted(names)
    short = [each[::-1] for each in _parted([each[::-1] for each in first])]
    for found in (short, first):
        if all(found) and len(set(found)) == len(found):
            return found
    return list(names)


def _parted(names: Sequence[str]) -> list[str]:
    """Leave out what all names begin with, up to its last mark."""
    shared = 0
    while all(len(each) > shared and each[shared] == names[0][shared] for each in names):
        shared += 1
    mark = max((names[0].rfind(mark, 0, shared) for mark in _MARKS), default=-1)
    return [each[mark + 1 :] for each in names]


def judge_names(columns: Sequence[str]) -> list[str]:
    """Name judges by their columns; by what differs, where these are fields of one record."""
    nested = len({column.partition(".")[0] for column in columns}) == 1
    return without_shared(columns) if nested else list(columns)
