"""What was read is analysed, held against limits, or written as a page."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgelaw.errors import InputError, writing
from judgelaw.runs.source import Source

if TYPE_CHECKING:
    from judgelaw.analysis import Analysis
    from judgelaw.uncertainty import Gate, Limit, Scope


Progress = Callable[[str, int, int], None]
"""Called with what is going on, the steps done, and all steps."""


def analyze_source(
    calls: Source,
    *,
    draws: int | None = None,
    seed: int | None = None,
    permutations: int | None = None,
    level: float = 0.95,
    progress: Progress | None = None,
) -> "Analysis":
    """Analyse what was read.

    What is not asked for is as the study declares it; else it is left to the analysis.
    """
    from judgelaw.analysis import analyze
    from judgelaw.diagnose import TAU

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
        level=level,
        threshold=TAU if calls.threshold is None else calls.threshold,
        roles=calls.roles,
        **_of_run(calls),
        progress=progress,
    )


def _of_run(calls: Source) -> dict[str, Any]:
    """Return what a run folder adds to the analysis of its calls; nothing for a table."""
    if calls.frozen is None:
        return {}
    from judgelaw.runs import folder

    flags = folder.read_flags(calls.frozen)
    return {
        "evidence": folder.read_evidence(calls.frozen, calls.tensors, flags),
        "configurations": folder.read_configurations(calls.frozen),
        "integrity": folder.read_integrity(calls.frozen, flags),
    }


def check_source(
    calls: Source,
    limits: "Sequence[Limit]",
    *,
    scope: "Scope",
    level: float,
    strict: bool = False,
) -> "Gate":
    """Check the judges of the main layer."""
    from judgelaw.analysis import coverage
    from judgelaw.uncertainty import check_limits

    tensors = calls.main()
    return check_limits(
        tensors,
        limits,
        scope=scope,
        level=level,
        design=calls.design,
        order_weights=calls.order_weights,
        coverage={**{judge: coverage(t) for judge, t in tensors.items()}, **calls.coverage},
        strict=strict,
    )


REPORT = "report.html"
"""The page of a run, in its folder."""

PageProgress = Callable[[int, int], None]
"""Called with the parts that are drawn, and all parts."""


def report_page(
    analysis: "Analysis",
    calls: Source,
    *,
    title: str,
    check: bool = False,
    progress: PageProgress | None = None,
) -> str:
    """Return the page of an analysis; a run adds completions, configuration and checks."""
    from judgelaw.page import build

    if calls.run is None:
        if check:
            raise InputError("--verify looks at a run folder; a calls table has nothing to verify")
        return build(analysis, title=title, tensors=calls.tensors, progress=progress)
    from judgelaw.acquire.verify import verify
    from judgelaw.runs.folder import read_run

    found = read_run(calls.run, analysis.main_layer, verified=verify(calls.run) if check else None)
    return build(
        analysis,
        title=found.title,
        tensors=calls.tensors,
        completions=found.completions,
        configuration=found.configuration,
        integrity=found.integrity,
        progress=progress,
    )


def write_page(target: Path, page: str) -> None:
    """Write a page, whole or not at all; a device or a pipe takes it as it comes."""
    partial = target.with_name(f".{target.name}.partial")
    with writing(target):
        if target.exists() and not target.is_file():
            target.write_text(page, encoding="utf-8")
            return
        partial.write_text(page, encoding="utf-8")
        partial.replace(target)
