"""One judge through its provider's batch interface: submit in chunks, look, collect, resume.

Everything is durable before the wire: which calls are in a batch, that it is about to be
submitted, and the provider's name for it. Between the last two a kill leaves a batch whose name
nobody heard; where the provider keeps ours it is found again, elsewhere it is orphaned, counted,
and its calls are asked anew.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar
from uuid import uuid4

from judgelaw.acquire.batch_calls import BatchCalls, CallUnderWay
from judgelaw.acquire.lane import Effects
from judgelaw.acquire.readings import Reading
from judgelaw.acquire.retry import (
    Again,
    Decision,
    Halt,
    LeaveOpen,
    Reason,
    RetryPolicy,
    StopJudge,
    completed,
    decide,
    failed,
    receipt_of,
    stop_for,
    unmetered,
)
from judgelaw.ledger import Ending, Ledger, OpenBatch
from judgelaw.wire import (
    Answer,
    Batch,
    BatchClient,
    BatchStatus,
    Failure,
    FailureKind,
    JudgeSpec,
    LostBatch,
    Reply,
    Stage,
)

T = TypeVar("T")

_SETTLES_S = 60.0
"""How long a request that nobody waits for may still be on its way to the provider."""
_LARGE_S = 600.0
"""The least time for a file of requests or of results to travel."""
_GONE = 404


@dataclass(frozen=True, kw_only=True)
class BatchRules:
    """How batches of one judge are asked.

    Attributes:
        batch: size, number and rhythm, as the study says.
        timeout_s: how long the provider may take to answer a request.
        retry: how often and when a call, or a question about a batch, is repeated.
        cancel: cancel what waits at the provider, collect it, and submit nothing.
    """

    batch: Batch
    timeout_s: float
    retry: RetryPolicy
    cancel: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    """A batch at the provider."""

    batch: int
    provider_id: str
    submitted_at: float
    asked: tuple[CallUnderWay, ...]


@dataclass(kw_only=True, eq=False)
class BatchLane:
    """The calls of one judge, in batches."""

    spec: JudgeSpec
    client: BatchClient
    calls: BatchCalls
    ledger: Ledger
    reading: Reading
    rules: BatchRules
    record: Callable[[Ending], None]
    run_halt: Halt
    effects: Effects

    def __post_init__(self) -> None:
        self.halt = Halt(above=self.run_halt)

    async def run(self) -> None:
        """Ask every open call of the judge, or as many as may be asked."""
        await self.run_halt.guard(self._run)

    def give_back(self) -> None:
        """Do nothing: what is not submitted was given back, and what is stays at the provider."""

    async def _run(self) -> None:
        waiting = await self._resume()
        while not self.halt.stopped:
            if self._submits:
                await self._fill(waiting)
            if not waiting and self._done():
                return
            left = [w for w in waiting if not await self._collect(w)]
            if len(left) == len(waiting) and not await self._sleep(self._pause(len(left))):
                return
            waiting = left

    @property
    def _submits(self) -> bool:
        """Whether more may be asked; what a provider has already is collected all the same."""
        return not (self.rules.cancel or self.reading.halt.stopped or self.halt.stopped)

    def _done(self) -> bool:
        """Whether nothing is left to submit; where batches were cancelled, say so as the reason."""
        if self.rules.cancel:
            words = f"judge {self.spec.name}: no batch waits at the provider any more"
            self.halt.stop(Reason.POSTPONED, words)
            return True
        return self.calls.over or self.reading.halt.stopped

    async def _fill(self, waiting: list[Waiting]) -> None:
        """Submit batches until as many wait as may, or nothing more is to be asked now."""
        await self.reading.drain()
        while len(waiting) < self.rules.batch.at_once and self._submits:
            submitted = await self._submit()
            if submitted is None:
                return
            waiting.append(submitted)

    def _pause(self, waiting: int) -> float:
        """Return the seconds until there is something to look at, or to ask again."""
        poll_s = self.rules.batch.poll_s
        if waiting >= self.rules.batch.at_once or self.calls.lacking or not self._submits:
            return poll_s
        return max(0.0, min(poll_s, self.calls.next_at - self.effects.monotonic()))

    async def _resume(self) -> list[Waiting]:
        """Take up the batches that earlier sessions left at the provider."""
        waiting = []
        for left in await self.ledger.open_batches(self.spec.name):
            asked = self.calls.resumed(left.reservations)
            provider_id = left.provider_id or await self._find(left, asked)
            if provider_id is not None:
                waiting.append(_waiting(left, provider_id, asked))
        if self.rules.cancel:
            for one in waiting:
                await self._persist(partial(self.client.cancel, one.provider_id), _is_gone)
        return waiting

    async def _find(self, left: OpenBatch, asked: Sequence[CallUnderWay]) -> str | None:
        """Find a batch whose name was never heard; where that fails it is lost, or was never."""
        # Always for the whole time: a clock that was set tells nothing about how long it has been.
        if not await self._sleep(_SETTLES_S):
            return None
        found = await self._persist(lambda: self.client.find(left.uid, left.submitted_at))
        match found:
            case str():
                await self.ledger.note_batch(left.batch, "submitted", provider_id=found)
                return found
            case LostBatch.ABSENT:
                await self._withdraw(left.batch, asked, "never submitted")
            case LostBatch.UNKNOWN:
                await self._orphan(left.batch, asked, "submitted, perhaps, and never heard of")
        return None

    async def _submit(self) -> Waiting | None:
        """Make the next batch; None where there is nothing to ask or nothing may be asked."""
        asked = await self.calls.gather(self.rules.batch.chunk)
        if not asked:
            return None
        uid = uuid4().hex  # a name, not a draw: nothing that is asked depends on it
        reservations = tuple(one.reservation for one in asked)
        batch = await self.ledger.prepare_batch(self.spec.name, uid, reservations)
        entries = [one.entry for one in asked]
        upload = await self._persist(lambda: self.client.upload(entries))
        if not isinstance(upload, str):
            await self._withdraw(batch, asked, "not uploaded")
            return None
        await self.ledger.note_batch(batch, "submitting")
        left = OpenBatch(
            batch=batch,
            uid=uid,
            provider_id=None,
            submitted_at=self.effects.clock(),
            reservations=reservations,
        )
        made = await self._persist(
            lambda: self.client.create(uid, upload, entries), _perhaps_created
        )
        if made is None:
            await self._withdraw(batch, asked, self.halt.words or self.run_halt.words)
            return None
        if isinstance(made, str):
            await self.ledger.note_batch(batch, "submitted", provider_id=made)
        provider_id = made if isinstance(made, str) else await self._find(left, asked)
        return None if provider_id is None else _waiting(left, provider_id, asked)

    async def _collect(self, waiting: Waiting) -> bool:
        """Look at a batch; return whether it is over and everything in it has ended."""
        name = waiting.provider_id
        look = await self._persist(lambda: self.client.look(name), _is_gone)
        if look is None or (isinstance(look, BatchStatus) and look.stage is Stage.WORKING):
            return False
        if isinstance(look, BatchStatus) and look.stage is Stage.FAILED:
            await self._refused(waiting, look)
            return True
        if isinstance(look, Failure):
            await self._orphan(waiting.batch, waiting.asked, look.detail)
            return True
        results = await self._persist(lambda: self.client.results(name, look), _is_gone)
        if results is None:
            return False
        if isinstance(results, Failure):
            await self._orphan(waiting.batch, waiting.asked, results.detail)
            return True
        for one in waiting.asked:
            result = results.get(one.entry.call_id) or _missing(look)
            self._end(one, waiting.submitted_at, result)
        await self.ledger.flush()
        await self.ledger.note_batch(waiting.batch, "ended", detail=look.words)
        if look.stage is Stage.CANCELLED and not self.rules.cancel:
            words = f"judge {self.spec.name}: batch {name} was cancelled"
            self.halt.stop(Reason.POSTPONED, words)
        return True

    def _end(self, one: CallUnderWay, sent_at: float, result: Reply | Failure) -> None:
        """Record how one call of a batch ended, and do what follows."""
        answer = self.client.decode(result) if isinstance(result, Reply) else result
        if isinstance(answer, Answer) and isinstance(result, Reply):
            self._answered(one, sent_at, result, answer)
        elif isinstance(answer, Failure):
            spent = one.cost if answer.kind.at_risk else None
            self.calls.settle(one, spent, completed=False)
            self.record(failed(answer, one.reservation, sent_at, self.effects.clock()))
            jitter = self.effects.jitter()
            decision = decide(answer, tried=one.tried, policy=self.rules.retry, jitter=jitter)
            if isinstance(decision, Again):
                self.calls.again(one, decision.delay_s)
            else:
                self._stop_for(decision, answer)

    def _answered(self, one: CallUnderWay, sent_at: float, reply: Reply, answer: Answer) -> None:
        receipt = receipt_of(answer, self.spec)
        now = self.effects.clock()
        self.record(completed(reply, answer, receipt, one.reservation, sent_at, now))
        if not self.calls.answered(one, receipt):
            self.run_halt.fail(unmetered(self.spec))

    def _stop_for(self, decision: Decision, failure: Failure) -> None:
        said = f"judge {self.spec.name}: {failure.detail}"
        stop_for(decision, said, judge=self.halt, run=self.run_halt)

    async def _refused(self, waiting: Waiting, look: BatchStatus) -> None:
        """End a batch that was not accepted, so asked for nothing; a full queue is waited for."""
        failure = look.failure or Failure(kind=FailureKind.REJECTED, detail=look.words)
        await self._withdraw(waiting.batch, waiting.asked, failure.detail)
        if failure.kind is FailureKind.THROTTLED:
            await self._sleep(self.rules.batch.poll_s)
        else:
            self._stop_for(StopJudge(refused=True), failure)

    async def _withdraw(self, batch: int, asked: Sequence[CallUnderWay], detail: str) -> None:
        """End a batch that the provider never had; its calls are free again."""
        await self.ledger.note_batch(batch, "withdrawn", detail=detail)
        self.calls.rewind(asked)

    async def _orphan(self, batch: int, asked: Sequence[CallUnderWay], detail: str) -> None:
        """End a batch whose answers cannot be had any more; its calls are asked anew."""
        await self.ledger.note_batch(batch, "orphaned", detail=detail)
        for one in asked:
            self.calls.settle(one, one.cost, completed=False)
            self.calls.again(one, 0.0)

    async def _persist(
        self,
        ask: Callable[[], Awaitable[T | Failure]],
        returns: Callable[[Failure], bool] = lambda _: False,
    ) -> T | Failure | None:
        """Ask the provider until it answers; None once nothing may be asked any more.

        Failures that `returns` names come back: asking again would not help, or could do twice
        what was perhaps done once.
        """
        tried = 0
        while not self.halt.stopped:
            tried += 1
            outcome = await self._timed(ask)
            if not isinstance(outcome, Failure) or returns(outcome):
                return outcome
            jitter = self.effects.jitter()
            decision = decide(outcome, tried=tried, policy=self.rules.retry, jitter=jitter)
            if isinstance(decision, Again):
                await self._sleep(decision.delay_s)
            elif isinstance(decision, LeaveOpen):
                words = f"judge {self.spec.name}: {tried} times in a row, {outcome.detail}"
                self.halt.stop(Reason.POSTPONED, words)
            else:
                self._stop_for(decision, outcome)
        return None

    async def _timed(self, ask: Callable[[], Awaitable[T | Failure]]) -> T | Failure:
        limit = max(self.rules.timeout_s, _LARGE_S)
        try:
            async with asyncio.timeout(limit):
                return await ask()
        except TimeoutError:
            return Failure(kind=FailureKind.TIMEOUT, detail=f"no reply in {limit:g} s")

    async def _sleep(self, seconds: float) -> bool:
        """Sleep unless nothing may start any more; return whether to go on."""
        return await self.halt.unless_stopped(self.effects.sleep(seconds))


def _waiting(left: OpenBatch, provider_id: str, asked: Sequence[CallUnderWay]) -> Waiting:
    return Waiting(
        batch=left.batch,
        provider_id=provider_id,
        submitted_at=left.submitted_at,
        asked=tuple(asked),
    )


def _is_gone(failure: Failure) -> bool:
    """Whether the provider does not have what it is asked about."""
    return failure.status == _GONE


def _perhaps_created(failure: Failure) -> bool:
    """Whether the provider may have done what it was asked, although it did not say so."""
    return failure.kind.at_risk or failure.kind in (
        FailureKind.SERVER_ERROR,
        FailureKind.NO_COMPLETION,
        FailureKind.ERROR_OBJECT,
    )


def _missing(look: BatchStatus) -> Failure:
    detail = f"the batch is {look.words}, and says nothing of this call"
    return Failure(kind=FailureKind.NO_COMPLETION, detail=detail)
