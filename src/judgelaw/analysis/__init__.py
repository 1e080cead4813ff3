"""One complete analysis of one calls table: tensors in, frozen values out."""

from judgelaw.analysis.answer import (
    Action as Action,
    Answer as Answer,
    Best as Best,
    Change as Change,
    Rate as Rate,
    Right as Right,
    decide as decide,
    majority_law as majority_law,
    merit_of as merit_of,
    right_bounds as right_bounds,
)
from judgelaw.analysis.answer_words import (
    answer_of as answer_of,
    effects as effects,
    in_a_line as in_a_line,
    outlook as outlook,
    share as share,
    spoken as spoken,
    tried as tried,
)
from judgelaw.analysis.catalogue import catalogued as catalogued
from judgelaw.analysis.comparison import (
    Comparison as Comparison,
    Difference as Difference,
    by_prompt as by_prompt,
    compare as compare,
)
from judgelaw.analysis.complete_analysis import (
    TABLES as TABLES,
    analyze as analyze,
    band_draws_for as band_draws_for,
    infer_roles as infer_roles,
    main_layer as main_layer,
    make_tables as make_tables,
)
from judgelaw.analysis.component_tables import Context as Context
from judgelaw.analysis.facet_sentences import (
    factor_sentence as factor_sentence,
    slot_sentence as slot_sentence,
)
from judgelaw.analysis.facet_values import (
    Identity as Identity,
    ItemValues as ItemValues,
    LargestComponent as LargestComponent,
    OrderDirection as OrderDirection,
    OtherMetric as OtherMetric,
    PromptDistances as PromptDistances,
    PromptLean as PromptLean,
    SlotPreference as SlotPreference,
)
from judgelaw.analysis.look_first import (
    ItemTable as ItemTable,
    item_table as item_table,
    reading_order as reading_order,
    right_by_item as right_by_item,
)
from judgelaw.analysis.measures.reliability import Study as Study, dependability as dependability
from judgelaw.analysis.outcomes import (
    count_outcomes as count_outcomes,
    coverage as coverage,
    position_choices as position_choices,
)
from judgelaw.analysis.panel_answer import PanelAnswer as PanelAnswer, panel_of as panel_of
from judgelaw.analysis.panel_words import PanelWords as PanelWords, together as together
from judgelaw.analysis.panels import (
    Panels as Panels,
    decide_panels as decide_panels,
)
from judgelaw.analysis.probe_answers import (
    points_of_100 as points_of_100,
    probe_interval as probe_interval,
    probe_sentence as probe_sentence,
    where_largest as where_largest,
)
from judgelaw.analysis.score_answers import (
    PromptScores as PromptScores,
    ScoreAnswers as ScoreAnswers,
)
from judgelaw.analysis.screen import (
    Card as Card,
    Panel as Panel,
    Row as Row,
    Screen as Screen,
    Standing as Standing,
    Tick as Tick,
    screen_of as screen_of,
    screen_of_analysis as screen_of_analysis,
    screen_of_several as screen_of_several,
)
from judgelaw.analysis.soft_evidence import (
    SOFT_MODES as SOFT_MODES,
    SoftEvidence as SoftEvidence,
    SoftMode as SoftMode,
    soft_sentence as soft_sentence,
)
from judgelaw.analysis.values import (
    Analysis as Analysis,
    JudgeAnalysis as JudgeAnalysis,
    Key as Key,
    Settings as Settings,
    Table as Table,
)
