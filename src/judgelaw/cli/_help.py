"""How every command shows its examples."""


def examples(*lines: str) -> str:
    """Return the epilog of a command: examples, one a line, never folded together.

    click re-flows help texts; a line with a backspace character alone tells it to leave the
    paragraph as it is.
    """
    title = "Example:" if len(lines) == 1 else "Examples:"
    return "\n".join(["\b", title, *(f"  {line}" for line in lines)])
