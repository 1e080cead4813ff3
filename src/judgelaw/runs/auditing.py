"""From a study to its report: freeze, acquire, analyse, write; what shows it is handed in."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from judgelaw.errors import InputError, writing
from judgelaw.runs.answers import REPORT, analyze_source, report_page, write_page
from judgelaw.runs.source import Source, read_source

if TYPE_CHECKING:
    from judgelaw.acquire import Acquisition, Observer
    from judgelaw.analysis import Analysis
    from judgelaw.study import FrozenRun, LoadedStudy

RESULTS = "results"
ANALYSIS = f"{RESULTS}/analysis.json"
TABLES = "tables"
_STAGE = 1000
"""Steps of a bar that a stage of the analysis, or a test, takes."""

OpenBar = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]
"""Opens a bar, given what is done and how many steps it takes; it is told steps just taken."""


@contextmanager
def no_bar(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show nothing of how far work is."""
    del what, total
    yield lambda _: None


def _unobserved() -> "AbstractContextManager[Observer]":
    from judgelaw.acquire import Silent

    return nullcontext(Silent())


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Who shows how far an audit is; by default nobody.

    Attributes:
        bar: opens a bar for work of known length.
        observer: opens what shows the calls of a run under way.
        say: is told in words what happens.
    """

    bar: OpenBar = no_bar
    observer: "Callable[[], AbstractContextManager[Observer]]" = _unobserved
    say: Callable[[str], None] = lambda _: None


@dataclass(frozen=True, kw_only=True)
class Audited:
    """A finished audit: the run folder, and what was found."""

    run: Path
    analysis: "Analysis"


def audit_study(study: Path, out: Path | None = None, *, shown: Shown | None = None) -> Audited:
    """Freeze, acquire, analyse and report; a study that was interrupted goes on.

    Writes results/analysis.json, tables/ and report.html into the run folder.

    Raises:
        IncompleteRunError: calls are open; the same command resumes.
        InputError: one repeat, which no analysis takes; nothing was frozen or asked.
    """
    shown = shown or Shown()
    _refuse_one_repeat(study, out)
    acquired = acquire_study(study, out, shown=shown)
    acquired.raise_if_open()
    shown.say(_done(acquired))
    return Audited(run=acquired.path, analysis=_analyse(acquired.path, shown.bar))


def _refuse_one_repeat(study: Path, out: Path | None) -> None:
    """Refuse before the first call what could not be analysed after the last."""
    from judgelaw.study import RECORD, load_study, open_run

    loaded = load_study(study)
    run = run_folder(loaded, out)
    rule = "1, an analysis needs 2 repeats or more to tell a judge's dice from its prompts"
    if (run / RECORD).exists():
        # The depth in force counts: `extend` may have raised what the study says.
        for name, repeats in open_run(run).study.depth.items():
            if repeats == 1:
                raise InputError(
                    f"{run}: repeats of layer {name}: {rule}; add calls with `judgelaw extend "
                    f"{run} --repeats 4`, then the same command goes on"
                )
        return
    for place, layer in enumerate(loaded.study.streams):
        if layer.repeats == 1:
            own = bool(loaded.study.layers) and loaded.study.layers[place].repeats is not None
            raise loaded.error(
                ("layers", place, "repeats") if own else ("repeats",),
                f"{rule}; set 2 or more, 4 for intervals, or ask without an analysis: "
                f"`judgelaw run {study}`",
            )


def _done(acquired: "Acquisition") -> str:
    t = acquired.totals
    lost = f", {t.orphaned} orphaned" if t.orphaned else ""
    failed = f", {t.failed} failed attempts" if t.failed else ""
    return f"{t.completed:,} calls are done{failed}{lost}"


def _analyse(run: Path, bar: OpenBar) -> "Analysis":
    from judgelaw.page import write_tables
    from judgelaw.study import write_sums

    calls = read_source(str(run))
    analysis = analyze_shown(calls, bar)
    text = json.dumps(analysis.to_json(), indent=2, ensure_ascii=False, allow_nan=False)
    with writing(run / ANALYSIS):
        (run / RESULTS).mkdir(exist_ok=True)
        (run / ANALYSIS).write_text(text + "\n", encoding="utf-8")
    tables = write_tables(analysis.tables, run / TABLES)
    write_page(run / REPORT, page_shown(analysis, calls, bar, title=run.name))
    names = [ANALYSIS, REPORT, *(str(path.relative_to(run)) for path in tables)]
    write_sums(run, names)
    return analysis


def acquire_study(
    study: Path,
    out: Path | None,
    *,
    shown: Shown,
    ledger: str | None = None,
    lease_s: float = 60.0,
    date: str | None = None,
    cancel_batches: bool = False,
    accept_loss: bool = False,
) -> "Acquisition":
    """Freeze a study if need be and ask every open call; tables and hashes are written.

    With `ledger` the calls are shared with workers. With `date` the study is asked as the wave of
    that date, beside the waves that are there. The caller decides what open calls mean, with
    `raise_if_open`.
    """
    if ledger is None:
        from judgelaw.acquire import acquire

        frozen = freeze_study(study, out, shown.bar, date)
        with shown.observer() as observer:
            return acquire(
                frozen,
                observer=observer,
                cancel_batches=cancel_batches,
                accept_loss=accept_loss,
            )
    from judgelaw.acquire import acquire_shared
    from judgelaw.ledger import read_address

    address = read_address(ledger)
    frozen = freeze_study(study, out, shown.bar, date)
    with shown.observer() as observer:
        return acquire_shared(
            frozen,
            address,
            lease_s=lease_s,
            observer=observer,
            say=shown.say,
            cancel_batches=cancel_batches,
        )


def hand_over_study(
    study: Path, out: Path | None, ledger: str, bar: OpenBar, date: str | None = None
) -> "Acquisition":
    """Freeze a study into a shared ledger and leave the asking to workers."""
    from judgelaw.acquire import acquire_shared
    from judgelaw.ledger import read_address

    address = read_address(ledger)
    return acquire_shared(freeze_study(study, out, bar, date), address, ask=False)


def freeze_study(
    study: Path, out: Path | None, bar: OpenBar, date: str | None = None
) -> "FrozenRun":
    """Freeze a study, or the wave of a date, into its run folder: `runs/NAME` unless told."""
    from judgelaw.study import blocks, freeze, load_study, survey

    loaded = load_study(study)
    run = run_folder(loaded, out)
    # Items are read twice for a new run; that buys a bar that knows its end.
    total = 1 if run.exists() else sum(block.count for block in blocks(survey(loaded)))
    with bar("freezing calls", total) as advance:
        return freeze(loaded, run, date=date, tick=advance)


def run_folder(loaded: "LoadedStudy", out: Path | None) -> Path:
    """Return where the run of a study is: `runs/NAME` beside it unless said otherwise."""
    return out or loaded.folder / "runs" / loaded.study.name


def analyze_shown(
    calls: Source,
    bar: OpenBar,
    *,
    draws: int | None = None,
    seed: int | None = None,
    permutations: int | None = None,
) -> "Analysis":
    """Analyse what was read, with a bar where it takes long."""
    facets = sum((len(t.prompts) > 1) + (len(t.orders) > 1) for t in calls.tensors.values())
    tests = 0 if permutations == 0 else facets
    with _analysis_steps(bar, tests, len(calls.tensors) + 2) as step:
        return analyze_source(
            calls, draws=draws, seed=seed, permutations=permutations, progress=step
        )


@contextmanager
def _analysis_steps(
    bar: OpenBar, tests: int, stages: int
) -> Iterator[Callable[[str, int, int], None]]:
    """Turn stages and the draws of several tests into one bar."""
    from judgelaw.analysis import STAGES

    done: dict[str, int] = {}
    with bar(STAGES, _STAGE * (tests + stages)) as advance:

        def step(label: str, now: int, of: int) -> None:
            # A stage and a test weigh the same; `of` are all stages, or the draws of one test.
            before = done.get(label, 0)
            done[label] = _STAGE * now * (stages if label == STAGES else 1) // of
            advance(done[label] - before)

        yield step


def page_shown(
    analysis: "Analysis", calls: Source, bar: OpenBar, *, title: str, check: bool = False
) -> str:
    """Return the page of an analysis, with a bar where drawing takes long."""
    with _page_steps(bar) as step:
        return report_page(analysis, calls, title=title, check=check, progress=step)


@contextmanager
def _page_steps(bar: OpenBar) -> Iterator[Callable[[int, int], None]]:
    """Turn parts that are done into a bar."""
    with bar("drawing", 100) as advance:
        before = 0

        def step(done: int, of: int) -> None:
            nonlocal before
            now = 100 * done // of
            advance(now - before)
            before = now

        yield step
