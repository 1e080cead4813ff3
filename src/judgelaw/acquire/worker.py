"""Workers: any number of processes on any number of machines that ask the calls of one run."""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any

from judgelaw.acquire.acquisition import (
    Acquisition,
    note_ledger,
    refuse_behind,
    refuse_shared,
    unexplained,
    unread,
    write_outputs,
)
from judgelaw.acquire.engine import GRACE_S, drive, real_effects, signals
from judgelaw.acquire.lane import Effects
from judgelaw.acquire.progress import Observer, Silent
from judgelaw.acquire.readings import read_again
from judgelaw.acquire.retry import Halt, Reason, Stop
from judgelaw.errors import LeaseLostError, RunError
from judgelaw.ledger import (
    LEDGER_NAME,
    Address,
    PostgresLedger,
    PostgresView,
    RunLock,
    SqliteView,
    Terms,
    archive,
    list_runs,
)
from judgelaw.study import (
    ITEMS,
    MANIFEST,
    PROMPTS,
    RECORD,
    FrozenRun,
    file_sha256,
    open_run,
    record_looks,
)
from judgelaw.wire import parser_name

INPUTS = (RECORD, ITEMS, PROMPTS)
"""What a worker needs of a run folder; hidden labels of controls stay at home."""

Say = Callable[[str], None]

_BEATS = 4
"""Heartbeats in one lease, so that a few may be late."""
_LOOK_S = 0.5


