"""One judge under way: workers that take reservations, send them, and record how they ended."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from judgelaw.acquire.backlog import Backlog
from judgelaw.acquire.budget import NOTHING, Cost, Meter, Purse, exhausted
from judgelaw.acquire.deadlines import Deadlines
from judgelaw.acquire.endings import failed, receipt_of, unmetered
from judgelaw.acquire.feed import Feed
from judgelaw.acquire.halt import Halt, Reason, Sleep
from judgelaw.acquire.limiter import Limiter
from judgelaw.acquire.readings import Reading
from judgelaw.acquire.requests import Requests
from judgelaw.acquire.retry import (
    Again,
    LeaveOpen,
    RetryPolicy,
    StopJudge,
    StopRun,
    bearable,
    decide,
)
from judgelaw.design.judge import JudgeSpec
from judgelaw.design.manifest import FrozenRun
from judgelaw.judges import Answer, Failure, FailureKind, Judge, Reply
from judgelaw.ledger import (
    Booking,
    Completed,
    Ending,
    Ledger,
    Reservation,
    Unsent,
)

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


class Lane:
    """The calls of one judge, in schedule order."""

    def __init__(
        self,
        *,
        frozen: FrozenRun,
        spec: JudgeSpec,
        judge: Judge,
        ledger: Ledger,
        rules: Rules,
        limiter: Limiter,
        purse: Purse,
        backlog: Backlog,
        reading: Reading,
        run_halt: Halt,
        effects: Effects,
    ) -> None:
        self._requests = Requests(frozen, spec)
        self._spec = spec
        self._judge = judge
        self._ledger = ledger
        self._rules = rules
        self._limiter = limiter
        self._purse = purse
        self._meter = Meter(spec)
        self._metered = purse.needs_usage or limiter.counts_tokens
        self._backlog = backlog
        self._reading = reading
        self._run_halt = run_halt
        self._effects = effects
        self._hopeless = 0
        self._answers = False
        self._deadlines = Deadlines(rules.timeout_s)
        self.halt = Halt(above=reading.halt)
        self._feed = Feed(ledger, spec.name, width=rules.concurrency, halt=self.halt)

    async def run(self) -> None:
        """Send every open call of the judge, or as many as may be sent."""
        workers = [self._guarded(self._work) for _ in range(self._rules.concurrency)]
        await asyncio.gather(self._guarded(self._feed.fill), *workers)

    def give_back(self) -> None:
        """Record what was reserved and never sent."""
        for reservation in self._feed.rest():
            self._unsent(reservation)

    async def _guarded(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Stop the run for an error, but let the replies under way arrive first."""
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - raised by the engine once replies are safe
            self._run_halt.fail(error)

    async def _work(self) -> None:
        while (reservation := await self._feed.take()) is not None:
            await self._complete(reservation)
            if self._backlog.full:
                await self._ledger.flush()
            if self._reading.full:
                await self._reading.room()

    async def _complete(self, reservation: Reservation) -> None:
        """Try one call until it is answered, used up, or nothing may be sent."""
        body = self._requests.body(reservation.call)
        tried = 0
        while (cost := await self._may_send(reservation, body)) is not None:
            tried += 1
            await self._ledger.sending(reservation)
            sent = Sent(reservation=reservation, body=body, cost=cost, at=self._effects.clock())
            failure = await self._send(sent)
            if failure is None:
                return
            delay = self._after(failure, sent, tried)
            if delay is None or not await self._sleep(delay):
                return
            reservation = await self._ledger.again(reservation)
        self._unsent(reservation)

    async def _may_send(self, reservation: Reservation, body: bytes) -> Cost | None:
        """Wait for budget, slot and pace; return what was set aside, None if nothing may leave."""
        slots, monotonic = self._limiter.slots, self._effects.monotonic
        while not self.halt.called:
            cost = self._meter.estimate(body) if self._metered else NOTHING
            if (limit := self._purse.lacks(cost)) is not None:
                if self._purse.under_way == 0:
                    exhausted(self._run_halt, limit)
                    return None
                await self.halt.unless_called(self._purse.settled.heard())
            elif not slots.free:
                await self.halt.unless_called(self._limiter.freed.heard())
            elif (pause := slots.wait(monotonic())) > 0:
                await self._sleep(pause)
            else:
                return await self._book(reservation, cost)
        return None

    async def _book(self, reservation: Reservation, cost: Cost) -> Cost | None:
        self._purse.hold(cost)
        delay = self._limiter.book(cost.tokens, self._effects.monotonic())
        booking = await self._shared(reservation, cost)
        if booking is not None:
            delay = max(delay, booking.delay_s)
            if delay == 0 or await self._sleep(delay):
                return cost
        self._settle(cost, None, completed=False)
        return None

    async def _shared(self, reservation: Reservation, cost: Cost) -> Booking | None:
        """Ask the limits that other sessions share; None if nothing may leave."""
        while not self.halt.called:
            booking = await self._ledger.book(reservation, tokens=cost.tokens, usd=cost.usd)
            if booking.lacks is None:
                return booking
            if booking.under_way == 0:
                exhausted(self._run_halt, booking.lacks)
            else:  # what others have set aside may turn out to be less
                await self._sleep(_SETTLING_S)
        return None

    async def _send(self, sent: Sent) -> Failure | None:
        """Touch the wire once; record an answer, return a failure."""
        try:
            reply = await self._ask(sent)
        except asyncio.CancelledError:
            # Nobody waits any more, but the provider may have answered: say so.
            failure = Failure(kind=FailureKind.INTERRUPTED, detail="stopped before the reply came")
            self._settle(sent.cost, sent.cost, completed=False)
            self._record_failure(failure, sent)
            raise
        # No await from here to the record: a reply that was read is never lost to a cancellation.
        if isinstance(reply, Reply):
            answer = self._judge.decode(reply)
            if isinstance(answer, Answer):
                self._answered(sent, reply, answer)
                return None
            reply = answer
        self._settle(sent.cost, sent.cost if reply.kind.at_risk else None, completed=False)
        return reply

    async def _ask(self, sent: Sent) -> Reply | Failure:
        try:
            return await self._deadlines.keep(self._judge.ask(sent.reservation.call, sent.body))
        except TimeoutError:
            return Failure(
                kind=FailureKind.TIMEOUT, detail=f"no reply in {self._rules.timeout_s:g} s"
            )

    def _answered(self, sent: Sent, reply: Reply, answer: Answer) -> None:
        receipt = receipt_of(answer, self._spec)
        spent = self._meter.learn(sent.body, receipt) if self._metered else NOTHING
        self._record(
            Completed(
                reservation=sent.reservation,
                sent_at=sent.at,
                ended_at=self._effects.clock(),
                status=reply.status,
                body=reply.body,
                completion=answer.completion,
                receipt=receipt,
            )
        )
        self._hopeless = 0
        self._answers = True
        self._limiter.slots.answered()
        self._settle(sent.cost, spent, completed=True)
        if spent is None and self._purse.needs_usage:
            self._run_halt.fail(unmetered(self._spec))

    def _after(self, failure: Failure, sent: Sent, tried: int) -> float | None:
        """Record a failure and do what follows; return the pause before the next attempt."""
        self._record_failure(failure, sent)
        jitter = self._effects.jitter()
        decision = decide(failure, tried=tried, policy=self._rules.retry, jitter=jitter)
        said = f"judge {self._spec.name}: {failure.detail}"
        match decision:
            case Again(delay_s=delay):
                if failure.kind is FailureKind.THROTTLED:
                    self._limiter.slots.throttled(self._effects.monotonic(), delay)
                return delay
            case LeaveOpen():
                self._hopeless += 1
                most = self._bearable(failure.kind)
                if self._hopeless >= most:
                    words = f"{self._hopeless} calls in a row used up their attempts; last, {said}"
                    self.halt.call(Reason.POSTPONED, words)
            case StopJudge(refused=refused):
                self.halt.call(Reason.REJECTED if refused else Reason.POSTPONED, said)
            case StopRun():
                self._run_halt.call(Reason.REFUSED, said)
        return None

    def _record_failure(self, failure: Failure, sent: Sent) -> None:
        self._record(failed(failure, sent.reservation, sent.at, self._effects.clock()))

    def _bearable(self, kind: FailureKind) -> int:
        ever = self._answers or self._answered_before
        return bearable(kind, answered=self._answers, ever=ever)

    @cached_property
    def _answered_before(self) -> bool:
        """Whether an earlier session has answers; counted only where this one has none."""
        return self._ledger.totals(self._spec.name).completed > 0

    async def _sleep(self, seconds: float) -> bool:
        """Sleep unless nothing may start any more; return whether to go on."""
        return await self.halt.unless_called(self._effects.sleep(seconds))

    def _unsent(self, reservation: Reservation) -> None:
        self._record(Unsent(reservation=reservation, ended_at=self._effects.clock()))

    def _record(self, ending: Ending) -> None:
        self._backlog.add(ending)
        self._ledger.record(ending)

    def _settle(self, held: Cost, spent: Cost | None, *, completed: bool) -> None:
        self._purse.settle(held, spent, completed=completed)
        self._limiter.done(estimated=held.tokens, used=None if spent is None else spent.tokens)
