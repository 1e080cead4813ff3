"""From a reading to calls: SQL in which every part of the contract is one column."""

# ruff: noqa: S608 - names and literals in the SQL below are our own, or quoted by `duck`
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from judgelaw.duck import foreign_errors, name, text
from judgelaw.record_files import number_sql, number_text
from judgelaw.tables.calls import Calls, Layout
from judgelaw.tables.census import empty_test
from judgelaw.tables.columns import ALIASES, CONTRACT, MISSING, PARTS, PEOPLE, SOFT, folded, is_soft
from judgelaw.tables.opening import OpenTable, fresh
from judgelaw.tables.positions import FLIPPED, meaning
from judgelaw.tables.reading import SAID, Role, TableReading, Words
from judgelaw.tables.said import Wishes
from judgelaw.tensor import DEFAULT_VERDICTS, INVALID, SINGLE

LONGEST_LABEL = 120
"""Characters of an item or a prompt that is shown as it is; longer ones go by a hash."""
NONE = "(none)"
"""The level of rows that have none, in a column that was said to be a level."""
_DIGITS = 12
_SEPARATORS = ("/", " / ", " | ", " || ", "\x1f")
_FEW = 12
_MOST_RANKS = 65_536


def laid_below(
    opened: OpenTable, made: Mapping[str, Sequence[str]], values: Mapping[str, Sequence[str]]
) -> OpenTable:
    """Lay columns below one another: a row for each of them, beside all other columns.

    Args:
        opened: the table.
        made: new columns that name the rows, with one label for each column.
        values: new columns that hold the values, with the columns they come from.
    """
    places = ", ".join((*opened.locator.columns, "*"))
    lists = {column: [text(label) for label in labels] for column, labels in made.items()}
    lists |= {
        column: [f"{opened.as_text(each)}::VARCHAR" for each in columns]
        for column, columns in values.items()
    }
    below = ", ".join(
        f"unnest([{', '.join(entries)}]) AS {name(column)}" for column, entries in lists.items()
    )
    taken = {each for columns in values.values() for each in columns}
    kept = tuple(column for column in opened.columns if column not in taken)
    return replace(
        opened,
        source=f"(SELECT {places}, {below} FROM {opened.source})",
        columns=(*kept, *lists),
        types={**opened.types, **dict.fromkeys(lists, "VARCHAR")},
    )


def order_sql(opened: OpenTable, role: Role) -> str:
    """Return the SQL of the display order; two names in their sequence are AB or BA."""
    if not role.turns:
        return opened.as_text(role.columns[0])
    first, second = map(opened.as_text, role.columns)
    return f"CASE WHEN {first} <= {second} THEN 'AB' ELSE 'BA' END"


def unturned_sql(opened: OpenTable, order: Role | None, sql: str) -> str:
    """Return a text with the two answers' names in one sequence, whichever was shown first."""
    if order is None or not order.turns:
        return sql
    a, b = map(opened.as_text, order.columns)
    # The longer name first: it may hold the shorter one.
    longer = f"CASE WHEN length({a}) >= length({b}) THEN {a} ELSE {b} END"
    shorter = f"CASE WHEN length({a}) >= length({b}) THEN {b} ELSE {a} END"
    marked = f"replace(replace({sql}, {longer}, chr(1)), {shorter}, chr(2))"
    other = f"replace(replace({marked}, chr(1), {shorter}), chr(2), {longer})"
    return f"CASE WHEN {a} > {b} THEN {other} ELSE {sql} END"


def as_calls(reading: TableReading, *, people: bool = False, ranked: bool = True) -> Calls:
    """Return the calls of a table as DuckDB can count them.

    Args:
        reading: how the table is read.
        people: whether rows are kept that differ in people's labels alone, and these labels.
        ranked: whether the rows of a cell are counted where no column does it.
    """
    with foreign_errors(reading.table):
        return _Relation(reading, people=people, ranked=ranked).calls()


_MOST_TEXTS = 100_000
_LONGEST_TEXT = 20_000


