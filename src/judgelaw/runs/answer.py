"""What was read, analysed or held against limits, with what a run declares about it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from judgelaw.runs.source import Source

if TYPE_CHECKING:
    from judgelaw.analysis import Analysis
    from judgelaw.analysis.gating import GateReport, Limit, Scope

Progress = Callable[[str, int, int], None]
"""Called with what is going on, the steps done, and all steps."""


def analyze_source(
    calls: Source,
    *,
    draws: int | None = None,
    seed: int | None = None,
    permutations: int | None = None,
    progress: Progress | None = None,
) -> "Analysis":
    """Analyse what was read.

    What is not asked for is as the study declares it; else it is left to the analysis.
    """
    from judgelaw.analysis import analyze

    declared = calls.frozen and calls.frozen.study.analysis
    if declared:
        draws = declared.draws if draws is None else draws
        seed = declared.seeds.get("analysis") if seed is None else seed
        permutations = declared.permutations if permutations is None else permutations
    return analyze(
        calls.tensors,
        design=calls.design,
        order_weights=calls.order_weights,
        draws=draws,
        seed=seed or 0,
        permutations=permutations,
        roles=calls.roles,
        **_of_run(calls),
        progress=progress,
    )


def _of_run(calls: Source) -> dict[str, Any]:
    """Return what a run folder adds to the analysis of its calls; nothing for a table."""
    if calls.frozen is None:
        return {}
    from judgelaw.runs import evidence

    declared = {} if calls.threshold is None else {"threshold": calls.threshold}
    return {
        **declared,
        "evidence": evidence.read_evidence(calls.frozen, calls.tensors),
        "configurations": evidence.read_configurations(calls.frozen),
        "integrity": evidence.read_integrity(calls.frozen),
    }


def check_source(
    calls: Source, limits: "Sequence[Limit]", *, scope: "Scope", level: float
) -> "GateReport":
    """Check the judges of the main layer."""
    from judgelaw.analysis.coverage import coverage
    from judgelaw.analysis.depths import Declaration
    from judgelaw.analysis.gating import check_limits

    tensors = calls.main()
    return check_limits(
        tensors,
        limits,
        scope=scope,
        level=level,
        declared=Declaration(design=calls.design, order_weights=calls.order_weights),
        coverage={**{judge: coverage(t) for judge, t in tensors.items()}, **calls.coverage},
    )
