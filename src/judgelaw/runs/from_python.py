"""An audit from Python: in a script, in a notebook, and where an event loop runs already."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from os import PathLike
from pathlib import Path
from threading import Thread
from typing import Any, Generic, TypeVar

from judgelaw.acquire import TAKES_STOPPER, Silent, Stopper, Tally
from judgelaw.runs.auditing import Shown, audit_study
from judgelaw.runs.run import Run
from judgelaw.steps import unheard
from judgelaw.study import StudyLike

T = TypeVar("T")
_LOG = logging.getLogger(__name__)
_EVERY_S = 5.0


def audit(
    study: StudyLike,
    *,
    judge: Callable[..., Any] | Mapping[str, Callable[..., Any]] | None = None,
    out: str | PathLike[str] | None = None,
) -> Run:
    """Freeze a study, ask every call, analyse the verdicts and write the report.

    The same line resumes an audit that was interrupted: what was answered is never asked again.
    Where an event loop runs already, as in a notebook, the audit runs in a thread of its own.

    Args:
        study: the path of a study file, or what such a file holds as a dict; the paths of a dict
            start from the working directory.
        judge: the function that answers for every `python` judge without `call:`, or functions by
            the judge's name; it takes a `jl.Call` and returns text or a `jl.Reply`.
        out: the run folder; by default `runs/NAME` beside the study.

    Raises:
        StudyError: the study breaks a rule; nothing was asked.
        IncompleteRunError: calls are open; the same line resumes.
        ProviderRefusedError: a provider refused the key, the model or the request.
        BudgetReachedError: the declared budget or deadline is used up.
    """
    work = partial(_audited, study, judge, out)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    return _Aside(work).result()


async def audit_async(
    study: StudyLike,
    *,
    judge: Callable[..., Any] | Mapping[str, Callable[..., Any]] | None = None,
    out: str | PathLike[str] | None = None,
) -> Run:
    """Do what `audit` does without holding up the loop that runs.

    A task that is cancelled stops the audit in good order: replies under way are waited for, and
    everything answered is saved.
    """
    return await _Aside(partial(_audited, study, judge, out)).awaited()


def _audited(
    study: StudyLike,
    judge: Callable[..., Any] | Mapping[str, Callable[..., Any]] | None,
    out: str | PathLike[str] | None,
) -> Run:
    folder = None if out is None else Path(out)
    return Run(audit_study(study, folder, shown=_shown(), judge=judge).run)


def _shown() -> Shown:
    """Return who shows an audit: the log."""
    return Shown(bar=_logged, observer=lambda: nullcontext(_Counted()), say=_LOG.info)


class _Counted(Silent):
    """Logs how many calls are done, now and then."""

    def __init__(self) -> None:
        self._last = -_EVERY_S

    def show(self, tally: Tally, now: float) -> None:
        """Log a line if it is time for one."""
        if now - self._last >= _EVERY_S:
            self._last = now
            _LOG.info("%s of %s calls, %s failed attempts", tally.done, tally.planned, tally.failed)


@contextmanager
def _logged(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Tell the log when work of known size begins."""
    _LOG.debug("%s: %s steps", what, total)
    yield unheard


class _Aside(Generic[T]):
    """Work in a thread of its own, which whoever waits for it can stop in good order."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._future: Future[T] = Future()
        self._stopper: Stopper | None = None
        self._stopping = False
        Thread(target=self._run, args=(work,), name="judgelaw-audit", daemon=True).start()

    def result(self) -> T:
        """Wait for the work; an interruption stops it, and waits for what is under way."""
        try:
            return self._future.result()
        except KeyboardInterrupt:
            if not self._future.done():
                self._stop()
                self._future.exception()
            raise

    async def awaited(self) -> T:
        """Wait for the work without holding up the loop; a cancellation stops it."""
        waiting = asyncio.wrap_future(self._future)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            self._stop()
            with suppress(Exception, KeyboardInterrupt):  # the cancellation is what is raised
                await waiting
            raise

    def _run(self, work: Callable[[], T]) -> None:
        TAKES_STOPPER.set(self._take)
        try:
            self._future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised again where somebody waits
            self._future.set_exception(error)

    def _take(self, stopper: Stopper) -> None:
        self._stopper = stopper
        if self._stopping:
            stopper()

    def _stop(self) -> None:
        self._stopping = True
        if self._stopper is not None:
            with suppress(RuntimeError):  # its loop is closed: nothing is asked any more
                self._stopper()