def item_texts(reading: TableReading) -> dict[str, dict[str, str]]:
    """Return what a table says of each item beside its verdicts: texts, and what nothing else uses.

    A column that differs within an item is about its calls. Nothing is returned for more items
    than a person looks at.
    """
    role, opened = reading.roles.get("text"), reading.opened
    texts = role.columns if role is not None else ()
    columns = [*texts, *(column for column, _ in reading.unused if column in opened.columns)]
    if not columns:
        return {}
    ends = [
        f"{end}(left({opened.as_text(column)}, {_LONGEST_TEXT}))"
        for column in columns
        for end in ("min", "max")
    ]
    with foreign_errors(reading.table):
        rows = opened.con.execute(
            f"SELECT {item_sql(reading)}, {', '.join(ends)} FROM {opened.source} "
            f"GROUP BY 1 LIMIT {_MOST_TEXTS + 1}"
        ).fetchall()
    if len(rows) > _MOST_TEXTS:
        return {}
    of_items = [
        c
        for c, column in enumerate(columns)
        if column in texts or all(row[1 + 2 * c] == row[2 + 2 * c] for row in rows)
    ]
    return {
        row[0]: {columns[c]: row[1 + 2 * c] for c in of_items if row[1 + 2 * c] is not None}
        for row in rows
        if row[0] is not None
    }


def item_sql(reading: TableReading) -> str:
    """Return the SQL of what an item is called."""
    with foreign_errors(reading.table):
        relation = _Relation(reading, people=False, ranked=False)
        return relation.label("item")


