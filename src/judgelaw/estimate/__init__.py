"""Point estimates of call, prompt, order and interaction components, raw and unclipped."""

from judgelaw.estimate.agreement import Uncrossed, sampled_plugin, uncrossed, variance_correction
from judgelaw.estimate.coarsening import decompose_coarsened
from judgelaw.estimate.crossed import decompose, plugin
from judgelaw.estimate.decomposition import COMPONENTS, Decomposition, Design
from judgelaw.estimate.dissimilarity import numeric, ordinal
from judgelaw.estimate.distance import BenchmarkEffect, benchmark_effect, prompt_distances
from judgelaw.estimate.facets import FacetDecomposition, decompose_facets
from judgelaw.estimate.information import (
    ConvexChain,
    MixingLaw,
    convex_chain,
    jensen_gap,
    same_count_law,
)
from judgelaw.estimate.panel import panels
from judgelaw.estimate.population import expected_plugin, pooled_order_agreement, population
from judgelaw.estimate.soft import decompose_soft
from judgelaw.estimate.valid import (
    ConditionalOnValid,
    conditional_on_valid,
    delete_invalid_and_pool,
)

__all__ = [
    "COMPONENTS",
    "BenchmarkEffect",
    "ConditionalOnValid",
    "ConvexChain",
    "Decomposition",
    "Design",
    "FacetDecomposition",
    "MixingLaw",
    "Uncrossed",
    "benchmark_effect",
    "conditional_on_valid",
    "convex_chain",
    "decompose",
    "decompose_coarsened",
    "decompose_facets",
    "decompose_soft",
    "delete_invalid_and_pool",
    "expected_plugin",
    "jensen_gap",
    "numeric",
    "ordinal",
    "panels",
    "plugin",
    "pooled_order_agreement",
    "population",
    "prompt_distances",
    "same_count_law",
    "sampled_plugin",
    "uncrossed",
    "variance_correction",
]
