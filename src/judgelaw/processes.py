"""Work that is done in processes beside this one, where a command started some."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

T = TypeVar("T")

_MANY = 20_000
"""From so many calls on the work that can be shared takes longer than the start of a process."""

_started: "list[ProcessPoolExecutor]" = []
"""Processes that wait for work, where some were started."""


@contextmanager
def processes(count: int, *, calls: int | None = None) -> Iterator[None]:
    """Let processes share the work within this context, if so many calls and the cores allow it.

    For commands alone: a new process loads the main module, which in a user's script may do
    anything. `calls` is None where a process can start while something else is waited for.
    """
    if (calls is not None and calls < _MANY) or _cores() == 1:
        yield
        return
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 - only where it pays

    ignored = (signal.SIGINT, signal.SIG_IGN)  # the command itself answers to Ctrl-C
    others = set(active_children())
    pool = ProcessPoolExecutor(
        count, get_context("spawn"), initializer=signal.signal, initargs=ignored
    )
    _started.append(pool)
    try:
        yield
    finally:
        _started.remove(pool)
        pool.shutdown(wait=False, cancel_futures=True)
        # Nobody waits any longer for what is under way: a command that ends, ends at once.
        for child in set(active_children()) - others:
            child.terminate()


def shared() -> bool:
    """Whether processes wait for work."""
    return bool(_started)


def begin(work: Callable[..., T], *arguments: object) -> Callable[[], T]:
    """Begin work in a process that waits for some, else do it here; return how to get the outcome.

    Work and arguments have to be picklable. A process that somebody ended is no reason to lose
    the work: it is then done here.
    """
    if not _started:
        done = work(*arguments)
        return lambda: done
    from concurrent.futures.process import BrokenProcessPool  # noqa: PLC0415 - as above

    try:
        future = _started[-1].submit(work, *arguments)
    except BrokenProcessPool:
        done = work(*arguments)
        return lambda: done

    def outcome() -> T:
        try:
            return future.result()
        except BrokenProcessPool:
            return work(*arguments)

    return outcome


def _cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
