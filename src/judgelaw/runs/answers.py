"""What was read is analysed, held against limits, or written as a page."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgelaw.errors import InputError, writing
from judgelaw.runs.source import Source
from judgelaw.steps import Progress, unseen

if TYPE_CHECKING:
    from judgelaw.acquire.verify import Verification
    from judgelaw.analysis import Analysis
    from judgelaw.uncertainty import Gate, Limit, Scope


def analyze_source(
    calls: Source,
    *,
    draws: int | None = None,
    seed: int | None = None,
    permutations: int | None = None,
    level: float = 0.95,
    progress: Progress = unseen,
) -> "Analysis":
    """Analyse what was read.

    What is not asked for is as the study declares it; else it is left to the analysis.
    """
    from judgelaw.analysis import analyze
    from judgelaw.diagnose import TAU

    declared = calls.folder and calls.folder.frozen.study.analysis
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
    if calls.folder is None:
        return {}
    return {
        "evidence": calls.folder.evidence(calls.tensors, calls.main_layer),
        "configurations": calls.folder.judge_configurations(),
        "integrity": calls.folder.integrity(),
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


def report_page(
    analysis: "Analysis",
    calls: Source,
    *,
    title: str | None = None,
    check: bool = False,
    progress: Progress = unseen,
) -> str:
    """Return the page of an analysis; a run adds completions, configuration and checks.

    The title is by default the name of the study or of the table.
    """
    from judgelaw.page import build

    folder = calls.folder
    title = title or calls.name
    if folder is None:
        if check:
            raise InputError("--verify looks at a run folder; a calls table has nothing to verify")
        return build(analysis, title=title, tensors=calls.tensors, progress=progress)
    return build(
        analysis,
        title=title,
        tensors=calls.tensors,
        completions=folder.completions(analysis.main_layer),
        configuration=folder.configuration(),
        integrity=folder.checks(_verified(folder.path) if check else None),
        progress=progress,
    )


def _verified(run: Path) -> "Verification":
    from judgelaw.acquire.verify import verify

    return verify(run)


def write_report(
    analysis: "Analysis",
    calls: Source,
    target: Path,
    *,
    title: str | None = None,
    check: bool = False,
    progress: Progress = unseen,
    beside: Sequence[Path] = (),
) -> Path:
    """Write the page of an analysis; return where it is.

    A file inside the run folder is entered in its SHA256SUMS, as are those written `beside` it.
    """
    write_page(target, report_page(analysis, calls, title=title, check=check, progress=progress))
    if calls.folder is not None:
        calls.folder.enter_sums([target, *beside])
    return target


def write_page(target: Path, page: str) -> None:
    """Write a page, whole or not at all; a device or a pipe takes it as it comes."""
    partial = target.with_name(f".{target.name}.partial")
    with writing(target):
        if target.exists() and not target.is_file():
            target.write_text(page, encoding="utf-8")
            return
        partial.write_text(page, encoding="utf-8")
        partial.replace(target)
