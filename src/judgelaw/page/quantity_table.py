"""Tables of quantities: a row for each, a column for each key of the JSON, titled by vocabulary."""

from collections.abc import Iterable, Sequence

from judgelaw.blocks import Cell, Place, Table
from judgelaw.vocabulary import title

_SPANS = {
    "interval",
    "call_interval",
    "band",
    "plugin_band",
    "share_interval",
    "share_item_interval",
    "bounds",
    "more_interval",
}
_SHARES = {"share", "share_interval", "share_item_interval"}


def quantity_table(
    rows: Iterable[tuple[tuple[Cell, ...], Place]],
    keys: Sequence[str],
    *,
    first: Sequence[str],
    level: float,
    form: str = ".4f",
    caption: str = "",
    name: str = "",
    beside: bool = False,
) -> Table:
    """Return a table of quantities.

    Args:
        rows: the first cells of each row, and where the document holds its quantity.
        keys: which numbers of it.
        first: headings of the first cells.
        level: coverage of the intervals.
        form: how numbers are written; shares are percentages.
        caption: of the table.
        name: of the table.
        beside: whether it stands beside a figure.
    """
    return Table(
        columns=(*first, *(title(key, level) for key in keys)),
        rows=tuple((*head, *_cells(place, keys, form)) for head, place in rows),
        caption=caption,
        name=name,
        beside=beside,
    )


def _cells(place: Place, keys: Sequence[str], form: str) -> tuple[Cell, ...]:
    if place.found is None:
        return ("not varied", *[""] * (len(keys) - 1))
    return tuple(quantity_cell(place, key, form) for key in keys)


def quantity_cell(place: Place, key: str, form: str = ".4f") -> Cell:
    """Return one number of a quantity, or its two ends; nothing for a share that there is not."""
    if key in _SHARES:
        if place.at(key).found is None:
            return ""
        return (
            place.span(key, form=".1%", to=True) if key in _SPANS else place.value(key, form=".1%")
        )
    return place.span(key, form=form) if key in _SPANS else place.value(key, form=form)
