"""Known-law studies of the estimators, and the published simulations regenerated."""

from judgelaw.simulate._custom import CustomRow, CustomStudy, simulate_custom
from judgelaw.simulate._decision import DecisionRow, DecisionStudy, simulate_decision
from judgelaw.simulate._exact import ExactErrors, exact_errors
from judgelaw.simulate._figure import Mark, figure, figure_marks
from judgelaw.simulate._panel import PanelLaw, PanelRow, PanelStudy, simulate_panel
from judgelaw.simulate._point import PointRow, PointStudy, PointSummary, simulate_point
from judgelaw.simulate._sampled import PROMPTS as SAMPLED_PROMPTS
from judgelaw.simulate._sampled import SampledRow, SampledStudy, simulate_sampled

__all__ = [
    "SAMPLED_PROMPTS",
    "CustomRow",
    "CustomStudy",
    "DecisionRow",
    "DecisionStudy",
    "ExactErrors",
    "Mark",
    "PanelLaw",
    "PanelRow",
    "PanelStudy",
    "PointRow",
    "PointStudy",
    "PointSummary",
    "SampledRow",
    "SampledStudy",
    "exact_errors",
    "figure",
    "figure_marks",
    "simulate_custom",
    "simulate_decision",
    "simulate_panel",
    "simulate_point",
    "simulate_sampled",
]
