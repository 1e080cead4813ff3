"""From imported calls to a calls table, and what can be learnt from them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from judgelaw.errors import DuplicateCallsError, TableError
from judgelaw.tables.importers.copies import Copies, find_copies
from judgelaw.tables.importers.entries import ORDERS, Advice, ImportedCall
from judgelaw.tables.importers.known import better
from judgelaw.tables.positions import FLIPPED, label_options, labels_of, what_else
from judgelaw.tables.reading import Scale
from judgelaw.tensor import DEFAULT_VERDICTS
from judgelaw.words import DISPLAYED, counted

ENOUGH = 2
"""Calls that a cell needs: agreement of distinct calls takes two."""

_EXACT = 4
_NAMED = 3


@dataclass(frozen=True, kw_only=True)
class JudgeSurvey:
    """What one judge's calls can tell.

    Attributes:
        judge, layer: whose calls they are, and of which stream; None where the log has no layers.
        criterion: what they judge; None where the log has no criteria.
        calls, items: how many there are.
        prompts, orders: the levels found; no order where the log has none.
        repeats: calls of the emptiest and of the fullest cell of the crossed design.
        complete: items with two calls or more in every cell.
        outcomes: calls by verdict.
        unread: calls whose verdict is `invalid`, by reason.
        identified: components that these calls can estimate.
        missing: what cannot be, or less well than it could, and what to do, in sentences.
    """

    judge: str
    layer: str | None
    calls: int
    items: int
    prompts: tuple[str, ...]
    orders: tuple[str, ...]
    repeats: tuple[int, int]
    complete: int
    outcomes: dict[str, int]
    unread: dict[str, int]
    identified: tuple[str, ...]
    missing: tuple[str, ...]
    criterion: str | None = None

    @property
    def sentence(self) -> str:
        """Say what was found."""
        low, high = self.repeats
        depth = f"{high}" if low == high else f"{low} to {high}"
        prompts = counted(len(self.prompts), "prompt")
        name = self.judge if self.criterion is None else f"{self.judge} / {self.criterion}"
        name = name if self.layer is None else f"{name} ({self.layer})"
        return (
            f"{name}: {counted(self.items, 'item')} x {prompts} x "
            f"{counted(max(len(self.orders), 1), 'order')}, {depth} "
            f"repeat{'' if high == 1 else 's'} in each cell, {counted(self.calls, 'call')}."
        )


@dataclass(frozen=True, kw_only=True)
class Survey:
    """What an import found.

    Attributes:
        judges: one survey for each judge and layer.
        left_out: entries that hold an error and no completion, as `place: error`.
        copies: copied responses that were left out.
        notes: what else a reader should know.
        says: how the log was read, where its format says what everything means.
        not_calls: what is in the log and is no call of a judge, by name and count.
    """

    judges: tuple[JudgeSurvey, ...]
    left_out: tuple[str, ...] = ()
    copies: int = 0
    notes: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    not_calls: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """Say all of it, line by line."""
        lines = [f"read: {sentence}" for sentence in self.says]
        for judge in self.judges:
            found = ", ".join(judge.identified) or "nothing"
            lines += [judge.sentence, f"  identified: {found}"]
            lines += [f"  missing: {text}" for text in judge.missing]
            if judge.unread:
                why = ", ".join(f"{n} {reason}" for reason, n in judge.unread.items())
                lines.append(f"  invalid: {sum(judge.unread.values())} of {judge.calls} ({why})")
        if self.left_out:
            rest = len(self.left_out) - _NAMED
            more = f", and {rest} more" if rest > 0 else ""
            entries = "1 entry" if rest + _NAMED == 1 else f"{rest + _NAMED} entries"
            named = "; ".join(self.left_out[:_NAMED])
            lines.append(f"left out: {entries} without a completion ({named}{more})")
        lines += [f"left out: {named}" for named in self.not_calls]
        if self.copies:
            copies = "copy" if self.copies == 1 else "copies"
            lines.append(f"left out: {self.copies} {copies} of other responses")
        return lines + [f"note: {note}" for note in self.notes]


@dataclass(frozen=True, kw_only=True)
class CellCounts:
    """How the calls of one judge fill the cells of the crossed design.

    Attributes:
        there: cells with a call.
        single: cells with one.
        low, high: calls of the emptiest and of the fullest of these.
        complete: items with two calls or more in every cell.
    """

    there: int
    single: int
    low: int
    high: int
    complete: int


def survey_judge(
    judge: str,
    layer: str | None,
    calls: Sequence[ImportedCall],
    *,
    how_to_repeat: str,
    criterion: str | None = None,
) -> JudgeSurvey:
    """Find the crossed design in one judge's calls of one layer, and say what it identifies."""
    items = {call.item for call in calls}
    prompts = tuple(sorted({call.prompt for call in calls}))
    orders = tuple(sorted({call.order for call in calls if call.order is not None}))
    depth = Counter((call.item, call.prompt, call.order) for call in calls)
    full = Counter(item for (item, _, _), n in depth.items() if n >= ENOUGH)
    wanted = len(prompts) * max(len(orders), 1)
    return survey_counts(
        judge,
        layer,
        criterion,
        items=len(items),
        prompts=prompts,
        orders=orders,
        cells=CellCounts(
            there=len(depth),
            single=sum(n == 1 for n in depth.values()),
            low=min(depth.values()),
            high=max(depth.values()),
            complete=sum(n == wanted for n in full.values()),
        ),
        outcomes=dict(sorted(Counter(call.verdict for call in calls).items())),
        unread=dict(Counter(call.reason for call in calls if call.verdict == "invalid")),
        how_to_repeat=how_to_repeat,
    )


