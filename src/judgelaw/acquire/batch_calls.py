"""Which calls go into the next batch of a judge, and what the budget says to it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf

from judgelaw.acquire.budget import NOTHING, Cost, Meter, RunBudget, exhausted
from judgelaw.acquire.lane import Effects
from judgelaw.acquire.retry import Halt
from judgelaw.ledger import Ending, Ledger, Receipt, Reservation, Unsent
from judgelaw.study import FrozenRun, Requests
from judgelaw.wire import Entry, JudgeSpec


@dataclass(frozen=True, kw_only=True, slots=True)
class CallUnderWay:
    """One call on its way: its attempt, its bytes, what was set aside, and which try it is."""

    reservation: Reservation
    body: bytes
    cost: Cost
    tried: int = 1

    @property
    def entry(self) -> Entry:
        """The call as the provider sees it."""
        return Entry(call_id=self.reservation.call.call_id, body=self.body)


@dataclass(kw_only=True, eq=False)
class BatchCalls:
    """The open calls of one judge in schedule order, and those that wait for another try."""

    frozen: FrozenRun
    spec: JudgeSpec
    ledger: Ledger
    run_budget: RunBudget
    record: Callable[[Ending], None]
    run_halt: Halt
    effects: Effects
    most_bytes: int
    lacking: bool = False
    """Whether calls are put off until what is under way has settled."""

    def __post_init__(self) -> None:
        self._requests = Requests(self.frozen, self.spec)
        self._meter = Meter(self.spec)
        self._after = -1
        self._later: list[tuple[float, CallUnderWay]] = []
        self._exhausted = False
        self._given_up: set[str] = set()

    @property
    def over(self) -> bool:
        """Whether no call is left that could be asked, now or later."""
        return self._exhausted and not self._later and not self.lacking

    @property
    def next_at(self) -> float:
        """The time at which the next call may be tried again; infinite if no call waits."""
        return min((at for at, _ in self._later), default=inf)

    async def gather(self, chunk: int) -> list[CallUnderWay]:
        """Reserve the calls of one batch, as far as size and budget reach."""
        ready = await self._due(chunk)
        if len(ready) < chunk:
            ready += self._next_tries(await self._fresh(chunk - len(ready)))
        self._exhausted = not ready
        self.lacking = False
        asked: list[CallUnderWay] = []
        size = 0
        for place, one in enumerate(ready):
            size += len(one.body)
            if size > self.most_bytes or not await self._fits(one):
                self._put_off(ready[place:])
                break
            self._after = max(self._after, one.reservation.call.position)
            asked.append(one)
        return asked

    def resumed(self, reservations: Sequence[Reservation]) -> tuple[CallUnderWay, ...]:
        """Set aside again what calls of an earlier session may cost."""
        asked = tuple(map(self._asked, reservations))
        for one in asked:
            self.run_budget.hold(one.cost)
        return asked

    def again(self, one: CallUnderWay, delay_s: float) -> None:
        """Let a call be tried again in a later batch."""
        self._later.append((self.effects.monotonic() + delay_s, one))

    def leave(self, one: CallUnderWay) -> None:
        """Leave a call open that has used up its tries: a later session asks it again."""
        self._given_up.add(one.entry.call_id)

    def rewind(self, asked: Sequence[CallUnderWay]) -> None:
        """Reserve calls again that were not asked after all."""
        first = min((one.reservation.call.position for one in asked), default=self._after + 1)
        self._after = min(self._after, first - 1)
        self._exhausted = False
        for one in asked:
            self.settle(one, None, completed=False)
            self._untry(one)

    def settle(self, one: CallUnderWay, spent: Cost | None, *, completed: bool) -> None:
        """Replace what was set aside for a call by what it took."""
        self.run_budget.settle(one.cost, spent, completed=completed)

    def answered(self, one: CallUnderWay, receipt: Receipt) -> bool:
        """Take what an answer cost from the budget; return whether the provider said enough."""
        spent = self._meter.learn(one.body, receipt)
        self.settle(one, spent, completed=True)
        return spent is not None or not self.run_budget.needs_usage

    async def _fresh(self, limit: int) -> list[Reservation]:
        """Reserve calls of the schedule, but for those that are left to a later session.

        Those of an earlier session's batch stand behind the place where this session is.
        """
        while True:
            reserved = await self.ledger.reserve(self.spec.name, after=self._after, limit=limit)
            fresh = [r for r in reserved if r.call.call_id not in self._given_up]
            for one in reserved:
                if one not in fresh:
                    self.record(Unsent(reservation=one, ended_at=self.effects.clock()))
            if fresh or not reserved:
                return fresh
            self._after = max(one.call.position for one in reserved)

    def _next_tries(self, fresh: Sequence[Reservation]) -> list[CallUnderWay]:
        """Return calls of the schedule; those of an earlier session's batch may wait already."""
        names = {reservation.call.call_id for reservation in fresh}
        waiting = {one.entry.call_id: one for _, one in self._later if one.entry.call_id in names}
        self._later = [(at, one) for at, one in self._later if one.entry.call_id not in names]
        return [
            replace(one, reservation=reservation, tried=one.tried + 1)
            if (one := waiting.get(reservation.call.call_id))
            else self._asked(reservation)
            for reservation in fresh
        ]

    def _asked(self, reservation: Reservation) -> CallUnderWay:
        body = self._requests.body(reservation.call)
        cost = self._meter.estimate(body) if self.run_budget.needs_usage else NOTHING
        return CallUnderWay(reservation=reservation, body=body, cost=cost)

    async def _due(self, chunk: int) -> list[CallUnderWay]:
        """Reserve the next attempts of calls that failed and have waited long enough."""
        now = self.effects.monotonic()
        due = [one for at, one in self._later if at <= now]
        self._later = [(at, one) for at, one in self._later if at > now]
        self._later += [(now, one) for one in due[chunk:]]
        next_tries = [(one, await self.ledger.again(one.reservation)) for one in due[:chunk]]
        return [
            replace(one, reservation=reservation, tried=one.tried + 1)
            for one, reservation in next_tries
            if reservation is not None
        ]

    def _put_off(self, rest: Sequence[CallUnderWay]) -> None:
        """Give back calls that do not fit now; they are the first to be reserved next time."""
        for one in rest:
            self.record(Unsent(reservation=one.reservation, ended_at=self.effects.clock()))
            self._untry(one)

    def _untry(self, one: CallUnderWay) -> None:
        """Remember how often a call was tried before an attempt that was not sent."""
        if one.tried > 1:
            # Its next attempt follows the one that was just given back.
            self.again(replace(one, tried=one.tried - 1), 0.0)

    async def _fits(self, one: CallUnderWay) -> bool:
        """Set the worst case of a call aside; stop the run where nothing can free more."""
        lacks, under_way = self.run_budget.lacks(one.cost), self.run_budget.under_way
        if lacks is None:
            cost = one.cost
            booking = await self.ledger.book(one.reservation, tokens=cost.tokens, usd=cost.usd)
            lacks, under_way = booking.lacks, booking.under_way
        if lacks is None:
            self.run_budget.hold(one.cost)
            return True
        self.lacking = under_way > 0
        if not self.lacking:
            exhausted(self.run_halt, lacks)
        return False
