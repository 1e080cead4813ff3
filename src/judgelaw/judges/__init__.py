"""Whoever answers: HTTP endpoints, an embedded model, a simulated law."""

from judgelaw.judges.port import (
    Judge as Judge,
    JudgeContext as JudgeContext,
    JudgeFactory as JudgeFactory,
    open_batch_client as open_batch_client,
    open_judge as open_judge,
)
