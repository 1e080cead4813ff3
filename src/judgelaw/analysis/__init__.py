"""One complete analysis of one calls table: tensors in, frozen values out."""

from judgelaw.analysis.comparison import Comparison, Difference, compare
from judgelaw.analysis.complete import analyze
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
    "Analysis",
    "Comparison",
    "Component",
    "Components",
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
    "compare",
]
