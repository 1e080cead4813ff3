"""One complete analysis of one calls table: tensors in, frozen values out."""

from judgelaw.analysis.comparison import Comparison, Difference, by_prompt, compare
from judgelaw.analysis.complete_analysis import (
    STAGES,
    TABLES,
    analyze,
    draws_for,
    infer_roles,
    main_layer,
    make_tables,
)
from judgelaw.analysis.component_tables import Context
from judgelaw.analysis.outcomes import coverage, position_choices
from judgelaw.analysis.values import (
    Analysis,
    Component,
    Components,
    Identity,
    ItemValues,
    JudgeAnalysis,
    Key,
    LargestComponent,
    OrderDirection,
    OtherMetric,
    PromptDistances,
    PromptLean,
    Settings,
    Table,
)

__all__ = [
    "STAGES",
    "TABLES",
    "Analysis",
    "Comparison",
    "Component",
    "Components",
    "Context",
    "Difference",
    "Identity",
    "ItemValues",
    "JudgeAnalysis",
    "Key",
    "LargestComponent",
    "OrderDirection",
    "OtherMetric",
    "PromptDistances",
    "PromptLean",
    "Settings",
    "Table",
    "analyze",
    "by_prompt",
    "compare",
    "coverage",
    "draws_for",
    "infer_roles",
    "main_layer",
    "make_tables",
    "position_choices",
]
