"""The first look at a table: who judged, in which alphabet, and what is wrong with it."""

# ruff: noqa: S608 - names and literals in the SQL below are our own, or quoted by `duck`
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import duckdb

from judgelaw.duck import foreign_errors, text
from judgelaw.errors import DuplicateCallsError, InputError, TableError
from judgelaw.tables.calls import WORD, Calls, Pair, Row, Tally, place_of
from judgelaw.tables.columns import EMPTY, is_empty
from judgelaw.tensor import DEFAULT_VERDICTS, INVALID
from judgelaw.words import candidate_names, candidate_number, counted, did_you_mean, listed

MOST_VERDICTS = 1000
"""A column with more values than this holds completions or ids, not verdicts."""

_SYNONYMS = {"bot": INVALID, "⊥": INVALID}
"""Other names of the usual verdicts, as the paper's released tables write them."""

_BESIDES = DEFAULT_VERDICTS[2:]


@dataclass(frozen=True, kw_only=True)
class Alphabet:
    """The verdicts in the order of their codes, and the code of every spelling in the table.

    Attributes:
        verdicts: by code.
        codes: by spelling.
        notes: what was taken for what, in words.
    """

    verdicts: tuple[str, ...]
    codes: Mapping[str, int]
    notes: tuple[str, ...] = ()

    @property
    def planes(self) -> tuple[tuple[str, ...], ...]:
        """The spellings whose code has bit 0, bit 1, ... set."""
        bits = max(len(self.verdicts) - 1, 0).bit_length()
        return tuple(
            tuple(sorted(raw for raw, code in self.codes.items() if code >> bit & 1))
            for bit in range(bits)
        )

    def name(self, raw: str) -> str | None:
        """The verdict that a spelling stands for, None for a spelling outside the alphabet."""
        code = self.codes.get(raw)
        return None if code is None else self.verdicts[code]


def empty_test(sql: str) -> str:
    """Return the SQL that says the same of a text."""
    names = ", ".join(text(word) for word in sorted(EMPTY))
    return f"({sql} IS NULL OR lower(trim({sql}, ' \t\n\r')) IN ({names}))"


def strangers(found: Collection[str], given: tuple[str, ...] | None) -> list[str]:
    """List the spellings that no alphabet for this table allows.

    With an alphabet given, whatever lies outside it. Without one, a table that says `candidate_1`
    or `candidate_2` speaks the usual four, and other words are slips: so is `candidate_9`, unless
    most candidates up to the ninth are named too.
    """
    if given is not None and set(given) == set(DEFAULT_VERDICTS):
        return sorted(raw for raw in found if _fold(raw) not in DEFAULT_VERDICTS)
    if given is None and any(map(_candidate, found)):
        n = _candidates(found)
        return sorted(raw for raw in found if not _is_usual(raw) or (_candidate(raw) or 0) > n)
    return [] if given is None else sorted(set(found) - set(given))


def _candidate(raw: str) -> int | None:
    return candidate_number(_fold(raw))


def _is_usual(raw: str) -> bool:
    return _fold(raw) in _BESIDES or _candidate(raw) is not None


def _candidates(words: Collection[str]) -> int:
    """Return how many candidates there are: the largest number up to which most are named."""
    numbers = sorted({1, 2, *(n for raw in words if (n := _candidate(raw)) is not None)})
    return max(n for place, n in enumerate(numbers, 1) if 2 * place >= n)


def choose_alphabet(
    found: Collection[str],
    gold: Collection[str],
    given: tuple[str, ...] | None,
    *,
    table: str,
) -> Alphabet:
    """Choose the alphabet of a table without strangers.

    The one given; else the usual four where all verdicts are among them (so that one which never
    occurs still has its column); else the verdicts and gold labels found, sorted, by value where
    all are numbers. Case, outer blanks and synonyms are folded for the usual four only.
    """
    if len(found) > MOST_VERDICTS:
        some = ", ".join(repr(raw) for raw in sorted(found)[:3])
        raise TableError(
            f"{table}: the verdict column holds {len(found)} different values ({some}, ...); "
            f"a verdict is one of a few, {MOST_VERDICTS} at most: map the column of parsed "
            "verdicts with columns={'verdict': NAME}; of scores round to three digits, and say "
            "between which ends they are, --scale 0..1"
        )
    if given is not None and set(given) != set(DEFAULT_VERDICTS):
        return Alphabet(verdicts=given, codes={raw: given.index(raw) for raw in given})
    if all(map(_is_usual, found)):
        several = (*candidate_names(_candidates({*found, *gold})), *_BESIDES)
        return _usual(found, gold, given or several)
    words = _sorted({*found, *(g for g in gold if not is_empty(g))})
    _refuse_twins(words, table)
    return Alphabet(
        verdicts=words,
        codes={raw: code for code, raw in enumerate(words)},
    )


