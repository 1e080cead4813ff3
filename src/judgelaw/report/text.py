"""Labels of others, cut to their place on the page; `judgelaw.words` makes them safe to show."""

from judgelaw.words import visible

__all__ = ["ELLIPSIS", "shortened", "visible"]

ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


def shortened(text: str, length: int) -> str:
    """Cut a label to `length` characters in its middle: ends of names tell them apart."""
    if len(text) <= length:
        return text
    head = length // 2
    return text[:head] + ELLIPSIS + text[len(text) - (length - head - 1) :]
