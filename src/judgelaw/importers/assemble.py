"""From imported calls to the columns of a calls table. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from judgelaw.design.judge_rules import DISPLAYED
from judgelaw.errors import DuplicateCallsError, TableError
from judgelaw.importers.copies import Copies, find_copies
from judgelaw.importers.rules import ORDERS
from judgelaw.importers.survey import Survey, survey_judge
from judgelaw.importers.values import ImportedCall
from judgelaw.render import restore

_INVALID = "invalid"
_CANDIDATES = frozenset({"candidate_1", "candidate_2"})
_NAMED = 5
_OPTIONAL = ("layer", "stratum", "order", "gold")


@dataclass(frozen=True, kw_only=True)
class Imported:
    """A calls table and what can be learnt from it."""

    columns: Mapping[str, list[str | int | None]]
    survey: Survey


@dataclass(frozen=True, kw_only=True)
class Advice:
    """How people change the tool that wrote the log: to draw afresh, and to repeat."""

    fresh: str
    repeat: str


def assemble(
    calls: Sequence[ImportedCall],
    *,
    advice: Advice,
    drop_copies: bool = False,
    left_out: Sequence[str] = (),
) -> Imported:
    """Restore candidates, refuse copies, rank repeats, and survey what is there.

    Raises:
        DuplicateCallsError: copies of one response would be counted as repeats.
        TableError: the calls do not make a table.
    """
    if not calls:
        why = f": every entry holds an error ({left_out[0]})" if left_out else ""
        raise TableError(f"the log holds no completion{why}")
    restored, notes = _restored([_with_gold(call) for call in calls])
    copies = find_copies(restored)
    if copies.found and not drop_copies:
        raise DuplicateCallsError(_refusal(copies, len(calls), advice))
    kept = copies.without(restored)
    streams: dict[tuple[str, str | None], list[ImportedCall]] = {}
    for call in kept:
        streams.setdefault((call.judge, call.layer), []).append(call)
    survey = Survey(
        judges=tuple(
            survey_judge(judge, layer, group, how_to_repeat=advice.repeat)
            for (judge, layer), group in streams.items()
        ),
        left_out=tuple(left_out),
        copies=len(copies.found),
        notes=(*notes, *copies.notes),
    )
    return Imported(columns=_columns(kept), survey=survey)


def _refusal(copies: Copies, total: int, advice: Advice) -> str:
    named = "".join(f"\n  {copy.call.place}: {copy.why}" for copy in copies.found[:_NAMED])
    more = len(copies.found) - _NAMED
    return (
        f"{len(copies.found)} of {total} calls are copies of other responses, not repeats: counted "
        f"as repeats they would make the judge look more constant than it is{named}"
        + (f"\n  and {more} more" if more > 0 else "")
        + f"\nTo get repeats, {advice.fresh}. To keep one of each, add --drop-copies."
    )


def _restored(calls: Sequence[ImportedCall]) -> tuple[list[ImportedCall], list[str]]:
    """Turn displayed letters into candidates where a display order is known.

    Only stored verdicts are at stake; a parser has restored its own.
    """
    shown = [call for call in calls if call.displayed and call.order is not None]
    if not shown:
        return list(calls), []
    words = {call.verdict.strip().upper() for call in shown} - {_INVALID.upper()}
    letters, others = words & set(DISPLAYED), sorted(words - set(DISPLAYED))
    if not letters & {"A", "B"}:
        if {word.lower() for word in words} & _CANDIDATES:
            return list(calls), []
        listed = ", ".join(sorted({call.verdict for call in shown})[:_NAMED])
        note = f"verdicts ({listed}) name no displayed position: no candidate was restored"
        return list(calls), [note]
    if others:
        place = next(c.place for c in shown if c.verdict.strip().upper() == others[0])
        raise TableError(
            f"{place}: verdict {others[0]!r} stands beside A and B: displayed letters are "
            f"restored to candidates, so say what it is, --label {others[0]}=TIE or =invalid"
        )
    return [_in_candidates(call) for call in calls], []


def _in_candidates(call: ImportedCall) -> ImportedCall:
    if call.order is None or not call.displayed:
        return call
    if call.order not in ORDERS:
        raise TableError(
            f"{call.place}: order {call.order!r} is neither AB nor BA: say which it is, "
            f"--map-order {call.order}=BA"
        )
    return replace(call, verdict=_candidate(call.verdict, call.order))


def _with_gold(call: ImportedCall) -> ImportedCall:
    """Restore a gold label that names a displayed letter, as the target of a sample does."""
    if call.gold is None or call.order not in ORDERS or call.gold.strip().upper() not in DISPLAYED:
        return call
    return replace(call, gold=_candidate(call.gold, call.order))


def _candidate(word: str, order: str) -> str:
    return restore(word.strip().upper(), order) or word.strip().lower()


def _columns(calls: Sequence[ImportedCall]) -> dict[str, list[str | int | None]]:
    ordered = next((call for call in calls if call.order is not None), None)
    bare = next((call for call in calls if call.order is None), None)
    if ordered is not None and bare is not None:
        raise TableError(
            f"{bare.place} has no order, {ordered.place} has {ordered.order!r}: name the field "
            "that holds it everywhere, --order FIELD"
        )
    ranks = _ranks(calls)
    take: dict[str, Callable[[ImportedCall], str | int | None]] = {
        "judge": lambda call: call.judge,
        "layer": lambda call: call.layer,
        "item": lambda call: call.item,
        "stratum": lambda call: call.stratum,
        "prompt": lambda call: call.prompt,
        "order": lambda call: call.order,
        "repeat": lambda call: ranks[call.place],
        "verdict": lambda call: call.verdict,
        "gold": lambda call: call.gold,
    }
    columns = {name: [of(call) for call in calls] for name, of in take.items()}
    return {
        name: values
        for name, values in columns.items()
        if name not in _OPTIONAL or any(value is not None for value in values)
    }


def _ranks(calls: Sequence[ImportedCall]) -> dict[str, int]:
    """Count the calls of every cell from 0, by stated rank, else in the order of the log."""
    cells: dict[object, list[ImportedCall]] = {}
    for call in calls:
        cells.setdefault(call.cell, []).append(call)
    ranks: dict[str, int] = {}
    for cell in cells.values():
        stated: dict[int, ImportedCall] = {}
        for call in cell:
            if call.repeat is None:
                continue
            other = stated.setdefault(call.repeat, call)
            if other is not call:
                raise DuplicateCallsError(
                    f"{call.place} and {other.place} are the same call, {_named(call)}: leave one "
                    "of them out"
                )
        # Sorting is stable: calls without a rank keep the order of the log, after the others.
        for rank, call in enumerate(sorted(cell, key=_stated_first)):
            ranks[call.place] = rank
    return ranks


def _stated_first(call: ImportedCall) -> float:
    return float("inf") if call.repeat is None else call.repeat


def _named(call: ImportedCall) -> str:
    order = "" if call.order is None else f", order {call.order!r}"
    return f"item {call.item!r}, prompt {call.prompt!r}{order}, repeat {call.repeat}"
