"""Whoever answers: HTTP endpoints, an embedded model, a simulated law."""

from judgelaw.judges.port import Judge, JudgeFactory, Surroundings, open_batch_client, open_judge

__all__ = [
    "Judge",
    "JudgeFactory",
    "Surroundings",
    "open_batch_client",
    "open_judge",
]
