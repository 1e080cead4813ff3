"""The durable record of a run: calls, attempts, completions, verdicts."""

from judgelaw.ledger.lock import RunLock
from judgelaw.ledger.protocol import Ledger, LedgerView
from judgelaw.ledger.sqlite import SqliteLedger
from judgelaw.ledger.sqlite_view import LEDGER_NAME, SqliteView
from judgelaw.ledger.values import (
    Booking,
    Completed,
    Ending,
    Failed,
    Judged,
    JudgeSummary,
    Receipt,
    Reservation,
    StoredAttempt,
    StoredCompletion,
    Totals,
    Unsent,
    VerdictCount,
)

__all__ = [
    "LEDGER_NAME",
    "Booking",
    "Completed",
    "Ending",
    "Failed",
    "JudgeSummary",
    "Judged",
    "Ledger",
    "LedgerView",
    "Receipt",
    "Reservation",
    "RunLock",
    "SqliteLedger",
    "SqliteView",
    "StoredAttempt",
    "StoredCompletion",
    "Totals",
    "Unsent",
    "VerdictCount",
]
