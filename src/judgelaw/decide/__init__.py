"""What to do: which prompt to keep, how to ask, what a precision costs, when to stop looking."""

from judgelaw.decide.advice import (
    Advice,
    Estimate,
    ForecastRange,
    JudgeAdvice,
    ProtocolRow,
    Target,
    in_words,
)
from judgelaw.decide.advising import advise
from judgelaw.decide.assurance import (
    MOST_ITEMS,
    MOST_REPEATS,
    Outlook,
    Promise,
    Sizes,
    outlook_from_law,
    outlook_from_pilot,
)
from judgelaw.decide.forecast import (
    Forecast,
    Precision,
    Price,
    Workload,
    forecast_from_laws,
    forecast_from_pilot,
    workload,
)
from judgelaw.decide.looks import Look, SequentialPlan, look
from judgelaw.decide.prompt_choice import (
    WORTH,
    PromptChoice,
    PromptRow,
    accuracies,
    choose_prompts,
    not_shown_worse,
    shown_first,
)
from judgelaw.decide.protocols import Protocol, default_protocols
from judgelaw.decide.score_parts import ScoreParts, ScoreProtocol
from judgelaw.decide.scores import JudgeScore, Purchase, Score, ScoreDifference
from judgelaw.decide.scoring import score_judge, score_systems

__all__ = [
    "MOST_ITEMS",
    "MOST_REPEATS",
    "WORTH",
    "Advice",
    "Estimate",
    "Forecast",
    "ForecastRange",
    "JudgeAdvice",
    "JudgeScore",
    "Look",
    "Outlook",
    "Precision",
    "Price",
    "Promise",
    "PromptChoice",
    "PromptRow",
    "Protocol",
    "ProtocolRow",
    "Purchase",
    "Score",
    "ScoreDifference",
    "ScoreParts",
    "ScoreProtocol",
    "SequentialPlan",
    "Sizes",
    "Target",
    "Workload",
    "accuracies",
    "advise",
    "choose_prompts",
    "default_protocols",
    "forecast_from_laws",
    "forecast_from_pilot",
    "in_words",
    "look",
    "not_shown_worse",
    "outlook_from_law",
    "outlook_from_pilot",
    "score_judge",
    "score_systems",
    "shown_first",
    "workload",
]
