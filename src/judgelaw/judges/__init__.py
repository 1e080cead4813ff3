"""Whoever answers: HTTP endpoints, an embedded model, a simulated law."""

from judgelaw.judges.port import Judge, JudgeContext, JudgeFactory, open_batch_client, open_judge

__all__ = [
    "Judge",
    "JudgeContext",
    "JudgeFactory",
    "open_batch_client",
    "open_judge",
]
