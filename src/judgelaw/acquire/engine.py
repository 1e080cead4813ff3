"""The engine: one lane a judge, one session, one ledger; it never ends with unwritten replies."""

import asyncio
import gc
import logging
import random
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from typing import Any, cast
from weakref import WeakSet

import aiohttp
from aiohttp.connector import Connection

from judgelaw.acquire.batch_calls import BatchCalls
from judgelaw.acquire.batches import BatchLane, BatchRules
from judgelaw.acquire.budget import RunBudget, open_run_budget
from judgelaw.acquire.lane import Effects, Lane, Rules
from judgelaw.acquire.limits import Backlog, Limiter
from judgelaw.acquire.progress import Observer, Tally
from judgelaw.acquire.readings import Readings
from judgelaw.acquire.retry import Halt, Reason, RetryPolicy, Stop
from judgelaw.judges import Judge, JudgeContext, JudgeFunction, open_batch_client, open_judge
from judgelaw.ledger import Ending, Held, Ledger, Record
from judgelaw.processes import endings, forget_terminal, on_terminal
from judgelaw.study import FrozenRun, Requests
from judgelaw.wire import PROVIDERS, Batch, BatchClient, JudgeSpec

_LOG = logging.getLogger(__name__)
GRACE_S = 15.0
_TICK_S = 0.25
_SILENT_S = 1.2
"""Somebody who interrupts does not wait for a ledger that has not answered for so long."""
_NEW_OBJECTS = 20_000
"""Between two looks of the garbage collector while calls are under way."""


def real_effects() -> Effects:
    """Return the clock, the sleep and the jitter of the real world."""
    return Effects(
        clock=time.time,
        monotonic=time.monotonic,
        sleep=asyncio.sleep,
        # Jitter decides when a retry leaves, never what is asked: it needs no named stream.
        jitter=random.random,
    )


async def drive(
    frozen: FrozenRun,
    ledger: Ledger,
    observer: Observer,
    *,
    effects: Effects | None = None,
    grace_s: float = GRACE_S,
    cancel_batches: bool = False,
    functions: Mapping[str, JudgeFunction] | None = None,
) -> tuple[Stop, ...]:
    """Send the open calls of a run and return why some are left, the gravest reason first.

    With `cancel_batches` what waits in batches is cancelled and collected; nothing new is sent
    for those judges. `functions` answer for the judges that they are named after.

    Replies under way when something stops the run are waited for and written: for their own
    time-out, or `grace_s` after an interruption (a second one ends the grace).
    """
    effects = effects or real_effects()
    totals = {name: ledger.totals(name) for name in frozen.judges}
    pending = {name: spec for name, spec in frozen.judges.items() if totals[name].open}
    for name, found in totals.items():
        _LOG.info("%s: %s of %s calls are open", name, found.open, found.planned)
    run_budget = open_run_budget(frozen.budget, frozen.judges, totals, partial(_first_body, frozen))
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(_session())
        around = JudgeContext(
            frozen=frozen,
            session=session,
            clock=effects.clock,
            functions=functions or {},
            may_send=ledger.may_send,
        )
        judges: dict[str, Judge | BatchClient] = {}
        for name, spec in pending.items():
            judge = open_batch_client(spec, around) if spec.batch else open_judge(spec, around)
            judges[name] = await stack.enter_async_context(judge)
        engine = Engine(
            frozen=frozen,
            ledger=ledger,
            judges=judges,
            run_budget=run_budget,
            effects=effects,
            cancel_batches=cancel_batches,
        )
        tally = Tally.starting_from(totals, frozen.judges, effects.monotonic())
        with _rare_collections():
            return await engine.run(observer, tally, grace_s=grace_s)


def _first_body(frozen: FrozenRun, judge: str) -> bytes:
    """Return a request of a judge, empty where it has none."""
    calls = (call for call in frozen.iter_calls() if call.judge == judge)
    return next((Requests(frozen, frozen.judges[judge]).body(call) for call in calls), b"")


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Let the garbage collector look at new objects only, and not after every few hundred.

    Measured at 200 calls at once: it took a tenth of the time of a run, and found next to nothing.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


