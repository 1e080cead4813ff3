"""From calls that were read to an answer: an analysis, a gate, or a page."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgelaw.errors import InputError, writing
from judgelaw.runs.source import UNNAMED, Reading, Source, of_tensors, read_source
from judgelaw.steps import Progress, unseen

if TYPE_CHECKING:
    from judgelaw.analysis import Analysis, Key
    from judgelaw.estimate import Design
    from judgelaw.uncertainty import Gate, Limit, Scope


def analyze_source(
    calls: Source,
    *,
    draws: int | None = None,
    seed: int | None = None,
    permutations: int | None = None,
    progress: Progress = unseen,
) -> "Analysis":
    """Analyse what was read.

    What is not asked for is as the study declares it; else it is left to the analysis.
    """
    from judgelaw.analysis import analyze

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
        roles=calls.roles,
        gate=_declared_gate(calls),
        **_of_run(calls),
        progress=progress,
    )


def _declared_gate(calls: Source) -> "Gate | None":
    """Hold the judges against the limits that their study declares; None where it has none."""
    if not calls.gate:
        return None
    from judgelaw.uncertainty import limits_of

    return check_source(calls, limits_of(calls.gate), scope="fixed", level=0.95)


def _of_run(calls: Source) -> dict[str, Any]:
    """Return what a run folder adds to the analysis of its calls; nothing for a table."""
    if calls.folder is None:
        return {}
    declared = {} if calls.threshold is None else {"threshold": calls.threshold}
    return {
        **declared,
        "evidence": calls.folder.evidence(calls.tensors, calls.main_layer, calls.reused),
        "configurations": calls.folder.judge_configurations(),
        "integrity": calls.folder.integrity(),
    }


def gate(
    x: Any,
    limits: "Mapping[str, float]",
    *,
    items: "Scope" = "fixed",
    level: float = 0.95,
    strict: bool = False,
    judge: "str | Sequence[str] | None" = None,
    layer: str | None = None,
    design: "Design | None" = None,
    order_weights: "Mapping[str, float] | None" = None,
) -> "Gate":
    """Hold judges against limits: each is passed, failed, or not decided by these calls.

    Args:
        x: a tensor, a mapping of tensors by judge, a run, a frame, or the path of a run or table.
        limits: largest values of call, prompt, order, interaction, total or invalid, and least
            values of coverage or gold: `{"prompt": 0.02, "gold": 0.8}`.
        items: "fixed" for the items that were asked, "new" for items like them.
        level: confidence of each bound that decides a pass; all limits must pass. Those that decide
            a failure are at 1 - (1 - level) / m for m limits and judges together.
        strict: for new items, suppose one unseen item at the end of its range throughout.
        judge: these judges only.
        layer: this layer only.
        design: "census" or "sampled"; by default as the run declares it.
        order_weights: how often each order is used; by default as the run declares it.

    >>> import numpy as np, judgelaw as jl
    >>> counts = np.random.default_rng(1).multinomial(8, [0.6, 0.3, 0.1, 0], size=(50, 6, 2))
    >>> jl.gate(jl.VerdictTensor.from_counts(counts), {"prompt": 0.05}).verdict
    'pass'
    """
    from judgelaw.uncertainty import limits_of

    calls = source_of(x, judge=judge, layer=layer, design=design)
    if order_weights is not None:
        calls = replace(calls, order_weights=order_weights)
    asked = limits_of(limits or calls.gate)
    return check_source(calls, asked, scope=items, level=level, strict=strict)


def source_of(
    x: Any,
    *,
    judge: "str | Sequence[str] | None" = None,
    layer: str | None = None,
    design: "Design | None" = None,
) -> Source:
    """Return the calls behind anything that holds calls."""
    from judgelaw.tables import read_tensors
    from judgelaw.tensor import VerdictTensor

    judges = () if judge is None else (judge,) if isinstance(judge, str) else tuple(judge)
    place = getattr(x, "path", x)  # a Run names its folder
    if isinstance(place, str | PathLike):
        return read_source(str(place), Reading(judges=judges, layer=layer, design=design))
    if isinstance(x, VerdictTensor):
        found = {(x.layer, x.judge or UNNAMED): x}
    elif isinstance(x, Mapping):
        found = {_key(name): tensor for name, tensor in x.items()}
    else:
        read = read_tensors(x)
        found = {(at, name or UNNAMED): tensor for (at, name), tensor in read.items()}
    return of_tensors(found, judges=judges, layer=layer, design=design)


def _key(name: Any) -> "Key":
    if isinstance(name, str):
        return None, name
    layer, judge = name
    return layer, judge


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
    texts: bool = True,
    progress: Progress = unseen,
) -> str:
    """Return the page of an analysis; a run adds completions, configuration and checks.

    The title is by default the name of the study or of the table. Without `texts` the page holds
    no question, no answer and no reply.
    """
    from judgelaw.page import build

    found: dict[str, Any] = {}
    if calls.folder is not None:
        found = {
            "completions": calls.folder.completions(analysis.main_layer) if texts else None,
            "questions": calls.folder.questions() if texts else None,
            "configuration": calls.folder.configuration(),
            "integrity": calls.folder.checks(verified=check),
        }
    elif check:
        raise InputError("--verify looks at a run folder; a calls table has nothing to verify")
    title = title or calls.name
    return build(analysis, title=title, tensors=calls.tensors, progress=progress, **found)


def write_report(
    analysis: "Analysis",
    calls: Source,
    target: Path,
    *,
    title: str | None = None,
    check: bool = False,
    texts: bool = True,
    progress: Progress = unseen,
    beside: Sequence[Path] = (),
) -> Path:
    """Write the page of an analysis; return where it is.

    A file inside the run folder is entered in its SHA256SUMS, as are those written `beside` it.
    """
    page = report_page(analysis, calls, title=title, check=check, texts=texts, progress=progress)
    write_page(target, page)
    if calls.folder is not None:
        calls.folder.enter_sums([target, *beside])
    return target


def write_page(target: Path, page: str) -> None:
    """Write a page under its name once it is complete; a device or a pipe is written to at once."""
    partial = target.with_name(f".{target.name}.partial")
    with writing(target):
        if target.exists() and not target.is_file():
            target.write_text(page, encoding="utf-8")
            return
        partial.write_text(page, encoding="utf-8")
        partial.replace(target)
