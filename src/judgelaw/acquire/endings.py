"""How attempts end, from what came back: shared by every way of asking."""

from judgelaw.design.judge import JudgeSpec
from judgelaw.errors import InputError
from judgelaw.judges import Answer, Failure, FailureKind
from judgelaw.ledger import Failed, Receipt, Reservation


def failed(failure: Failure, reservation: Reservation, sent_at: float, now: float) -> Failed:
    """Return the ending of an attempt that failed."""
    return Failed(
        reservation=reservation,
        sent_at=sent_at,
        ended_at=now,
        kind=failure.kind.value,
        detail=failure.detail,
        status=failure.status,
        at_risk=failure.kind.at_risk,
        refused=failure.kind is FailureKind.REFUSED,
    )


def receipt_of(answer: Answer, spec: JudgeSpec) -> Receipt:
    """Return what the provider says of its reply."""
    return Receipt(
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
        cached_tokens=answer.cached_tokens,
        model=answer.model,
        fingerprint=answer.fingerprint,
        response_id=answer.response_id,
        # A seed that was not sent cannot come back changed.
        echoed_seed=answer.echoed_seed if spec.seed == "sent" else None,
        replayed=answer.replayed,
    )


def unmetered(spec: JudgeSpec) -> InputError:
    """Return the error of a reply without usage where a budget needs one."""
    return InputError(
        f"judge {spec.name} reports no token usage, so a budget in tokens or dollars cannot be "
        "kept: the replies so far are safe; budget in calls instead, then resume"
    )
