"""What happened in a simulation, and the promises that it is held against.

The history knows only what the provider saw and what commits reported as durable; the ledger's
rows are compared with it whenever a ledger is opened or closed.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from judgelaw.ledger import Completed, Record, StoredAttempt, StoredCompletion, Totals
from judgelaw.ledger.view import LedgerView
from judgelaw.wire import JudgeSpec, parse

SENT = ("completed", "failed", "refused", "orphaned")
"""States of attempts that were, or may have been, sent."""


class History:
    """One run's history, over any number of sessions."""

    def __init__(self, judges: Mapping[str, JudgeSpec]) -> None:
        self._judges = judges
        self._batched = any(spec.batch for spec in judges.values())
        self.read = 0
        self.violations: list[str] = []
        self.seen: Counter[str] = Counter()
        self._sent: Counter[str] = Counter()
        self._arrived: Counter[str] = Counter()
        self._answers: dict[str, set[bytes]] = {}
        self._durable: dict[str, tuple[int, bytes]] = {}
        self._in_hand: set[str] = set()
        self._kept: set[str] = set()
        self._unaccounted: Counter[str] = Counter()
        self._rebooted = False
        self.log: list[tuple[object, ...]] = []
        self.dead = False

    # What the world tells.

    def begin(self) -> None:
        """A process starts: it has nothing in hand."""
        self.log.append(("begin",))
        self._in_hand.clear()
        self.dead = False

    def die(self) -> None:
        """The process is dead: what its remains still do has no effect."""
        self.dead = True
        self.log.append(("die",))
        self.seen["deaths"] += 1

    def lose_power(self) -> None:
        """The machine starts anew, and the marks are worth nothing."""
        self._rebooted = True
        self.seen["power losses"] += 1

    def send(self, call: str) -> None:
        """A request leaves the process."""
        self.log.append(("send", call))
        self._sent[call] += 1
        if call in self._durable:
            self._violate(f"call {call} is asked after its completion was durable")
        if call in self._in_hand:
            self._violate(f"call {call} is asked again although its reply is in hand")
        if call in self._kept:
            self._violate(f"call {call} is asked again although its reply is kept elsewhere")

    def arrive(self, call: str) -> None:
        """The provider has a request."""
        self.log.append(("arrive", call))
        self._arrived[call] += 1

    def answer(self, call: str, body: bytes) -> None:
        """The provider has answered."""
        self.log.append(("answer", call))
        self._answers.setdefault(call, set()).add(body)

    def deliver(self, call: str) -> None:
        """A whole completion is with the process."""
        self.log.append(("deliver", call))
        self._in_hand.add(call)
        self.seen["replies"] += 1

    def keep(self, calls: set[str]) -> None:
        """The replies to these calls lie in a second place, until a ledger takes them."""
        self._kept |= calls

    def commit(self, records: Sequence[Record]) -> None:
        """A commit came back as durable."""
        for record in records:
            if isinstance(record, Completed):
                self._complete(record.reservation.call.call_id, record)

    def parse(self, call: str) -> None:
        """A completion is about to be parsed."""
        if not self.dead and call not in self._durable:
            self._violate(f"the reply to call {call} is parsed before it is durable")

    @property
    def digest(self) -> str:
        """A hash of everything that happened, in its sequence."""
        return hashlib.sha256(repr(self.log).encode()).hexdigest()

    @property
    def lost(self) -> int:
        """Replies in hand that are not durable, and that nobody has any more."""
        return len(self._in_hand - set(self._durable) - self._kept)

    @property
    def durable(self) -> int:
        """Calls whose completion was reported as durable."""
        return len(self._durable)

    # What the ledger says.

    def compare(self, ledger: LedgerView) -> None:
        """Hold the rows of a ledger that a session has just opened, or closed, against all that."""
        attempts, completions = list(ledger.attempts()), list(ledger.completions())
        self._compare_completions(completions)
        self._compare_verdicts(ledger, completions)
        self._compare_attempts(attempts, set(ledger.unread_attempts()))
        self._compare_totals(ledger, attempts, completions)
        self._rebooted = False

    def _compare_completions(self, completions: Sequence[StoredCompletion]) -> None:
        stored = {c.call.call_id: (c.attempt, c.body) for c in completions}
        for call, durable in self._durable.items():
            if stored.get(call) != durable:
                self._violate(f"the durable completion of call {call} is gone or another one")
        for call, (_, body) in stored.items():
            if body not in self._answers.get(call, ()):
                self._violate(f"call {call} has a completion that the provider never sent")
        # A commit whose success nobody heard of is a commit all the same.
        self.seen["unheard commits"] += len(stored) - len(self._durable)
        self._durable = stored

    def _compare_verdicts(
        self, ledger: LedgerView, completions: Sequence[StoredCompletion]
    ) -> None:
        said = {c.call.call_id: (c.call, c.completion) for c in completions}
        verdicts = list(ledger.verdicts())
        for call_id, verdict in verdicts:
            call, completion = said[call_id]
            if verdict != parse(self._judges[call.judge], completion, call.order):
                self._violate(f"the verdict on call {call_id} is not that of its reply")
        self.read = len(verdicts)

    def _compare_attempts(self, attempts: Iterable[StoredAttempt], unread: set[int]) -> None:
        states: dict[str, Counter[str]] = {}
        for attempt in attempts:
            state = "unread" if attempt.attempt in unread else attempt.state
            states.setdefault(attempt.call_id, Counter())[state] += 1
            waits = self._batched or attempt.attempt in unread
            if attempt.state == "started" and not waits:
                self._violate(f"attempt {attempt.attempt} is open and nobody works on it")
        for call in self._sent.keys() | states.keys():
            self._account(call, states.get(call, Counter()))

    def _account(self, call: str, states: Counter[str]) -> None:
        """Find each time that a call left in the ledger.

        After a power loss, what was reserved and never sent counts as orphaned too. A batch stays
        open while the provider has it, and nobody knows which that was never heard of left.
        """
        if states["completed"] > 1:
            self._violate(f"call {call} has {states['completed']} completions")
        open_states = ("started", "unread") if self._batched else ("unread",)
        accounted = sum(states[state] for state in (*SENT, *open_states))
        if self._arrived[call] > accounted:
            seen = self._arrived[call]
            self._violate(f"the provider saw call {call} {seen} times, the ledger {accounted}")
        if self._batched:
            return
        surplus = accounted - self._sent[call]
        if surplus != self._unaccounted[call] and not (self._rebooted and surplus >= 0):
            self._violate(f"call {call} left {self._sent[call]} times, {accounted} in the ledger")
        self._unaccounted[call] = surplus

    def _compare_totals(
        self,
        ledger: LedgerView,
        attempts: Sequence[StoredAttempt],
        completions: Sequence[StoredCompletion],
    ) -> None:
        states = Counter(attempt.state for attempt in attempts)
        receipts = [c.receipt for c in completions]
        said = ledger.totals()
        counted = Totals(
            planned=sum(1 for _ in ledger.calls()),
            completed=states["completed"],
            in_flight=states["started"],
            failed=states["failed"],
            orphaned=states["orphaned"],
            refused=states["refused"],
            unsent=states["unsent"],
            input_tokens=sum(r.input_tokens or 0 for r in receipts),
            output_tokens=sum(r.output_tokens or 0 for r in receipts),
            cached_tokens=sum(r.cached_tokens or 0 for r in receipts),
            unmetered=sum(r.input_tokens is None for r in receipts),
            at_risk=said.at_risk,
        )
        if said != counted or said.at_risk < said.orphaned:
            self._violate(f"totals {said} differ from the rows: {counted}")

    def _complete(self, call: str, ending: Completed) -> None:
        if call in self._durable:
            self._violate(f"call {call} is completed twice")
        if ending.body not in self._answers.get(call, ()):
            self._violate(f"call {call} is completed with what the provider never sent")
        self._durable[call] = (ending.reservation.attempt, ending.body)
        self.log.append(("complete", call, *self._durable[call]))

    def _violate(self, words: str) -> None:
        self.violations.append(words)
