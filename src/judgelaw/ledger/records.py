"""What goes into a ledger and what comes out: frozen values, and their columns."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from judgelaw.study import PlannedCall
from judgelaw.wire import Completion, Receipt, Reply, Verdict

AttemptState = Literal["started", "completed", "failed", "orphaned", "refused", "unsent"]
BatchState = Literal["prepared", "submitting", "submitted", "ended", "orphaned", "withdrawn"]


LATE = "its reply turned up late"
"""What the ledger notes of an orphan that was completed after all: others may have begun since."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reservation:
    """A durable attempt that may now be sent: its row, its rank within the call, and the call."""

    attempt: int
    number: int
    call: PlannedCall


@dataclass(frozen=True, kw_only=True, slots=True)
class Booking:
    """What shared limits say to one more request.

    Attributes:
        delay_s: how long to wait before it leaves, so that all sessions together keep the pace.
        lacks: the limit of the budget that it would pass; None where it fits.
        under_way: requests of all sessions whose cost is set aside.
    """

    delay_s: float = 0.0
    lacks: str | None = None
    under_way: int = 0


UNLIMITED = Booking()
"""Where nobody else is asking, or nothing is limited."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Arrived:
    """A reply as it came, recorded before anything reads it; the attempt has not ended yet."""

    reservation: Reservation
    sent_at: float
    ended_at: float
    reply: Reply


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """What a ledger keeps in memory while it cannot be written.

    Attributes:
        replies: how many replies wait.
        words: why, in the words of the disk or the database.
    """

    replies: int
    words: str

    @property
    def said(self) -> str:
        """Say so in one line."""
        return f"{self.replies} replies are held in memory until they can be written ({self.words})"


@dataclass(frozen=True, kw_only=True, slots=True)
class Completed:
    """An attempt that ended in the call's one completion, which nobody has read yet."""

    reservation: Reservation
    sent_at: float
    ended_at: float
    status: int
    body: bytes
    completion: Completion
    receipt: Receipt
    tokens: str | None = None
    """Token probabilities, where they were asked for and came back."""
    unread: tuple[tuple[str, str], ...] = ()
    """Fields of the reply that could not be read, each with the reason."""
    superseded: bool = False
    """Whether somebody else's answer was there first: this one is an orphan, and counted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Failed:
    """An attempt that ended without a completion.

    Attributes:
        kind, detail, status: how, in the provider's words where it gave some.
        at_risk: it may have been answered, and paid for, all the same.
        refused: the provider refused the key or the account, so that nothing failed.
    """

    reservation: Reservation
    sent_at: float
    ended_at: float
    kind: str
    detail: str
    status: int | None = None
    at_risk: bool = False
    refused: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Unsent:
    """A reservation that was never sent."""

    reservation: Reservation
    ended_at: float


Ending = Completed | Failed | Unsent


@dataclass(frozen=True, kw_only=True, slots=True)
class Read:
    """What a call's completion counts as; written once the completion is durable."""

    call_id: str
    verdict: Verdict


Record = Arrived | Ending | Read


def replies_in(records: Iterable[Record]) -> list[Arrived]:
    """Return the replies that are lost if these records are never written, each once."""
    kept = list(records)
    over = {r.reservation.attempt for r in kept if isinstance(r, Failed | Unsent)}
    arrived = [r for r in kept if isinstance(r, Arrived)]
    return [r for r in arrived if r.reservation.attempt not in over]


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenBatch:
    """A batch that a provider has, or may have, and what is still to be collected from it.

    Attributes:
        batch, uid: its row, and the name that we gave it.
        provider_id: the provider's name for it; None where nobody heard it.
        submitted_at: when it was about to be submitted.
        detail: what was noted of it last.
        reservations: the attempts in it that have not ended.
    """

    batch: int
    uid: str
    provider_id: str | None
    submitted_at: float
    detail: str | None
    reservations: tuple[Reservation, ...]


class StoredBatch(NamedTuple):
    """A batch as it stands in the ledger."""

    batch: int
    uid: str
    judge: str
    state: BatchState
    provider_id: str | None
    prepared_at: float
    submitted_at: float | None
    ended_at: float | None
    detail: str | None
    calls: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Loss:
    """What was durable once, or sent, and is not in the ledger any more.

    Attributes:
        replies: completions that are missing.
        attempts: attempts that were sent, and that the ledger does not know.
    """

    replies: int
    attempts: int

    @property
    def words(self) -> str:
        """Say how much it is."""
        return f"{self.replies} replies that were on the disk, {self.attempts} attempts sent"


