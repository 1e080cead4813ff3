"""Endings of attempts, made up; how a ledger records them, and the states it shows then."""

import asyncio

from judgelaw.ledger import Completed, Failed, Read, Receipt, Reservation
from judgelaw.wire import Completion, Verdict

PARSER = "first-line/1#00000000"


def completed(reservation: Reservation, text="A", **receipt) -> Completed:
    return Completed(
        reservation=reservation,
        sent_at=10.0,
        ended_at=11.5,
        status=200,
        body=b'{"text": "%s"}' % text.encode(),
        completion=Completion(text=text, finish_reason="stop"),
        receipt=Receipt(
            **{"input_tokens": 100, "output_tokens": 2, "response_id": f"r{reservation.attempt}"}
            | receipt
        ),
    )


def read(reservation: Reservation) -> Read:
    verdict = Verdict(verdict="candidate_1", parser=PARSER, displayed="A", reason="parsed")
    return Read(call_id=reservation.call.call_id, verdict=verdict)


def failed(reservation: Reservation, kind="reset", **fields) -> Failed:
    return Failed(
        reservation=reservation, sent_at=10.0, ended_at=12.0, kind=kind, detail="words", **fields
    )


def record(ledger, *endings) -> None:
    """Record endings, and wait until they are durable."""

    async def all_of_them():
        for ending in endings:
            ledger.record(ending)
        await ledger.flush()

    asyncio.run(all_of_them())


def states(ledger) -> list[str]:
    return [a.state for a in ledger.attempts()]
