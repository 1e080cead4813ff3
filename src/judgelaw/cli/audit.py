"""`judgelaw audit`: from a study to its report; `demo` shares it."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judgelaw.cli.options import examples
from judgelaw.cli.terminal import echo
from judgelaw.runs import REPORT

if TYPE_CHECKING:
    from judgelaw.acquire import Acquisition
    from judgelaw.analysis import Analysis


RESULTS = "results"
ANALYSIS = f"{RESULTS}/analysis.json"
TABLES = "tables"


@dataclass(frozen=True, kw_only=True)
class Audited:
    """A finished audit: the run folder, and what was found."""

    run: Path
    analysis: "Analysis"


def audit_study(study: Path, out: Path | None) -> Audited:
    """Freeze, acquire, analyse and report; a study that was interrupted goes on.

    Writes results/analysis.json, tables/ and report.html into the run folder.

    Raises:
        IncompleteRunError: calls are open; the same command resumes.
        InputError: one repeat, which no analysis takes; nothing was frozen or asked.
    """
    from judgelaw.cli.run import acquire_study

    _refuse_one_repeat(study, out)
    acquired = acquire_study(study, out)
    acquired.raise_if_open()
    _say_done(acquired)
    return Audited(run=acquired.path, analysis=_analyse(acquired.path))


def _refuse_one_repeat(study: Path, out: Path | None) -> None:
    """Refuse before the first call what could not be analysed after the last."""
    from judgelaw.cli.run import run_folder
    from judgelaw.errors import InputError
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


def _say_done(acquired: "Acquisition") -> None:
    t = acquired.totals
    lost = f", {t.orphaned} orphaned" if t.orphaned else ""
    failed = f", {t.failed} failed attempts" if t.failed else ""
    echo(f"{t.completed:,} calls are done{failed}{lost}", err=True)


def _analyse(run: Path) -> "Analysis":
    from judgelaw.cli.analyze import analyse
    from judgelaw.cli.report import draw
    from judgelaw.cli.terminal import write_json
    from judgelaw.page import write_tables
    from judgelaw.runs import read_source, write_page
    from judgelaw.study import write_sums

    calls = read_source(str(run))
    analysis = analyse(calls)
    (run / RESULTS).mkdir(exist_ok=True)
    write_json(analysis.to_json(), str(run / ANALYSIS))
    tables = write_tables(analysis.tables, run / TABLES)
    write_page(run / REPORT, draw(analysis, calls, title=run.name))
    names = [ANALYSIS, REPORT, *(str(path.relative_to(run)) for path in tables)]
    write_sums(run, names)
    return analysis


@click.command(
    epilog=examples(
        "judgelaw audit study.yaml",
        "judgelaw audit study.yaml --out runs/first",
    )
)
@click.argument("study", metavar="STUDY", type=click.Path(path_type=Path))
@click.option(
    "--out",
    metavar="RUN",
    type=click.Path(file_okay=False, path_type=Path),
    help="The run folder; by default runs/NAME beside the study.",
)
def command(study: Path, out: Path | None) -> None:
    """Freeze a study, ask every call, analyse the verdicts and write the report.

    Interrupt it at any time: the same command goes on where it stopped, and takes seconds when
    nothing is left to ask.
    """
    from judgelaw.cli.analyze import show

    audited = audit_study(study, out)
    show(audited.analysis)
    echo(f"report: {audited.run / REPORT}")
