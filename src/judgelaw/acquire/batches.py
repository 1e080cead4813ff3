"""One judge through its provider's batch interface: submit in chunks, look, collect, resume.

Everything is durable before the wire: which calls are in a batch, that it is about to be
submitted, and the provider's name for it. Between the last two a kill leaves a batch whose name
nobody heard: it is found again by ours. Whatever a provider says of a batch later, it stays ours to
collect; what cannot be had any more is orphaned, and counts as tried and as paid.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar
from uuid import uuid4

from judgelaw.acquire.batch_calls import BatchCalls, CallUnderWay
from judgelaw.acquire.lane import Effects
from judgelaw.acquire.limits import Deadlines
from judgelaw.acquire.readings import Reading
from judgelaw.acquire.retry import (
    Again,
    Decision,
    DecodeFaults,
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
from judgelaw.ledger import Arrived, Ending, Ledger, StoredBatch
from judgelaw.wire import (
    Answer,
    Batch,
    BatchClient,
    BatchStatus,
    Consequence,
    Failure,
    FailureKind,
    JudgeSpec,
    LostBatch,
    Reply,
    Results,
    Stage,
    Unheard,
)

T = TypeVar("T")

_SETTLES_S = 60.0
"""How long a request that nobody waits for may still be on its way to the provider."""
_LARGE_S = 600.0
"""The least time for a file of requests or of results to travel."""
_LOOKS = 3
_GONE = (404, 410)
_NOT_TO_CANCEL = (400, 404, 409, 410, 422)
_REMEDY = (
    "ask with the key and base_url that it was made with, or give up what cannot be read with "
    "`judgelaw run --cancel-batches`, which counts it as paid"
)


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
    """A batch at the provider.

    Attributes:
        provider_id: the provider's name for it; None while nobody knows it.
        trusted: whether a list without it says that it was never made: not where the provider said
            that it made one, nor where another key or address may list others.
        cancelled: whether the provider was asked to stop it.
    """

    batch: int
    uid: str
    provider_id: str | None
    submitted_at: float
    asked: tuple[CallUnderWay, ...]
    trusted: bool = True
    cancelled: bool = False


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
        self.faults = DecodeFaults(self.spec.name, self.halt)
        self._left: list[Waiting] = []
        self._kept: set[int] = set()
        self._deadlines = Deadlines(max(self.rules.timeout_s, _LARGE_S))

    async def take_up(self) -> None:
        """Set aside what the batches that earlier sessions left may cost, before anybody asks.

        And read what they could not read: a batch ends when everything in it has been.
        """
        for reservation, sent_at, _, reply in await self.ledger.unread_replies(self.spec.name):
            (one,) = self.calls.resumed([reservation])
            self._end(one, sent_at, reply)
        await self.ledger.flush()
        for left in await self.ledger.open_batches(self.spec.name):
            if not left.reservations:
                await self.ledger.note_batch(left.batch, "ended", detail=left.detail)
                continue
            self._left.append(
                Waiting(
                    batch=left.batch,
                    uid=left.uid,
                    provider_id=left.provider_id,
                    submitted_at=left.submitted_at,
                    asked=self.calls.resumed(left.reservations),
                    trusted=left.detail in (None, self.client.mark(left.uid)),
                )
            )

    async def run(self) -> None:
        """Ask every open call of the judge, or as many as may be asked."""
        await self.run_halt.guard(self._run)

    def give_back(self) -> None:
        """Do nothing: what is not submitted was given back, and what is stays at the provider."""

    async def _run(self) -> None:
        waiting = self._left
        # Always for the whole time: a clock that was set tells nothing about how long it has been.
        if any(w.provider_id is None for w in waiting) and not await self._sleep(_SETTLES_S):
            return
        while not self.halt.stopped:
            if self._submits:
                await self._fill(waiting)
            if not waiting and self._done():
                return
            left = [after for w in waiting if (after := await self._collect(w)) is not None]
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
            self.halt.stop(Reason.POSTPONED, f"judge {self.spec.name}: {self._cancelled()}")
            return True
        return self.calls.over or self.reading.halt.stopped

    def _cancelled(self) -> str:
        """Say what waits at the provider after this session has cancelled what it could."""
        open_states = ("prepared", "submitting", "submitted")
        others = [b for b in self._batches() if b.state in open_states]
        if not others:
            return "no batch waits at the provider any more"
        names = ", ".join(b.provider_id or "one without a name yet" for b in others)
        return (
            f"{len(others)} of its batches wait still, which another worker holds ({names}): stop "
            "that worker, then cancel again"
        )

    def _batches(self) -> list[StoredBatch]:
        return [b for b in self.ledger.batches() if b.judge == self.spec.name]

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

    async def _find(self, lost: Waiting) -> Waiting | None:
        """Find a batch whose name was never heard; None where it is lost, or never was."""
        known = frozenset(b.provider_id for b in self._batches() if b.provider_id is not None)
        unheard = Unheard(
            uid=lost.uid,
            since=lost.submitted_at,
            calls=frozenset(one.entry.call_id for one in lost.asked),
            known=known,
        )
        found = await self._inquire(lambda: self.client.find(unheard))
        if isinstance(found, str) and found in known:
            self._postpone(f"the provider names two batches {found}, so that one cannot be read")
        elif isinstance(found, str):
            await self.ledger.note_batch(lost.batch, "submitted", provider_id=found)
            return replace(lost, provider_id=found)
        elif found is LostBatch.ABSENT and lost.trusted:
            await self._withdraw(lost.batch, lost.asked, "never submitted")
            return None
        elif found in (LostBatch.ABSENT, LostBatch.UNKNOWN) or isinstance(found, Failure):
            await self._orphan(lost, "submitted, perhaps, and never heard of")
            return None
        return lost

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
        await self.ledger.note_batch(batch, "submitting", detail=self.client.mark(uid))
        announced = Waiting(
            batch=batch,
            uid=uid,
            provider_id=None,
            submitted_at=self.effects.clock(),
            asked=tuple(asked),
        )
        made = await self._persist(
            lambda: self.client.create(uid, upload, entries), _perhaps_created
        )
        if made is None:
            await self._withdraw(batch, asked, self.halt.words or self.run_halt.words)
            return None
        if isinstance(made, str) and all(b.provider_id != made for b in self._batches()):
            await self.ledger.note_batch(batch, "submitted", provider_id=made)
            return replace(announced, provider_id=made)
        # One that the provider says it made, under a name that cannot be its own, was made.
        said = isinstance(made, str) or made.kind is FailureKind.NO_COMPLETION or _is_good(made)
        announced = replace(announced, trusted=not said)
        return await self._find(announced) if await self._sleep(_SETTLES_S) else announced

    async def _collect(self, waiting: Waiting) -> Waiting | None:
        """Look at a batch; return it, as it is known now, until everything in it has ended."""
        named = waiting if waiting.provider_id else await self._find(waiting)
        if named is None or named.provider_id is None:
            return named
        name = named.provider_id
        match await self._inquire(lambda: self.client.look(name), f"batch {name}"):
            case None:
                return named
            case Failure() as gone:
                await self._orphan(named, gone.detail)
            case BatchStatus(stage=Stage.WORKING):
                return await self._leave(named)
            case BatchStatus(stage=Stage.FAILED, sources=()) as look:
                await self._refused(named, look)
            case BatchStatus() as look:
                return await self._store(named, look)
        return None

    async def _leave(self, waiting: Waiting) -> Waiting:
        """Let a batch wait, cancelled if that is wanted."""
        if not self.rules.cancel or waiting.cancelled:
            return waiting
        name = str(waiting.provider_id)
        asked = await self._persist(lambda: self.client.cancel(name), _is_over)
        return replace(waiting, cancelled=asked is not None)

    async def _store(self, waiting: Waiting, look: BatchStatus) -> Waiting | None:
        """Record what a batch was answered with that is over; return what could not be had.

        What came is recorded at once, and results are fetched again where some are missing. What
        is missing still is taken for lost only where the provider does not say how many there are,
        or where the batch is given up.
        """
        name, left, most = waiting.provider_id, waiting.asked, -1

        async def fetch() -> int | Failure:
            nonlocal left, most
            found = await self.client.results(str(name), look)
            if isinstance(found, Failure):
                return found
            again, most = most >= 0, max(most, len(found))
            left = self._end_those(found, left, waiting.submitted_at)
            if left and (not again if look.results is None else most < look.results):
                return _short(f"{len(left)} of {len(waiting.asked)} calls", look, most)
            return most

        results = await self._inquire(fetch, f"the results of batch {name}")
        if results is None:
            return replace(waiting, asked=left)
        if isinstance(results, Failure) and most < 0:
            await self._orphan(waiting, results.detail)
            return None
        for one in left:
            self._end(one, waiting.submitted_at, _missing(look, most))
        await self.ledger.flush()
        if self._kept.isdisjoint(one.reservation.attempt for one in waiting.asked):
            await self.ledger.note_batch(waiting.batch, "ended", detail=look.words)
        if look.stage is Stage.CANCELLED and not self.rules.cancel:
            words = f"judge {self.spec.name}: batch {name} was cancelled"
            self.halt.stop(Reason.POSTPONED, words)
        if look.failure is not None:
            self._stop_for(StopJudge(Reason.REJECTED), look.failure)
        return None

    def _end_those(
        self, found: Results, asked: Sequence[CallUnderWay], sent_at: float
    ) -> tuple[CallUnderWay, ...]:
        """Record how calls ended that have a result; return those that have none."""
        for one in asked:
            if (result := found.get(one.entry.call_id)) is not None:
                self._end(one, sent_at, result)
        return tuple(one for one in asked if one.entry.call_id not in found)

    def _end(self, one: CallUnderWay, sent_at: float, result: Reply | Failure) -> None:
        """Record how one call of a batch ended, and do what follows."""
        answer = self._read(one, sent_at, result) if isinstance(result, Reply) else result
        if isinstance(answer, Answer) and isinstance(result, Reply):
            self._answered(one, sent_at, result, answer)
        elif isinstance(answer, Failure):
            spent = one.cost if answer.kind.at_risk else None
            self.calls.settle(one, spent, completed=False)
            self.record(failed(answer, one.reservation, sent_at, self.effects.clock()))
            decision = self._decided(answer, one.tried)
            if isinstance(decision, Again):
                self.calls.again(one, decision.delay_s)
            else:
                self.calls.leave(one)
                self._stop_for(decision, answer)

    def _read(self, one: CallUnderWay, sent_at: float, reply: Reply) -> Answer | Failure | None:
        """Read a result; one that the code fails on is kept as it came."""
        try:
            return self.client.decode(reply)
        except Exception as error:  # noqa: BLE001 - whatever it is, the reply is kept
            now = self.effects.clock()
            self.ledger.record(
                Arrived(reservation=one.reservation, sent_at=sent_at, ended_at=now, reply=reply)
            )
            self.calls.settle(one, one.cost, completed=False)
            self.calls.leave(one)
            self._kept.add(one.reservation.attempt)
            self.faults.add(error)
            return None

    def _answered(self, one: CallUnderWay, sent_at: float, reply: Reply, answer: Answer) -> None:
        receipt = receipt_of(answer, self.spec)
        now = self.effects.clock()
        self.record(completed(reply, answer, receipt, one.reservation, sent_at, now))
        if not self.calls.answered(one, receipt):
            self.run_halt.fail(unmetered(self.spec))

    def _stop_for(self, decision: Decision, failure: Failure) -> None:
        said = f"judge {self.spec.name}: {failure.detail}"
        stop_for(decision, said, judge=self.halt, run=self.run_halt)

    def _postpone(self, words: str) -> None:
        """Stop the judge for something at the provider; what it has stays ours to collect."""
        self.halt.stop(Reason.POSTPONED, f"judge {self.spec.name}: {words}", remedy=_REMEDY)

    async def _refused(self, waiting: Waiting, look: BatchStatus) -> None:
        """End a batch that was not accepted, so asked for nothing; a full queue is waited for."""
        failure = look.failure or Failure(kind=FailureKind.REJECTED, detail=look.words)
        await self._withdraw(waiting.batch, waiting.asked, failure.detail)
        if failure.kind is FailureKind.THROTTLED:
            await self._sleep(self.rules.batch.poll_s)
        else:
            self._stop_for(StopJudge(Reason.REJECTED), failure)

    async def _withdraw(self, batch: int, asked: Sequence[CallUnderWay], detail: str) -> None:
        """End a batch that the provider never had; its calls are free again."""
        await self.ledger.note_batch(batch, "withdrawn", detail=detail)
        self.calls.rewind(asked)

    async def _orphan(self, waiting: Waiting, detail: str) -> None:
        """End a batch whose answers cannot be had any more.

        They may be paid for: each call has used up a try, and a part of the budget.
        """
        await self.ledger.note_batch(waiting.batch, "orphaned", detail=detail)
        for one in waiting.asked:
            self.calls.settle(one, one.cost, completed=False)
            if one.tried < self.rules.retry.attempts:
                self.calls.again(one, 0.0)
            else:
                self.calls.leave(one)

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
            decision = self._decided(outcome, tried)
            if isinstance(decision, Again):
                await self._sleep(decision.delay_s)
            elif isinstance(decision, LeaveOpen):
                words = f"judge {self.spec.name}: {tried} times in a row, {outcome.detail}"
                self.halt.stop(Reason.POSTPONED, words)
            else:
                self._stop_for(decision, outcome)
        return None

    async def _inquire(
        self, ask: Callable[[], Awaitable[T | Failure]], what: str = "the list of batches"
    ) -> T | Failure | None:
        """Ask about what the provider has, which costs nothing; None once the judge has stopped.

        Whatever the provider says to that, the batch stays ours, and may be asked about again. A
        failure comes back only where batches are cancelled: what cannot be read is given up then.
        """
        tried = 0
        while not self.halt.stopped:
            tried += 1
            outcome = await self._timed(ask)
            if not isinstance(outcome, Failure):
                return outcome
            # A refusal may pass: servers do not find for a moment what they have just made.
            patient = outcome.kind.consequence is Consequence.STOP_JUDGE
            kind = FailureKind.BUSY if patient else outcome.kind
            # What costs nothing is asked some times, whatever a study allows for what does.
            decision = self._decided(replace(outcome, kind=kind), tried, at_least=_LOOKS)
            if isinstance(decision, Again):
                await self._sleep(decision.delay_s)
            elif isinstance(decision, LeaveOpen) and self.rules.cancel and _is_lost(outcome):
                return outcome
            elif isinstance(decision, LeaveOpen):
                self._postpone(f"{what} cannot be read, tried {tried} times: {outcome.detail}")
            else:
                self._stop_for(decision, outcome)
        return None

    def _decided(self, failure: Failure, tried: int, *, at_least: int = 1) -> Decision:
        retry = self.rules.retry
        policy = replace(retry, attempts=max(retry.attempts, at_least))
        return decide(failure, tried=tried, policy=policy, jitter=self.effects.jitter())

    async def _timed(self, ask: Callable[[], Awaitable[T | Failure]]) -> T | Failure:
        try:
            return await self._deadlines.keep(ask())
        except TimeoutError:
            limit = self._deadlines.timeout_s
            return Failure(kind=FailureKind.TIMEOUT, detail=f"no reply in {limit:g} s")

    async def _sleep(self, seconds: float) -> bool:
        """Sleep unless nothing may start any more; return whether to go on."""
        return await self.halt.unless_stopped(self.effects.sleep(seconds))


def _is_over(failure: Failure) -> bool:
    """Whether the provider says that there is nothing to cancel any more."""
    return failure.status in _NOT_TO_CANCEL


def _is_good(failure: Failure) -> bool:
    """Whether the status says that all went well, although what came with it cannot be read."""
    return failure.status is not None and 200 <= failure.status < 300  # noqa: PLR2004 - 2xx


def _is_lost(failure: Failure) -> bool:
    """Whether a provider that answers does not have, or cannot show, what it is asked about."""
    return failure.status in _GONE or failure.kind in (
        FailureKind.NO_COMPLETION,
        FailureKind.NOT_JSON,
        FailureKind.CUT,
    )


def _perhaps_created(failure: Failure) -> bool:
    """Whether the provider may have done what it was asked, although it did not say so."""
    return failure.kind.at_risk or failure.kind in (
        FailureKind.SERVER_ERROR,
        FailureKind.NO_COMPLETION,
        FailureKind.ERROR_OBJECT,
    )


def _short(what: str, look: BatchStatus, there: int) -> Failure:
    """Say that results lack calls."""
    said = "" if look.results is None else f": the provider counts {look.results} where {there} are"
    return Failure(kind=FailureKind.CUT, detail=f"{what} are not in them{said}")


def _missing(look: BatchStatus, results: int) -> Failure:
    """Say that a call has no result: it may be answered, unless the provider counts no more."""
    detail = f"the batch is {look.words}, and says nothing of this call"
    whole = look.results is not None and results >= look.results
    kind = FailureKind.NO_COMPLETION if whole else FailureKind.UNLISTED
    return Failure(kind=kind, detail=detail)
