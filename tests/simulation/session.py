"""One process of a simulated run, from the opening of its ledger to its end or its death."""

import asyncio
import json
import sqlite3
from collections.abc import Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from judgelaw.acquire import Silent
from judgelaw.acquire.engine import drive
from judgelaw.acquire.lane import Effects
from judgelaw.errors import JudgelawError, RunError
from judgelaw.ledger import LEDGER_NAME, SENT_NAME, SqliteLedger, SqliteView
from judgelaw.ledger.second_place import keep
from judgelaw.ledger.writer import GroupWriter, _Group
from judgelaw.wire import Completion, JudgeSpec, Reader, Verdict
from simulation.disk import FULL, IO_ERROR, IO_ERROR_FSYNC, IO_ERROR_WRITE, OK, Disk, mounted
from simulation.fate import GOOD, Fate
from simulation.loop import HangError, SimulatedLoop
from simulation.shadow import Op

if TYPE_CHECKING:
    from simulation.world import World

_MOST_S = 4 * 3600.0
"""No session takes longer than this, whatever happens in it."""
_ROUNDS = 3
"""A kill loses what is on the wire and what is not yet written: at most three rounds of calls."""


class Death(SystemExit):
    """The process is killed: an event loop lets this through, as little else."""


class Session:
    """A process in a world, with a fate."""

    def __init__(self, world: "World", folder: Path, fate: Fate) -> None:
        self._world, self._history, self._fate = world, world.history, fate
        self._plan = world.plan.with_budget(fate.most_calls)
        self._done_before = world.history.durable
        self._folder = folder
        self._disk = Disk(folder, self._decide)
        self._loop: SimulatedLoop | None = None
        self._moment = 0
        self._jumps = dict(fate.jumps)
        self._interrupts = sorted(fate.interrupts)
        self._disk_times = fate.disk_times
        self._left: dict[str, bytes] = {}
        self._commits, self._parsers = world.dice("commits"), world.dice("parsers")
        self.dead = self._tidying = False

    def run(self) -> dict[str, bytes]:
        """Live; return the files that the next process finds."""
        self._history.begin()
        with mounted(self._disk), self._patched():
            try:
                self._live()
            except Death:
                pass
            except (Exception, HangError) as error:  # noqa: BLE001 - judged here
                self._judge(error)
        if not self.dead and not self._history.violations:
            try:
                self._end_well()
            except JudgelawError as error:  # the ledger cannot be read any more
                self._history.violations.append(f"{type(error).__name__}: {error}")
        self._hold_budget()
        return self._left

    def clock(self) -> float:
        """Return the time as the machine's clock tells it."""
        now = self._loop.time() if self._loop else self._world.now
        return self._world.clock_at_zero + now

    def commit(self, commit, records: Sequence, works: Sequence):
        """Commit as the ledger does, unless the process is dead or dies of it."""
        if not self.dead:
            written = commit(records, works)
        if self.dead:  # of the last sync, perhaps: then nobody hears of the commit
            raise sqlite3.OperationalError("the process is dead")
        self._history.commit(records)
        return written

    @property
    def elapsed(self) -> float:
        """Return the time that no clock can be set by."""
        return self._loop.time() if self._loop else self._world.now

    def hold(self) -> None:
        """Note that replies are held in memory."""
        self._history.seen["held"] += 1

    def commit_delay(self, *, urgent: bool) -> float:
        """Return how long the disk takes this time."""
        longest = self._fate.commit_s if urgent else 0.02 + self._fate.commit_s
        return self._commits.uniform(0, longest)

    @property
    def parser_is_foreign(self) -> bool:
        """Whether replies are read beside the event loop."""
        return self._fate.parser_s is not None

    def read(self, completion: Completion) -> None:
        """Note that a completion is about to be parsed; that may be the end of the process."""
        self._history.parse(self._world.provider.asked_by(completion.text))
        if not self.dead:
            self._pass_moment()
        if self.dead:
            raise RuntimeError("the process is dead")

    def _live(self) -> None:
        judges = self._plan.frozen.judges
        writer = partial(InlineWriter, self)
        with SqliteLedger(self._folder, clock=self.clock, writer=writer) as ledger:
            self._history.compare(ledger)
            self._done_before = self._history.durable + ledger.totals().in_flight
            ledger.load(judges, self._plan.calls, manifest="frozen")
            with asyncio.Runner(loop_factory=self._make_loop) as runner:
                runner.run(self._ask(ledger))

    async def _ask(self, ledger: SqliteLedger) -> None:
        effects = Effects(
            clock=self.clock,
            monotonic=self._loop.time,
            sleep=asyncio.sleep,
            jitter=self._world.dice("jitter").random,
        )
        try:
            await drive(self._plan.frozen, ledger, Silent(), effects=effects)
        finally:
            self._tidying = True

    def _make_loop(self) -> SimulatedLoop:
        world = self._world
        self._loop = SimulatedLoop(
            dice=world.dice("sequence"), start=world.now, most_s=_MOST_S, before=self._before_step
        )
        self._loop.set_exception_handler(self._unhandled)
        return self._loop

    def _unhandled(self, _loop, context) -> None:
        """Nobody hears what goes wrong in a dead process; in a living one nothing may."""
        if not self.dead:
            self._history.violations.append(f"unhandled: {context}")

    @contextmanager
    def _patched(self):
        """Put the world in the place of the machine, the network and the parser's process."""
        boot = f"boot {self._world.boot}".encode()
        with ExitStack() as stack:
            for name, value in (
                ("judgelaw.ledger.lock.boot_id", lambda: boot),
                ("judgelaw.acquire.engine._session", lambda: self._world.provider),
                ("judgelaw.acquire.engine.open_batch_client", lambda *_: self._world.batches),
                ("judgelaw.acquire.readings.Reader", partial(SimulatedReader, self)),
                ("asyncio.to_thread", self._beside_the_loop),
                ("judgelaw.ledger.second_place.places", lambda _: [self._world.second_place]),
                ("judgelaw.ledger.second_place.keep", self._keep_elsewhere),
            ):
                stack.enter_context(patch(name, value))
            yield

    async def _beside_the_loop(self, work, *arguments):
        """Do what a thread does, at some moment between its start and its end."""
        await asyncio.sleep(self._parsers.uniform(0, self._fate.parser_s))
        done = work(*arguments)
        await asyncio.sleep(self._parsers.uniform(0, self._fate.parser_s))
        return done

    def _keep_elsewhere(self, session, replies, *, beside):
        """Keep replies in the second place, which no dead process does."""
        if self.dead:
            return None
        self._history.seen["kept elsewhere"] += len(replies)
        return keep(session, replies, beside=beside)

    def _before_step(self) -> None:
        if self._tidying:
            return
        self._world.now = self._loop.time()
        if not self.dead:
            self._pass_moment()
        if self.dead:
            self._tidying = True
            raise Death
        if self._interrupts and self._interrupts[0] <= self._moment and self._loop.interrupt:
            self._interrupts.pop(0)
            self._history.seen["interrupts"] += 1
            self._loop.interrupt()

    def _decide(self, op: Op) -> int:
        """Decide for the disk; death comes in the middle of an operation too."""
        self._pass_moment()
        if self.dead:
            return IO_ERROR
        kind, fate = op.kind, self._fate
        code = {
            ("full", "write"): FULL,
            ("full", "create"): FULL,
            ("write", "write"): IO_ERROR_WRITE,
            ("sync", "sync"): IO_ERROR_FSYNC,
        }.get((fate.disk, kind), OK)
        if code == OK or self._moment < fate.disk_from or self._disk_times == 0:
            return OK
        self._disk_times -= 1
        self._history.seen[f"disk {fate.disk}"] += 1
        return code

    def _pass_moment(self) -> None:
        self._moment += 1
        self._world.clock_at_zero += self._jumps.get(self._moment, 0.0)
        if self._fate.end is not None and self._moment == self._fate.dies_at:
            self._die()

    def _die(self) -> None:
        self._leave()
        self.dead = self._disk.dead = True
        self._history.die()
        most = _ROUNDS * self._world.plan.frozen.study.transport.concurrency
        # What was in a batch can be collected again.
        if self._history.lost > most and not self._world.plan.batched:
            self._history.violations.append(f"{self._history.lost} replies are lost, not {most}")

    def _leave(self) -> None:
        """Settle what the next process finds on the disk."""
        self._left = self._disk.files()
        if self._fate.end != "power":
            return
        self._world.boot += 1
        self._history.lose_power()
        dice = self._world.dice("disk")
        marks = self._left.get(SENT_NAME)
        self._left = self._disk.shadow.image(self._fate.keep, dice)
        # Marks are never synced: they are as they were, or empty, or gone.
        self._left.pop(SENT_NAME, None)
        if marks is not None and dice.random() < 0.7:
            self._left[SENT_NAME] = dice.choice((marks, bytes(len(marks)), b""))

    def _end_well(self) -> None:
        """Hold what a process leaves that ended by itself against what it was told."""
        self._world.batches.end()
        refused = self._disk_times < self._fate.disk_times
        if refused:
            self._history.keep(self._kept_elsewhere())
        if self._history.lost and not (refused and self.batched):
            words = f"{self._history.lost} replies were in hand and are not durable"
            self._history.violations.append(words)
        if not refused:
            with SqliteView(self._folder / LEDGER_NAME) as view:
                self._history.compare(view)
                if self._fate == GOOD:  # the last one; what is broken stays so
                    self._history.violations += view.check()
        self._leave()

    @property
    def batched(self) -> bool:
        """Whether calls are asked through a batch interface, where answers wait at the provider."""
        return self._plan.batched

    def _kept_elsewhere(self) -> set[str]:
        """Return the calls whose replies lie in the second place."""
        files = self._world.second_place.glob("judgelaw-held-*.jsonl")
        lines = [
            line.partition(b" ")[2] for file in files for line in file.read_bytes().splitlines()
        ]
        return {json.loads(line)[1] for line in lines}

    def _hold_budget(self) -> None:
        most = self._fate.most_calls
        if most is not None and self._history.durable > max(most, self._done_before):
            words = f"{self._history.durable} calls are completed, {most} may be"
            self._history.violations.append(words)

    def _judge(self, error: BaseException) -> None:
        """Accept an error of ours where the disk refused something, and no other."""
        refused = self._disk_times < self._fate.disk_times
        if self.dead or (refused and isinstance(error, RunError)):
            return
        self._history.violations.append(f"{type(error).__name__}: {error}")


