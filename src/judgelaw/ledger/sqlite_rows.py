"""Endings as rows: one prepared statement for each kind, run over the whole group."""

import sqlite3
from collections.abc import Sequence
from itertools import starmap

from judgelaw.ledger.sqltext import statements
from judgelaw.ledger.values import Completed, Ending, Failed, Unsent
from judgelaw.render.completion import Verdict

_SQL = statements("sqlite")


def write_endings(connection: sqlite3.Connection, endings: Sequence[Ending]) -> None:
    """Write a group of endings inside the caller's transaction."""
    completed = [e for e in endings if isinstance(e, Completed)]
    connection.executemany(_SQL["complete"], map(_completion, completed))
    judged = [(e.reservation.attempt, e.verdict) for e in completed if e.verdict is not None]
    connection.executemany(_SQL["judge_completion"], starmap(_verdict, judged))
    if len(completed) == len(endings):
        return
    failed = [e for e in endings if isinstance(e, Failed)]
    unsent = [e for e in endings if isinstance(e, Unsent)]
    connection.executemany(_SQL["fail"], map(_failure, failed))
    connection.executemany(_SQL["unsend"], [(e.ended_at, e.reservation.attempt) for e in unsent])


def _completion(e: Completed) -> tuple[object, ...]:
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


def _verdict(attempt: int, v: Verdict) -> tuple[object, ...]:
    return (attempt, v.parser, v.verdict, v.displayed, v.reason)


def _failure(e: Failed) -> tuple[object, ...]:
    state = "refused" if e.refused else "failed"
    end = (e.sent_at, e.ended_at, e.status, e.kind, e.detail)
    return (state, *end, e.at_risk, e.reservation.attempt)