class Engine:
    """Runs the lanes, and ends them in good order."""

    def __init__(
        self,
        *,
        frozen: FrozenRun,
        ledger: Ledger,
        judges: Mapping[str, Judge | BatchClient],
        run_budget: RunBudget,
        effects: Effects,
        cancel_batches: bool = False,
    ) -> None:
        self._frozen = frozen
        self._ledger = ledger
        self._effects = effects
        # A kill loses what is on the wire and what is not yet written: at most three rounds.
        self._backlog = Backlog(2 * sum(self._width(frozen.judges[name]) for name in judges))
        self._halt = Halt()
        self._interrupted = asyncio.Event()
        self._hurry = asyncio.Event()
        self._cancel_batches = cancel_batches
        self._readings = Readings(frozen.readers, ledger, self._halt)
        self._lanes = [
            self._lane_of(frozen.judges[name], judges[name], run_budget) for name in judges
        ]

    async def run(self, observer: Observer, tally: Tally, *, grace_s: float) -> tuple[Stop, ...]:
        """Run every lane to its end or to a halt; then write out what is left."""

        def durable(records: Sequence[Record]) -> None:
            self._backlog.durable(records)
            tally.add(records)
            self._readings.durable(records)

        def held(held: Held | None) -> None:
            self._backlog.hold(held)
            tally.held = held
            self._let_go()

        tally.limits = self._limits
        self._ledger.listen(durable, held)
        helpers = [asyncio.create_task(self._tick(observer, tally))]
        if self._frozen.budget and self._frozen.budget.deadline_s:
            limit = self._frozen.budget.deadline_s
            helpers.append(asyncio.create_task(self._deadline(limit)))
        try:
            with signals(self._interrupt):
                await self._readings.catch_up()
                # All of them before any lane: what waits at a provider is part of the budget.
                for lane in self._lanes:
                    if isinstance(lane, BatchLane):
                        await lane.take_up()
                lanes = [asyncio.create_task(lane.run()) for lane in self._lanes]
                await self._finish(lanes, grace_s)
                await self._flush(grace_s)
                await self._readings.drain()
        finally:
            try:
                await self._write_out()
            finally:
                for helper in helpers:
                    helper.cancel()
            self._show(observer, tally)
        if self._halt.error is not None:
            raise self._halt.error
        return self._stops()

    def _limits(self) -> list[str]:
        """Say what limits the rate of each judge that is asked call by call."""
        return [lane.limiter.words for lane in self._lanes if isinstance(lane, Lane)]

    def _lane_of(
        self, spec: JudgeSpec, judge: Judge | BatchClient, run_budget: RunBudget
    ) -> Lane | BatchLane:
        if spec.batch is not None:
            return self._batch_lane(spec, cast("BatchClient", judge), run_budget)
        return self._lane(spec, cast("Judge", judge), run_budget)

    def _batch_lane(self, spec: JudgeSpec, client: BatchClient, run_budget: RunBudget) -> BatchLane:
        calls = BatchCalls(
            frozen=self._frozen,
            spec=spec,
            ledger=self._ledger,
            run_budget=run_budget,
            record=self._record,
            run_halt=self._halt,
            effects=self._effects,
            most_bytes=client.most_bytes,
        )
        return BatchLane(
            spec=spec,
            client=client,
            calls=calls,
            ledger=self._ledger,
            reading=self._readings.of[spec.name],
            rules=BatchRules(
                batch=spec.batch or Batch(),
                timeout_s=self._frozen.transport.timeout_s,
                retry=self._retry(),
                cancel=self._cancel_batches,
            ),
            record=self._record,
            run_halt=self._halt,
            effects=self._effects,
        )

    def _record(self, ending: Ending) -> None:
        self._backlog.add(ending)
        self._ledger.record(ending)

    def _retry(self) -> RetryPolicy:
        transport = self._frozen.transport
        return RetryPolicy(
            attempts=transport.attempts,
            backoff_s=transport.backoff_s,
            max_backoff_s=transport.max_backoff_s,
        )

    def _lane(self, spec: JudgeSpec, judge: Judge, run_budget: RunBudget) -> Lane:
        transport, concurrency = self._frozen.transport, self._width(spec)
        timeout_s = transport.timeout_s
        return Lane(
            frozen=self._frozen,
            spec=spec,
            judge=judge,
            ledger=self._ledger,
            rules=Rules(concurrency=concurrency, timeout_s=timeout_s, retry=self._retry()),
            limiter=Limiter(
                requests_per_minute=transport.requests_per_minute,
                tokens_per_minute=transport.tokens_per_minute,
                jitter=self._effects.jitter,
            ),
            run_budget=run_budget,
            backlog=self._backlog,
            reading=self._readings.of[spec.name],
            run_halt=self._halt,
            effects=self._effects,
        )

    def _width(self, spec: JudgeSpec) -> int:
        """Return how many calls of a judge are under way at once."""
        most = self._frozen.transport.concurrency
        # A model served here answers so many at once; more would wait inside their time-out.
        at_once = spec.provider in PROVIDERS and PROVIDERS[spec.provider].slots
        return min(most, spec.n_parallel) if at_once else most

    async def _finish(self, lanes: list[asyncio.Task[None]], grace_s: float) -> None:
        """Wait for the lanes; a cancellation from outside counts as an interruption."""
        try:
            await self._until_ended(lanes, grace_s)
        except asyncio.CancelledError:
            self._halt.stop(Reason.INTERRUPTED, "cancelled")
            await self._until_ended(lanes, grace_s)
            self._ledger.give_up()
            raise

    async def _until_ended(self, lanes: list[asyncio.Task[None]], grace_s: float) -> None:
        if not lanes:
            return
        ended = asyncio.create_task(asyncio.wait(lanes))
        if await self._halt.unless_stopped(asyncio.shield(ended)):
            return
        # Without an interruption every reply under way ends by its own time-out.
        grace = grace_s if self._halt.reason is Reason.INTERRUPTED else None
        hurry = asyncio.create_task(self._hurry.wait())
        await asyncio.wait({ended, hurry}, timeout=grace, return_when=asyncio.FIRST_COMPLETED)
        hurry.cancel()
        for lane in lanes:
            lane.cancel()
        await asyncio.gather(*lanes, return_exceptions=True)
        await ended

    async def _flush(self, grace_s: float) -> None:
        """Make everything durable; what cannot be written is held until somebody interrupts.

        Then for `grace_s` more, or until a second interruption.
        """
        flush = asyncio.create_task(self._ledger.flush())
        stop = asyncio.create_task(self._interrupted.wait())
        hurry = asyncio.create_task(self._hurry.wait())
        await asyncio.wait({flush, stop}, return_when=asyncio.FIRST_COMPLETED)
        if not flush.done():
            await asyncio.wait({flush, hurry}, timeout=grace_s, return_when=asyncio.FIRST_COMPLETED)
        if self._interrupted.is_set() or not flush.done():
            self._ledger.give_up()
        stop.cancel()
        hurry.cancel()
        await flush

    async def _write_out(self) -> None:
        """Make everything durable: how attempts ended, then what their replies were read as."""
        try:
            for lane in self._lanes:
                lane.give_back()
            await self._ledger.flush()
        finally:
            await self._readings.close()
        await self._ledger.flush()

    async def _tick(self, observer: Observer, tally: Tally) -> None:
        while True:
            tally.mark(self._effects.monotonic())
            self._show(observer, tally)
            self._let_go()
            await asyncio.sleep(_TICK_S)

    def _show(self, observer: Observer, tally: Tally) -> None:
        with suppress(OSError):  # a terminal that is gone is no reason to stop
            observer.show(tally, self._effects.monotonic())

    def _let_go(self) -> None:
        """Let an interrupted session wait for no ledger that is away: replies go elsewhere."""
        away = self._backlog.held is not None or self._ledger.busy_s > _SILENT_S
        if self._interrupted.is_set() and away:
            self._ledger.give_up()

    async def _deadline(self, seconds: float) -> None:
        await self._effects.sleep(seconds)
        self._halt.stop(Reason.BUDGET, f"the deadline of {seconds:g} s is reached")

    def _interrupt(self) -> None:
        if self._interrupted.is_set():
            self._hurry.set()
        self._interrupted.set()
        self._let_go()
        self._halt.stop(Reason.INTERRUPTED, "interrupted; everything that was answered is saved")

    def _stops(self) -> tuple[Stop, ...]:
        readings = (reading.halt for reading in self._readings.of.values())
        halts = [self._halt, *readings, *(lane.halt for lane in self._lanes)]
        stops = [
            Stop(reason=h.reason, words=h.words, remedy=h.remedy)
            for h in halts
            if h.reason is not None
        ]
        stops += [stop for lane in self._lanes for stop in lane.faults.stops()]
        return tuple(sorted(stops, key=lambda stop: -stop.reason))


