"""The HTML page of what was read, and how a page is written."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from judgelaw.errors import InputError, writing
from judgelaw.runs.source import Source

if TYPE_CHECKING:
    from judgelaw.analysis import Analysis

REPORT = "report.html"
"""The page of a run, in its folder."""

Progress = Callable[[int, int], None]
"""Called with the parts that are drawn, and all parts."""


def report_page(
    analysis: "Analysis",
    calls: Source,
    *,
    title: str,
    check: bool = False,
    progress: Progress | None = None,
) -> str:
    """Return the page of an analysis; a run adds completions, configuration and checks."""
    from judgelaw.report import build

    if calls.run is None:
        if check:
            raise InputError("--verify looks at a run folder; a calls table has nothing to verify")
        return build(analysis, title=title, tensors=calls.tensors, progress=progress)
    from judgelaw.acquire.verify import verify
    from judgelaw.report.run import read_run

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
