"""Which items a layer judges: a stratified sample, or the rest of another selection."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from judgelaw.design.items import Item
from judgelaw.design.study import Selection
from judgelaw.errors import InputError
from judgelaw.streams import stream

SAMPLE = "sample"
"""The name of the study's own selection in the seed's stream."""


def select(
    items: Sequence[Item], name: str, selections: Mapping[str, Selection], seed: int
) -> tuple[Item, ...]:
    """Return the items of the selection `name`, in the sequence of the file.

    A sample depends on the seed, the selection's name and the ids of a stratum, not on the
    sequence of the file. A selection that declares nothing holds every item.
    """
    chosen = _members(items, name, selections, seed)
    return tuple(item for item in items if item.id in chosen)


def _members(
    items: Sequence[Item], name: str, selections: Mapping[str, Selection], seed: int
) -> set[str]:
    selection = selections[name]
    if selection.complement_of is not None:
        others = _members(items, selection.complement_of, selections, seed)
        rest = {item.id for item in items} - others
        if not rest:
            raise InputError(
                f"complement_of {selection.complement_of!r} holds no item; that selection takes all"
            )
        return rest
    if selection.per_stratum is None:
        return {item.id for item in items}
    return _sample(items, name, selection.per_stratum, seed)


def _sample(items: Sequence[Item], name: str, size: int, seed: int) -> set[str]:
    strata: dict[str, list[str]] = defaultdict(list)
    for item in items:
        strata[item.stratum or ""].append(item.id)
    chosen: set[str] = set()
    for stratum, ids in sorted(strata.items()):
        if len(ids) < size:
            raise InputError(
                f"per_stratum {size} exceeds the {len(ids)} items of stratum {stratum!r}; ask for "
                "fewer or add items"
            )
        drawn = stream(seed, "items", name, stratum).choice(len(ids), size, replace=False)
        ids.sort()
        chosen.update(ids[place] for place in drawn)
    return chosen