def _usual(found: Collection[str], gold: Collection[str], verdicts: tuple[str, ...]) -> Alphabet:
    # Gold labels may name a candidate by its number, as LLMBar does.
    numbered = {v.removeprefix("candidate_"): v for v in verdicts if candidate_number(v)}
    spellings = {raw: numbered[raw] for raw in gold if raw in numbered}
    spellings |= {raw: _fold(raw) for raw in (*verdicts, *found, *gold) if _fold(raw) in verdicts}
    folded = sorted(raw for raw in found if raw != spellings[raw])
    notes: tuple[str, ...] = ()
    if folded:
        pairs = ", ".join(f"{raw!r} as {spellings[raw]!r}" for raw in folded)
        notes = (f"verdicts were read without regard to case and synonyms: {pairs}",)
    codes = {raw: verdicts.index(word) for raw, word in spellings.items()}
    return Alphabet(verdicts=verdicts, codes=codes, notes=notes)


def _fold(raw: str) -> str:
    word = raw.strip().casefold()
    return _SYNONYMS.get(word, word)


def _sorted(words: set[str]) -> tuple[str, ...]:
    try:
        return tuple(sorted(words, key=lambda word: (float(word), word)))
    except ValueError:
        return tuple(sorted(words))


def _refuse_twins(words: Sequence[str], table: str) -> None:
    """Two verdicts that differ by case or blanks are one written twice, or must be declared."""
    first: dict[str, str] = {}
    for word in words:
        twin = first.setdefault(word.strip().casefold(), word)
        if twin != word:
            raise TableError(
                f"{table}: verdicts {twin!r} and {word!r} differ only by case or blanks: write "
                f"them alike, or declare both with verdicts={list(words)}"
            )


MOST_RANKS = 65_536


@dataclass(frozen=True, kw_only=True)
class Census:
    """What a table holds.

    Attributes:
        table: how to call it in a message.
        calls: how many rows it has.
        ranks: the ranks of every (layer, judge), from 0 on.
        alphabet: the verdicts.
        found: the verdicts as they are written.
        first: the lowest rank of every (layer, judge), 0 or 1.
    """

    table: str
    calls: int
    ranks: Mapping[Pair, int]
    alphabet: Alphabet
    found: frozenset[str] = frozenset()
    first: Mapping[Pair, int] = field(default_factory=dict)


def take_census(calls: Calls, given: tuple[str, ...] | None) -> Census:
    """Tally the table and refuse what no estimate can be made of, naming the first such row."""
    tallies = calls.tallies()
    if not tallies:
        raise TableError(f"{calls.table} holds no call: there is nothing to read")
    _check_names(calls, tallies)
    _check_verdicts(calls, tallies, given)
    first = _check_ranks(calls, tallies)
    ranks: dict[Pair, int] = {}
    for tally in sorted(tallies, key=lambda t: (t.layer or "", t.judge or "")):
        pair = (tally.layer, tally.judge)
        ranks[pair] = max(ranks.get(pair, 0), (tally.high or 0) + 1)
    found = {t.verdict for t in tallies if t.verdict is not None}
    gold = {t.gold for t in tallies if t.gold is not None} | calls.layout.soft_beside(found)
    return Census(
        table=calls.table,
        calls=sum(tally.calls for tally in tallies),
        ranks=ranks,
        alphabet=choose_alphabet(found, gold, given, table=calls.table),
        found=frozenset(found),
        first=first,
    )