def quiet(words: str) -> None:
    """Say nothing."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """One run in one database, and the terms of every session there."""

    address: Address
    run: str
    terms: Terms

    def session(self) -> PostgresLedger:
        """Begin a session."""
        return PostgresLedger(self.address, self.run, terms=self.terms)

    def view(self) -> PostgresView:
        """Read only."""
        return PostgresView(self.address, self.run, patience_s=self.terms.patience_s)


def acquire_shared(
    frozen: FrozenRun,
    address: Address,
    *,
    ask: bool = True,
    cancel_batches: bool = False,
    lease_s: float = Terms.lease_s,
    observer: Observer | None = None,
    say: Say = quiet,
) -> Acquisition:
    """Freeze a run into a shared ledger, ask its open calls beside other workers, write its tables.

    The run folder gets a copy of the ledger when this ends. `ask` says whether this process is one
    of the workers; else it only hands the run over, and writes tables of what is answered so far.
    """
    place = _place(frozen, address, frozen.path.resolve().name, lease_s)
    refuse_shared(frozen.path)
    address.wait_until_up(say)
    frozen = follow(frozen, place)
    with RunLock(frozen.path):
        with place.session() as ledger:
            hand_over(frozen, ledger)
        with ExitStack() as stack:
            # Whatever ends the session, the folder holds what was answered.
            stack.callback(bring_home, frozen, place)
            stops: tuple[Stop, ...] = ()
            if ask:
                asking = partial(work, frozen, say=say, cancel_batches=cancel_batches)
                stops = _ask(frozen, place, observer or Silent(), asking, say)
        with place.view() as view:
            totals, left = view.totals(), unread(frozen, view)
            if ask:
                stops = stops or unexplained(frozen, view, left)
    return Acquisition(path=frozen.path, totals=totals, unread=left, stops=stops)


def work_on(
    address: Address,
    run: str,
    *,
    lease_s: float = Terms.lease_s,
    observer: Observer | None = None,
    say: Say = quiet,
) -> Acquisition:
    """Ask open calls of a run in a shared ledger until none is left for this worker.

    Where looks decide how deep the run goes, wait a lease for the next depth: whoever froze the
    run looks, and hands it over.
    """
    address.wait_until_up(say)
    while True:
        with TemporaryDirectory(prefix="judgelaw-") as folder:
            with PostgresView(address, run) as view:
                frozen = fetch(view, Path(folder))
            place = _place(frozen, address, run, lease_s)
            stops = _ask(frozen, place, observer or Silent(), partial(work, frozen, say=say), say)
            if stops or not frozen.undecided or not _deeper(frozen, place, lease_s, say):
                break
    with place.view() as view:
        totals = view.totals()
        # Replies that other workers are still reading are left to them.
        stops = stops or unexplained(frozen, view, 0)
    return Acquisition(path=Path(run), totals=totals, unread=0, stops=stops)


def _deeper(frozen: FrozenRun, place: Place, patience_s: float, say: Say) -> bool:
    """Wait until the run was looked at and handed over again; False where nobody does in time."""
    say(f"every call so far is asked; waiting up to {patience_s:g} s for a look at the answers")
    known = (frozen.path / RECORD).read_bytes()
    until = monotonic() + patience_s
    while monotonic() < until:
        with place.view() as view:
            if view.inputs()[RECORD] != known:
                return True
        sleep(min(_LOOK_S, patience_s))
    say("nobody looked: `judgelaw run STUDY --ledger URL` does, then start the worker again")
    return False


def follow(frozen: FrozenRun, place: Place) -> FrozenRun:
    """Take over the looks that another folder of the same study took at this ledger.

    Its calls are there already; where the studies differ, `hand_over` says how.
    """
    if frozen.study.stop is None or place.run not in list_runs(place.address):
        return frozen
    with place.view() as view, TemporaryDirectory(prefix="judgelaw-") as folder:
        if RECORD not in view.inputs():
            return frozen
        theirs = fetch(view, Path(folder))
    if _frozen_in(theirs) != _frozen_in(frozen):
        return frozen
    while len(frozen.record.looks) < len(theirs.record.looks):
        # One round of judges at a time, as they were taken: a round decides one extension.
        known = len(frozen.record.looks)
        frozen = record_looks(frozen.path, theirs.record.looks)
        if len(frozen.record.looks) == known:
            break
    return frozen


def _frozen_in(run: FrozenRun) -> tuple[object, ...]:
    record = run.record
    return record.judges, record.prompts, record.members, run.study.seed, run.study.stop


def hand_over(frozen: FrozenRun, ledger: PostgresLedger) -> None:
    """Put the calls of a frozen run into a ledger, and what workers need to ask them.

    The folder is bound to the ledger in between: when its calls are there, and before anybody can
    ask one of them.
    """
    manifest = file_sha256(frozen.path / MANIFEST)
    ledger.load(frozen.judges, frozen.iter_calls(), manifest=manifest)
    refuse_behind(frozen.path, ledger, f"run {ledger.run} in {ledger.address}")
    note_ledger(frozen.path, ledger.address, ledger.run)
    ledger.deposit({name: (frozen.path / name).read_bytes() for name in INPUTS})


def fetch(view: PostgresView, folder: Path) -> FrozenRun:
    """Write what a worker needs into an empty folder, and open it as the run that it is."""
    inputs = view.inputs()
    if any(name not in inputs for name in INPUTS):
        raise RunError(
            f"run {view.run} in {view.address} is still being frozen: wait until `judgelaw run "
            "STUDY --ledger URL` has handed it over, then start the worker again"
        )
    for name in INPUTS:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(inputs[name])
    return open_run(folder)


def bring_home(frozen: FrozenRun, place: Place) -> None:
    """Copy the ledger into the run folder, and write tables and hashes from the copy."""
    with place.session() as ledger:
        if (frozen.path / LEDGER_NAME).exists():
            # Verdicts that `reparse` added to an earlier copy stay.
            ours = {parser_name(spec) for spec in frozen.readers.values()}
            with SqliteView(frozen.path / LEDGER_NAME) as earlier:
                ledger.add_verdicts(v for v in earlier.verdicts() if v[1].parser not in ours)
        for spec in frozen.readers.values():
            ledger.add_verdicts(read_again(ledger, spec))
    with place.view() as view:
        archive(view, frozen.path / LEDGER_NAME)
    write_outputs(frozen)


def _place(frozen: FrozenRun, address: Address, run: str, lease_s: float) -> Place:
    terms = Terms(lease_s=lease_s, attempts=frozen.transport.attempts)
    return Place(address=address, run=run, terms=terms)


def _ask(
    frozen: FrozenRun, place: Place, observer: Observer, asking: Callable[..., Any], say: Say
) -> tuple[Stop, ...]:
    """Work in sessions: one that was lost is followed by another, as after a kill."""
    while True:
        try:
            with place.session() as ledger:
                ledger.share(frozen.study)
                stops: tuple[Stop, ...] = asyncio.run(asking(ledger, observer))
                return stops
        except LeaseLostError as lost:
            say(f"{lost}. Starting again")


async def work(
    frozen: FrozenRun,
    ledger: PostgresLedger,
    observer: Observer,
    *,
    say: Say = quiet,
    effects: Effects | None = None,
    grace_s: float = GRACE_S,
    cancel_batches: bool = False,
) -> tuple[Stop, ...]:
    """Ask calls until none is free and nobody holds one that could come back."""
    effects = effects or real_effects()
    heart = asyncio.create_task(_beat(ledger, effects))
    try:
        while True:
            stops = await drive(
                frozen,
                ledger,
                observer,
                effects=effects,
                grace_s=grace_s,
                cancel_batches=cancel_batches,
            )
            if not stops:
                stops, free = await _wait(ledger, effects, say)
            if stops or not free:
                return stops
    finally:
        heart.cancel()


async def _wait(
    ledger: PostgresLedger, effects: Effects, say: Say
) -> tuple[tuple[Stop, ...], bool]:
    """Wait while others hold all the calls that are left; say why it stopped, and if one is free.

    Others may take what came free before this worker does. Then it waits once more: only where
    nothing is free and nobody holds a call at one and the same moment is there nothing to do.
    """
    halt, told = Halt(), ""
    with signals(lambda: halt.stop(Reason.INTERRUPTED, "interrupted while others were at work")):
        others = await ledger.others()
        while others.held and not others.free:
            words = f"no call is free; waiting for {others.held} that are with {others.holders}"
            if words != told:
                say(words)
                told = words
            if not await halt.unless_stopped(effects.sleep(_LOOK_S)):
                return (Stop(reason=Reason.INTERRUPTED, words=halt.words),), False
            others = await ledger.others()
    return (), others.free > 0


async def _beat(ledger: PostgresLedger, effects: Effects) -> None:
    while True:
        await effects.sleep(ledger.lease_s / _BEATS)
        await ledger.beat()
