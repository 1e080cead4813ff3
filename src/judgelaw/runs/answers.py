"""From calls that were read to an answer: an analysis, a gate, or a page."""

from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgelaw.errors import InputError, writing
from judgelaw.runs.source import Source
from judgelaw.steps import Progress, unseen
from judgelaw.words import did_you_mean, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from judgelaw.analysis import Analysis, SoftMode
    from judgelaw.decide import Advice
    from judgelaw.frames import Picture
    from judgelaw.page import Report
    from judgelaw.uncertainty import Baseline, BoundedQuantity, Gate, Interval, Limit, Scope


def analyze_source(
    calls: Source,
    *,
    draws: int | None = None,
    seed: int | None = None,
    permutations: int | None = None,
    level: float = 0.95,
    soft: "SoftMode" = "auto",
    at_least: float | None = None,
    progress: Progress = unseen,
) -> "Analysis":
    """Analyse what was read.

    What is not asked for is as the study declares it; else it is left to the analysis.
    """
    from judgelaw.analysis import analyze
    from judgelaw.diagnose import TAU
    from judgelaw.runs.reworded_prompts import with_more_prompts

    declared = calls.folder and calls.folder.frozen.study.analysis
    if declared:
        draws = declared.draws if draws is None else draws
        permutations = declared.permutations if permutations is None else permutations
    found = analyze(
        calls.tensors,
        estimand=calls.estimand,
        draws=draws,
        seed=seed_of(calls, seed),
        permutations=permutations,
        level=level,
        threshold=TAU if calls.threshold is None else calls.threshold,
        roles=calls.roles,
        at_least=calls.at_least if at_least is None else at_least,
        soft=soft,
        **_of_run(calls),
        progress=progress,
    )
    if calls.table is not None:
        found = replace(found, reading=calls.table.line())
    if texts := calls.texts():
        tables = {key: table.with_texts(texts) for key, table in found.item_tables.items()}
        found = replace(found, item_tables=tables)
    return with_more_prompts(replace(found, draw=partial(_draw, calls)), calls)


def _draw(calls: Source, analysis: "Analysis", name: str | None) -> "Picture":
    """Draw a figure of the page of an analysis, by default the first."""
    from judgelaw.frames import Picture
    from judgelaw.page import drawn, figures

    found = figures(report_of(analysis, calls, texts=False))
    if name is None:
        name = next(iter(found))
    if name not in found:
        raise InputError(
            f"figure {name!r}{did_you_mean(name, found)}: there are {listed(list(found))}"
        )
    make = partial(drawn, found[name])
    return Picture(name=name, svg=make("svg").decode(), drawn=make)


def seed_of(calls: Source, asked: int | None = None) -> int:
    """Return the seed of an analysis: as asked, else as the study declares it, else 0."""
    declared = calls.folder and calls.folder.frozen.study.analysis
    if declared and asked is None:
        asked = declared.seeds.get("analysis")
    return asked or 0


def _of_run(calls: Source) -> dict[str, Any]:
    """Return what a run folder adds to the analysis of its calls; nothing for a table."""
    if calls.folder is None:
        return {}
    return {
        "evidence": partial(calls.folder.evidence, calls.tensors, calls.main_layer, calls.reused),
        "configurations": calls.folder.judge_configurations(),
        "integrity": calls.folder.integrity(),
    }


def baseline_of(
    earlier: Source,
    margin: "Mapping[str, float] | float | None" = None,
    match: "Mapping[str, str] | None" = None,
) -> "Baseline":
    """Return earlier calls as a baseline."""
    from judgelaw.uncertainty import MARGIN, Baseline

    return Baseline(
        tensors=earlier.main(), margins=MARGIN if margin is None else margin, match=match
    )


