"""What to do next: how many calls a wanted precision costs, and when to stop looking."""

from judgelaw.decide.advice import (
    Advice as Advice,
    JudgeAdvice as JudgeAdvice,
    ProtocolRow as ProtocolRow,
    Target as Target,
    WrongVerdicts as WrongVerdicts,
    in_words as in_words,
)
from judgelaw.decide.advising import (
    advise as advise,
)
from judgelaw.decide.affordable import (
    REPEATS as REPEATS,
    Choice as Choice,
    Spending as Spending,
    StopForecast as StopForecast,
    foresee_stop as foresee_stop,
    spend as spend,
)
from judgelaw.decide.assurance import (
    MOST_ITEMS as MOST_ITEMS,
    MOST_REPEATS as MOST_REPEATS,
    Outlook as Outlook,
    Promise as Promise,
    Sizes as Sizes,
    outlook_from_law as outlook_from_law,
    outlook_from_pilot as outlook_from_pilot,
)
from judgelaw.decide.forecast import (
    Forecast as Forecast,
    Precision as Precision,
    Price as Price,
    Workload as Workload,
    forecast_from_laws as forecast_from_laws,
    forecast_from_pilot as forecast_from_pilot,
    workload as workload,
)
from judgelaw.decide.looks import (
    Look as Look,
    StopRule as StopRule,
    best_case as best_case,
    look as look,
)
from judgelaw.decide.pair_ranking import score_pairs as score_pairs
from judgelaw.decide.panel_votes import (
    TIES as TIES,
    Majority as Majority,
    Ties as Ties,
    across_judges as across_judges,
    another_judge as another_judge,
    call_law as call_law,
    call_pairs as call_pairs,
    calls_in_turn as calls_in_turn,
    calls_needed as calls_needed,
    judge_component as judge_component,
    of_two as of_two,
    panel_changes as panel_changes,
    panel_law as panel_law,
    spread_changes as spread_changes,
    spread_law as spread_law,
    two_calls as two_calls,
    wrong_together as wrong_together,
)
from judgelaw.decide.prompt_choice import (
    WORTH as WORTH,
    PromptChoice as PromptChoice,
    PromptRow as PromptRow,
    accuracies as accuracies,
    choose_prompts as choose_prompts,
    not_shown_worse as not_shown_worse,
    shown_first as shown_first,
)
from judgelaw.decide.prompt_forecast import MorePrompts as MorePrompts, more_prompts as more_prompts
from judgelaw.decide.protocols import (
    Protocol as Protocol,
    default_protocols as default_protocols,
)
from judgelaw.decide.repeats import (
    ChosenRepeats as ChosenRepeats,
    choose_repeats as choose_repeats,
)
from judgelaw.decide.score_parts import (
    ScoreParts as ScoreParts,
    ScoreProtocol as ScoreProtocol,
)
from judgelaw.decide.scores import (
    JudgeScore as JudgeScore,
    Purchase as Purchase,
    Score as Score,
    ScoreDifference as ScoreDifference,
    repeats_sentence as repeats_sentence,
)
from judgelaw.decide.scoring import (
    score_judge as score_judge,
    score_systems as score_systems,
)
from judgelaw.decide.votes import TIE as TIE
