"""Whoever answers: OpenAI and Anthropic wire formats, an embedded model, a simulated law."""

from judgelaw.judges.batch import BatchClient, Entry, Look, Stage, Trace, open_batch_client
from judgelaw.judges.decode import decode
from judgelaw.judges.protocol import Judge, JudgeFactory, Surroundings
from judgelaw.judges.registry import open_judge
from judgelaw.judges.reply import Answer, Consequence, Failure, FailureKind, Reply

__all__ = [
    "Answer",
    "BatchClient",
    "Consequence",
    "Entry",
    "Failure",
    "FailureKind",
    "Judge",
    "JudgeFactory",
    "Look",
    "Reply",
    "Stage",
    "Surroundings",
    "Trace",
    "decode",
    "open_batch_client",
    "open_judge",
]
