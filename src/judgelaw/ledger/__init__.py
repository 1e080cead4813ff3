"""The durable record of a run: calls, attempts, completions, verdicts."""

from judgelaw.ledger.joining import join_ledgers as join_ledgers
from judgelaw.ledger.lock import (
    LOCK_NAME as LOCK_NAME,
    SENT_NAME as SENT_NAME,
    Holder as Holder,
    RunLock as RunLock,
    holder_of as holder_of,
)
from judgelaw.ledger.postgres import (
    PostgresLedger as PostgresLedger,
    RemainingCalls as RemainingCalls,
)
from judgelaw.ledger.postgres_schema import (
    Address as Address,
    list_runs as list_runs,
    read_address as read_address,
)
from judgelaw.ledger.postgres_session import Terms as Terms
from judgelaw.ledger.postgres_view import PostgresView as PostgresView, archive as archive
from judgelaw.ledger.records import (
    LATE as LATE,
    Arrived as Arrived,
    Booking as Booking,
    Completed as Completed,
    Ending as Ending,
    Failed as Failed,
    Held as Held,
    Judged as Judged,
    JudgeSummary as JudgeSummary,
    OpenBatch as OpenBatch,
    Pulse as Pulse,
    Read as Read,
    Record as Record,
    Reservation as Reservation,
    StoredAttempt as StoredAttempt,
    StoredBatch as StoredBatch,
    StoredCompletion as StoredCompletion,
    StoredReply as StoredReply,
    Totals as Totals,
    Unsent as Unsent,
)
from judgelaw.ledger.sqlite import SqliteLedger as SqliteLedger
from judgelaw.ledger.sqlite_view import (
    LEDGER_NAME as LEDGER_NAME,
    SqliteView as SqliteView,
    lost as lost,
    refuse_missing as refuse_missing,
    traces as traces,
)
from judgelaw.ledger.view import LedgerView as LedgerView
from judgelaw.ledger.writer import Ledger as Ledger
from judgelaw.wire import Receipt as Receipt
