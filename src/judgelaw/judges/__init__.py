"""Whoever answers: HTTP endpoints, an embedded model, a function, a command, a simulated law."""

from judgelaw.judges.port import (
    Judge as Judge,
    JudgeContext as JudgeContext,
    JudgeFactory as JudgeFactory,
    JudgeFunction as JudgeFunction,
    idle_of as idle_of,
    open_batch_client as open_batch_client,
    open_judge as open_judge,
)
from judgelaw.judges.python import (
    Call as Call,
    Invalid as Invalid,
    RateLimited as RateLimited,
    Refused as Refused,
    Reply as Reply,
    functions_for as functions_for,
)