def check_source(
    calls: Source,
    limits: "Sequence[Limit]",
    *,
    scope: "Scope",
    level: float,
    strict: bool = False,
    baseline: "Baseline | None" = None,
) -> "Gate":
    """Check the judges of the main layer."""
    from judgelaw.analysis import coverage, probe_interval
    from judgelaw.uncertainty import check_limits

    tensors, main = calls.main(), calls.main_layer

    def shift(judge: str, probe: str, level: float) -> "Interval":
        return probe_interval(calls.tensors, main, judge, probe, scope=scope, level=level)

    def right(judge: str) -> "BoundedQuantity":
        from judgelaw.analysis import right_bounds

        return right_bounds(judge, tensors[judge], calls.estimand)

    return check_limits(
        tensors,
        limits,
        scope=scope,
        level=level,
        estimand=calls.estimand,
        coverage={**{judge: coverage(t) for judge, t in tensors.items()}, **calls.coverage},
        strict=strict,
        baseline=baseline,
        shift=shift,
        right=right,
    )


REPORT = "report.html"
"""The page of a run, in its folder."""


def report_of(
    analysis: "Analysis",
    calls: Source,
    *,
    advice: "Advice | None" = None,
    check: bool = False,
    texts: bool = True,
) -> "Report":
    """Return what a report is made from; a run adds completions, configuration and checks.

    Without `texts` it holds no question, no answer and no reply.
    """
    from judgelaw.page import Report
    from judgelaw.runs.labelled import validations
    from judgelaw.runs.reworded_prompts import wordings_in_words
    from judgelaw.runs.stopping import looks_in_words

    found: dict[str, Any] = {"advice": advice, "people": partial(validations, calls.main())}
    if calls.table is not None and texts:
        found["questions"] = calls.questions()
    if calls.folder is not None:
        found |= {
            "completions": calls.folder.completions(analysis.main_layer) if texts else None,
            "questions": calls.folder.questions() if texts else {},
            "frozen": calls.folder.configuration(),
            "verified": calls.folder.checks(verified=check),
            "looks": looks_in_words(calls.folder.frozen),
            "wordings": wordings_in_words(analysis, calls.folder.frozen),
        }
    elif check:
        raise InputError("--verify looks at a run folder; a calls table has nothing to verify")
    return Report(analysis=analysis, tensors=calls.tensors, **found)


def report_page(
    analysis: "Analysis",
    calls: Source,
    *,
    advice: "Callable[[], Advice] | None" = None,
    title: str | None = None,
    check: bool = False,
    texts: bool = True,
    progress: Progress = unseen,
) -> str:
    """Return the page of an analysis.

    The title is by default the name of the study or of the table. `advice` gives what was begun
    earlier; one call a cell gives none.
    """
    from judgelaw.page import build

    found = None
    if not any(judge.one_call for judge in analysis.judges.values()):
        found = advice() if advice else _advice(analysis, calls, progress)
    report = report_of(analysis, calls, advice=found, check=check, texts=texts)
    return build(report, title=title or calls.name, progress=progress)


def _advice(analysis: "Analysis", calls: Source, progress: Progress) -> "Advice":
    """Work out what each way to ask comes to."""
    from judgelaw.runs.decisions import advise_source

    return advise_source(calls, seed=analysis.settings.seed, progress=progress)


def write_report(
    analysis: "Analysis",
    calls: Source,
    target: Path,
    *,
    advice: "Callable[[], Advice] | None" = None,
    title: str | None = None,
    check: bool = False,
    texts: bool = True,
    progress: Progress = unseen,
) -> Path:
    """Write the page of an analysis; return where it is.

    A file inside the run folder is entered in its SHA256SUMS.
    """
    page = report_page(
        analysis, calls, advice=advice, title=title, check=check, texts=texts, progress=progress
    )
    from judgelaw.study import placed

    with placed(calls.run, target) as (there,):
        write_page(there, page)
    return target


def write_page(target: Path, page: str) -> None:
    """Write a page under its name once it is complete; a device or a pipe is written to at once."""
    partial = target.with_name(f".{target.name}.partial")
    with writing(target):
        if target.exists() and not target.is_file():
            target.write_text(page, encoding="utf-8")
            return
        try:
            partial.write_text(page, encoding="utf-8")
            partial.replace(target)
        finally:
            with suppress(OSError):  # where it was written it has the page's name by now
                partial.unlink()
