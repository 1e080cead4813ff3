"""How far an estimate can be off: items, calls, prompts, and what cannot be known.

`infer` prepares every bound of one judge: for the items asked, and for items like them; gates,
sentences and printed intervals use these. Whole-item bands (`item_bands`) and t errors over items
(`item_interval`) remain for comparison: where most items are settled they are too narrow. The panel
interval and the deviation bound speak of the same items asked again. `permutation_test` asks
whether there is an effect at all. What cannot be had is nan with a reason, or NotIdentifiedError.
"""

from judgelaw.estimate import Estimand as Estimand
from judgelaw.uncertainty.baseline_gate import MARGIN as MARGIN, Baseline as Baseline
from judgelaw.uncertainty.call_bounds import (
    DeviationBound as DeviationBound,
    deviation_bound as deviation_bound,
)
from judgelaw.uncertainty.call_intervals import (
    CallErrors as CallErrors,
    ErrorSplit as ErrorSplit,
    call_errors as call_errors,
    call_interval as call_interval,
    errors_of as errors_of,
)
from judgelaw.uncertainty.call_variance import (
    MIN_REPEATS as MIN_REPEATS,
    VarianceParts as VarianceParts,
    call_covariance as call_covariance,
    call_covariances as call_covariances,
    smoothed_laws as smoothed_laws,
    true_call_covariance as true_call_covariance,
    true_variance_parts as true_variance_parts,
    variance_parts as variance_parts,
)
from judgelaw.uncertainty.change_rates import (
    CHANGES as CHANGES,
    Change as Change,
    change_contrast as change_contrast,
    change_interval as change_interval,
    more_than_asking_again as more_than_asking_again,
)
from judgelaw.uncertainty.contrasts import (
    Lead as Lead,
    component_lead as component_lead,
    component_share as component_share,
)
from judgelaw.uncertainty.differences import (
    ItemShares as ItemShares,
    item_shares as item_shares,
    judge_difference as judge_difference,
    share_difference as share_difference,
)
from judgelaw.uncertainty.forms import (
    Contrast as Contrast,
    KnownCounts as KnownCounts,
    component_map as component_map,
    concentration_forms as concentration_forms,
    declare as declare,
    form_of as form_of,
)
from judgelaw.uncertainty.gate_limits import Limit as Limit, limits_of as limits_of
from judgelaw.uncertainty.gating import (
    BoundedQuantity as BoundedQuantity,
    Gate as Gate,
    LimitDecision as LimitDecision,
    check_limits as check_limits,
)
from judgelaw.uncertainty.inference import (
    DepthEstimates as DepthEstimates,
    Inference as Inference,
    at_depth as at_depth,
    depths_of as depths_of,
    infer as infer,
    nested as nested,
)
from judgelaw.uncertainty.intervals import (
    Interval as Interval,
    no_interval as no_interval,
    panel_interval as panel_interval,
    spread_of as spread_of,
    t_interval as t_interval,
    t_quantile as t_quantile,
    welch as welch,
)
from judgelaw.uncertainty.item_bounds import (
    FEW as FEW,
    Clusters as Clusters,
    Draws as Draws,
    MeanBounds as MeanBounds,
    carried_distances as carried_distances,
    clusters_of as clusters_of,
    effective_items as effective_items,
    lower_bound as lower_bound,
    mean_bounds as mean_bounds,
    unseen_value as unseen_value,
    upper_bound as upper_bound,
    weigh as weigh,
    weigh_means as weigh_means,
    weigh_one as weigh_one,
)
from judgelaw.uncertainty.item_intervals import (
    BAND_DRAWS as BAND_DRAWS,
    Bands as Bands,
    Resampling as Resampling,
    band_of_draws as band_of_draws,
    item_bands as item_bands,
    item_interval as item_interval,
    resampled_means as resampled_means,
    stratum_rows as stratum_rows,
)
from judgelaw.uncertainty.item_moves import (
    MovedItems as MovedItems,
    discoveries as discoveries,
    moved_items as moved_items,
)
from judgelaw.uncertainty.new_items import (
    NewItems as NewItems,
    item_difference as item_difference,
    new_item_bounds as new_item_bounds,
    signed_interval as signed_interval,
    signed_intervals as signed_intervals,
    treated_interval as treated_interval,
    weightings_for as weightings_for,
)
from judgelaw.uncertainty.permutation import (
    PERMUTATIONS as PERMUTATIONS,
    Facet as Facet,
    PermutationTest as PermutationTest,
    Shuffler as Shuffler,
    permutation_test as permutation_test,
)
from judgelaw.uncertainty.price import (
    CHANCE as CHANCE,
    Offer as Offer,
    Price as Price,
    price_of_items as price_of_items,
    price_of_repeats as price_of_repeats,
)
from judgelaw.uncertainty.prompt_parts import (
    FactorParts as FactorParts,
    factor_parts as factor_parts,
)
from judgelaw.uncertainty.sampled_prompts import (
    MIN_PROMPTS as MIN_PROMPTS,
    Projection as Projection,
    Scope as Scope,
    item_projections as item_projections,
    prompt_projection as prompt_projection,
    unseen_prompt as unseen_prompt,
)
from judgelaw.uncertainty.soft_errors import (
    SoftErrors as SoftErrors,
    calls_without_vector as calls_without_vector,
    moving_cells as moving_cells,
    reconcile as reconcile,
    soft_at_depth as soft_at_depth,
    soft_nested as soft_nested,
)
from judgelaw.uncertainty.spending import (
    error_left as error_left,
    levels_left as levels_left,
    spent as spent,
)
