"""Whoever answers: HTTP endpoints, an embedded model, a function, a command, a simulated law."""

from judgelaw.judges.port import (
    Judge,
    JudgeContext,
    JudgeFactory,
    JudgeFunction,
    open_batch_client,
    open_judge,
)
from judgelaw.judges.python import Call, RateLimited, Refused, Reply, functions_for

__all__ = [
    "Call",
    "Judge",
    "JudgeContext",
    "JudgeFactory",
    "JudgeFunction",
    "RateLimited",
    "Refused",
    "Reply",
    "functions_for",
    "open_batch_client",
    "open_judge",
]
