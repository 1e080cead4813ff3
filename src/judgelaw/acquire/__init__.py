"""From a frozen study to a calls table: scheduler, limiter, retry decision, budget, engine."""

from typing import TYPE_CHECKING

from judgelaw.doors import lazy

if TYPE_CHECKING:
    from judgelaw.acquire.acquisition import (
        Acquisition as Acquisition,
        acquire as acquire,
        unread as unread,
        write_outputs as write_outputs,
    )
    from judgelaw.acquire.budget import usd as usd
    from judgelaw.acquire.call_rows import CALLS_COLUMNS as CALLS_COLUMNS
    from judgelaw.acquire.engine import TAKES_STOPPER as TAKES_STOPPER, Stopper as Stopper
    from judgelaw.acquire.merging import merge_shards as merge_shards
    from judgelaw.acquire.outputs import (
        CALLS as CALLS,
        Reparse as Reparse,
        read_labels as read_labels,
        reparse as reparse,
        with_parser as with_parser,
        write_results as write_results,
    )
    from judgelaw.acquire.progress import Observer as Observer, Silent as Silent, Tally as Tally
    from judgelaw.acquire.worker import acquire_shared as acquire_shared, work_on as work_on
else:
    __getattr__, __dir__ = lazy(__name__)
