"""Values as tuples, in the sequence of the columns that both ledgers' statements name."""

from judgelaw.design.manifest import PlannedCall
from judgelaw.ledger.values import Completed, Failed, Read

Row = tuple[object, ...]


def call_row(call: PlannedCall) -> Row:
    """Return the row of a call; its judge's configuration stands with the judge."""
    where = (call.call_id, call.judge, call.layer, call.item, call.stratum, call.prompt)
    rank = (call.order, call.repeat, call.seed, call.position)
    request, payload = bytes.fromhex(call.request_sha256), bytes.fromhex(call.payload_sha256)
    return (*where, *rank, request, payload, call.gold)


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


def verdict_row(read: Read) -> Row:
    """Return the row of the verdict on a call's completion."""
    v = read.verdict
    return (read.call_id, v.parser, v.verdict, v.displayed, v.reason)


def failure_row(e: Failed) -> Row:
    """Return the row of a failure, its attempt last."""
    state = "refused" if e.refused else "failed"
    end = (e.sent_at, e.ended_at, e.status, e.kind, e.detail)
    return (state, *end, e.at_risk, e.reservation.attempt)
