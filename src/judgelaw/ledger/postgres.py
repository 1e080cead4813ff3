"""The PostgreSQL ledger: one schema a run, any number of sessions at once."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from judgelaw.errors import IntegrityError, JudgelawError, RunError, StudyChangedError
from judgelaw.ledger import second_place
from judgelaw.ledger.migrations import statements
from judgelaw.ledger.postgres_schema import Address, driver
from judgelaw.ledger.postgres_session import Mark, Session, Terms, refusal, write_read
from judgelaw.ledger.postgres_view import PostgresView
from judgelaw.ledger.records import (
    UNLIMITED,
    Booking,
    Completed,
    Failed,
    Read,
    Record,
    Reservation,
    call_row,
    replies_in,
    unread_reply,
    unread_rows,
)
from judgelaw.ledger.second_place import kept_words
from judgelaw.ledger.view import reservation
from judgelaw.ledger.writer import GroupWriter, Ledger, Work, Written
from judgelaw.study import Budget, PlannedCall, Study, Transport
from judgelaw.wire import JudgeSpec, Reply, Verdict

if TYPE_CHECKING:
    import psycopg


_SQL = statements("postgres")


_MINUTE = 60.0


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Which limits there are."""

    paced: bool = False
    budgeted: bool = False

    @property
    def any(self) -> bool:
        """Whether a request has to ask at all."""
        return self.paced or self.budgeted

    def book(
        self,
        reservation: Reservation,
        tokens: float,
        usd: float,
        connection: "psycopg.Connection[Any]",
    ) -> Booking:
        """Set the cost of a request aside and give it the next free time, in one transaction."""
        if self.budgeted:
            held = connection.execute(_SQL["hold"], (tokens, usd)).rowcount
            if not held:
                return _lacking(connection, tokens)
        # Also without a budget: the schedule of tokens is corrected by what was set aside.
        connection.execute(_SQL["set_aside"], (reservation.attempt, tokens, usd))
        if not self.paced:
            return Booking()
        row = connection.execute(_SQL["book"], (reservation.call.judge, tokens)).fetchone()
        return Booking(delay_s=float(row[0]) if row else 0.0)


def share(connection: "psycopg.Connection[Any]", *, study: Study) -> Limits:
    """Put the limits of a study in force, and count from rows what has been spent of them."""
    budget, transport = study.budget or Budget(), study.transport
    budgeted = any(limit is not None for limit in (budget.calls, budget.tokens, budget.usd))
    # Nobody spends or holds between the counting and the filling.
    connection.execute(_SQL["lock_purse"])
    for judge in study.judges:
        connection.execute(_SQL["set_judge_limits"], _judge_limits(judge, transport))
    connection.execute(_SQL["drop_purse"])
    if budgeted:
        connection.execute(_SQL["fill_purse"], (budget.calls, budget.tokens, budget.usd))
    paced = transport.requests_per_minute is not None or transport.tokens_per_minute is not None
    return Limits(paced=paced, budgeted=budgeted)


def _judge_limits(judge: JudgeSpec, transport: Transport) -> tuple[object, ...]:
    requests, tokens = transport.requests_per_minute, transport.tokens_per_minute
    pace = (_MINUTE / requests if requests else None, _MINUTE / tokens if tokens else None)
    price = judge.price
    if price is None:
        return (judge.name, *pace, 0.0, 0.0, 0.0)
    cached = price.cached_input_per_mtok
    cheap = price.input_per_mtok if cached is None else cached
    return (judge.name, *pace, price.input_per_mtok, price.output_per_mtok, cheap)


def _lacking(connection: "psycopg.Connection[Any]", tokens: float) -> Booking:
    row = connection.execute(_SQL["purse"]).fetchone()
    assert row is not None  # noqa: S101 - `share` filled it, and only `share` empties it
    most_calls, most_tokens, most_usd, calls, spent, paid, under_way, held, _ = row
    if most_calls is not None and calls + under_way + 1 > most_calls:
        lacks = f"{most_calls} calls"
    elif most_tokens is not None and spent + held + tokens > most_tokens:
        lacks = f"{most_tokens:.0f} tokens ({spent:.0f} used)"
    else:
        lacks = f"{most_usd:g} USD ({paid:.4f} used)"
    return Booking(lacks=lacks, under_way=under_way)


def _drop_unread(attempts: list[int], connection: "psycopg.Connection[Any]") -> None:
    connection.execute(_SQL["drop_unread_replies"], (attempts,))


_CHUNK = 20_000
_TYPES = [*["text"] * 7, "int4", "int8", "int8", "bytea", "bytea", "text", "text"]


@dataclass(frozen=True, kw_only=True)
class RemainingCalls:
    """What is left for this session, and who holds the rest.

    Attributes:
        free: open calls that it could reserve now.
        held: open calls that others hold.
        holders: who they are, in words.
    """

    free: int
    held: int
    holders: str


