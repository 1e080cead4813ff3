"""Whoever answers: OpenAI and Anthropic wire formats, an embedded model, a simulated law."""

from judgelaw.judges.decode import decode
from judgelaw.judges.protocol import Judge, JudgeFactory, Surroundings
from judgelaw.judges.registry import open_judge
from judgelaw.judges.reply import Answer, Consequence, Failure, FailureKind, Reply

__all__ = [
    "Answer",
    "Consequence",
    "Failure",
    "FailureKind",
    "Judge",
    "JudgeFactory",
    "Reply",
    "Surroundings",
    "decode",
    "open_judge",
]