@dataclass
class _Relation:
    reading: TableReading
    people: bool
    ranked: bool
    columns: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    source: str = ""

    @property
    def opened(self) -> OpenTable:
        return self.reading.opened

    def calls(self) -> Calls:
        """Write every part as a column; load them where a part is dear to make."""
        self.source = self.opened.source
        loaded = self._verdicts()
        for part in self._kept():
            self._part(part)
        if not self.people and self.reading.people_only:
            self._without_people()
            loaded = True
        if "repeat" not in self.columns and self.ranked:
            loaded = True
            self._rank_rows()
        places = self.opened.locator.columns
        selected = [*places, *(f"{sql} AS {name(part)}" for part, sql in self.columns.items())]
        source = f"(SELECT {', '.join(selected)} FROM {self.source}{self._kept_rows()})"
        locator = self.opened.locator
        if loaded or self._is_dear():
            made = fresh()
            marks = [name(f"@place{number}") for number in range(len(places))]
            aliased = [f"{place} AS {mark}" for place, mark in zip(places, marks, strict=True)]
            parts = list(map(name, self.columns))
            self.opened.con.execute(
                f"CREATE TEMP TABLE {made} AS SELECT {', '.join([*aliased, *parts])} FROM {source}"
            )
            source, locator = made, replace(locator, columns=tuple(marks))
        types = {part: self.types.get(part, "VARCHAR") for part in self.columns}
        return Calls(
            con=self.opened.con,
            table=self.reading.table,
            source=source,
            layout=Layout(
                columns={part: part for part in self.columns},
                named={
                    part: self.reading.roles[part].shown
                    for part in self.columns
                    if part in self.reading.roles
                },
            ),
            types=types,
            locator=locator,
        )

    def _kept(self) -> list[str]:
        """Return the parts that become columns."""
        roles = self.reading.roles
        known = [p for p in CONTRACT if p in roles and p not in ("repeat", "verdict")]
        if self.reading.order_once:
            known.remove("order")
        known += [p for p in ("cluster", "answer") if p in roles]
        known += [p for p in PARTS if p in (*PEOPLE, "text") and p in roles and self.people]
        return known

    def _is_dear(self) -> bool:
        roles = self.reading.roles
        return any(len(role.columns) > 1 for role in roles.values())

    # Parts

    def _part(self, part: str) -> None:
        role = self.reading.roles[part]
        if not role.columns:
            self.columns[part] = f"{text(role.constant or '')}::VARCHAR"
            return
        if part == "order":
            self.columns[part] = self._mapped_order(role)
        elif part == "gold":
            self.columns[part] = self._gold(role)
        elif part in ("item", "prompt", "judge", "criterion"):
            self.columns[part] = self.label(part)
        elif len(role.columns) > 1:
            self.columns[part] = self._joined(role.columns)
        elif part == "human":
            self.columns[part] = self._human(role)
        else:
            self._plain(part, role.columns[0])

    def _plain(self, part: str, column: str) -> None:
        self.columns[part] = name(column)
        self.types[part] = self.opened.types[column]

    def _human(self, role: Role) -> str:
        words, sql = self.reading.words, self.opened.as_text(role.columns[0])
        return looked_up(sql, words.people) if words.people else number_sql(sql)

    def _mapped_order(self, role: Role) -> str:
        sql = order_sql(self.opened, role)
        mapped = {
            word: order for word, order in self.reading.wishes.map_order.items() if word != order
        }
        return looked_up(sql, mapped)

    def _gold(self, role: Role) -> str:
        words = self.reading.words
        sql = self._joined(role.columns)
        plain = looked_up(sql, words.gold)
        if words.gold_turned is None:
            return plain
        return self._by_order(plain, looked_up(sql, words.gold_turned), words)

    def _by_order(self, plain: str, turned: str, words: Words) -> str:
        """Choose by the display order."""
        if plain == turned or not words.swapped:
            return plain
        order = order_sql(self.opened, self.reading.roles["order"])
        swapped = ", ".join(map(text, words.swapped))
        return f"CASE WHEN {order} IN ({swapped}) THEN {turned} ELSE {plain} END"

    def label(self, part: str) -> str:
        """Return the label of an item or a prompt; a long one by its hash."""
        role = self.reading.roles[part]
        columns = role.columns
        plain = len(columns) == 1 and not self._turns()
        if plain and role.why == SAID and columns != (part,):
            # Somebody made it a level: rows without a value are those of one more.
            sql = f"coalesce(nullif({self.opened.as_text(columns[0])}, ''), {text(NONE)})"
            plain = False
        else:
            sql = name(columns[0]) if plain else self._joined(columns)
        ((longest,),) = self.opened.con.execute(
            f"SELECT max(length({sql}::VARCHAR)) FROM {self.opened.source}"
        ).fetchall()
        if (longest or 0) <= LONGEST_LABEL:
            if plain:
                self.types[part] = self.opened.types[columns[0]]
            return sql
        hashed = f"'#' || left(md5({sql}::VARCHAR), {_DIGITS})"
        return f"CASE WHEN {sql} IS NULL THEN NULL ELSE {hashed} END"

    def _turns(self) -> bool:
        order = self.reading.roles.get("order")
        return order is not None and order.turns

    def _joined(self, columns: Sequence[str]) -> str:
        """Join the labels of several columns with a mark that none of them holds."""
        texts = [self._unturned(self.opened.as_text(column)) for column in columns]
        if len(texts) == 1:
            return texts[0]
        mark = self._mark(columns)
        parts = [f"coalesce({sql}, '')" for sql in texts]
        empty = " AND ".join(f"{sql} IS NULL" for sql in texts)
        joined = f" || {text(mark)} || ".join(parts)
        return f"CASE WHEN {empty} THEN NULL ELSE {joined} END"

    def _mark(self, columns: Sequence[str]) -> str:
        tests = [
            " OR ".join(f"contains({self.opened.as_text(c)}, {text(mark)})" for c in columns)
            for mark in _SEPARATORS[:-1]
        ]
        selected = ", ".join(f"coalesce(bool_or({test}), false)" for test in tests)
        (found,) = self.opened.con.execute(
            f"SELECT {selected} FROM {self.opened.source}"
        ).fetchall()
        return next(
            (mark for mark, there in zip(_SEPARATORS, found, strict=False) if not there),
            _SEPARATORS[-1],
        )

    def _unturned(self, sql: str) -> str:
        return unturned_sql(self.opened, self.reading.roles.get("order"), sql)

    # Verdicts

    def _verdicts(self) -> bool:
        """Write verdicts and their probabilities; return whether texts had to be parsed."""
        reading = self.reading
        role, words, said = reading.roles["verdict"], reading.words, reading.wishes
        parsed = said.parser is not None
        if parsed:
            self.source = self._with_parsed(role)
            sql = name("@parsed")
        elif not role.columns:
            sql = text(role.constant or "")
        else:
            sql = self.opened.as_text(role.columns[0])
        plain = number_sql(sql) if words.numbers else looked_up(sql, words.plain)
        turned = plain if words.turned is None else looked_up(sql, words.turned)
        found = self._by_order(plain, turned, words)
        if reading.blanks and said.blank == "invalid":
            found = f"CASE WHEN {empty_test(sql)} THEN {text(INVALID)} ELSE {found} END"
        self.columns["verdict"] = found
        self._repeat()
        self._soft(words)
        return parsed

    def _kept_rows(self) -> str:
        reading = self.reading
        if not (reading.blanks and reading.wishes.blank == "drop"):
            return ""
        sql = self.opened.as_text(reading.roles["verdict"].columns[0])
        return f" WHERE NOT {empty_test(sql)}"

    def _soft(self, words: Words) -> None:
        """Carry probabilities under the verdicts that their words became."""
        roles = self.reading.roles
        soft = {part: roles[part].columns[0] for part in roles if is_soft(part)}
        if MISSING in roles and roles[MISSING].columns:
            self._plain(MISSING, roles[MISSING].columns[0])
        if words.turned is None and not words.plain:
            for part, column in soft.items():
                self._plain(part, column)
            return
        by_verdict: dict[str, dict[bool, list[str]]] = {}
        for part, column in soft.items():
            word = part.removeprefix(SOFT)
            known = _spelled(word, words.plain)
            meant = (known, known if words.turned is None else FLIPPED.get(known, known))
            for side, verdict in zip((False, True), meant, strict=True):
                by_verdict.setdefault(verdict, {False: [], True: []})[side].append(column)
        for verdict, columns in by_verdict.items():
            plain, turned = (self._sum(columns[side]) for side in (False, True))
            self.columns[f"{SOFT}{verdict}"] = self._by_order(plain, turned, words)

    def _sum(self, columns: Sequence[str]) -> str:
        texts = [name(column) for column in columns]
        if len(texts) == 1:
            return f"{texts[0]}::VARCHAR"
        return " + ".join(f"TRY_CAST({sql} AS DOUBLE)" for sql in texts) or "NULL"

    def _with_parsed(self, role: Role) -> str:
        """Read the verdict in every text once, and join it to the rows."""
        said, con = self.reading.wishes, self.opened.con
        sql = self.opened.as_text(role.columns[0])
        texts = [
            each
            for (each,) in con.execute(
                f"SELECT DISTINCT {sql} FROM {self.opened.source} WHERE {sql} IS NOT NULL"
            ).fetchall()
        ]
        order = self.reading.roles.get("order")
        found = parse_texts(said, texts, displayed=order is not None and bool(order.columns))
        made = fresh()
        con.register(f"{made}_view", {"t": _array([*found]), "v": _array([*found.values()])})
        con.execute(
            f"CREATE TEMP TABLE {made} AS SELECT t::VARCHAR AS t, v::VARCHAR AS v FROM {made}_view"
        )
        con.unregister(f"{made}_view")
        places = ", ".join((*self.opened.locator.columns, "*"))
        return (
            f'(SELECT l.*, coalesce(r.v, {text(INVALID)}) AS "@parsed" FROM '
            f"(SELECT {places} FROM {self.opened.source}) l "
            f"LEFT JOIN {made} r ON l.{name(role.columns[0])}::VARCHAR = r.t)"
        )

    # Repeats

    def _repeat(self) -> None:
        role = self.reading.roles.get("repeat")
        if role is None:
            return
        if not role.columns:
            self.columns["repeat"] = f"{text(role.constant or '0')}::VARCHAR"
            return
        column = role.columns[0]
        named = {"repeat", *ALIASES["repeat"]}
        if len(role.columns) == 1 and (folded(column) in named or self._are_ranks(column)):
            self._plain("repeat", column)
            return
        sql = self._joined(role.columns)
        labels = [
            label
            for (label,) in self.opened.con.execute(
                f"SELECT DISTINCT {sql} FROM {self.opened.source} WHERE {sql} IS NOT NULL "
                f"LIMIT {_MOST_RANKS + 1}"
            ).fetchall()
        ]
        ranks = {label: str(rank) for rank, label in enumerate(sorted(labels, key=_natural))}
        if len(labels) <= _MOST_RANKS:
            self.columns["repeat"] = looked_up(sql, ranks)

    def _are_ranks(self, column: str) -> bool:
        sql = f"TRY_CAST({name(column)} AS DOUBLE)"
        ((low, high, whole),) = self.opened.con.execute(
            f"SELECT min({sql}), max({sql}), coalesce(bool_and({sql} = floor({sql})), false) "
            f"AND count(*) = count({sql}) FROM {self.opened.source}"
        ).fetchall()
        return bool(whole) and low in (0, 1) and high < _MOST_RANKS

    def _rank_rows(self) -> None:
        """Count the rows of every cell, in the sequence of the table."""
        parts = ("layer", "judge", "criterion", "date", "item", "prompt", "order", "rater")
        cell = [self.columns[part] for part in parts if part in self.columns]
        places = self.opened.locator.columns
        order = f"ORDER BY {', '.join(places)}" if places else ""
        by = f"PARTITION BY {', '.join(cell)}" if cell else ""
        self.columns["repeat"] = f"row_number() OVER ({by} {order}) - 1"
        self.types["repeat"] = "BIGINT"

    def _without_people(self) -> None:
        """Keep one row of those that differ in people's labels alone."""
        places = self.opened.locator.columns
        parts = list(self.columns)
        selected = [
            *places,
            *(f"{sql} AS {name(f'@{part}')}" for part, sql in self.columns.items()),
        ]
        inner = f"(SELECT {', '.join(selected)} FROM {self.source}{self._kept_rows()})"
        grouped = ", ".join(name(f"@{part}") for part in parts)
        first = ", ".join(f"min({place}) AS {place}" for place in places)
        self.source = (
            f"(SELECT {first}{', ' if first else ''}{grouped} FROM {inner} GROUP BY {grouped})"
        )
        self.columns = {part: name(f"@{part}") for part in parts}
        self.reading = replace(self.reading, blanks=0)


