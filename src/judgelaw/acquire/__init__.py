"""From a frozen study to a calls table: scheduler, limiter, retry decision, budget, engine."""

from judgelaw.acquire.progress import Bar, Observer, PlainLines, Silent
from judgelaw.acquire.run import Acquisition, acquire

__all__ = ["Acquisition", "Bar", "Observer", "PlainLines", "Silent", "acquire"]
