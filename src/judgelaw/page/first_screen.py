"""The numbers of the first screen on the page, with their places in the JSON of the analysis."""

from judgelaw.analysis import Row
from judgelaw.page.document import Number, finite, path


def number_of(row: Row) -> Number:
    """Return the number measured that a bar shows."""
    where = path(*row.key, "estimate") if row.key else None
    of_100 = not row.text.count(".") or row.text.endswith("%")
    return Number(value=finite(row.values[0]), text=row.text, path=where, of_100=of_100)