def looked_up(sql: str, words: Mapping[str, str]) -> str:
    """Return the SQL that replaces words, and leaves others as they are."""
    changed = {word: meant for word, meant in words.items() if word != meant}
    if not changed:
        return sql
    if len(changed) <= _FEW:
        cases = " ".join(f"WHEN {text(w)} THEN {text(m)}" for w, m in changed.items())
        return f"CASE {sql} {cases} ELSE {sql} END"
    entries = ", ".join(f"{text(w)}: {text(m)}" for w, m in changed.items())
    return f"coalesce((MAP {{{entries}}})[{sql}], {sql})"


def _spelled(word: str, words: Mapping[str, str]) -> str:
    """Return the verdict that the name of a column of probabilities stands for."""
    alike = {each.strip().casefold(): meant for each, meant in words.items()}
    if word.casefold() in alike:
        return alike[word.casefold()]
    said = meaning(word)
    if said is not None and set(words.values()) <= set(DEFAULT_VERDICTS):
        return said[1]
    return number_text(word)


def parse_texts(said: Wishes, texts: Sequence[str], *, displayed: bool) -> dict[str, str]:
    """Read the verdict in each text, as the answer shown first or second where it is displayed."""
    from judgelaw.tables.importers.entries import Rules, TextReader  # noqa: PLC0415 - seldom asked for
    from judgelaw.wire import Completion  # noqa: PLC0415 - same

    judge = Rules(parser=said.parser, labels=dict(said.label)).judge
    order = "AB" if displayed else SINGLE
    with closing(TextReader(judge)) as reader:
        read = reader.read([(Completion(text=t, finish_reason="stop"), order) for t in texts])
    return {text: one.verdict for text, one in zip(texts, read, strict=True)}


def _array(values: Sequence[Any]) -> Any:
    found = np.empty(len(values), dtype=object)
    found[:] = list(values)
    return found


def _natural(label: str) -> tuple[Any, ...]:
    """Sort numbers by value, within words too: run 2 before run 10."""
    import re  # noqa: PLC0415 - beside its use

    return tuple(
        (0, int(piece), "") if piece.isdigit() else (1, 0, piece)
        for piece in re.split(r"(\d+)", label)
        if piece
    )