def choose_pair(census: Census, judge: str | None, layer: str | None) -> Pair:
    """Pick the one judge and layer that the caller named, or the only ones there are."""
    pairs = list(census.ranks)
    if judge is not None:
        pairs = choose_judges(census, [judge])
    if layer is not None:
        known = {known for known, _ in pairs}
        pairs = [pair for pair in pairs if pair[0] == layer]
        if not pairs:
            raise TableError(_unknown(census.table, "layer", layer, known))
    for position, part in ((1, "judge"), (0, "layer")):
        names = sorted({str(pair[position]) for pair in pairs})
        if len(names) > 1:
            raise TableError(
                f"{census.table} holds {len(names)} {part}s, {listed(names)}, and none is named: "
                f"pass {part}={names[0]!r} (--{part} on the command line), or take all of them "
                "with judgelaw.tables.read_tensors"
            )
    return pairs[0]


def choose_judges(census: Census, judges: Iterable[str] | None) -> list[Pair]:
    """Keep the pairs of the named judges; of all judges if no name is given."""
    if judges is None:
        return list(census.ranks)
    if isinstance(judges, str):
        raise InputError(f"judges = {judges!r} is one string: pass a list of names")
    wanted = set(judges)
    known = {judge for _, judge in census.ranks if judge is not None}
    if strange := sorted(wanted - known):
        raise TableError(_unknown(census.table, "judge", strange[0], known))
    return [pair for pair in census.ranks if pair[1] in wanted]


def _check_names(calls: Calls, tallies: Sequence[Tally]) -> None:
    """Every row names its judge; either every row names its layer or none does."""
    for part in ("judge", "layer"):
        values = {getattr(tally, part) for tally in tallies}
        missing = sorted(values & {None, ""}, key=str)
        if missing and (part == "judge" or len(values) > 1):
            refuse_label(calls, part, missing[0])


def refuse_label(calls: Calls, part: str, value: str | None) -> NoReturn:
    """Refuse a row whose field `part` is empty."""
    place = place_of(calls, {part: value})
    raise TableError(
        f"{place}: the {part} is empty: every call names its {part}: "
        f"fill the column {calls.layout.shown(part)!r}"
        + ("" if part != "layer" else " in every row, or leave it out with columns={'layer': None}")
    )


def _check_verdicts(calls: Calls, tallies: Sequence[Tally], given: tuple[str, ...] | None) -> None:
    words = {tally.verdict for tally in tallies if tally.verdict is not None}
    if unknown := strangers(words, given):
        rows = sum(tally.calls for tally in tallies if tally.verdict in unknown)
        alphabet = "the alphabet given" if given else "the usual four that the table speaks"
        place = place_of(calls, {"verdict": unknown[0]})
        raise TableError(
            f"{place}: verdict {unknown[0]!r} is not in {alphabet}"
            f"{did_you_mean(unknown[0], given or DEFAULT_VERDICTS)}; {counted(rows, 'such row')}, "
            f"{listed(unknown)}: correct them, or declare the whole alphabet with verdicts=[...]"
        )


def _check_ranks(calls: Calls, tallies: Sequence[Tally]) -> dict[Pair, int]:
    """Ranks are whole numbers that count from 0, or from 1, for every judge and layer."""
    column = calls.layout.shown("repeat")
    if wrong := sum(tally.calls - tally.ranked for tally in tallies):
        row = calls.find({"repeat": None}, at_most=1)[0]
        raise TableError(
            f"{row.place}: repeat {row.values['repeat'] or ''!r} is no whole number "
            f"({counted(wrong, 'such row')}): check that repeat holds whole numbers, which "
            "count the calls of a cell 0, 1, 2, ..."
        )
    lows: dict[Pair, int] = {}
    for tally in tallies:
        pair = (tally.layer, tally.judge)
        lows[pair] = min(lows.get(pair, MOST_RANKS), tally.low or 0)
    if (low := min(lows.values())) < 0:
        place = place_of(calls, {"repeat": low})
        raise TableError(
            f"{place}: repeat {low} is negative, and repeats count from 0: "
            f"renumber the column {column!r}"
        )
    high = max(tally.high or 0 for tally in tallies)
    if high >= MOST_RANKS:
        place = place_of(calls, {"repeat": high})
        raise TableError(
            f"{place}: repeat {high}: a rank counts the calls of its cell "
            f"from 0 and lies below {MOST_RANKS}: is {column!r} a seed or a time? Number the "
            "calls of a cell 0, 1, 2, ..."
        )
    for (layer, judge), low in lows.items():
        if low > 1:
            where = {"judge": judge, "repeat": low} | ({} if layer is None else {"layer": layer})
            place = place_of(calls, where)
            raise TableError(
                f"{place}: repeat {low} is the lowest of judge {judge!r}, and "
                f"repeats count from 0 or 1: subtract {low}, as in frame[{column!r}] -= {low}"
            )
    return lows


