"""From a frozen study to a calls table: scheduler, limiter, retry decision, budget, engine."""

from judgelaw.acquire.acquisition import Acquisition, acquire, unread
from judgelaw.acquire.budget import usd
from judgelaw.acquire.outputs import CALLS, Reparse, reparse, with_parser, write_results
from judgelaw.acquire.progress import Bar, Observer, PlainLines, Silent
from judgelaw.acquire.worker import acquire_shared, work_on

__all__ = [
    "CALLS",
    "Acquisition",
    "Bar",
    "Observer",
    "PlainLines",
    "Reparse",
    "Silent",
    "acquire",
    "acquire_shared",
    "reparse",
    "unread",
    "usd",
    "with_parser",
    "work_on",
    "write_results",
]