class Connections(aiohttp.TCPConnector):
    """Connections that are used again only if nothing came over them in between.

    What a server sends that nobody asked for would be taken for the answer to the next request on
    that connection, and its answer for that to the one after it: replies to the wrong calls.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._used: WeakSet[object] = WeakSet()

    async def connect(self, *asked: Any, **named: Any) -> Connection:
        """Return a connection that holds nothing unread, unless it is new."""
        while True:
            connection = await super().connect(*asked, **named)
            protocol = connection.protocol
            if protocol is None or not (protocol in self._used and protocol.should_close):
                self._used.add(protocol)
                return connection
            connection.close()


def _session() -> aiohttp.ClientSession:
    """Open a session that does nothing of its own: no cookies, proxies, limits or time-outs.

    The limiter bounds connections and the lane keeps time, for every kind of judge alike.
    """
    return aiohttp.ClientSession(
        connector=Connections(limit=0),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
        trust_env=False,
    )


Stopper = Callable[[], object]
"""Stops a run in good order, from any thread."""

TAKES_STOPPER: ContextVar[Callable[[Stopper], None] | None] = ContextVar(
    "TAKES_STOPPER", default=None
)
"""Who runs a session in a thread of its own sets this there, and is handed what stops it."""


@contextmanager
def signals(interrupt: Callable[[], None]) -> Iterator[None]:
    """Let Ctrl-C, SIGTERM and SIGHUP stop the run in good order, where signals can be had."""
    loop = asyncio.get_running_loop()
    taken, terminal = [], on_terminal()

    def hang_up() -> None:
        forget_terminal(terminal)
        interrupt()

    for number in endings():
        try:
            hangs_up = number == getattr(signal, "SIGHUP", None)
            loop.add_signal_handler(number, hang_up if hangs_up else interrupt)
        except (NotImplementedError, RuntimeError, ValueError):
            continue  # not the main thread: whoever runs it there stops it instead
        taken.append(number)
    if (take := TAKES_STOPPER.get()) is not None:
        take(partial(loop.call_soon_threadsafe, interrupt))
    try:
        yield
    finally:
        for number in taken:
            loop.remove_signal_handler(number)
