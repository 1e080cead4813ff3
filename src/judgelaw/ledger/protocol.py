"""The port that acquisition writes through: small, and the same for every database."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, Self

from judgelaw.ledger.records import (
    BatchState,
    Booking,
    Judged,
    JudgeSummary,
    OpenBatch,
    Record,
    Reservation,
    StoredAttempt,
    StoredBatch,
    StoredCompletion,
    StoredReply,
    Totals,
    VerdictCount,
)
from judgelaw.study import PlannedCall
from judgelaw.wire import Completion, JudgeSpec, Verdict

Listener = Callable[[Sequence[Record]], None]


class LedgerView(Protocol):
    """What anybody can read from a ledger at any time. Every total is a count of rows."""

    def totals(self, judge: str | None = None) -> Totals:
        """Count the run, or one judge of it."""
        ...

    def flagged(self, judge: str | None = None) -> int:
        """Count the completed calls whose reply looks like another model's or an earlier one's."""
        ...

    def summaries(self) -> tuple[JudgeSummary, ...]:
        """Say how the calls of each judge ended."""
        ...

    def verdict_counts(self) -> tuple[VerdictCount, ...]:
        """Count verdicts by judge, parser version and reason."""
        ...

    def calls(self) -> Iterator[PlannedCall]:
        """Yield every call in schedule order."""
        ...

    def attempts(self) -> Iterator[StoredAttempt]:
        """Yield every attempt in the sequence of reservation."""
        ...

    def completions(self) -> Iterator[StoredCompletion]:
        """Yield every completed call in schedule order."""
        ...

    def replies(self, layer: str | None = None) -> Iterator[StoredReply]:
        """Yield what every reply of a layer, or of the run, says and belongs to."""
        ...

    def coverage(self) -> dict[str, float]:
        """Return the share of the planned calls that completed, by judge."""
        ...

    def verdicts(self, parser: str | None = None) -> Iterator[tuple[str, Verdict]]:
        """Yield `(call_id, verdict)` in schedule order, under one parser version or under all."""
        ...

    def judged(self) -> Iterator[Judged]:
        """Yield every verdict by judge, layer, item, order, repeat, prompt and parser version."""
        ...

    def unjudged(self, judge: str, parser: str) -> Iterator[tuple[str, str, Completion]]:
        """Yield `(call_id, order, completion)` where this parser version has not judged."""
        ...

    def batches(self) -> Iterator[StoredBatch]:
        """Yield every batch in the sequence of its preparation."""
        ...

    def unreadable(self) -> Iterator[tuple[str, str, str, int]]:
        """Yield `(judge, parser, beginning, count)` of replies without a label, most first."""
        ...

    def flags(self) -> Iterator[tuple[str, str, str]]:
        """Yield `(call_id, kind, detail)` of every reply that looks like somebody else's."""
        ...


class Ledger(LedgerView, Protocol):
    """The durable record of a run, held by one session.

    A reservation is durable when `reserve` or `again` returns it, thus before the wire is touched.
    A record is written behind: `record` returns at once, the listener hears of it when it is
    durable, and `flush` waits until everything recorded is.
    """

    def load(
        self, judges: Mapping[str, JudgeSpec], calls: Iterable[PlannedCall], *, manifest: str
    ) -> None:
        """Take in the calls of the manifest with hash `manifest`; what is there stays."""
        ...

    def listen(self, listener: Listener) -> None:
        """Call `listener` in the event loop with each group of records that became durable."""
        ...

    async def reserve(self, judge: str, *, after: int, limit: int) -> Sequence[Reservation]:
        """Reserve attempts for the next open calls of a judge behind schedule position `after`."""
        ...

    async def again(self, reservation: Reservation) -> Reservation:
        """Reserve the next attempt of a call whose attempt failed."""
        ...

    async def book(self, reservation: Reservation, *, tokens: float, usd: float) -> Booking:
        """Ask the limits that other sessions share, if any, for one request."""
        ...

    async def sending(self, reservation: Reservation) -> None:
        """Mark that the wire is about to be touched, so that a kill leaves an orphan.

        Raises:
            LeaseLostError: others have the call; it must not be sent.
        """
        ...

    def record(self, record: Record) -> None:
        """Write behind how an attempt ended, or what a reply was read as."""
        ...

    async def flush(self) -> None:
        """Wait until everything recorded is durable; raise what kept it from being so."""
        ...

    async def prepare_batch(self, judge: str, uid: str, reservations: Sequence[Reservation]) -> int:
        """Put reserved attempts into a batch; durable when it returns, before anything is sent."""
        ...

    async def note_batch(
        self,
        batch: int,
        state: BatchState,
        *,
        provider_id: str | None = None,
        detail: str | None = None,
    ) -> None:
        """Write down durably how far a batch is.

        One that is orphaned orphans its open attempts; one that is withdrawn was never sent.
        """
        ...

    async def open_batches(self, judge: str) -> Sequence[OpenBatch]:
        """Return the batches of a judge that providers have, and that nobody else collects."""
        ...

    def add_verdicts(self, verdicts: Iterable[tuple[str, Verdict]]) -> None:
        """Add `(call_id, verdict)` under further parser versions; those that are there stay."""
        ...

    def close(self) -> None:
        """Write everything out, end the session, let the run go."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...
