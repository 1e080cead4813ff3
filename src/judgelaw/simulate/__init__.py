"""Known-law studies of the estimators, and the published figures held against them."""

from judgelaw.simulate._corpus import Corpus, find_corpus
from judgelaw.simulate._custom import CustomRow, CustomStudy, simulate_custom
from judgelaw.simulate._decision import DecisionRow, DecisionStudy, simulate_decision
from judgelaw.simulate._exact import ExactErrors, exact_errors
from judgelaw.simulate._figure import Mark, figure, figure_marks
from judgelaw.simulate._findings import Finding, stated, tally
from judgelaw.simulate._panel import PanelLaw, PanelRow, PanelStudy, simulate_panel
from judgelaw.simulate._paper import (
    check_identities,
    compare_decision,
    compare_panel,
    compare_point,
)
from judgelaw.simulate._point import PointRow, PointStudy, PointSummary, simulate_point
from judgelaw.simulate._printed import PublishedTable, Span, published
from judgelaw.simulate._recomputed import recompute
from judgelaw.simulate._recomputing import Resampling
from judgelaw.simulate._sampled import PROMPTS as SAMPLED_PROMPTS
from judgelaw.simulate._sampled import SampledRow, SampledStudy, simulate_sampled

__all__ = [
    "SAMPLED_PROMPTS",
    "Corpus",
    "CustomRow",
    "CustomStudy",
    "DecisionRow",
    "DecisionStudy",
    "ExactErrors",
    "Finding",
    "Mark",
    "PanelLaw",
    "PanelRow",
    "PanelStudy",
    "PointRow",
    "PointStudy",
    "PointSummary",
    "PublishedTable",
    "Resampling",
    "SampledRow",
    "SampledStudy",
    "Span",
    "check_identities",
    "compare_decision",
    "compare_panel",
    "compare_point",
    "exact_errors",
    "figure",
    "figure_marks",
    "find_corpus",
    "published",
    "recompute",
    "simulate_custom",
    "simulate_decision",
    "simulate_panel",
    "simulate_point",
    "simulate_sampled",
    "stated",
    "tally",
]
