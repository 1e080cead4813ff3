"""Which calls are copies of a response that was already there, and so no repeats."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from judgelaw.tables.importers.entries import ImportedCall


@dataclass(frozen=True, kw_only=True)
class Copy:
    """A call that is no draw of its own, and why."""

    call: ImportedCall
    why: str


@dataclass(frozen=True, kw_only=True)
class Copies:
    """What was found.

    Attributes:
        found: the copies, in the order of the log.
        notes: what speaks for or against copies without deciding it.
    """

    found: tuple[Copy, ...] = ()
    notes: tuple[str, ...] = ()

    def without(self, calls: Iterable[ImportedCall]) -> list[ImportedCall]:
        """Return the calls that are draws of their own."""
        places = {copy.call.place for copy in self.found}
        return [call for call in calls if call.place not in places]


def find_copies(calls: Sequence[ImportedCall]) -> Copies:
    """Find the calls that repeat a response instead of drawing one.

    Two kinds of evidence decide, neither of which looks at the verdict, since leaving out calls
    because they agree would bias what is left: a response id that was there before, and the tool's
    own word that it read a cache, unless an id of its own shows that the response is another one.
    In a cell that only the cache answered, one call stays.
    """
    by_judge: dict[str, list[ImportedCall]] = {}
    for call in calls:
        by_judge.setdefault(call.judge, []).append(call)
    found: list[Copy] = []
    notes: list[str] = []
    for judge, group in by_judge.items():
        named = _trustworthy(judge, group, notes)
        found += _by_id(group) if named else []
        found += _by_cache(judge, group, {copy.call.place for copy in found}, notes, named=named)
        notes += _by_text(judge, group)
    at = {call.place: i for i, call in enumerate(calls)}
    ordered = sorted(found, key=lambda copy: at[copy.call.place])
    return Copies(found=tuple(ordered), notes=tuple(notes))


def _trustworthy(judge: str, calls: Sequence[ImportedCall], notes: list[str]) -> bool:
    """Say whether response ids name responses: one that stands for two texts does not."""
    texts: dict[str, str | None] = {}
    for call in calls:
        if call.response_id is None:
            continue
        if texts.setdefault(call.response_id, call.said) != call.said:
            notes.append(
                f"{judge}: response id {call.response_id!r} stands for different texts, so its "
                "ids do not name responses and were not used to look for copies"
            )
            return False
    return bool(texts)


def _by_id(calls: Sequence[ImportedCall]) -> Iterator[Copy]:
    first: dict[str, ImportedCall] = {}
    for call in calls:
        if call.response_id is None:
            continue
        original = first.setdefault(call.response_id, call)
        if original is not call:
            yield Copy(call=call, why=f"response {call.response_id!r} of {original.place}")


def _by_cache(
    judge: str, calls: Sequence[ImportedCall], known: set[str], notes: list[str], *, named: bool
) -> Iterator[Copy]:
    cells: dict[object, list[ImportedCall]] = {}
    earlier = 0
    for call in calls:
        if call.place in known:
            continue
        if call.cached and named and call.response_id is not None:
            earlier += 1
        else:
            cells.setdefault(call.cell, []).append(call)
    for cell in cells.values():
        kept = next((call for call in cell if not call.cached), cell[0])
        others = (call for call in cell if call.cached and call != kept)
        yield from (Copy(call=call, why="read from a cache") for call in others)
    if earlier:
        notes.append(
            f"{judge}: {earlier} calls were read from a cache, each with a response id: they are "
            "draws of an earlier run"
        )


def _by_text(judge: str, calls: Sequence[ImportedCall]) -> Iterator[str]:
    """Say if every repeat of every cell has the same text: no proof of copies, but worth a look."""
    cells: dict[object, list[str | None]] = {}
    for call in calls:
        cells.setdefault(call.cell, []).append(call.said)
    repeated = [said for said in cells.values() if len(said) > 1]
    if len(repeated) > 1 and all(said[0] and len(set(said)) == 1 for said in repeated):
        yield (
            f"{judge}: all repeats of every cell have the same text: the judge is deterministic "
            "(temperature 0), or something between it and you answers from a cache; make sure "
            "that it is the former"
        )
