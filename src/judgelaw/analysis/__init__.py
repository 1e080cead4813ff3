"""One complete analysis of one calls table: tensors in, frozen values out."""

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
    Settings,
    Table,
)

__all__ = [
    "Analysis",
    "Component",
    "Components",
    "Identity",
    "ItemValues",
    "JudgeAnalysis",
    "Key",
    "LargestComponent",
    "OrderDirection",
    "OtherMetric",
    "PromptDistances",
    "Settings",
    "Table",
    "analyze",
]
