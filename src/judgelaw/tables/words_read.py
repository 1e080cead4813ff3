"""What the words in the columns of verdicts and of gold become, under each display order."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from shlex import quote

from judgelaw.duck import foreign_errors
from judgelaw.errors import TableError
from judgelaw.record_files import number_text
from judgelaw.tables.census import empty_test
from judgelaw.tables.columns import ASIDE, INPUTS, folded, is_empty
from judgelaw.tables.known_columns import is_flag
from judgelaw.tables.look import FEW, Look
from judgelaw.tables.positions import (
    FIRST,
    FLIPPED,
    SECOND,
    TIE,
    Evidence,
    SaidCall,
    are_positions,
    far,
    label_options,
    labels_of,
    meaning,
    shown_or_restored,
    swapped,
    what_else,
)
from judgelaw.tables.reading import Choice, Problem, Question, TableReading, Words
from judgelaw.tables.said import Wishes
from judgelaw.tensor import DEFAULT_VERDICTS, INVALID
from judgelaw.words import DISPLAYED, bare, candidate_number, counted, listed

_SHOWN = dict(zip(DISPLAYED, (FIRST, SECOND, TIE), strict=True))
"""Labels that say what was displayed: A, B and TIE."""
_MOST = 1000
_FLAG = re.compile(r"(is_)?(correct|right|match(es|ed)?)|agrees?(_with_gold)?|hit|accurate")
_NUMBERED = ({"1", "2"},)
_TEXT = 4


def read_words(
    look: Look, reading: TableReading, said: Wishes, question: Question = "calls"
) -> tuple[Words, list[Problem], int]:
    """Decide what words mean; return what is unclear, and how many rows have no verdict."""
    role = reading.roles["verdict"]
    if not role.columns or said.parser is not None:
        return _parsed(look, reading, said), [], 0
    blanks, problems = _blanks(look, reading, said)
    if question == "people" and problems and _nobody_did_both(look, reading):
        problems = []
    found = _Words(look, reading, said, imported=question == "rows").read()
    if isinstance(found, Problem):
        return Words(), [*problems, found], blanks
    return found, problems, blanks


def _blanks(look: Look, reading: TableReading, said: Wishes) -> tuple[int, list[Problem]]:
    """Count rows without a verdict; ask what they are, where nobody says it."""
    opened = reading.opened
    column = reading.roles["verdict"].columns[0]
    sql = opened.as_text(column)
    words = look.values(column)
    known = len(words) <= _MOST
    rows = look.rows - sum(n for word, n in words if not is_empty(word)) if known else 0
    places = ", ".join((*opened.locator.columns, sql))
    with foreign_errors(opened.table):
        if not known:
            ((rows,),) = opened.con.execute(
                f"SELECT count(*) FROM {opened.source} WHERE {empty_test(sql)}"  # noqa: S608 - quoted
            ).fetchall()
        if not rows or said.blank != "error":
            return rows, []
        order = f"ORDER BY {', '.join(opened.locator.columns)}" if opened.locator.columns else ""
        (first, *_) = opened.con.execute(
            f"SELECT {places} FROM {opened.source} WHERE {empty_test(sql)} {order} LIMIT 1"  # noqa: S608 - quoted
        ).fetchall()
    if rows == look.rows:
        raise TableError(f"{opened.table}: no row has a verdict in {column!r}: name another column")
    (place,) = opened.locator.places([first[:-1]])
    shown = "" if first[-1] is None else f" {first[-1]!r}"
    text = (
        f"{place}: the verdict{shown} is empty ({counted(rows, 'such row')}): a completed call has "
        "a verdict, 'invalid' at worst, and a call that never completed has no row: say what a "
        "blank is, --blank invalid or --blank drop (blank='invalid' in Python)"
    )
    choices: tuple[Choice, ...] = (
        Choice(when="the judge gave no verdict", wish=Wishes(blank="invalid")),
        Choice(when="nobody was asked", wish=Wishes(blank="drop")),
    )
    if (kind := _kind_of_calls(look, reading, sql)) is not None:
        only = f"{kind[0]}={kind[1]}"
        text += f"; all rows with a verdict, and no others, have {only}: --where {quote(only)}"
        when = f"only rows with {only} are calls of the judge"
        choices = (Choice(when=when, wish=Wishes(where=dict([kind]))), *choices)
    people = [
        c for part in ("human", "gold") if part in reading.roles for c in _columns(reading, part)
    ]
    if people and _also_blank(look, column, people[0]):
        choices = choices[::-1]
    return rows, [Problem(text=text, choices=choices, whole=True)]


def _kind_of_calls(look: Look, reading: TableReading, verdict: str) -> tuple[str, str] | None:
    """Return the column and the value that all rows with a verdict have, and no others."""
    taken = {column for role in reading.roles.values() for column in role.columns}
    for column in look.opened.columns:
        if column in taken or not 1 < look.stat(column).distinct <= FEW:
            continue
        with foreign_errors(look.opened.table):
            found = look.opened.con.execute(
                f"SELECT {look.text(column)}, bool_or({empty_test(verdict)}), "  # noqa: S608 - quoted
                f"bool_and({empty_test(verdict)}) FROM {look.opened.source} GROUP BY 1"
            ).fetchall()
        filled = [value for value, _, blank in found if not blank]
        blanks = sum(some for _, some, _ in found)
        if len(filled) == 1 and filled[0] is not None and blanks == len(found) - 1:
            return column, str(filled[0])
    return None


def _nobody_did_both(look: Look, reading: TableReading) -> bool:
    """Whether no row has a verdict and a label: then what is missing is told by who joins them."""
    people = [part for part in ("human", "gold") if part in reading.roles]
    if not people:
        return False
    opened = look.opened
    empty = empty_test(opened.as_text(_columns(reading, "verdict")[0]))
    label = empty_test(opened.as_text(_columns(reading, people[0])[0]))
    with foreign_errors(opened.table):
        ((both,),) = opened.con.execute(
            f"SELECT count(*) FROM {opened.source} WHERE NOT {empty} AND NOT {label}"  # noqa: S608 - quoted
        ).fetchall()
    return not both


def _columns(reading: TableReading, part: str) -> tuple[str, ...]:
    return reading.roles[part].columns


def _also_blank(look: Look, verdict: str, people: str) -> bool:
    """Whether rows without a verdict have no label of people either: nobody was asked."""
    empty = empty_test(look.opened.as_text(verdict))
    label = empty_test(look.opened.as_text(people))
    with foreign_errors(look.opened.table):
        ((neither, blank),) = look.opened.con.execute(
            f"SELECT count(*) FILTER ({label}), count(*) FROM {look.opened.source} WHERE {empty}"  # noqa: S608 - quoted
        ).fetchall()
    return bool(neither == blank)


class _Words:
    """The words of one table."""

    def __init__(self, look: Look, reading: TableReading, said: Wishes, *, imported: bool) -> None:
        self.imported = imported
        self.look = look
        self.reading = reading
        self.said = said
        self.table = reading.opened.table
        self.column = reading.roles["verdict"].columns[0]
        self.found = [w for w, _ in look.values(self.column) if not is_empty(w)]
        order = reading.roles.get("order")
        self.order = None if order is None or not order.columns else order
        self.orders = self._orders()
        gold = reading.roles.get("gold")
        self.gold = gold.columns[0] if gold is not None and gold.columns else None
        self.golden = [] if self.gold is None else look.words(self.gold)

    def read(self) -> Words | Problem:
        """Decide."""
        if len(self.found) > _MOST:
            return Words(numbers=True)
        if self.said.positions is not None:
            return self._positions(self.said.positions)
        labels = self._labels()
        if labels and set(labels.values()) & {*DISPLAYED[:2]}:
            return self._displayed(labels)
        rest = [word for word in self.found if word not in labels]
        usual = any(candidate_number(word.strip().casefold()) for word in rest)
        if self.said.verdicts is None and not usual:
            if len(self.orders) > 1 and self._may_be_places(rest):
                return self._letters(rest, labels)
            if rest and self._are_answers(rest):
                return self._as_answers({w: m[1] for w in rest if (m := meaning(w))} | labels)
        return self._as_they_are(labels, {word: number_text(word) for word in rest})

    def _may_be_places(self, words: Sequence[str]) -> bool:
        """Whether words may say which place won, where answers were shown in several orders."""
        if are_positions(words) or any((m := meaning(w)) and m[0] == "place" for w in words):
            return True
        turns = self.order is not None and self.order.turns
        numbers = {number_text(word) for word in words} in _NUMBERED
        return numbers or (turns and bool(words) and all(map(_side_of, words)))

    def _are_answers(self, words: Sequence[str]) -> bool:
        """Whether words name answers whatever the order: by their names, or shown in one order."""
        meant = [meaning(word) for word in words]
        kinds = {found[0] for found in meant if found is not None}
        if None in meant or self._are_usual(words):
            return False
        # Shown in one order, the letter of a place is the letter of the answer.
        return "name" in kinds or (self.imported and "place" in kinds and self._are_first())

    def _are_first(self) -> bool:
        """Whether every answer was shown in the order AB."""
        return bool(self.orders) and not any(turned is not False for turned in self.orders.values())

    def _orders(self) -> dict[str, bool | None]:
        """Return whether each order was swapped, None where its word does not tell."""
        if self.order is None:
            return {}
        if self.order.turns:
            return {"AB": False, "BA": True}
        flag = is_flag(self.order.columns[0])
        mapped = self.said.map_order
        return {
            word: mapped[word] == "BA" if word in mapped else swapped(word, flag=flag)
            for word in self.look.words(self.order.columns[0])
        }

    def _labels(self) -> dict[str, str]:
        """Return what words were said to stand for, in the spelling of the table."""
        found = {}
        words = {*self.found, *self.golden, *self._said_by_people()}
        for word in words:
            for given in (word, number_text(word)):
                if given in self.said.label:
                    found[word] = self.said.label[given]
        for given in self.said.label:
            alike = [w for w in words if w.strip().casefold() == given.strip().casefold()]
            for word in alike:
                found.setdefault(word, self.said.label[given])
            if not alike and number_text(given) not in map(number_text, words):
                near = sorted(words)[: 2 * _TEXT]
                raise TableError(
                    f"{self.table}: no verdict and no gold label is {given!r}, which labels maps: "
                    f"there are {listed(near)}"
                )
        return found

    @staticmethod
    def _are_usual(words: Iterable[str]) -> bool:
        return all(word.strip().casefold() in (*DEFAULT_VERDICTS, "bot", "⊥") for word in words)

    # Words as they are

    def _as_they_are(self, labels: Mapping[str, str], numbers: Mapping[str, str]) -> Words:
        plain = {**numbers, **{w: labels[w] for w in self.found if w in labels}}
        if self.said.verdicts is None:
            plain = {w: _unbracketed(v) if w not in labels else v for w, v in plain.items()}
        alphabet = [*(self.said.verdicts or ()), *plain.values()]
        gold = {word: self._gold_word(word, alphabet, labels) for word in self.golden}
        sides = {word: m[1] for word in plain if (m := meaning(word)) is not None}
        people = {word: self._gold_word(word, alphabet, labels) for word in self._said_by_people()}
        notes = self._loud(sides)
        return Words(plain=_changed(plain), gold=_changed(gold), people=people, notes=notes)

    def _gold_word(self, word: str, alphabet: Sequence[str], labels: Mapping[str, str]) -> str:
        """Write a gold label as the verdict that means the same."""
        if word in labels:
            return labels[word]
        plain = number_text(word)
        if plain in alphabet or (said := meaning(word)) is None or said[0] == "name":
            return plain
        same = [v for v in alphabet if (m := meaning(v)) is not None and m[1] == said[1]]
        return same[0] if same else plain

    def _as_answers(
        self, names: Mapping[str, str], *, why: str = "", notes: Sequence[str] = ()
    ) -> Words:
        """Write names of answers as candidates."""
        plain = {word: names[word] for word in self.found if word in names}
        shown = ", ".join(f"{word} is {names[word]}" for word in sorted(names)[:_TEXT])
        return Words(
            plain=_changed(plain),
            gold=_changed({word: self._gold_candidate(word) for word in self.golden}),
            people=self._people(),
            why=why or f"names of answers, {shown}",
            wish=Wishes(label={w: v for w, v in sorted(plain.items()) if w != v}),
            notes=(*notes, *self._loud(names)),
        )

    def _loud(self, sides: Mapping[str, str]) -> tuple[str, ...]:
        """Tell of agreement with gold that is far below chance in one order only."""
        if self.gold is None or {*self.orders.values()} != {True, False}:
            return ()
        right: dict[bool, list[bool]] = {False: [], True: []}
        for call in self._calls(sides, "", ""):
            if call.gold in (FIRST, SECOND):
                right[call.swapped].append(call.verdict == call.gold)
        low = [side for side, found in right.items() if far(found, above=False)]
        if len(low) != 1:
            return ()
        here, there = right[low[0]], right[not low[0]]
        note = (
            f"in one display order the verdicts agree with gold in {sum(here)} of {len(here)} "
            f"calls, far below chance, in the other in {sum(there)} of {len(there)}: they may name "
            "positions (--positions A,B)"
        )
        return (note,)

    def _said_by_people(self) -> list[str]:
        role = self.reading.roles.get("human")
        words = self.look.words(role.columns[0]) if role is not None and role.columns else []
        return [word for word in words if not is_empty(word)]

    def _people(self) -> dict[str, str]:
        """Write labels of people as candidates, as gold labels are."""
        return {word: self._gold_candidate(word) for word in self._said_by_people()}

    def _gold_candidate(self, word: str) -> str:
        labels = self.said.label
        if word in labels and labels[word] not in DISPLAYED:
            return labels[word]
        if number_text(word) in ("1", "2"):
            return FIRST if number_text(word) == "1" else SECOND
        said = meaning(word)
        return word if said is None else said[1]

    # Words that may be positions

    def _positions(self, words: Sequence[str]) -> Words | Problem:
        """Turn the words that were declared to be positions into candidates."""
        if self.order is None:
            raise TableError(
                f"{self.table}: no column says in which order the answers were shown, so a "
                "position names no candidate: add a column order with AB or BA, or leave positions "
                "out"
            )
        self._know_orders()
        labels = self._labels()
        named = dict(zip(map(bare, words), (FIRST, SECOND, TIE), strict=False))
        meant: dict[str, str] = {}
        strange = []
        for word in self.found:
            said = meaning(word)
            if bare(word) in named:
                meant[word] = named[bare(word)]
            elif word in labels:
                meant[word] = _SHOWN.get(labels[word], labels[word])
            elif said is not None and said[0] == "other":
                meant[word] = said[1]
            elif number_text(word) in map(number_text, words):
                at = [*map(number_text, words)].index(number_text(word))
                meant[word] = (FIRST, SECOND, TIE)[at]
            else:
                strange.append(word)
        if strange:
            return self._strange(words, sorted(strange))
        self._refuse_turned_twice(meant, words)
        return self._turned(
            meant,
            why="",
            notes=(_read_as(words),),
        )

    def _strange(self, words: Sequence[str], strange: Sequence[str]) -> Problem:
        said = list(words)
        return Problem(
            text=(
                f"verdict {strange[0]!r} stands beside the positions {listed(said)} "
                f"({listed(strange)}): name a word for a tie as the third position, as in "
                f"positions={[*said[:2], strange[0]]}, or say what each is:"
                f"{label_options(dict.fromkeys(strange, TIE))} (or ={INVALID})"
            ),
            choices=(
                Choice(when="it is a tie", wish=Wishes(label=dict.fromkeys(strange, TIE))),
                Choice(when="it is no verdict", wish=Wishes(label=dict.fromkeys(strange, INVALID))),
            ),
            whole=True,
        )

    def _displayed(self, labels: Mapping[str, str]) -> Words | Problem:
        """Turn labels that say what was displayed into candidates, where there are orders."""
        if self.order is None:
            return self._as_they_are(labels, {w: w for w in self.found if w not in labels})
        self._know_orders()
        meant: dict[str, str] = {}
        strange = []
        for word in self.found:
            said = meaning(word)
            if word in labels:
                meant[word] = _SHOWN.get(labels[word], labels[word])
            elif said is not None:
                meant[word] = said[1]
            else:
                strange.append(word)
        if strange:
            return self._strange(DISPLAYED[:2], sorted(strange))
        return self._turned(meant, why="")

    def _know_orders(self) -> None:
        unknown = [word for word, turned in self.orders.items() if turned is None]
        if unknown:
            place = quote(self.table)
            raise TableError(
                f"{self.table}: order {unknown[0]!r} is neither AB nor BA, so nobody knows which "
                "answer was shown first: write AB and BA, or say which it is, --map-order "
                f"{quote(f'{unknown[0]}=BA')}, as in `judgelaw import {place} --map-order "
                f"{quote(f'{unknown[0]}=BA')} --positions A,B`"
            )

    def _turned(self, meant: Mapping[str, str], *, why: str, notes: Sequence[str] = ()) -> Words:
        """Return words that mean the other answer where the second was shown first."""
        turned = {word: FLIPPED.get(verdict, verdict) for word, verdict in meant.items()}
        gold = {word: self._gold_candidate(word) for word in self.golden}
        also = None
        if self._gold_is_displayed():
            also = {word: FLIPPED.get(verdict, verdict) for word, verdict in gold.items()}
        return Words(
            plain=dict(meant),
            turned=turned,
            swapped=tuple(word for word, other in self.orders.items() if other),
            gold=gold,
            gold_turned=also,
            people=self._people(),
            why=why,
            notes=tuple(notes),
        )

    def _gold_is_displayed(self) -> bool:
        """Whether gold names what was displayed: then it changes with the order of an item."""
        if self.gold is None or self.order is None or self.order.turns:
            return False
        items = [self.look.text(c) for c in _columns(self.reading, "item")]
        order = self.order.columns[0]
        changes = self.look.varying(items, [order, self.gold])
        same = self.look.varying([*items, self.look.text(order)], [self.gold])
        met = changes.within[order]
        return met > 0 and changes.within[self.gold] >= met and not same.within[self.gold]

    def _letters(self, rest: Sequence[str], labels: Mapping[str, str]) -> Words | Problem:
        """Decide whether letters are positions or answers, by what the table shows of them."""
        sides = {word: _side_of(word) for word in rest}
        sides |= {w: _SHOWN.get(v, v) for w, v in labels.items() if w in self.found}
        strange = sorted(word for word, side in sides.items() if side is None)
        known = {word: side for word, side in sides.items() if side is not None}
        pair = [next((w for w in rest if known.get(w) == side), None) for side in (FIRST, SECOND)]
        if strange and not {FIRST, SECOND} <= {*known.values()}:
            return self._as_they_are(labels, {word: number_text(word) for word in rest})
        if strange:
            return Problem(
                text=f"verdict {strange[0]!r} stands beside the letters "
                f"{listed(sorted(known))}: say what it is:{what_else(strange)}",
                choices=(
                    Choice(when="it is a tie", wish=Wishes(label=dict.fromkeys(strange, TIE))),
                    Choice(
                        when="it is no verdict",
                        wish=Wishes(label=dict.fromkeys(strange, INVALID)),
                    ),
                ),
                whole=True,
            )
        names = [word or letter for word, letter in zip(pair, "AB", strict=True)]
        return self._decided(names, known)

    def _decided(self, names: Sequence[str], known: Mapping[str, str]) -> Words | Problem:
        """Return what letters of two answers become."""
        if self.order is not None and self.order.turns:
            columns = " and ".join(self.order.columns)
            return self._turned(known, why=f"they name the columns {columns} of their row")
        evidence = self._evidence(known)
        if evidence is not None and evidence.restored:
            return self._as_answers(known, why=f"restored already: {evidence.why}")
        if evidence is not None:
            notes = (f"{_read_as(names)}: {evidence.why}",)
            found = self._turned(known, why=f"positions: {evidence.why}", notes=notes)
            return replace(found, wish=Wishes(positions=(names[0], names[1])))
        if self.said.map_order and None not in self.orders.values():
            return self._turned(known, why="positions, since orders were said to be displays")
        return self._ask(names, known)

    def _evidence(self, sides: Mapping[str, str]) -> Evidence | None:
        """Look at replies, at a flag of right verdicts, at agreement with gold."""
        if None in self.orders.values() or set(self.orders.values()) != {True, False}:
            return None
        replies, flags = self._beside()
        for reply in replies or ("",):
            for flag in flags or ("",):
                calls = self._calls(sides, reply, flag)
                found = shown_or_restored(calls, reply, flag)
                if found is not None:
                    return found
        return None

    def _beside(self) -> tuple[list[str], list[str]]:
        """Return the columns of replies, and those that say whether a verdict is right."""
        replies, flags = [], []
        taken = {c for role in self.reading.roles.values() for c in role.columns}
        for column in self.reading.opened.columns:
            if column in taken:
                continue
            name = folded(column)
            if _FLAG.fullmatch(name):
                flags.append(column)
            elif (
                ASIDE["words of the reply"].fullmatch(name)
                or (INPUTS.fullmatch(name) and re.search("response|output|completion", name))
                or self.look.stat(column).longest > FEW
            ):
                replies.append(column)
        return replies, flags

    def _calls(self, sides: Mapping[str, str], reply: str, flag: str) -> list[SaidCall]:
        columns = {"order": self._order_sql(), "verdict": self.look.text(self.column)}
        if self.gold is not None and not self._gold_is_displayed():
            columns["gold"] = self.look.text(self.gold)
        if reply:
            columns["reply"] = self.look.text(reply)
        if flag:
            columns["flag"] = self.look.text(flag)
        found = []
        for row in self.look.sample(columns):
            each = dict(zip(columns, row, strict=True))
            side = sides.get(each["verdict"] or "")
            turned = self.orders.get(each["order"] or "")
            if side not in (FIRST, SECOND) or turned is None:
                continue
            gold = each.get("gold")
            found.append(
                SaidCall(
                    swapped=turned,
                    verdict=side,
                    gold=None if gold is None else self._gold_candidate(gold),
                    right=_truth(each.get("flag")),
                    reply=each.get("reply"),
                )
            )
        return found

    def _order_sql(self) -> str:
        from judgelaw.tables.relation import order_sql  # noqa: PLC0415 - it needs no words

        assert self.order is not None  # noqa: S101 - asked where there are orders
        return order_sql(self.reading.opened, self.order)

    def _refuse_turned_twice(self, meant: Mapping[str, str], words: Sequence[str]) -> None:
        """Refuse positions where gold shows that the verdicts were candidates already."""
        if self.gold is None or self._gold_is_displayed():
            return
        right: dict[bool, list[bool]] = {False: [], True: []}
        for call in self._calls(meant, "", ""):
            if call.gold in (FIRST, SECOND):
                verdict = FLIPPED[call.verdict] if call.swapped else call.verdict
                right[call.swapped].append(verdict == call.gold)
        kept, turned = right[False], right[True]
        if not (far(kept, above=True) and far(turned, above=False)):
            return
        first, second = words[:2]
        raise TableError(
            f"{self.table}: with --positions {','.join(words)} the verdicts agree with gold in "
            f"{sum(kept)} of {len(kept)} calls in the order AB, and in {sum(turned)} of "
            f"{len(turned)} in the order BA: they were turned into candidates before. Leave "
            "--positions out and say that they name the answers:"
            + label_options({first: FIRST, second: SECOND})
        )

    def _first_place(self) -> str:
        """Say where the first verdict stands."""
        opened = self.reading.opened
        if not opened.locator.columns:
            return self.table
        places = ", ".join(opened.locator.columns)
        with foreign_errors(opened.table):
            first = opened.con.execute(
                f"SELECT {places} FROM {opened.source} ORDER BY {places} LIMIT 1"  # noqa: S608 - quoted
            ).fetchall()
        return opened.locator.places(first)[0]

    def _ask(self, names: Sequence[str], sides: Mapping[str, str]) -> Problem:
        """Ask whether letters are positions or names."""
        words = sorted(sides)
        shown = ",".join(names)
        python = tuple(names)
        others = {w: v for w, v in sides.items() if v not in (FIRST, SECOND) and meaning(w) is None}
        unknown = [word for word, turned in self.orders.items() if turned is None]
        orders: dict[str, str] = {}
        if unknown:
            known = [word for word, turned in self.orders.items() if turned is not None]
            orders = dict(zip(sorted([*unknown, *known]), ("AB", "BA"), strict=False))
            orders = {word: order for word, order in orders.items() if word in unknown}
        also = "".join(f" --map-order {quote(f'{w}={o}')}" for w, o in orders.items())
        labels = {word: side for word, side in sides.items() if word != side}
        as_names = labels_of(words) if all(meaning(w) for w in words) else labels
        declared = f"--verdicts {quote(','.join(words))}"
        return Problem(
            text=(
                f"{self._first_place()}: the verdicts are the letters {', '.join(words)}, and "
                f"answers were shown in several orders: if {names[0]} means the answer shown "
                "first, a judge that likes a position looks steady, and a steady one does not. "
                f"Nothing in the table tells which it is (in Python positions={python!r}, or "
                f"verdicts={words}, which keeps the words as they are like {declared}). If they "
                f"are positions, turn them into candidates: --positions {quote(shown)}{also}; if "
                f"they name the answers, say which:{label_options(as_names)}"
            ),
            choices=(
                Choice(
                    when="they are positions",
                    wish=Wishes(positions=python, label=others, map_order=orders),
                ),
                Choice(when="they name the answers", wish=Wishes(verdicts=tuple(words))),
            ),
            whole=True,
        )


def _read_as(words: Sequence[str]) -> str:
    return f"{words[0]!r} was read as the answer shown first, {words[1]!r} as the one shown second"


def _side_of(word: str) -> str | None:
    if number_text(word) in ("1", "2"):
        return FIRST if number_text(word) == "1" else SECOND
    if bare(word) == "c":
        return TIE if word.strip() != "C" and word.strip() != "c" else None
    said = meaning(word)
    return None if said is None else said[1]


def _truth(value: str | None) -> bool | None:
    word = (value or "").strip().casefold()
    if word in ("true", "1", "1.0", "yes"):
        return True
    return False if word in ("false", "0", "0.0", "no") else None


def _unbracketed(word: str) -> str:
    found = re.fullmatch(r"\s*\[\[\s*(.+?)\s*\]\]\s*", word)
    return found[1] if found else word


def _changed(words: Mapping[str, str]) -> dict[str, str]:
    return {word: meant for word, meant in words.items() if word != meant}


def _parsed(look: Look, reading: TableReading, said: Wishes) -> Words:
    """Verdicts that a parser reads are what was displayed: candidates by the order of each call."""
    if said.parser is None:
        return Words()
    order = reading.roles.get("order")
    if order is None or not order.columns:
        return Words(why=f"read by {said.parser}")
    flag = not order.turns and is_flag(order.columns[0])
    labels = ["AB", "BA"] if order.turns else look.words(order.columns[0])
    known = {
        word: said.map_order[word] == "BA" if word in said.map_order else swapped(word, flag=flag)
        for word in labels
    }
    strange = [word for word, turned in known.items() if turned is None]
    if strange:
        raise TableError(
            f"{look.opened.table}: order {strange[0]!r} is neither AB nor BA: say which it is, "
            f"--map-order {quote(f'{strange[0]}=BA')}"
        )
    meant = {each: each for each in DEFAULT_VERDICTS}
    return Words(
        plain=meant,
        turned={each: FLIPPED.get(each, each) for each in DEFAULT_VERDICTS},
        swapped=tuple(word for word, other in known.items() if other),
        gold=_golden(look, reading),
        why=f"read by {said.parser}, and turned from positions into answers",
    )


def _golden(look: Look, reading: TableReading) -> dict[str, str]:
    """Write gold labels of answers as candidates."""
    role = reading.roles.get("gold")
    words = look.words(role.columns[0]) if role is not None and role.columns else []
    return {word: said[1] for word in words if (said := meaning(word)) is not None}


_PATTERNS = (
    (r"\[\[([^\[\]\s]{1,12})\]\]", r"\[\[([^\[\]\s]{1,12})\]\]"),
    *(
        (rf"(?i)\b{word}\W{{0,3}}[:=]\W{{0,4}}([A-Za-z]{{1,12}}|\d+)", word)
        for word in (
            *("verdict", "choice", "winner", "decision", "judgment", "judgement", "preference"),
            *("rating", "score", "grade", "label", "answer"),
        )
    ),
)
_ALL = 0.9
_OPTIONS = 6


def choice_in_texts(look: Look, column: str) -> tuple[str, list[str]] | None:
    """Find what most texts of a column say after one word: a pattern, and the values it takes.

    >>> import re
    >>> re.search(_PATTERNS[2][0], "Choice: A. Reason: ...")[1]
    'A'
    """
    texts = [text for (text,) in look.sample({"text": look.text(column)}) if text]
    if not texts:
        return None
    for pattern, word in _PATTERNS:
        compiled = re.compile(pattern)
        found = [each.group(1) for text in texts if (each := compiled.search(text))]
        values = sorted(set(found))
        if len(found) >= _ALL * len(texts) and 1 < len(values) <= _OPTIONS:
            if word == pattern:
                return rf"\[\[({'|'.join(map(re.escape, values))})\]\]", values
            marks = (re.search(rf"(?i)\b{word}", text) for text in texts)
            mark = next(each[0] for each in marks if each is not None)
            return rf"{mark}\W*({'|'.join(map(re.escape, values))})", values
    return None
