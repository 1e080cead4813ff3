"""How far an estimate can be off: items, calls, prompts, and what cannot be known.

Whole-item bands (`item_bands`) and item errors (`item_interval`) speak of new items. Call errors
(`call_errors`, `call_interval`), the panel interval and the deviation bound speak of the same items
asked again, `prompt_projection` of new prompts from the same generator. `permutation_test` asks
whether there is an effect at all. What cannot be had is nan with a reason, or NotIdentifiedError.
"""

from judgelaw.uncertainty.bands import Bands, band_of_draws, item_bands, resampled_means
from judgelaw.uncertainty.bounds import DeviationBound, deviation_bound
from judgelaw.uncertainty.call_variance import (
    VarianceParts,
    call_covariance,
    true_call_covariance,
    true_variance_parts,
    variance_parts,
)
from judgelaw.uncertainty.calls import CallErrors, ErrorSplit, call_errors, call_interval
from judgelaw.uncertainty.contrasts import (
    Lead,
    component_lead,
    component_share,
    judge_difference,
)
from judgelaw.uncertainty.forms import Contrast, component_map, concentration_forms, form_of
from judgelaw.uncertainty.gates import GateDecision, gate
from judgelaw.uncertainty.items import item_interval
from judgelaw.uncertainty.panel import panel_interval
from judgelaw.uncertainty.permutation import PermutationTest, permutation_test
from judgelaw.uncertainty.projection import Projection, item_projections, prompt_projection
from judgelaw.uncertainty.results import Interval

__all__ = [
    "Bands",
    "CallErrors",
    "Contrast",
    "DeviationBound",
    "ErrorSplit",
    "GateDecision",
    "Interval",
    "Lead",
    "PermutationTest",
    "Projection",
    "VarianceParts",
    "band_of_draws",
    "call_covariance",
    "call_errors",
    "call_interval",
    "component_lead",
    "component_map",
    "component_share",
    "concentration_forms",
    "deviation_bound",
    "form_of",
    "gate",
    "item_bands",
    "item_interval",
    "item_projections",
    "judge_difference",
    "panel_interval",
    "permutation_test",
    "prompt_projection",
    "resampled_means",
    "true_call_covariance",
    "true_variance_parts",
    "variance_parts",
]