class SimulatedReader(Reader):
    """The parser of a judge; a foreign one in the process of the simulation, not one of its own."""

    def __init__(self, session: Session, judge: JudgeSpec) -> None:
        super().__init__(judge)
        self._session = session
        self._closed = False

    @property
    def foreign(self) -> bool:
        return self._session.parser_is_foreign

    def read_all(self, some: Sequence[tuple[Completion, str]]) -> list[Verdict]:
        if self._closed and self.foreign:
            raise RunError("the process of a parser ended without an answer; the reply is kept")
        for completion, _ in some:
            self._session.read(completion)
        return super().read_all(some)

    def close(self) -> None:
        self._closed = True


class InlineWriter(GroupWriter):
    """The ledger's writer without its thread: a group is written in a later step of the loop."""

    def __init__(self, session: Session, commit, explain, **options) -> None:
        self._session = session
        self._waiting = _Group()
        super().__init__(partial(session.commit, commit), explain, **options)

    def stop(self) -> None:
        self._put(None, urgent=True)

    def _start(self) -> None:
        """No thread."""

    def _put(self, entry, *, urgent: bool) -> None:
        self._queue.put(entry)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._write_queued()
        else:
            loop.call_later(self._session.commit_delay(urgent=urgent), self._write_queued)

    def _now(self) -> float:
        return self._session.elapsed

    def _write_queued(self) -> None:
        group, self._waiting = self._waiting, _Group()
        self._drain(group)
        if not self._write(group):
            self._session.hold()
            self._waiting = group
            again_s = self._session.commit_delay(urgent=False)
            asyncio.get_running_loop().call_later(again_s, self._write_queued)
