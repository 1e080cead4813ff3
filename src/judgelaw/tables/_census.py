"""The first look at a table: who judged, in which alphabet, to which rank."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from judgelaw.errors import InputError, TableError
from judgelaw.tables._calls import Calls, Pair, Tally, place_of
from judgelaw.tables._verdicts import Alphabet, choose_alphabet, is_empty, strangers
from judgelaw.tables._words import counted, did_you_mean, listed
from judgelaw.tensor import DEFAULT_VERDICTS

MOST_RANKS = 65_536


@dataclass(frozen=True, kw_only=True)
class Census:
    """What a table holds: the ranks of every (layer, judge), and the alphabet."""

    table: str
    calls: int
    ranks: Mapping[Pair, int]
    alphabet: Alphabet


def take_census(calls: Calls, given: tuple[str, ...] | None) -> Census:
    """Tally the table and refuse what no estimate can be made of, naming the first such row."""
    tallies = calls.tallies()
    if not tallies:
        raise TableError(f"{calls.table} holds no call: there is nothing to read")
    _check_names(calls, tallies)
    _check_verdicts(calls, tallies, given)
    _check_ranks(calls, tallies)
    ranks: dict[Pair, int] = {}
    for tally in sorted(tallies, key=lambda t: (t.layer or "", t.judge or "")):
        pair = (tally.layer, tally.judge)
        ranks[pair] = max(ranks.get(pair, 0), (tally.high or 0) + 1)
    found = {t.verdict for t in tallies if t.verdict is not None}
    gold = {t.gold for t in tallies if t.gold is not None}
    return Census(
        table=calls.table,
        calls=sum(tally.calls for tally in tallies),
        ranks=ranks,
        alphabet=choose_alphabet(found, gold, given, table=calls.table),
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
    """Keep the pairs of the named judges, of all of them where none is named."""
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
        f"fill the column {calls.layout.columns[part]!r}"
        + ("" if part != "layer" else " in every row, or leave it out with columns={'layer': None}")
    )


def _check_verdicts(calls: Calls, tallies: Sequence[Tally], given: tuple[str, ...] | None) -> None:
    found = {tally.verdict for tally in tallies}
    if empty := sorted((raw for raw in found if is_empty(raw)), key=str):
        raw = empty[0]
        rows = sum(tally.calls for tally in tallies if tally.verdict in empty)
        shown = "" if raw is None else f" {raw!r}"
        place = place_of(calls, {"verdict": raw})
        raise TableError(
            f"{place}: the verdict{shown} is empty "
            f"({counted(rows, 'such row')}): a completed call has a verdict, 'invalid' at worst, "
            "and a call that never completed has no row"
        )
    words = {raw for raw in found if raw is not None}
    if unknown := strangers(words, given):
        rows = sum(tally.calls for tally in tallies if tally.verdict in unknown)
        alphabet = "the alphabet given" if given else "the usual four that the table speaks"
        place = place_of(calls, {"verdict": unknown[0]})
        raise TableError(
            f"{place}: verdict {unknown[0]!r} is not in {alphabet}"
            f"{did_you_mean(unknown[0], given or DEFAULT_VERDICTS)}; {counted(rows, 'such row')}, "
            f"{listed(unknown)}: correct them, or declare the whole alphabet with verdicts=[...]"
        )


def _check_ranks(calls: Calls, tallies: Sequence[Tally]) -> None:
    """Ranks are whole numbers that count from 0 for every judge and layer."""
    column = calls.layout.columns["repeat"]
    if wrong := sum(tally.calls - tally.ranked for tally in tallies):
        row = calls.find({"repeat": None}, at_most=1)[0]
        raise TableError(
            f"{row.place}: repeat {row.values['repeat'] or ''!r} is no whole number "
            f"({counted(wrong, 'such row')}): number the calls of a cell 0, 1, 2, ..."
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
        if low > 0:
            where = {"judge": judge, "repeat": low} | ({} if layer is None else {"layer": layer})
            place = place_of(calls, where)
            raise TableError(
                f"{place}: repeat {low} is the lowest of judge {judge!r}, and "
                f"repeats count from 0: subtract {low}, as in frame[{column!r}] -= {low}"
            )


def _unknown(table: str, part: str, value: str, known: Iterable[str | None]) -> str:
    names = sorted(str(name) for name in known if name is not None)
    there = f"it has {listed(names)}" if names else f"it has no column {part!r}"
    return f"{table}: no {part} is called {value!r}{did_you_mean(value, names)}: {there}"
