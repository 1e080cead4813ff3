"""The tables of an analysis, named as in the paper where the paper has them."""

from collections.abc import Callable

from judgelaw.analysis.tables.calls import (
    complete_case,
    invalid_table,
    judge_configurations,
    layers,
    outcomes,
    study_design,
)
from judgelaw.analysis.tables.checks import (
    diagnostics,
    identity_check,
    integrity,
    other_metrics,
    permutation_tests,
    time_drift,
    uncertainty_split,
)
from judgelaw.analysis.tables.context import Context, Made
from judgelaw.analysis.tables.decompositions import (
    broad_decomposition,
    components,
    decomposition,
    strata,
)
from judgelaw.analysis.tables.prompt import cross_model_summary, cross_prompt, real_prompt_estimates
from judgelaw.analysis.tables.reference import (
    matched_reference,
    panel_intervals,
    panel_sensitivity,
    reference_split_half,
)
from judgelaw.analysis.values import Table

TABLES: dict[str, Callable[[Context], Made]] = {
    "real_prompt_estimates": real_prompt_estimates,
    "decomposition": decomposition,
    "broad_decomposition": broad_decomposition,
    "matched_reference": matched_reference,
    "reference_split_half": reference_split_half,
    "panel_sensitivity": panel_sensitivity,
    "panel_intervals": panel_intervals,
    "cross_model_summary": cross_model_summary,
    "cross_prompt": cross_prompt,
    "components": components,
    "strata": strata,
    "outcomes": outcomes,
    "layers": layers,
    "study_design": study_design,
    "judge_configurations": judge_configurations,
    "invalid_sensitivity": invalid_table,
    "complete_case": complete_case,
    "time_drift": time_drift,
    "identity_check": identity_check,
    "permutation_tests": permutation_tests,
    "uncertainty_split": uncertainty_split,
    "other_metrics": other_metrics,
    "diagnostics": diagnostics,
    "integrity": integrity,
}


def make_tables(context: Context) -> tuple[dict[str, Table], dict[str, str]]:
    """Make every table that these calls support, and say why the others are left out."""
    made = {name: make(context) for name, make in TABLES.items()}
    return (
        {name: t for name, t in made.items() if isinstance(t, Table)},
        {name: reason for name, reason in made.items() if isinstance(reason, str)},
    )


__all__ = ["TABLES", "Context", "make_tables"]
