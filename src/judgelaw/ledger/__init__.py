"""The durable record of a run: calls, attempts, completions, verdicts."""

from judgelaw.ledger.lock import RunLock
from judgelaw.ledger.protocol import Ledger, LedgerView
from judgelaw.ledger.sqlite import SqliteLedger
from judgelaw.ledger.sqlite_view import LEDGER_NAME, SqliteView, lost
from judgelaw.ledger.values import (
    BatchState,
    Booking,
    Completed,
    Ending,
    Failed,
    Judged,
    JudgeSummary,
    Loss,
    OpenBatch,
    Read,
    Receipt,
    Record,
    Reservation,
    StoredAttempt,
    StoredBatch,
    StoredCompletion,
    StoredReply,
    Totals,
    Unsent,
    VerdictCount,
)

__all__ = [
    "LEDGER_NAME",
    "BatchState",
    "Booking",
    "Completed",
    "Ending",
    "Failed",
    "JudgeSummary",
    "Judged",
    "Ledger",
    "LedgerView",
    "Loss",
    "OpenBatch",
    "Read",
    "Receipt",
    "Record",
    "Reservation",
    "RunLock",
    "SqliteLedger",
    "SqliteView",
    "StoredAttempt",
    "StoredBatch",
    "StoredCompletion",
    "StoredReply",
    "Totals",
    "Unsent",
    "VerdictCount",
    "lost",
]
