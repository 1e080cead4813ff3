"""The first look at a table: who judged, in which alphabet, to which rank."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NoReturn

from judgelaw.errors import InputError, TableError
from judgelaw.tables._calls import Calls, Pair, Tally
from judgelaw.tables._verdicts import Alphabet, choose_alphabet, is_empty, strangers

MOST_RANKS = 65_536
_NAMED_AT_MOST = 20


@dataclass(frozen=True, kw_only=True)
class Census:
    """What a table holds: the ranks of every (layer, judge), and the alphabet."""

    table: str
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
    return Census(table=calls.table, ranks=ranks, alphabet=choose_alphabet(found, gold, given))


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
                f"{census.table} holds {len(names)} {part}s, {_listed(names)}, and none is named: "
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
    known = {judge for _, judge in census.ranks}
    for judge in sorted(wanted - known):
        raise TableError(_unknown(census.table, "judge", judge, known))
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
    place = calls.find({part: value}, at_most=1)[0].place
    raise TableError(
        f"{place}: the {part} is empty: every call names its {part}: fill the column "
        f"{calls.layout.columns[part]!r}"
        + ("" if part != "layer" else " in every row, or leave it out with columns={'layer': None}")
    )


def _check_verdicts(calls: Calls, tallies: Sequence[Tally], given: tuple[str, ...] | None) -> None:
    found = {tally.verdict for tally in tallies}
    for raw in sorted(found, key=str):
        if is_empty(raw):
            rows = sum(tally.calls for tally in tallies if is_empty(tally.verdict))
            place = calls.find({"verdict": raw}, at_most=1)[0].place
            raise TableError(
                f"{place}: the verdict is empty ({raw!r}; {rows} such rows): a completed call has "
                "a verdict, 'invalid' at worst, and a call that never completed has no row"
            )
    words = {raw for raw in found if raw is not None}
    if unknown := strangers(words, given):
        place = calls.find({"verdict": unknown[0]}, at_most=1)[0].place
        rows = sum(tally.calls for tally in tallies if tally.verdict in unknown)
        alphabet = "the alphabet given" if given else "the usual four that the table speaks"
        near = get_close_matches(unknown[0], given or ("candidate_1", "candidate_2", "tie"), n=1)
        raise TableError(
            f"{place}: verdict {unknown[0]!r} is not in {alphabet}"
            f"{f' (did you mean {near[0]!r}?)' if near else ''}; {rows} such rows, "
            f"{_listed(unknown)}: correct them, or declare the whole alphabet with verdicts=[...]"
        )


def _check_ranks(calls: Calls, tallies: Sequence[Tally]) -> None:
    """Ranks are whole numbers that count from 0 for every judge and layer."""
    if wrong := sum(tally.calls - tally.ranked for tally in tallies):
        row = calls.find({"repeat": None}, at_most=1)[0]
        raise TableError(
            f"{row.place}: repeat {row.values['repeat']!r} is no whole number ({wrong} such "
            "rows): number the calls of a cell 0, 1, 2, ..."
        )
    lows: dict[Pair, int] = {}
    for tally in tallies:
        pair = (tally.layer, tally.judge)
        lows[pair] = min(lows.get(pair, MOST_RANKS), tally.low or 0)
    column = calls.layout.columns["repeat"]
    for low in (low for low in lows.values() if low != 0):
        row = calls.find({"repeat": low}, at_most=1)[0]
        whose = f"the ranks of judge {row.values['judge']!r} start at {low}"
        remedy = f"subtract {low} from" if low > 0 else "renumber"
        raise TableError(
            f"{row.place}: repeat {low}: {whose}, and repeats count from 0: "
            f"{remedy} column {column!r}, frame[{column!r}] -= {low}"
            if low > 0
            else f"{row.place}: repeat {low} is negative, and repeats count from 0: "
            f"{remedy} column {column!r}"
        )
    high = max(tally.high or 0 for tally in tallies)
    if high >= MOST_RANKS:
        place = calls.find({"repeat": high}, at_most=1)[0].place
        raise TableError(
            f"{place}: repeat {high}: a rank counts the calls of its cell from 0 and lies below "
            f"{MOST_RANKS}: is {column!r} a seed or a time? Number the calls of a cell 0, 1, 2, ..."
        )


def _unknown(table: str, part: str, value: str, known: Iterable[str | None]) -> str:
    names = sorted(str(name) for name in known if name is not None)
    near = get_close_matches(value, names, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    there = f"it has {_listed(names)}" if names else f"it has no column {part!r}"
    return f"{table}: no {part} is called {value!r}{hint}: {there}"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_NAMED_AT_MOST])
    more = len(names) - _NAMED_AT_MOST
    return f"{shown} and {more} more" if more > 0 else shown
