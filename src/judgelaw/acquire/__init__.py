"""From a frozen study to a calls table: scheduler, limiter, retry decision, budget, engine."""

from judgelaw.acquire.acquisition import (
    Acquisition as Acquisition,
    acquire as acquire,
    unread as unread,
)
from judgelaw.acquire.budget import usd as usd
from judgelaw.acquire.outputs import (
    CALLS as CALLS,
    Reparse as Reparse,
    reparse as reparse,
    with_parser as with_parser,
    write_results as write_results,
)
from judgelaw.acquire.progress import (
    Bar as Bar,
    Observer as Observer,
    PlainLines as PlainLines,
    Silent as Silent,
)
from judgelaw.acquire.worker import acquire_shared as acquire_shared, work_on as work_on
