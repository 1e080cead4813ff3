"""How far an estimate can be off: items, calls, prompts, and what cannot be known.

`infer` prepares every bound of one judge: for the items asked, and for items like them; gates,
sentences and printed intervals use these. Whole-item bands (`item_bands`) and t errors over items
(`item_interval`) remain for comparison: where most items are settled they are too narrow. The panel
interval and the deviation bound speak of the same items asked again. `permutation_test` asks
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
from judgelaw.uncertainty.gate import Gate, Limit, LimitDecision, check_limits
from judgelaw.uncertainty.inference import Inference, infer
from judgelaw.uncertainty.items import item_interval
from judgelaw.uncertainty.new_items import NewItems, item_difference, new_item_bounds
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
    "Gate",
    "Inference",
    "Interval",
    "Lead",
    "Limit",
    "LimitDecision",
    "NewItems",
    "PermutationTest",
    "Projection",
    "VarianceParts",
    "band_of_draws",
    "call_covariance",
    "call_errors",
    "call_interval",
    "check_limits",
    "component_lead",
    "component_map",
    "component_share",
    "concentration_forms",
    "deviation_bound",
    "form_of",
    "infer",
    "item_bands",
    "item_difference",
    "item_interval",
    "item_projections",
    "judge_difference",
    "new_item_bounds",
    "panel_interval",
    "permutation_test",
    "prompt_projection",
    "resampled_means",
    "true_call_covariance",
    "true_variance_parts",
    "variance_parts",
]
