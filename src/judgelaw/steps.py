"""How far long work is: it opens a bar by name and size, and says how much of it was just done."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Advance = Callable[[int], None]
"""Is told how much work was just done."""

Progress = Callable[[str, int], AbstractContextManager[Advance]]
"""Opens what shows a piece of work, given its name and its size."""


@contextmanager
def unseen(what: str, total: int) -> Iterator[Advance]:
    """Show nothing of how far work is."""
    del what, total
    yield unheard


def unheard(amount: int) -> None:
    """Take no notice of work that was done."""


def within(advance: Advance, *, share: int, of: int) -> Advance:
    """Return who is told of `of` pieces of work that make up `share` steps of a larger one."""
    done = 0

    def told(amount: int) -> None:
        nonlocal done
        before, done = done, done + amount
        advance(share * done // of - share * before // of)

    return told
