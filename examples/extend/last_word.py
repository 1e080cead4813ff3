"""A parser: the label is the last word of the completion."""

LABELS = {"a": "A", "b": "B", "tie": "TIE"}


def parse(text: str) -> str | None:
    """Return A, B or TIE as displayed, or None where there is no label."""
    words = text.split()
    return LABELS.get(words[-1].strip(".!*").lower()) if words else None