@dataclass(frozen=True, kw_only=True, slots=True)
class Totals:
    """What the rows say of a run, or of one judge of it.

    Attributes:
        planned, completed: calls in the manifest, and those with a completion.
        in_flight, failed, orphaned, refused, unsent: attempts by state; `in_flight` are reserved
            and perhaps sent, `unsent` were reserved ahead and never sent.
        input_tokens, output_tokens, cached_tokens: as reported by the provider.
        unmetered: completions whose provider reported no usage.
        at_risk: attempts that may have been answered and paid for, and whose answer is lost.
    """

    planned: int
    completed: int
    in_flight: int
    failed: int
    orphaned: int
    refused: int
    unsent: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    unmetered: int
    at_risk: int

    @property
    def open(self) -> int:
        """Calls without a completion."""
        return self.planned - self.completed

    @property
    def attempts(self) -> int:
        """Attempts that were, or may have been, sent: all but those known to be unsent."""
        return self.completed + self.failed + self.orphaned + self.refused + self.in_flight


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgePulse:
    """How many calls of a judge are completed, the tokens that they took, what was unreadable.

    Attributes:
        invalid: replies without a label, by the parser that read them.
    """

    completed: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    invalid: Mapping[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Pulse:
    """How far a run is, in few and fast readings: for whoever looks again every second.

    Attributes:
        judges: by name, those with a completion.
        failed, orphaned: attempts that ended so.
        last_failure: in the words of the last attempt that failed; None where none did.
        started_at, ended_at: of the last session; no end means that it runs, or was killed.
        pid, host: who that session is.
    """

    judges: Mapping[str, JudgePulse]
    failed: int
    orphaned: int
    last_failure: str | None
    started_at: float | None
    ended_at: float | None
    pid: int | None
    host: str | None

    @property
    def completed(self) -> int:
        """Calls with a completion, of all judges."""
        return sum(judge.completed for judge in self.judges.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeSummary:
    """How the calls of one judge ended: retries, stop reasons, failures, flags."""

    judge: str
    planned: int
    completed: int
    retried: int
    finish_reasons: Mapping[str, int] = field(default_factory=dict)
    failures: Mapping[str, int] = field(default_factory=dict)
    flags: Mapping[str, int] = field(default_factory=dict)
    models: Mapping[str, int] = field(default_factory=dict)
    fingerprints: Mapping[str, int] = field(default_factory=dict)


class StoredAttempt(NamedTuple):
    """An attempt as it stands in the ledger."""

    attempt: int
    call_id: str
    number: int
    session: int
    state: AttemptState
    reserved_at: float
    sent_at: float | None
    ended_at: float | None
    status: int | None
    kind: str | None
    detail: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredCompletion:
    """A call with its completion, as they stand in the ledger."""

    call: PlannedCall
    attempt: int
    attempts: int
    sent_at: float
    ended_at: float
    status: int
    body: bytes
    completion: Completion
    receipt: Receipt


class StoredReply(NamedTuple):
    """What a reply says and the call that it belongs to: a row, for readings of a whole run."""

    call_id: str
    layer: str
    judge: str
    item: str
    prompt: str
    order: str
    repeat: int
    seed: int | None
    response_id: str | None
    text: str | None
    refusal: str | None
    content_filtered: bool
    date: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """A completed call with a verdict, and how it travelled.

    Attributes:
        completion: what was said, with its token probabilities; None where it has none of these.
        tokens: the token probabilities.
    """

    call: PlannedCall
    verdict: Verdict
    attempts: int
    sent_at: float
    ended_at: float
    finish_reason: str | None
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    completion: Completion | None = None
    tokens: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class VerdictCount:
    """How often a judge's completions got one verdict, for one reason, from one parser version."""

    judge: str
    parser: str
    verdict: str
    reason: str
    count: int


Row = tuple[object, ...]


def call_row(call: PlannedCall) -> Row:
    """Return the row of a call; its judge's configuration stands with the judge."""
    where = (call.call_id, call.judge, call.layer, call.item, call.stratum, call.prompt)
    rank = (call.order, call.repeat, call.seed, call.position)
    request, payload = bytes.fromhex(call.request_sha256), bytes.fromhex(call.payload_sha256)
    return (*where, *rank, request, payload, call.gold, call.date)


def completion_row(e: Completed) -> Row:
    """Return the row of a completion, its attempt first."""
    said, receipt = e.completion, e.receipt
    return (
        e.reservation.attempt,
        e.sent_at,
        e.ended_at,
        e.status,
        e.body,
        said.text,
        said.finish_reason,
        said.refusal,
        said.content_filtered,
        receipt.input_tokens,
        receipt.output_tokens,
        receipt.cached_tokens,
        receipt.model,
        receipt.fingerprint,
        receipt.response_id,
        receipt.echoed_seed,
        receipt.replayed,
    )


def unread_rows(records: Sequence[Record]) -> list[Row]:
    """Return the rows of replies that came and have not ended among these records."""
    arrived = [r for r in records if isinstance(r, Arrived)]
    if not arrived:
        return []
    ended = {r.reservation.attempt for r in records if isinstance(r, Completed | Failed)}
    return [
        (
            r.reservation.attempt,
            r.sent_at,
            r.ended_at,
            r.reply.status,
            json.dumps(dict(r.reply.headers)),
            r.reply.body,
        )
        for r in arrived
        if r.reservation.attempt not in ended
    ]


def unread_reply(row: Sequence[Any]) -> tuple[float, float, Reply]:
    """Return when a reply was asked for, when it came, and the reply, from a row of it."""
    sent_at, ended_at, status, headers, body = row
    return sent_at, ended_at, Reply(status=status, body=bytes(body), headers=json.loads(headers))


def unread_field_rows(completed: Iterable[Completed]) -> list[Row]:
    """Return the rows of fields that could not be read, the attempt of each completion first."""
    return [(e.reservation.attempt, field, why) for e in completed for field, why in e.unread]


def tokens_rows(completed: Iterable[Completed]) -> list[Row]:
    """Return the rows of token probabilities, the attempt of each completion first."""
    return [(e.reservation.attempt, e.tokens) for e in completed if e.tokens is not None]


def verdict_row(read: Read) -> Row:
    """Return the row of the verdict on a call's completion."""
    v = read.verdict
    return (read.call_id, v.parser, v.verdict, v.displayed, v.reason)


def criterion_rows(read: Read) -> Iterator[Row]:
    """Yield the rows of the verdicts on the criteria of a call's completion."""
    for criterion, v in read.verdict.criteria:
        yield (read.call_id, v.parser, criterion, v.verdict, v.displayed, v.reason)


def failure_row(e: Failed) -> Row:
    """Return the row of a failure, its attempt last."""
    state = "refused" if e.refused else "failed"
    end = (e.sent_at, e.ended_at, e.status, e.kind, e.detail)
    return (state, *end, e.at_risk, e.reservation.attempt)
