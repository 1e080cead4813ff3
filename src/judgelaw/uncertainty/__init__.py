"""How far an estimate can be off: items, calls, prompts, and what cannot be known.

`infer` prepares every bound of one judge: for the items asked, and for items like them; gates,
sentences and printed intervals use these. Whole-item bands (`item_bands`) and t errors over items
(`item_interval`) remain for comparison: where most items are settled they are too narrow. The panel
interval and the deviation bound speak of the same items asked again. `permutation_test` asks
whether there is an effect at all. What cannot be had is nan with a reason, or NotIdentifiedError.
"""

from judgelaw.uncertainty.call_bounds import DeviationBound, deviation_bound
from judgelaw.uncertainty.call_intervals import CallErrors, ErrorSplit, call_errors, call_interval
from judgelaw.uncertainty.call_variance import (
    MIN_REPEATS,
    VarianceParts,
    call_covariance,
    smoothed_laws,
    true_call_covariance,
    true_variance_parts,
    variance_parts,
)
from judgelaw.uncertainty.change_rates import CHANGES, Change, change_contrast, change_interval
from judgelaw.uncertainty.contrasts import Lead, component_lead, component_share, judge_difference
from judgelaw.uncertainty.depths import DepthEstimates, Estimand, at_depth, depths_of, nested
from judgelaw.uncertainty.forms import (
    Contrast,
    KnownCounts,
    component_map,
    concentration_forms,
    declare,
    form_of,
)
from judgelaw.uncertainty.gating import Gate, Limit, LimitDecision, check_limits, limits_of
from judgelaw.uncertainty.inference import Inference, infer
from judgelaw.uncertainty.intervals import Interval, panel_interval, spread_of, t_quantile, welch
from judgelaw.uncertainty.item_intervals import (
    BAND_DRAWS,
    Bands,
    Resampling,
    band_of_draws,
    item_bands,
    item_interval,
    resampled_means,
    stratum_rows,
)
from judgelaw.uncertainty.new_items import (
    NewItems,
    item_difference,
    new_item_bounds,
    signed_interval,
)
from judgelaw.uncertainty.permutation import (
    PERMUTATIONS,
    Facet,
    PermutationTest,
    Shuffler,
    permutation_test,
)
from judgelaw.uncertainty.sampled_prompts import (
    MIN_PROMPTS,
    Projection,
    Scope,
    item_projections,
    prompt_projection,
)

__all__ = [
    "BAND_DRAWS",
    "CHANGES",
    "MIN_PROMPTS",
    "MIN_REPEATS",
    "PERMUTATIONS",
    "Bands",
    "CallErrors",
    "Change",
    "Contrast",
    "DepthEstimates",
    "DeviationBound",
    "ErrorSplit",
    "Estimand",
    "Facet",
    "Gate",
    "Inference",
    "Interval",
    "KnownCounts",
    "Lead",
    "Limit",
    "LimitDecision",
    "NewItems",
    "PermutationTest",
    "Projection",
    "Resampling",
    "Scope",
    "Shuffler",
    "VarianceParts",
    "at_depth",
    "band_of_draws",
    "call_covariance",
    "call_errors",
    "call_interval",
    "change_contrast",
    "change_interval",
    "check_limits",
    "component_lead",
    "component_map",
    "component_share",
    "concentration_forms",
    "declare",
    "depths_of",
    "deviation_bound",
    "form_of",
    "infer",
    "item_bands",
    "item_difference",
    "item_interval",
    "item_projections",
    "judge_difference",
    "limits_of",
    "nested",
    "new_item_bounds",
    "panel_interval",
    "permutation_test",
    "prompt_projection",
    "resampled_means",
    "signed_interval",
    "smoothed_laws",
    "spread_of",
    "stratum_rows",
    "t_quantile",
    "true_call_covariance",
    "true_variance_parts",
    "variance_parts",
    "welch",
]