class PostgresLedger(PostgresView, Ledger):
    """One session on the ledger of a run; others may hold other calls of it at the same time."""

    _sql = _SQL

    def __init__(
        self,
        address: Address,
        run: str,
        *,
        terms: Terms | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        terms = terms or Terms()
        super().__init__(address, run, patience_s=terms.patience_s)
        self._clock = clock
        self._session = Session(address, run, terms)
        self._limits = Limits()
        self._at_stake = set()
        self._stored_unread: set[int] = set()
        self._writer = GroupWriter(
            self._commit,
            self._explain,
            passes=self._passes,
            # A server that is away is waited for, whatever is under way.
            at_stake=lambda: True,
            patience_s=terms.patience_s,
            abort=self._session.abort,
        )

    @property
    def lease_s(self) -> float:
        """How long this session may be silent."""
        return self._session.terms.lease_s

    def load(
        self, judges: Mapping[str, JudgeSpec], calls: Iterable[PlannedCall], *, manifest: str
    ) -> None:
        """Take in the calls of the manifest with hash `manifest`; what is there stays.

        Raises:
            StudyChangedError: the run was frozen from something else.
        """
        known = self._writer.do_now(lambda c: c.execute(_SQL["manifest"]).fetchone())
        if known == (manifest,):
            return
        self._writer.do_now(partial(self._load_judges, judges))
        rows, count = map(call_row, calls), 0
        while chunk := list(islice(rows, _CHUNK)):
            self._writer.do_now(partial(self._load_calls, chunk))
            count += len(chunk)
        # Last, so that a load that was cut short is taken up again.
        self._writer.do_now(partial(self._seal, manifest, count))

    def deposit(self, inputs: Mapping[str, bytes]) -> None:
        """Store what workers on other machines need; afterwards the run is ready for them."""

        def put(connection: "psycopg.Connection[Any]") -> None:
            for name, content in inputs.items():
                connection.execute(_SQL["deposit"], (name, content))

        self._writer.do_now(put)

    def share(self, study: Study) -> None:
        """Put the limits of the study in force; they hold for all sessions together."""
        self._limits = self._writer.do_now(partial(share, study=study))

    async def book(self, reservation: Reservation, *, tokens: float, usd: float) -> Booking:
        """Ask the shared limits for one request."""
        if not self._limits.any:
            return UNLIMITED
        work = partial(self._limits.book, reservation, tokens, usd)
        booking: Booking = await self._writer.do(work, urgent=True)
        return booking

    async def sending(self, reservation: Reservation) -> bool:
        """Mark durably that the wire is about to be touched; return while the lease holds.

        False where the call has been answered meanwhile.

        Raises:
            LeaseLostError: others have the call.
        """
        open_still: bool = await self._before_sending(Mark(reservation.attempt, self._clock()))
        if open_still:
            self._at_stake.add(reservation.attempt)
        return open_still

    def may_send(self) -> bool:
        """Whether the lease holds, at this very moment."""
        return self._session.valid

    async def beat(self) -> None:
        """Renew the lease, and declare sessions lost that did not renew theirs."""
        await self._writer.do(self._session.reap, urgent=True)

    def add_verdicts(self, verdicts: Iterable[tuple[str, Verdict]]) -> None:
        """Add `(call_id, verdict)` under further parser versions; those that are there stay."""
        read = (Read(call_id=call, verdict=v) for call, v in verdicts)
        while chunk := list(islice(read, _CHUNK)):
            self._writer.do_now(partial(write_read, read=chunk))

    async def others(self) -> RemainingCalls:
        """Say what is left to do here, and who holds the rest."""
        others: RemainingCalls = await self._writer.do(self._others, urgent=True)
        return others

    def close(self) -> None:
        """Write everything out and end the session; what was sent and has not ended is orphaned."""
        super().close()
        self._writer.stop()
        try:
            self._refuse_if_broken()
        finally:
            self._session.end()

    def _refuse_if_broken(self) -> None:
        """Write what a broken writer left; what the server does not take goes to a second place.

        Raises:
            JudgelawError: what kept it from being written, with where the replies are now.
        """
        try:
            self._writer.refuse_if_broken()
        except JudgelawError as error:
            left = self._writer.unwritten
            # What contradicts the rows is not written in parts either.
            written = isinstance(error, RunError) and (not left or self._session.keep(left))
            if written or not (replies := replies_in(left)):
                raise
            path = second_place.keep(self._session.key, replies, beside=None)
            raise type(error)(f"{error}. {kept_words(replies, path)}") from error

    async def _before_sending(self, work: Work) -> Any:
        """Make something durable, and return before the lease on it can have run out."""
        while True:
            found = await self._writer.do(work, urgent=True)
            # A worker that slept between the commit and this line may have lost its calls.
            if self._session.valid:
                return found

    def _passes(self, error: Exception) -> str | None:
        said = refusal(error)
        return None if said is None else self.address.hide(said)

    def _commit(self, records: Sequence[Record], works: Sequence[Work]) -> Written:
        """Commit a group; what was stored unread and ends with it is dropped."""
        over = [
            r.reservation.attempt
            for r in records
            if isinstance(r, Completed | Failed) and r.reservation.attempt in self._stored_unread
        ]
        if over:
            works = [*works, partial(_drop_unread, over)]
        written = self._session.commit(records, works)
        self._written(records)
        self._stored_unread.update(row[0] for row in unread_rows(records))  # type: ignore[misc]
        return Written(written.records, written.results[: len(written.results) - bool(over)])

    def _unread_replies(
        self, judge: str, connection: "psycopg.Connection[Any]"
    ) -> list[tuple[Reservation, float, float, Reply]]:
        found = connection.execute(_SQL["take_unread_replies"], (judge, self._session.id))
        rows = found.fetchall()
        self._stored_unread.update(row[5] for row in rows)
        return [(reservation(row[5:]), *unread_reply(row[:5])) for row in rows]

    def _others(self, connection: "psycopg.Connection[Any]") -> RemainingCalls:
        terms = (self._session.round, self._session.terms.attempts, self._session.id)
        rows = connection.execute(_SQL["remaining_calls"], terms).fetchall()
        holders = [row for row in rows if row[1] is not None]
        return RemainingCalls(
            free=sum(count for _, host, count in rows if host is None),
            held=sum(count for _, _, count in holders),
            holders=", ".join(f"process {pid} on {host}" for pid, host, _ in holders),
        )

    def _load_judges(
        self, judges: Mapping[str, JudgeSpec], connection: "psycopg.Connection[Any]"
    ) -> None:
        for name, spec in judges.items():
            sha256 = bytes.fromhex(spec.fingerprint)
            connection.execute(_SQL["add_judge"], (name, spec.model or None, sha256))
            if connection.execute(_SQL["other_judge"], (name, sha256)).fetchone() != (False,):
                raise self._changed(f"judge {name} has another configuration there")

    def _load_calls(
        self, chunk: Sequence[tuple[object, ...]], connection: "psycopg.Connection[Any]"
    ) -> None:
        connection.execute(_SQL["incoming"])
        with connection.cursor().copy(_SQL["copy_calls"]) as copy:
            copy.set_types(_TYPES)
            for row in chunk:
                copy.write_row(row)
        foreign = connection.execute(_SQL["foreign_calls"]).fetchone()
        if foreign != (0,):
            raise self._changed(f"{foreign and foreign[0]} calls differ from those there")
        connection.execute(_SQL["add_calls"])
        connection.execute("DROP TABLE pg_temp.incoming")

    def _seal(self, manifest: str, count: int, connection: "psycopg.Connection[Any]") -> None:
        row = connection.execute(_SQL["call_count"]).fetchone()
        if row != (count,):
            raise self._changed(f"{row and row[0]} calls are there, {count} here")
        connection.execute(_SQL["set_manifest"], (manifest,))

    def _changed(self, how: str) -> StudyChangedError:
        return StudyChangedError(
            f"run {self.run} in {self.address} was frozen from something else: {how}; "
            "use the run folder that it came from, or give this one another name with --out"
        )

    def _reserve(
        self, judge: str, after: int, limit: int, connection: "psycopg.Connection[Any]"
    ) -> list[Reservation]:
        terms = (self._session.round, self._session.terms.attempts, self._session.id)
        values = (judge, after, limit, *terms, self._clock())
        rows = connection.execute(_SQL["reserve"], values).fetchall()
        return [reservation(row) for row in rows]

    def _again(self, attempt: int, connection: "psycopg.Connection[Any]") -> int | None:
        values = (attempt, self._session.id, self._clock())
        row = connection.execute(_SQL["start_again"], values).fetchone()
        if row is not None:
            return int(row[0])
        if connection.execute(_SQL["answered_by_others"], ([attempt],)).fetchone() is None:
            raise IntegrityError(f"attempt {attempt} is not in the ledger: it cannot be followed")
        return None

    def _prepare_batch(
        self, judge: str, uid: str, attempts: Sequence[int], connection: "psycopg.Connection[Any]"
    ) -> int:
        values = (uid, judge, self._clock(), self._session.id)
        row = connection.execute(_SQL["prepare_batch"], values).fetchone()
        batch = int(row[0]) if row else 0
        connection.execute(_SQL["join_batch"], (batch, list(attempts)))
        return batch

    def _open_batch_rows(self, judge: str, connection: "psycopg.Connection[Any]") -> list[Any]:
        """Take over the batches of a judge that a provider has and nobody at work collects."""
        found = connection.execute(_SQL["take_batches"], (judge, self._session.id))
        return sorted(found.fetchall())

    def _explain(self, error: Exception) -> JudgelawError:
        psycopg = driver()
        said = self.address.hide(error)
        if isinstance(error, psycopg.IntegrityError):
            return IntegrityError(f"the ledger refused a write: {said}")
        if isinstance(error, psycopg.Error):
            return RunError(
                f"the ledger {self.address} could not be written: {said}; nothing more was sent. "
                "Correct that, then run the same command: it resumes"
            )
        return JudgelawError(f"the ledger's writer failed: {error!r}")
