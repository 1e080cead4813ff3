"""A run from its frozen manifest to its tables: the same call starts and resumes."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from types import TracebackType

from judgelaw.acquire.engine import GRACE_S, drive
from judgelaw.acquire.lane import Effects
from judgelaw.acquire.outputs import CALLS, TIMING, write_tables
from judgelaw.acquire.progress import Observer, Silent
from judgelaw.acquire.retry import Reason, Stop
from judgelaw.errors import (
    BudgetReachedError,
    IncompleteRunError,
    InputError,
    IntegrityError,
    JudgeFunctionError,
    JudgelawError,
    ProviderRefusedError,
    RunError,
)
from judgelaw.judges import JudgeFunction
from judgelaw.ledger import (
    LEDGER_NAME,
    Address,
    LedgerView,
    RunLock,
    SqliteLedger,
    SqliteView,
    Totals,
    refuse_missing,
    traces,
)
from judgelaw.record_files import json_of, read_regular
from judgelaw.study import MANIFEST, FrozenRun, announce, durable, file_sha256, write_sums
from judgelaw.wire import parser_name
from judgelaw.words import counted, words

NOTE = "ledger.json"
SCHEMA = "judgelaw.ledger/1"


def refuse_shared(run: Path) -> None:
    """Raise where the calls of a run folder were asked through a ledger of its own.

    Raises:
        InputError: the folder has a ledger of its own.
        IntegrityError: it had one.
    """
    if (run / NOTE).exists():
        return
    if (run / LEDGER_NAME).exists():
        raise InputError(
            f"{run} keeps its own {LEDGER_NAME}: a run has one ledger from its first call on; go "
            "on without --ledger, or start another folder with --out"
        )
    refuse_missing(run)


def refuse_behind(run: Path, ledger: LedgerView, name: str) -> None:
    """Raise where a shared ledger has lost replies that the run folder tells of.

    Raises:
        IntegrityError: going on would ask and pay for them again, and drop them from the copy.
    """
    there = ledger.totals().completed
    if (run / LEDGER_NAME).exists():
        with SqliteView(run / LEDGER_NAME) as copy:
            kept = copy.totals().completed
        told = f"the copy in {run / LEDGER_NAME} {kept}"
    else:
        traced = traces(run)
        kept = 1 if traced else 0
        told = f"{run} had a copy of more ({', '.join(traced)})"
    if there < kept:
        raise IntegrityError(
            f"{name} holds {there} replies, and {told}: the database was emptied, restored, or "
            "failed over to a replica that was behind. Nothing was asked: give the address of the "
            "one that holds them, or restore it; another folder with --out asks and pays for every "
            "call again"
        )


def note_ledger(run: Path, address: Address, name: str) -> None:
    """Write down where the ledger of a run folder is, without the password."""
    note = {"schema": SCHEMA, "url": str(address), "run": name}
    durable(run / NOTE, (json.dumps(note, indent=1) + "\n").encode())
    write_sums(run, [NOTE])


def refuse_local(run: Path) -> None:
    """Raise where a run folder's calls are asked through a shared ledger."""
    if not (run / NOTE).exists():
        return
    try:
        there = str(json_of(read_regular(run / NOTE))["url"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise IntegrityError(
            f"{run / NOTE}: cannot be read ({type(error).__name__}), so nobody knows where the "
            "ledger of this run is: restore the file, or give `--ledger` with its address"
        ) from None
    raise RunError(
        f"the calls of {run} are asked through {there}, and what is here is a copy: give "
        "`--ledger` with that address, so that nothing is asked twice"
    )


_ERRORS: dict[Reason, type[JudgelawError]] = {
    Reason.ATTEMPTS: IncompleteRunError,
    Reason.POSTPONED: IncompleteRunError,
    Reason.BUDGET: BudgetReachedError,
    Reason.UNREAD: IncompleteRunError,
    Reason.REJECTED: ProviderRefusedError,
    Reason.FAULTY: JudgeFunctionError,
    Reason.REFUSED: ProviderRefusedError,
}

_REMEDIES = {
    Reason.REJECTED: "correct base_url or api_key in the study (another model or decoding is "
    "another run: --out)",
    Reason.FAULTY: "correct the function; for a reply that came and could not be read it returns "
    "or raises jl.Invalid(text, reason=...), which is kept and never asked again",
    Reason.REFUSED: "correct api_key, the account behind it, or base_url",
}

_ANOTHER_PARSER = (
    "write a pattern that does not backtrack (`judgelaw check` tries it), read the replies with it "
    "(`judgelaw reparse RUN --parser RULE --out FILE`), and put it into a study of another run "
    "(--out)"
)


@dataclass(frozen=True, kw_only=True)
class Acquisition:
    """What a session left behind.

    Attributes:
        path: the run folder.
        totals: counted from the rows of the ledger.
        unread: replies that are kept and that their parser has not read.
        stops: why calls are open, or replies unread, the gravest reason first; empty where
            none is.
    """

    path: Path
    totals: Totals
    unread: int
    stops: tuple[Stop, ...]

    @property
    def gravity(self) -> int:
        """How grave the reason is for which something is left; 0 where nothing is."""
        return int(self.stops[0].reason) if self._left and self.stops else 0

    @property
    def complete(self) -> bool:
        """Whether every call is answered and every reply read."""
        return not self._left

    @property
    def _left(self) -> bool:
        unreadable = any(stop.reason is Reason.UNREADABLE for stop in self.stops)
        return self.totals.open > 0 or self.unread > 0 or unreadable

    @property
    def interrupted(self) -> bool:
        """Whether somebody stopped the session."""
        return any(stop.reason is Reason.INTERRUPTED for stop in self.stops)

    def raise_if_open(self) -> None:
        """Raise the error of the gravest reason if calls are open or replies unread.

        Raises:
            KeyboardInterrupt: the session was interrupted; everything answered is saved.
        """
        if not self._left:
            return
        t = self.totals
        done = f"{t.completed} of {t.planned} calls are done, {t.open} open"
        if self.unread:
            done += f", {self.unread} of their replies not read yet"
        worst = self.stops[0]
        why = "; ".join(dict.fromkeys(stop.words for stop in self.stops))
        if worst.reason is Reason.UNREADABLE:
            raise InputError(f"{why}. {done}: {_ANOTHER_PARSER}")
        remedy = worst.remedy or _REMEDIES.get(worst.reason)
        then = f"{remedy}, then the same command goes on" if remedy else "the same command resumes"
        message = f"{why}. {done}: {then}"
        if worst.reason is Reason.INTERRUPTED:
            raise KeyboardInterrupt(message)
        raise _ERRORS[worst.reason](message)


def acquire(
    frozen: FrozenRun,
    *,
    observer: Observer | None = None,
    effects: Effects | None = None,
    grace_s: float = GRACE_S,
    cancel_batches: bool = False,
    accept_loss: bool = False,
    functions: Mapping[str, JudgeFunction] | None = None,
) -> Acquisition:
    """Ask every open call of a run, then write its tables and hashes.

    Whatever ends the session, what was answered is in the ledger, and the tables hold it.

    Raises:
        RunLockedError: another process holds the run.
        IntegrityError: the ledger is gone, or has lost what was durable; `accept_loss` goes on
            without it.
        RunError: the calls are asked through a shared ledger.
    """
    refuse_local(frozen.path)
    with ExitStack() as stack:
        lock = stack.enter_context(RunLock(frozen.path))
        ledger = SqliteLedger(frozen.path, lock=lock, accept_loss=accept_loss)
        # Runs after the ledger is closed, whatever ends the session.
        stack.push(partial(_leave_outputs, frozen))
        stack.enter_context(ledger)
        announce(frozen.path, LEDGER_NAME)
        manifest = file_sha256(frozen.path / MANIFEST)
        ledger.load(frozen.judges, frozen.asked_calls(), manifest=manifest)
        observer = observer or Silent()
        asking = drive(
            frozen,
            ledger,
            observer,
            effects=effects,
            grace_s=grace_s,
            cancel_batches=cancel_batches,
            functions=functions,
        )
        stops = asyncio.run(asking)
        totals, left = ledger.totals(), unread(frozen, ledger)
        stops = stops or unexplained(frozen, ledger, left)
    return Acquisition(path=frozen.path, totals=totals, unread=left, stops=stops)


def _leave_outputs(
    frozen: FrozenRun,
    _kind: type[BaseException] | None,
    error: BaseException | None,
    _trace: TracebackType | None,
) -> None:
    """Write the outputs of a session; a ledger that is damaged or not there gives none."""
    if not isinstance(error, IntegrityError):
        write_outputs(frozen)


def write_outputs(frozen: FrozenRun) -> None:
    """Write the tables of a run from its closed ledger, and the hashes of all three."""
    refuse_missing(frozen.path)
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        write_tables(frozen, view)
    write_sums(frozen.path, [LEDGER_NAME, CALLS, TIMING])


def unread(frozen: FrozenRun, view: LedgerView) -> int:
    """Count the replies that the frozen parsers have not read."""
    return sum(
        1 for name, spec in frozen.readers.items() for _ in view.unjudged(name, parser_name(spec))
    )


def unexplained(frozen: FrozenRun, view: LedgerView, unread: int) -> tuple[Stop, ...]:
    """Say why calls are open, or replies unread, where nothing stopped the run."""
    totals = view.totals()
    if totals.open:
        said = f"{counted(totals.open, 'call')} given back by other workers"
        if totals.failed:
            tries = counted(frozen.transport.attempts, "time")
            said = f"{counted(totals.open, 'call')} failed {tries} each"
        for judge, why, _ in islice(view.failure_words(), 1):
            said += f", most often: judge {judge}: {words(why)}; `judgelaw status` lists the rest"
        return (Stop(reason=Reason.ATTEMPTS, words=said),)
    if unread:
        said = f"{unread} replies could not be read in time"
        return (Stop(reason=Reason.UNREADABLE, words=said),)
    return ()
