"""Whoever answers: HTTP endpoints, an embedded model, a function, a command, a simulated law."""

from judgelaw.judges.functions import (
    name_of as name_of,
    source_hash as source_hash,
    usual_scale as usual_scale,
)
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
    CALLERS_LOOP as CALLERS_LOOP,
    Call as Call,
    Invalid as Invalid,
    RateLimited as RateLimited,
    Refused as Refused,
    Reply as Reply,
    functions_for as functions_for,
)