def survey_counts(
    judge: str,
    layer: str | None,
    criterion: str | None,
    *,
    items: int,
    prompts: tuple[str, ...],
    orders: tuple[str, ...],
    cells: CellCounts,
    outcomes: dict[str, int],
    unread: dict[str, int],
    how_to_repeat: str,
) -> JudgeSurvey:
    """Say what calls identify that were counted already."""
    crossed = {"prompt": len(prompts) > 1, "order": len(orders) > 1}
    wanted = ["call", *(name for name, there in crossed.items() if there)]
    wanted += ["interaction"] if all(crossed.values()) else []
    planned = items * len(prompts) * max(len(orders), 1)
    empty = planned - cells.there
    return JudgeSurvey(
        judge=judge,
        layer=layer,
        calls=sum(outcomes.values()),
        items=items,
        prompts=prompts,
        orders=orders,
        repeats=(0 if empty else cells.low, cells.high),
        complete=cells.complete,
        outcomes=outcomes,
        unread=unread,
        identified=(*wanted, "total") if cells.complete else (),
        missing=tuple(
            _missing(cells, items, empty, crossed, orders=orders, how_to_repeat=how_to_repeat)
        ),
        criterion=criterion,
    )


def _missing(
    cells: CellCounts,
    items: int,
    empty: int,
    crossed: dict[str, bool],
    *,
    orders: Sequence[str],
    how_to_repeat: str,
) -> list[str]:
    said = []
    if cells.high < ENOUGH:
        said.append(
            "repeats: with one call in a cell no component is identified, since chance cannot be "
            f"told from prompt and order; ask every cell again ({how_to_repeat})"
        )
    elif empty or cells.single:
        said.append(
            f"calls: {counted(empty, 'cell')} of {cells.there + empty} without a call, "
            f"{cells.single} with one; {cells.complete} of {counted(items, 'item')} complete, "
            "which `judgelaw analyze --incomplete drop` keeps"
        )
    elif cells.low < _EXACT:
        said.append(f"an exact error of the calls: it needs {_EXACT} repeats ({how_to_repeat})")
    if not crossed["order"]:
        one = f"only {orders[0]}" if orders else "the log has no orders"
        said.append(f"the order facet ({one}): order and interaction cannot be estimated")
    if not crossed["prompt"]:
        said.append("the prompt facet (one prompt): prompt and interaction cannot be estimated")
    return said


_INVALID = "invalid"
_CANDIDATES = frozenset({"candidate_1", "candidate_2"})
_NAMED_IN_MESSAGES = 5
_COLUMNS = (
    *("judge", "criterion", "layer", "date", "item", "stratum", "prompt", "order", "repeat"),
    *("verdict", "gold", "human", "cluster", "answer"),
)
_NEEDED = frozenset({"judge", "item", "prompt", "repeat", "verdict"})


@dataclass(frozen=True, kw_only=True)
class Imported:
    """A calls table and what can be learnt from it.

    Attributes:
        columns: the table.
        survey: what it can tell.
        scale: the scores from low to high, or their ends where they are continuous; None where
            verdicts are labels, or nobody says which scores there are.
    """

    columns: Mapping[str, list[str | int | None]]
    survey: Survey
    scale: Scale | None = None


