"""`judgelaw report`: one page that a person understands in ten seconds."""

from pathlib import Path

import click

from judgelaw.cli.options import (
    Place,
    at_least_option,
    examples,
    permutations_option,
    resampling_options,
    source_argument,
    source_options,
    without_texts_option,
)
from judgelaw.cli.terminal import echo, progress, say
from judgelaw.page import start_drawing
from judgelaw.processes import processes, shared
from judgelaw.runs import (
    Reading,
    analyze_source,
    begin_advice,
    check_target,
    read_source,
    report_of,
    report_target,
    seed_of,
    write_report,
)

_BESIDE = 2
"""Processes beside this one: they start while calls are read, then advise, shuffle and draw."""
_NEEDED = ("judgelaw.analysis", "judgelaw.decide", "scipy.special")


@click.command(
    epilog=examples(
        "judgelaw report runs/my-study --open",
        "judgelaw report calls.csv.gz -o report.html --figures figures/",
    )
)
@source_argument
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where the page goes. [default: report.html in the run, or beside the table]",
)
@click.option(
    "--figures",
    "figures_folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write every figure as SVG, PDF and PNG at column width.",
)
@click.option("--title", help="What the page is about. [default: name of the study or file]")
@source_options
@resampling_options
@permutations_option
@at_least_option
@without_texts_option
@click.option("--open", "show", is_flag=True, help="Open the page in a browser.")
@click.option("--verify", "check", is_flag=True, help="Verify the run first, and show the checks.")
def command(
    *,
    source: Place,
    output: Path | None,
    figures_folder: Path | None,
    title: str | None,
    reading: Reading,
    draws: int | None,
    seed: int | None,
    permutations: int | None,
    at_least: float | None,
    without_texts: bool,
    check: bool,
    show: bool,
) -> None:
    """Write one HTML page: the answer, its intervals, every item, what to do.

    The page needs no network, no server and no JavaScript, and holds everything that it shows.
    """
    with processes(_BESIDE, needs=_NEEDED):
        start_drawing()
        calls = read_source(source, reading)
        target = output or report_target(source, calls)
        check_target(target)
        advice = begin_advice(calls, seed=seed_of(calls, seed)) if shared() else None
        analysis = analyze_source(
            calls,
            draws=draws,
            seed=seed,
            permutations=permutations,
            at_least=at_least,
            progress=progress,
        )
        write_report(
            analysis,
            calls,
            target,
            advice=advice,
            title=title,
            check=check,
            texts=not without_texts,
            progress=progress,
        )
    echo(str(target))
    if show:
        _open(target)
    if figures_folder is not None:
        from judgelaw.page import figures, write_figures
        from judgelaw.study import placed

        with placed(calls.run, figures_folder) as (there,):
            files = write_figures(figures(report_of(analysis, calls)), there)
        echo(f"{len(files)} files in {figures_folder}", err=True)


def _open(page: Path) -> None:
    """Show the page in a browser; a machine that has none gets the page all the same."""
    import webbrowser

    if not webbrowser.open(page.resolve().as_uri()):
        say(f"no browser was found: open {page} yourself", err=True)
