"""Point estimates of call, prompt, order and interaction components, raw and unclipped."""

from judgelaw.estimate.decomposition import (
    COMPONENTS as COMPONENTS,
    Decomposition as Decomposition,
    decompose as decompose,
    decompose_as as decompose_as,
    plugin as plugin,
)
from judgelaw.estimate.distances import (
    BenchmarkEffect as BenchmarkEffect,
    benchmark_effect as benchmark_effect,
    prompt_distances as prompt_distances,
)
from judgelaw.estimate.estimand import (
    CENSUS as CENSUS,
    Array as Array,
    Design as Design,
    Estimand as Estimand,
    Weights as Weights,
    check_depth as check_depth,
    check_design as check_design,
    counts_of as counts_of,
    dissimilarity_of as dissimilarity_of,
    numeric as numeric,
    of_counts as of_counts,
    ordinal as ordinal,
    quadratic as quadratic,
    similarity_of as similarity_of,
    weights_of as weights_of,
)
from judgelaw.estimate.facets import (
    FacetDecomposition as FacetDecomposition,
    decompose_facets as decompose_facets,
)
from judgelaw.estimate.known_laws import (
    ConvexChain as ConvexChain,
    MixingLaw as MixingLaw,
    convex_chain as convex_chain,
    expected_plugin as expected_plugin,
    jensen_gap as jensen_gap,
    pooled_order_agreement as pooled_order_agreement,
    population as population,
    same_count_law as same_count_law,
)
from judgelaw.estimate.other_designs import (
    ConditionalOnValid as ConditionalOnValid,
    Uncrossed as Uncrossed,
    conditional_on_valid as conditional_on_valid,
    decompose_coarsened as decompose_coarsened,
    decompose_soft as decompose_soft,
    delete_invalid_and_pool as delete_invalid_and_pool,
    panels as panels,
    sampled_plugin as sampled_plugin,
    soft_components as soft_components,
    uncrossed as uncrossed,
    variance_correction as variance_correction,
)
from judgelaw.estimate.single_calls import ItemRates as ItemRates, item_rates as item_rates
