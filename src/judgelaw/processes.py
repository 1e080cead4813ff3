"""Work that is done in processes beside this one, where a command started some."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

T = TypeVar("T")

_MANY = 20_000
"""From so many calls on the work that can be shared takes longer than the start of a process."""

_started: "list[tuple[int, ProcessPoolExecutor]]" = []
"""How many processes wait for work, and they themselves, where some were started."""


@contextmanager
def processes(count: int, *, calls: int | None = None, needs: Sequence[str] = ()) -> Iterator[None]:
    """Let processes share the work within this context, if so many calls and the cores allow it.

    For commands alone: a new process loads the main module, which in a user's script may do
    anything.

    Args:
        count: how many processes.
        calls: how many calls there are; None where a process can start while something else is
            waited for.
        needs: modules that this process and the others will use: copies of this one have them.
    """
    if (calls is not None and calls < _MANY) or _cores() == 1:
        yield
        return
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 - only where it pays
    from multiprocessing import active_children, get_context  # noqa: PLC0415 - as above

    for module in needs:
        import_module(module)
    others = set(active_children())
    context = get_context(_start_method())
    pool = ProcessPoolExecutor(count, context, initializer=leave_endings_to_parent)
    _started.append((count, pool))
    try:
        yield
    finally:
        _started.pop()
        pool.shutdown(wait=False, cancel_futures=True)
        # Nobody waits any longer for what is under way: a command that ends, ends at once.
        for child in set(active_children()) - others:
            child.terminate()


def endings() -> list[int]:
    """Return the signals that ask this process to end: Ctrl-C, a termination, a terminal that goes.

    Not those that somebody told it to ignore, as `nohup` does.
    """
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    return [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]


def leave_endings_to_parent() -> None:
    """Ignore what a terminal sends to all of its processes: the command itself answers to it."""
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)


def on_terminal() -> list[int]:
    """Return which of the standard streams are a terminal."""
    return [number for number in range(3) if os.isatty(number)]


def forget_terminal(streams: Sequence[int]) -> None:
    """Put nothing in the place of a terminal that is gone: writing to it would fail."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in streams:
        os.dup2(nothing, number)
    os.close(nothing)


TREE = "JUDGELAW_TREE"
"""The variable that marks a process and all that it starts, wherever they go."""
_PROC = Path("/proc")
_ROUNDS = 10


def kill_tree(pid: int, mark: str) -> None:
    """End a process that leads a group, and whatever it started, at once.

    On Linux that is also what left its group or its session, as long as its environment or its
    parents tell where it comes from. Elsewhere it is the group.
    """
    found = _family(pid, mark)
    if not hasattr(os, "killpg"):  # Windows has no groups: what the process started stays
        with suppress(OSError):
            os.kill(pid, signal.SIGTERM)
        return
    with suppress(ProcessLookupError, PermissionError):  # it has ended, and all of its group
        os.killpg(pid, signal.SIGKILL)
    for _ in range(_ROUNDS):
        for each in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(each, signal.SIGKILL)
        # What was started while we looked is found the next time.
        known, found = found, _family(pid, mark)
        if found <= known:
            return


def _family(first: int, mark: str) -> set[int]:
    """Return the processes that carry a mark, or descend from one that does, or from the first."""
    parents, family = dict[int, int](), {first}
    named = f"{TREE}={mark}".encode()
    for folder in _PROC.iterdir() if _PROC.is_dir() else ():
        if not folder.name.isdecimal():
            continue
        with suppress(OSError):  # it has ended, or is somebody else's
            state, parent = (folder / "stat").read_bytes().rpartition(b")")[2].split()[:2]
            if state != b"Z":
                parents[int(folder.name)] = int(parent)
                if named in (folder / "environ").read_bytes().split(b"\0"):
                    family.add(int(folder.name))
    grown = True
    while grown:
        born = {pid for pid, parent in parents.items() if parent in family} - family
        family |= born
        grown = bool(born)
    return family - {first, os.getpid()}


def quieten_blas() -> None:
    """Keep matrix products in one thread: ours are small, and waiting for threads costs more.

    Has an effect only before NumPy is imported; what the user set stays.
    """
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def _start_method() -> str:
    """Copy this process where that is safe: a copy has loaded what a new one takes .5 s to load.

    It has no thread but the one that made it, and a lock that another thread held would never
    open: so only a process without threads is copied, those of libraries included.
    """
    threads = Path("/proc/self/task")
    return "fork" if threads.is_dir() and len(list(threads.iterdir())) == 1 else "spawn"


def shared() -> int:
    """Return how many processes wait for work."""
    return _started[-1][0] if _started else 0


def begin(work: Callable[..., T], *arguments: object) -> Callable[[], T]:
    """Begin work in a process that waits for some, else do it here; return how to get the outcome.

    Work and arguments have to be picklable. A process that somebody ended is no reason to lose
    the work: it is then done here.
    """
    if (future := _submitted(work, *arguments)) is None:
        done = work(*arguments)
        return lambda: done
    return partial(_outcome, future, partial(work, *arguments))


def begin_each(
    works: Sequence[Callable[[], T]],
) -> Callable[[Callable[[int], T]], Iterator[tuple[int, T]]]:
    """Begin several works in processes that wait for some: the last one first, never the first.

    Return how to get the outcomes, each with the number of its work. Who asks for them does what
    no process has begun, from the first on: `here` is told the number.
    """
    futures = [None, *[_submitted(work) for work in reversed(works[1:])][::-1]][: len(works)]

    def outcomes(here: Callable[[int], T]) -> Iterator[tuple[int, T]]:
        beside = []
        for number, future in enumerate(futures):
            if future is None or future.cancel():
                yield number, here(number)
            else:
                beside.append((number, future))
        for number, future in beside:
            yield number, _outcome(future, works[number])

    return outcomes


def _submitted(work: Callable[..., T], *arguments: object) -> "Future[T] | None":
    """Hand work to a process that waits for some; None where there is none."""
    if not _started:
        return None
    from concurrent.futures.process import BrokenProcessPool  # noqa: PLC0415 - as above

    try:
        return _started[-1][1].submit(work, *arguments)
    except BrokenProcessPool:
        return None


def _outcome(future: "Future[T]", work: Callable[[], T]) -> T:
    from concurrent.futures.process import BrokenProcessPool  # noqa: PLC0415 - as above

    try:
        return future.result()
    except BrokenProcessPool:
        return work()


def _cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
