"""One judge under way: workers that take reservations, send them, and record the ending.

Reserving costs a commit; fetching the next reservations while the last ones are being sent takes
that commit off the critical path. Memory holds a few of them, however many calls are planned.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

from judgelaw.acquire.budget import NOTHING, Cost, Meter, RunBudget, exhausted
from judgelaw.acquire.limits import Backlog, Deadlines, Limiter
from judgelaw.acquire.rates import Ticket
from judgelaw.acquire.readings import Reading
from judgelaw.acquire.retry import (
    Again,
    DecodeFaults,
    Halt,
    LeaveOpen,
    Reason,
    RetryPolicy,
    Sleep,
    completed,
    decide,
    failed,
    failures_allowed,
    receipt_of,
    stop_for,
    unmetered,
)
from judgelaw.judges import Judge, idle_of
from judgelaw.ledger import Arrived, Booking, Ending, Ledger, Reservation, Unsent
from judgelaw.study import FrozenRun, Requests
from judgelaw.wire import Answer, Failure, FailureKind, JudgeSpec, Reply, quotas_in

_LOG = logging.getLogger(__name__)


class Feed:
    """Durable reservations in schedule order."""

    def __init__(self, ledger: Ledger, judge: str, *, width: int, halt: Halt) -> None:
        self._ledger = ledger
        self._judge = judge
        self._low, self._high = 2 * width, 4 * width
        self._halt = halt
        self._ready: deque[Reservation] = deque()
        self._dry = False
        self._wanted = asyncio.Event()
        self._filled = asyncio.Event()

    async def take(self) -> Reservation | None:
        """Return the next reservation; None when there is none left or nothing may start."""
        while not self._ready:
            if self._dry or self._halt.stopped:
                return None
            self._filled.clear()
            self._wanted.set()
            # Woken at the latest when `fill` ends, which a halt makes it do.
            await self._filled.wait()
        if self._halt.stopped:
            return None
        if len(self._ready) <= self._low:
            self._wanted.set()
        return self._ready.popleft()

    async def fill(self) -> None:
        """Keep reservations at hand until the schedule ends or nothing may start."""
        after = -1
        try:
            while not (self._dry or self._halt.stopped):
                if not await self._halt.unless_stopped(self._wanted.wait()):
                    return
                self._wanted.clear()
                limit = self._high - len(self._ready)
                batch = await self._ledger.reserve(self._judge, after=after, limit=limit)
                if batch:
                    after = batch[-1].call.position
                self._ready.extend(batch)
                self._dry = len(batch) < limit
                self._filled.set()
        finally:
            self._dry = True
            self._filled.set()

    def rest(self) -> list[Reservation]:
        """Return the reservations that will not be sent."""
        rest = list(self._ready)
        self._ready.clear()
        return rest


_LARGE = 2**20
"""Bytes of a reply from which on it is durable before anything reads it: reading a large one may
take more memory than there is, and writing it first costs little beside its way over the wire."""
_SETTLING_S = 0.5
"""How often to ask again for a budget that others have set aside."""


@dataclass(frozen=True, kw_only=True)
class Effects:
    """The world outside, passed in so that every decision can be tested."""

    clock: Callable[[], float]
    monotonic: Callable[[], float]
    sleep: Sleep
    jitter: Callable[[], float]


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How one judge is asked."""

    concurrency: int
    timeout_s: float
    retry: RetryPolicy