def assemble(
    calls: Sequence[ImportedCall],
    *,
    advice: Advice,
    drop_copies: bool = False,
    left_out: Sequence[str] = (),
    says: Sequence[str] = (),
    not_calls: Sequence[str] = (),
    scale: Scale | None = None,
) -> Imported:
    """Restore candidates, refuse copies, rank repeats, and survey what is there.

    Raises:
        DuplicateCallsError: copies of one response would be counted as repeats.
        TableError: the calls do not make a table.
    """
    if not calls:
        why = f": every entry holds an error ({left_out[0]})" if left_out else ""
        raise TableError(f"the log holds no completion{why}")
    displayed = _gold_is_displayed(calls)
    restored, notes = _restored([_with_gold(call, displayed=displayed) for call in calls])
    copies = find_copies(restored)
    if copies.found and not drop_copies:
        raise DuplicateCallsError(_refusal(copies, len(calls), advice))
    kept = copies.without(restored)
    streams: dict[tuple[str, str | None, str | None], list[ImportedCall]] = {}
    for call in kept:
        streams.setdefault(call.stream, []).append(call)
    survey = Survey(
        judges=tuple(
            survey_judge(judge, layer, group, how_to_repeat=advice.repeat, criterion=criterion)
            for (judge, criterion, layer), group in streams.items()
        ),
        left_out=tuple(left_out),
        copies=len(copies.found),
        notes=(*notes, *copies.notes),
        says=tuple(says),
        not_calls=tuple(not_calls),
    )
    return Imported(columns=_columns(kept), survey=survey, scale=scale)


def _refusal(copies: Copies, total: int, advice: Advice) -> str:
    named = "".join(
        f"\n  {copy.call.place}: {copy.why}" for copy in copies.found[:_NAMED_IN_MESSAGES]
    )
    more = len(copies.found) - _NAMED_IN_MESSAGES
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
        listed = ", ".join(sorted({call.verdict for call in shown})[:_NAMED_IN_MESSAGES])
        note = f"verdicts ({listed}) name no displayed position: no candidate was restored"
        return list(calls), [note]
    if others:
        strange = {c.verdict: c for c in shown if c.verdict.strip().upper() in others}
        place, word = next(iter(strange.values())).place, next(iter(strange))
        raise TableError(
            f"{place}: verdict {word!r} stands beside A and B: displayed letters are restored to "
            f"candidates, so say what it is:{label_options(labels_of(strange))}{what_else(strange)}"
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


def _gold_is_displayed(calls: Sequence[ImportedCall]) -> bool:
    """Whether gold letters name what was displayed: then they change with the order of an item.

    A label that stays the same in both orders belongs to the item, and its letter to an answer.
    """
    golden: dict[str, dict[str | None, str | None]] = {}
    for call in calls:
        golden.setdefault(call.item, {})[call.order] = call.gold
    both = [found for found in golden.values() if set(ORDERS) <= set(found)]
    return not any(found["AB"] and found["AB"] == found["BA"] for found in both)


def _with_gold(call: ImportedCall, *, displayed: bool) -> ImportedCall:
    """Turn a gold label that is a letter into a candidate, where calls have orders at all."""
    if call.gold is None or call.order not in ORDERS:
        return call
    letter = better(call.gold) if set(call.gold) & set("<>=") else call.gold
    if letter.strip().upper() not in DISPLAYED:
        return call
    return replace(call, gold=_candidate(letter, call.order if displayed else ORDERS[0]))


def _candidate(word: str, order: str) -> str:
    side = dict(zip(DISPLAYED, DEFAULT_VERDICTS, strict=False)).get(word.strip().upper())
    if side is None:
        return word.strip().lower()
    return FLIPPED.get(side, side) if order == ORDERS[1] else side


def _columns(calls: Sequence[ImportedCall]) -> dict[str, list[str | int | None]]:
    ordered = next((call for call in calls if call.order is not None), None)
    bare = next((call for call in calls if call.order is None), None)
    if ordered is not None and bare is not None:
        raise TableError(
            f"{bare.place} has no order, {ordered.place} has {ordered.order!r}: name the field "
            "that holds it everywhere, --order FIELD"
        )
    columns = {name: [getattr(call, name) for call in calls] for name in _COLUMNS}
    ranks = _ranks(calls)
    columns["repeat"] = [ranks[call.place] for call in calls]
    return {
        name: values
        for name, values in columns.items()
        if name in _NEEDED or any(value is not None for value in values)
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
        ordered = sorted(cell, key=lambda call: inf if call.repeat is None else call.repeat)
        ranks |= {call.place: rank for rank, call in enumerate(ordered)}
    return ranks


def _named(call: ImportedCall) -> str:
    order = "" if call.order is None else f", order {call.order!r}"
    return f"item {call.item!r}, prompt {call.prompt!r}{order}, repeat {call.repeat}"
