"""The durable record of a run: calls, attempts, completions, verdicts."""

from judgelaw.ledger.lock import LOCK_NAME, SENT_NAME, Holder, RunLock, holder_of
from judgelaw.ledger.postgres import PostgresLedger, RemainingCalls
from judgelaw.ledger.postgres_schema import Address, list_runs, read_address
from judgelaw.ledger.postgres_session import Terms
from judgelaw.ledger.postgres_view import PostgresView, archive
from judgelaw.ledger.protocol import Ledger, LedgerView
from judgelaw.ledger.records import (
    BatchState,
    Booking,
    Completed,
    Ending,
    Failed,
    Judged,
    JudgeSummary,
    Loss,
    OpenBatch,
    Pulse,
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
from judgelaw.ledger.sqlite import SqliteLedger
from judgelaw.ledger.sqlite_view import LEDGER_NAME, SqliteView, lost

__all__ = [
    "LEDGER_NAME",
    "LOCK_NAME",
    "SENT_NAME",
    "Address",
    "BatchState",
    "Booking",
    "Completed",
    "Ending",
    "Failed",
    "Holder",
    "JudgeSummary",
    "Judged",
    "Ledger",
    "LedgerView",
    "Loss",
    "OpenBatch",
    "PostgresLedger",
    "PostgresView",
    "Pulse",
    "Read",
    "Receipt",
    "Record",
    "RemainingCalls",
    "Reservation",
    "RunLock",
    "SqliteLedger",
    "SqliteView",
    "StoredAttempt",
    "StoredBatch",
    "StoredCompletion",
    "StoredReply",
    "Terms",
    "Totals",
    "Unsent",
    "VerdictCount",
    "archive",
    "holder_of",
    "list_runs",
    "lost",
    "read_address",
]