@dataclass(frozen=True, kw_only=True, slots=True)
class Sent:
    """An attempt on the wire."""

    reservation: Reservation
    body: bytes
    cost: Cost
    at: float
    ticket: Ticket | None = None
    """None for a reply of an earlier session."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Leave:
    """What was set aside for one request that may leave now."""

    cost: Cost
    ticket: Ticket


@dataclass(kw_only=True, eq=False)
class Lane:
    """The calls of one judge, in schedule order."""

    frozen: FrozenRun
    spec: JudgeSpec
    judge: Judge
    ledger: Ledger
    rules: Rules
    limiter: Limiter
    run_budget: RunBudget
    backlog: Backlog
    reading: Reading
    run_halt: Halt
    effects: Effects

    def __post_init__(self) -> None:
        self._requests = Requests(self.frozen, self.spec)
        self._meter = Meter(self.spec)
        self._turn = asyncio.Lock()
        self._hopeless = 0
        self._answers = False
        self._deadlines = Deadlines(self.rules.timeout_s)
        self._idle_s = idle_of(self.judge)
        self.halt = Halt(above=self.reading.halt)
        self.faults = DecodeFaults(self.spec.name, self.halt)
        width = self.rules.concurrency
        self._feed = Feed(self.ledger, self.spec.name, width=width, halt=self.halt)

    async def run(self) -> None:
        """Read what came in earlier sessions, then send every open call, or as many as may be."""
        await self.run_halt.guard(self._read_left)
        works = [self._feed.fill, *[self._work] * self.rules.concurrency]
        await asyncio.gather(*map(self.run_halt.guard, works))

    def give_back(self) -> None:
        """Record what was reserved and never sent."""
        for reservation in self._feed.rest():
            self._unsent(reservation)

    async def _read_left(self) -> None:
        """Read the replies that nobody has read yet; what is no answer is asked again."""
        for reservation, sent_at, ended_at, reply in await self.ledger.unread_replies(
            self.spec.name
        ):
            self.run_budget.hold(NOTHING)
            body = self._requests.body(reservation.call)
            sent = Sent(reservation=reservation, body=body, cost=NOTHING, at=sent_at)
            failure = self._read(sent, reply, ended_at)
            if failure is not None:
                self._record_failure(failure, sent)
        await self.ledger.flush()

    async def _work(self) -> None:
        while (reservation := await self._feed.take()) is not None:
            await self._complete(reservation)
            if self.backlog.full:
                await self.ledger.flush()
            if self.reading.full:
                await self.reading.room()

    async def _complete(self, reservation: Reservation) -> None:
        """Try one call until it is answered, its attempts are used up, or nothing may be sent."""
        body = self._requests.body(reservation.call)
        tried = 0
        while (leave := await self._may_send(reservation, body)) is not None:
            cost = leave.cost
            if not await self.backlog.writable(self.halt):
                self._settle(cost, None, completed=False)
                break
            tried += 1
            if not await self.ledger.sending(reservation):
                self._settle(cost, None, completed=False)
                break
            now = self.effects.clock()
            sent = Sent(reservation=reservation, body=body, cost=cost, at=now, ticket=leave.ticket)
            failure = await self._send(sent)
            if failure is None:
                return
            delay = self._after(failure, sent, tried)
            if delay is None or not await self._sleep(delay):
                return
            following = await self.ledger.again(reservation)
            if following is None:
                return
            reservation = following
        self._unsent(reservation)

    async def _may_send(self, reservation: Reservation, body: bytes) -> Leave | None:
        """Wait for budget and pace; None if nothing may leave."""
        while not self.halt.stopped:
            cost = self._meter.estimate(body) if self._metered else NOTHING
            if (limit := self.run_budget.lacks(cost)) is not None:
                if self.run_budget.under_way == 0:
                    exhausted(self.run_halt, limit)
                    return None
                await self.halt.unless_stopped(self.run_budget.settled.heard())
            else:
                return await self._book(reservation, cost)
        return None

    async def _book(self, reservation: Reservation, cost: Cost) -> Leave | None:
        self.run_budget.hold(cost)
        delay = self.limiter.book(cost.tokens, self.effects.monotonic())
        booking = await self._shared(reservation, cost)
        if booking is not None:
            delay = max(delay, booking.delay_s)
            if delay == 0 or await self._sleep(delay):
                ticket = await self._allowed(cost)
                if ticket is not None:
                    return Leave(cost=cost, ticket=ticket)
        self._settle(cost, None, completed=False)
        return None

    async def _allowed(self, cost: Cost) -> Ticket | None:
        """Wait, one after the other, until the provider allows one more; None if nothing may."""
        provider, monotonic = self.limiter.provider, self.effects.monotonic
        if provider.idle:
            return provider.book(cost.tokens, monotonic())
        async with self._turn:
            while not self.halt.stopped:
                pause = provider.wait(cost.tokens, monotonic())
                if pause <= 0:
                    return provider.book(cost.tokens, monotonic())
                await self._sleep(pause)
        return None

    async def _shared(self, reservation: Reservation, cost: Cost) -> Booking | None:
        """Ask the limits that other sessions share; None if nothing may leave."""
        while not self.halt.stopped:
            booking = await self.ledger.book(reservation, tokens=cost.tokens, usd=cost.usd)
            if booking.lacks is None:
                return booking
            if booking.under_way == 0:
                exhausted(self.run_halt, booking.lacks)
            else:  # what others have set aside may turn out to be less
                await self._sleep(_SETTLING_S)
        return None

    async def _send(self, sent: Sent) -> Failure | None:
        """Touch the wire once; record an answer, return a failure."""
        try:
            call = sent.reservation.call
            idle_s = partial(self._idle_s, call)
            reply = await self._deadlines.keep(self.judge.ask(call, sent.body), idle_s)
        except TimeoutError:
            late = f"no reply in {self.rules.timeout_s:g} s (transport: timeout_s)"
            reply = Failure(kind=FailureKind.TIMEOUT, detail=late)
        except asyncio.CancelledError:
            # Nobody waits any more, but the provider may have answered: say so.
            failure = Failure(kind=FailureKind.INTERRUPTED, detail="stopped before the reply came")
            self._settle(sent.cost, sent.cost, completed=False)
            self._record_failure(failure, sent)
            raise
        # No await from here to the record: a reply that came is never lost to a cancellation.
        if isinstance(reply, Reply):
            now = self.effects.clock()
            if sent.ticket is not None and (quotas := quotas_in(reply.headers, now)):
                self.limiter.provider.heard(sent.ticket, quotas, self.effects.monotonic())
            self.ledger.record(
                Arrived(reservation=sent.reservation, sent_at=sent.at, ended_at=now, reply=reply)
            )
            if len(reply.body) > _LARGE:
                await self._durable_first(sent)
            return self._read(sent, reply, now)
        self._settle(sent.cost, sent.cost if reply.kind.at_risk else None, completed=False)
        return reply

    async def _durable_first(self, sent: Sent) -> None:
        """Wait until a reply is durable; where nobody waits any more, the next session reads it."""
        try:
            await self.ledger.flush()
        except BaseException:
            self._settle(sent.cost, sent.cost, completed=False)
            raise

    def _read(self, sent: Sent, reply: Reply, now: float) -> Failure | None:
        """Read a reply that was recorded; return how it failed, None where it is an answer.

        And None where the code that reads it fails: the reply is kept for code that does not.
        """
        try:
            answer = self.judge.decode(reply)
        except Exception as error:  # noqa: BLE001 - it may be anybody's code; the reply is kept
            self._settle(sent.cost, sent.cost, completed=False)
            self.faults.add(error)
            return None
        if isinstance(answer, Answer):
            self._answered(sent, reply, answer, now)
            return None
        self._settle(sent.cost, sent.cost if answer.kind.at_risk else None, completed=False)
        return answer

    def _answered(self, sent: Sent, reply: Reply, answer: Answer, now: float) -> None:
        receipt = receipt_of(answer, self.spec)
        spent = self._meter.learn(sent.body, receipt) if self._metered else NOTHING
        self._record(completed(reply, answer, receipt, sent.reservation, sent.at, now))
        self._hopeless = 0
        self._answers = True
        if sent.ticket is not None:
            self.limiter.provider.answered(sent.ticket)
        self._settle(sent.cost, spent, completed=True)
        if spent is None and self.run_budget.needs_usage:
            self.run_halt.fail(unmetered(self.spec))

    def _after(self, failure: Failure, sent: Sent, tried: int) -> float | None:
        """Record a failure and do what follows; return the pause before the next attempt."""
        self._record_failure(failure, sent)
        if failure.kind is FailureKind.THROTTLED and sent.ticket is not None:
            now = self.effects.monotonic()
            self.limiter.provider.refused(sent.ticket, failure.retry_after, now)
        jitter = self.effects.jitter()
        decision = decide(failure, tried=tried, policy=self.rules.retry, jitter=jitter)
        said = f"judge {self.spec.name}: {failure.detail}"
        match decision:
            case Again(delay_s=delay):
                return delay
            case LeaveOpen():
                self._hopeless += 1
                ever = self._answers or self._answered_before
                most = failures_allowed(failure.kind, answered=self._answers, ever=ever)
                if self._hopeless >= most:
                    words = f"{self._hopeless} calls in a row used up their attempts; last, {said}"
                    self.halt.stop(Reason.POSTPONED, words)
            case _:
                stop_for(decision, said, judge=self.halt, run=self.run_halt)
        return None

    def _record_failure(self, failure: Failure, sent: Sent) -> None:
        _LOG.info("%s: an attempt failed, %s: %s", self.spec.name, failure.kind, failure.detail)
        self._record(failed(failure, sent.reservation, sent.at, self.effects.clock()))

    @property
    def _metered(self) -> bool:
        return self.run_budget.needs_usage or self.limiter.counts_tokens

    @cached_property
    def _answered_before(self) -> bool:
        """Whether an earlier session has answers; looked up only if this one has none."""
        return self.ledger.totals(self.spec.name).completed > 0

    async def _sleep(self, seconds: float) -> bool:
        """Sleep unless nothing may start any more; return whether to go on."""
        return await self.halt.unless_stopped(self.effects.sleep(seconds))

    def _unsent(self, reservation: Reservation) -> None:
        self._record(Unsent(reservation=reservation, ended_at=self.effects.clock()))

    def _record(self, ending: Ending) -> None:
        self.backlog.add(ending)
        self.ledger.record(ending)

    def _settle(self, held: Cost, spent: Cost | None, *, completed: bool) -> None:
        self.run_budget.settle(held, spent, completed=completed)
        self.limiter.done(estimated=held.tokens, used=None if spent is None else spent.tokens)
