"""One complete analysis of one calls table: tensors in, frozen values out."""

from judgelaw.analysis.comparison import Comparison, Difference, compare
from judgelaw.analysis.complete import analyze
from judgelaw.analysis.gating import GateReport, Limit, LimitDecision, check_limits
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
    Settings,
    Table,
)

__all__ = [
    "Analysis",
    "Comparison",
    "Component",
    "Components",
    "Difference",
    "GateReport",
    "Identity",
    "ItemValues",
    "JudgeAnalysis",
    "Key",
    "LargestComponent",
    "Limit",
    "LimitDecision",
    "OrderDirection",
    "OtherMetric",
    "PromptDistances",
    "Settings",
    "Table",
    "analyze",
    "check_limits",
    "compare",
]
