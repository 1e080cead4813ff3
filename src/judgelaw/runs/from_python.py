"""An audit from Python: in a script, in a notebook, and where an event loop runs already."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from os import PathLike
from pathlib import Path
from threading import Thread
from typing import Any, Generic, Literal, TypedDict, TypeVar, cast

from judgelaw.acquire import TAKES_STOPPER, Silent, Stopper, Tally
from judgelaw.errors import InputError, StudyError
from judgelaw.judges import CALLERS_LOOP
from judgelaw.runs.auditing import Shown, audit_study
from judgelaw.runs.run import Run
from judgelaw.steps import unheard
from judgelaw.study import LoadedStudy

T = TypeVar("T")
_LOG = logging.getLogger(__name__)
_EVERY_S = 5.0


def audit(
    study: Any,
    *,
    judge: object = None,
    out: str | PathLike[str] | None = None,
    prompts: Sequence[str] | Mapping[str, Any] | str | None = None,
    orders: Sequence[str] | Mapping[str, float] | str | None = None,
    repeats: int | None = None,
    scale: Sequence[float] | Mapping[str, float] | None = None,
    labels: Sequence[str] | None = None,
    criteria: Sequence[str] | None = None,
    columns: Mapping[str, str] | None = None,
    budget: Mapping[str, float] | None = None,
    concurrency: int | None = None,
    at_least: float | None = None,
    seed: int | None = None,
    changed: Literal["go on"] | None = None,
) -> Run:
    """Ask a judge every call of a study, or about some items; analyse; write the report.

    The same line resumes an audit that was interrupted: what was answered is never asked again.
    Where an event loop runs already, as in a notebook, the audit runs in a thread of its own.

    Args:
        study: the path of a study file, or what such a file holds as a dict (its paths start from
            the working directory); or items to judge: a list of dicts, a frame, or the path of a
            CSV, JSON or Parquet file.
        judge: the function that answers for every `python` judge without `call:`, or functions by
            the judge's name. It takes a `jl.Call`, or fields of an item by name, as in
            `def grade(question, answer)`, and returns text, a number, true or false, or a
            `jl.Reply`. Metric objects of other packages do as well.
        out: the run folder; by default `runs/NAME` beside the study, and `runs/FUNCTION-HASH`
            where items are given.
        prompts: of items: texts with places for fields, `"{question} {answer}"`, a list or by
            name; left out for a judge that writes its own.
        orders: of items with two answers: both, or one, `"AB"`.
        repeats: of items: calls of each cell, 4 by default.
        scale: of items: the scores from low to high, or `{"from": 0, "to": 1}` where they are
            continuous.
        labels: of items: the verdicts, where no others count.
        criteria: of items: keys of the dicts that the judge returns, each a verdict.
        columns: of items: which field is what, `{"instruction": "q", "candidate": "a"}`.
        budget: of items: where asking stops, `{"calls": 500}`, tokens or usd.
        concurrency: of items: calls at a time, 8 by default.
        at_least: of items: how often the judge has to be right, as 0.9.
        seed: of items: of every random choice, 0 by default.
        changed: "go on" lets a function answer the open calls of a run whose other calls another
            function answered; the report says from which call.

    Raises:
        StudyError: the study breaks a rule; nothing was asked.
        JudgeFunctionError: the judge failed by an error of its own.
        IncompleteRunError: calls are open; the same line resumes.
        ProviderRefusedError: a provider refused the key, the model or the request.
        BudgetReachedError: the declared budget or deadline is used up.
    """
    given = _given(locals())
    work = partial(_audited, study, judge, out, given, changed)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    return _Aside(work).result()


async def audit_async(
    study: Any,
    *,
    judge: object = None,
    out: str | PathLike[str] | None = None,
    prompts: Sequence[str] | Mapping[str, Any] | str | None = None,
    orders: Sequence[str] | Mapping[str, float] | str | None = None,
    repeats: int | None = None,
    scale: Sequence[float] | Mapping[str, float] | None = None,
    labels: Sequence[str] | None = None,
    criteria: Sequence[str] | None = None,
    columns: Mapping[str, str] | None = None,
    budget: Mapping[str, float] | None = None,
    concurrency: int | None = None,
    at_least: float | None = None,
    seed: int | None = None,
    changed: Literal["go on"] | None = None,
) -> Run:
    """Do what `audit` does without holding up the loop that runs.

    An async judge runs in this loop, where its clients are. A task that is cancelled stops the
    audit in good order: replies under way are waited for, and everything answered is saved.
    """
    given = _given(locals())
    work = partial(_audited, study, judge, out, given, changed)
    return await _Aside(work, loop=asyncio.get_running_loop()).awaited()


class _Given(TypedDict):
    """The options that are about items: a study declares them itself."""

    prompts: Any
    orders: Any
    repeats: int | None
    scale: Any
    labels: Any
    criteria: Any
    columns: Any
    budget: Any
    concurrency: int | None
    at_least: float | None
    seed: int | None


def _given(values: Mapping[str, Any]) -> _Given:
    """Return the options about items among the values of all parameters."""
    found = {name: values[name] for name in _Given.__annotations__}
    return cast("_Given", found)


def _audited(
    study: Any,
    judge: Any,
    out: str | PathLike[str] | None,
    given: _Given,
    changed: str | None,
) -> Run:
    from judgelaw.runs.given_items import are_items

    folder = None if out is None else Path(out)
    said = {name: value for name, value in given.items() if value is not None}
    if are_items(study):
        study, judge = _of_items(study, judge, said)
    elif said:
        raise InputError(
            f"{next(iter(said))} is about items that are handed in: a study declares its own"
        )
    return Run(audit_study(study, folder, shown=_shown(), judge=judge, changed=changed).run)


def _of_items(items: Any, judge: Any, said: dict[str, Any]) -> tuple[LoadedStudy, dict[str, Any]]:
    """Return the study of some items, and the functions that answer by the judge's name."""
    from judgelaw.judges import name_of, usual_scale
    from judgelaw.runs.given_items import given_study

    if judge is None:
        raise StudyError(
            f"a {type(items).__name__} is no study: give the path of a YAML file, or a dict; of "
            "items judge= is missing: jl.audit(items, judge=function) asks a function"
        )
    named = dict(judge) if isinstance(judge, Mapping) else {name_of(judge): judge}
    if not {"scale", "labels", "criteria"} & said.keys():
        scales = [usual_scale(each) for each in named.values()]
        if all(scales):
            said = {**said, "scale": scales[0]}
    return given_study(items, list(named), **said), named


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

    def __init__(
        self, work: Callable[[], T], loop: asyncio.AbstractEventLoop | None = None
    ) -> None:
        self._future: Future[T] = Future()
        self._loop = loop
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
        CALLERS_LOOP.set(self._loop)
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
