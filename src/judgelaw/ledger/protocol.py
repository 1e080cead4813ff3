"""The port that acquisition writes through: small, and the same for every database."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from judgelaw.ledger.records import BatchState, Booking, OpenBatch, Record, Reservation
from judgelaw.ledger.view import LedgerView, reservation
from judgelaw.ledger.writer import GroupWriter, Work
from judgelaw.study import PlannedCall
from judgelaw.wire import JudgeSpec, Verdict

Listener = Callable[[Sequence[Record]], None]


class Ledger(LedgerView):
    """The durable record of a run, held by one session.

    A reservation is durable when `reserve` or `again` returns it, thus before the wire is touched.
    A record is written behind: `record` returns at once, the listener hears of it when it is
    durable, and `flush` waits until everything recorded is.
    """

    _sql: ClassVar[Mapping[str, str]]
    _writer: GroupWriter
    _clock: Callable[[], float]

    @abstractmethod
    def load(
        self, judges: Mapping[str, JudgeSpec], calls: Iterable[PlannedCall], *, manifest: str
    ) -> None:
        """Take in the calls of the manifest with hash `manifest`; what is there stays."""

    def listen(self, listener: Listener) -> None:
        """Call `listener` in the event loop with each group of records that became durable."""
        self._writer.listen(listener)

    async def reserve(self, judge: str, *, after: int, limit: int) -> Sequence[Reservation]:
        """Reserve attempts for the next open calls of a judge behind schedule position `after`."""
        work = partial(self._reserve, judge, after, limit)
        reserved: Sequence[Reservation] = await self._writer.do(work, urgent=True)
        return reserved

    async def again(self, reservation: Reservation) -> Reservation:
        """Reserve the next attempt of a call whose attempt failed."""
        attempt: int = await self._writer.do(partial(self._again, reservation.attempt))
        return Reservation(attempt=attempt, number=reservation.number + 1, call=reservation.call)

    @abstractmethod
    async def book(self, reservation: Reservation, *, tokens: float, usd: float) -> Booking:
        """Ask the limits that other sessions share, if any, for one request."""

    @abstractmethod
    async def sending(self, reservation: Reservation) -> None:
        """Mark that the wire is about to be touched, so that a kill leaves an orphan.

        Raises:
            LeaseLostError: others have the call; it must not be sent.
        """

    def record(self, record: Record) -> None:
        """Write behind how an attempt ended, or what a reply was read as."""
        self._writer.put(record)

    async def flush(self) -> None:
        """Wait until everything recorded is durable; raise what kept it from being so."""
        await self._writer.do(lambda _: None, urgent=True)

    async def prepare_batch(self, judge: str, uid: str, reservations: Sequence[Reservation]) -> int:
        """Put reserved attempts into a batch; durable when it returns, before anything is sent."""
        work = partial(self._prepare_batch, judge, uid, [r.attempt for r in reservations])
        batch: int = await self._writer.do(work, urgent=True)
        return batch

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
        work = partial(self._note_batch, batch, state, provider_id, detail, self._clock())
        await (self._before_sending(work) if state == "submitting" else self._do(work))

    async def open_batches(self, judge: str) -> Sequence[OpenBatch]:
        """Return the batches of a judge that providers have, and that nobody else collects."""
        found: Sequence[OpenBatch] = await self._writer.do(
            partial(self._open_batches, judge), urgent=True
        )
        return found

    @abstractmethod
    def add_verdicts(self, verdicts: Iterable[tuple[str, Verdict]]) -> None:
        """Add `(call_id, verdict)` under further parser versions; those that are there stay."""

    async def _do(self, work: Work) -> None:
        await self._writer.do(work, urgent=True)

    async def _before_sending(self, work: Work) -> None:
        """Make durable what must be so before the wire is touched."""
        await self._do(work)

    @abstractmethod
    def _reserve(
        self, judge: str, after: int, limit: int, connection: Any
    ) -> Sequence[Reservation]: ...

    @abstractmethod
    def _again(self, attempt: int, connection: Any) -> int:
        """Start the next attempt of a call; return its row."""

    @abstractmethod
    def _prepare_batch(
        self, judge: str, uid: str, attempts: Sequence[int], connection: Any
    ) -> int: ...

    def _note_batch(  # noqa: PLR0917 - the connection comes last, as for all work of the writer
        self,
        batch: int,
        state: BatchState,
        provider_id: str | None,
        detail: str | None,
        now: float,
        connection: Any,
    ) -> None:
        """Set the state of a batch; its open attempts end with it where it was lost or not sent."""
        consequence = {"orphaned": "orphan_batch", "withdrawn": "unsend_batch"}.get(state)
        if consequence is not None:
            connection.execute(self._sql[consequence], (batch, now))
        connection.execute(self._sql["note_batch"], (batch, state, provider_id, now, detail))

    @abstractmethod
    def _open_batch_rows(self, judge: str, connection: Any) -> Sequence[Any]:
        """Return row, name, provider's name and time of the batches to collect."""

    def _open_batches(self, judge: str, connection: Any) -> list[OpenBatch]:
        attempts = self._sql["batch_attempts"]
        return [
            OpenBatch(
                batch=batch,
                uid=uid,
                provider_id=provider_id,
                submitted_at=submitted_at,
                reservations=tuple(
                    map(reservation, connection.execute(attempts, (batch,)).fetchall())
                ),
            )
            for batch, uid, provider_id, submitted_at in self._open_batch_rows(judge, connection)
        ]