def _unknown(table: str, part: str, value: str, known: Iterable[str | None]) -> str:
    names = sorted(str(name) for name in known if name is not None)
    there = f"it has {listed(names)}" if names else f"it has no column {part!r}"
    return f"{table}: no {part} is called {value!r}{did_you_mean(value, names)}: {there}"


_KEYS = ("layer", "judge", "item", "prompt", "order")
_NAMED_AT_MOST = 3
_ROWS_OF_A_CELL = 100_000
_SPARSE = 8
_FEW = 2 * WORD


def check_cells(con: duckdb.DuckDBPyConnection, calls: Calls, ranks: int) -> None:
    """Refuse cells that cannot be those of a design with `ranks` repeats at most."""
    with foreign_errors(calls.table):
        _refuse_empty_labels(con, calls)
        _refuse_sparse_ranks(con, calls, ranks)
        _refuse_duplicates(con, calls)


def _refuse_empty_labels(con: duckdb.DuckDBPyConnection, calls: Calls) -> None:
    for part in ("item", "prompt", "order"):
        empty = con.execute(
            f"SELECT \"{part}\" FROM cells WHERE coalesce(\"{part}\", '') = '' LIMIT 1"
        ).fetchone()
        if empty:
            refuse_label(calls, part, empty[0])


def _refuse_duplicates(con: duckdb.DuckDBPyConnection, calls: Calls) -> None:
    """Refuse a table in which a (judge, layer, item, prompt, order, repeat) has several rows."""
    keys = ", ".join(f'"{key}"' for key in _KEYS)
    twice = con.execute(
        f"SELECT DISTINCT {keys} FROM cells WHERE n <> bit_count(presence) ORDER BY {keys}"
    ).fetchall()
    if not twice:
        return
    named = [_describe(calls, dict(zip(_KEYS, row, strict=True))) for row in twice[:_NAMED_AT_MOST]]
    raise DuplicateCallsError(
        f"{calls.table}: the same call is there again in {counted(len(twice), 'cell')}: "
        f"{'; '.join(named)}: a call has one verdict: "
        "remove the surplus rows, or give separate calls a repeat or layer of their own"
    )


def are_sparse(ranks: int, most: int) -> bool:
    """Say whether ranks run far beyond `most`, the calls of the fullest cell."""
    return ranks > _FEW and ranks > _SPARSE * most


def _refuse_sparse_ranks(con: duckdb.DuckDBPyConnection, calls: Calls, ranks: int) -> None:
    """Refuse ranks that run far beyond the number of calls that any cell holds."""
    if ranks <= _FEW:
        return
    keys = ", ".join(f'"{key}"' for key in _KEYS)
    largest = con.execute(
        f"SELECT max(n) FROM (SELECT sum(n)::BIGINT AS n FROM cells GROUP BY {keys})"
    ).fetchone()
    most = largest[0] if largest else 0
    if are_sparse(ranks, most):
        place = place_of(calls, {"repeat": ranks - 1})
        raise TableError(
            f"{place}: repeat {ranks - 1}, but no cell holds more than {most} calls: repeat "
            "counts the calls of one cell (item x prompt x order): number them 0, 1, 2, ... there"
        )


def _describe(calls: Calls, cell: Mapping[str, str | None]) -> str:
    where = {key: value for key, value in cell.items() if calls.layout.has(key)}
    by_rank: defaultdict[float, list[Row]] = defaultdict(list)
    for row in calls.find(where, at_most=_ROWS_OF_A_CELL):
        by_rank[float(row.values["repeat"] or "nan")].append(row)
    keys = ", ".join(f"{key} {value!r}" for key, value in where.items())
    twice = [(rank, rows) for rank, rows in sorted(by_rank.items()) if len(rows) > 1]
    if not twice:  # beyond the rows looked at
        return keys
    rank, rows = twice[0]
    places = ", ".join(dict.fromkeys(row.place for row in rows[:5]))
    verdicts = ", ".join(repr(row.values["verdict"]) for row in rows[:5])
    return f"{keys}, repeat {rank:.0f} has {len(rows)} rows ({places}; verdicts {verdicts})"
