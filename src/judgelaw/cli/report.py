"""`judgelaw report`: one page that a person understands in ten seconds."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judgelaw.cli._help import examples
from judgelaw.cli._output import progress
from judgelaw.cli._source import (
    Reading,
    Source,
    permutations_option,
    read_source,
    resampling_options,
    source_options,
)
from judgelaw.errors import InputError

if TYPE_CHECKING:
    from judgelaw.analysis import Analysis


@click.command(
    epilog=examples(
        "judgelaw report runs/my-study",
        "judgelaw report calls.csv.gz -o report.html --figures figures/",
    )
)
@click.argument("source", metavar="RUN|TABLE")
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
@click.option("--verify", "check", is_flag=True, help="Verify the run first, and show the checks.")
def command(
    *,
    source: str,
    output: Path | None,
    figures_folder: Path | None,
    title: str | None,
    reading: Reading,
    draws: int | None,
    seed: int | None,
    permutations: int | None,
    check: bool,
) -> None:
    """Write one HTML page: the answer, its bands, every item, what to do.

    The page needs no network, no server and no JavaScript, and holds everything that it shows.
    """
    from judgelaw.cli.analyze import analyze_source

    calls = read_source(source, reading)
    target = output or _default(source, calls)
    _check_folder(target)
    analysis = analyze_source(calls, draws=draws, seed=seed, permutations=permutations)
    write_page(target, report_page(analysis, calls, title=title or Path(source).name, check=check))
    click.echo(str(target))
    written = [target]
    if figures_folder is not None:
        from judgelaw.report.export import figures, write_figures

        files = write_figures(figures(analysis, calls.tensors), figures_folder)
        click.echo(f"{len(files)} files in {figures_folder}", err=True)
        written += files
    if calls.run is not None:
        _list_sums(calls.run, written)


def _list_sums(run: Path, written: list[Path]) -> None:
    """Enter what was written into a run folder in its SHA256SUMS, as `verify` expects."""
    from judgelaw.design import write_sums

    root = run.resolve()
    inside = [path.resolve() for path in written if path.resolve().is_relative_to(root)]
    if inside:
        write_sums(run, [str(path.relative_to(root)) for path in inside])


def _default(source: str, calls: Source) -> Path:
    if calls.run is not None:
        return calls.run / "report.html"
    path = Path(source)
    if path.is_file():
        return path.with_name(path.name.split(".")[0] + ".html")
    return Path("report.html")


def _check_folder(target: Path) -> None:
    """Refuse a page that could not be written, before the work that would be lost with it."""
    if not target.parent.is_dir():
        raise InputError(f"cannot write {target}: {target.parent} is no folder; make it first")


def report_page(analysis: "Analysis", calls: Source, *, title: str, check: bool) -> str:
    """Return the page of an analysis; a run adds completions, configuration and checks."""
    from judgelaw.report import build

    if calls.run is None:
        if check:
            raise InputError("--verify looks at a run folder; a calls table has nothing to verify")
        with _steps() as step:
            return build(analysis, title=title, tensors=calls.tensors, progress=step)
    from judgelaw.acquire.verify import verify
    from judgelaw.report.run import read_run

    found = read_run(calls.run, analysis.main_layer, verified=verify(calls.run) if check else None)
    with _steps() as step:
        return build(
            analysis,
            title=found.title,
            tensors=calls.tensors,
            completions=found.completions,
            configuration=found.configuration,
            integrity=found.integrity,
            progress=step,
        )


@contextmanager
def _steps() -> Iterator[Callable[[int, int], None]]:
    """Turn parts that are done into a bar."""
    with progress("drawing", 100) as advance:
        before = 0

        def step(done: int, of: int) -> None:
            nonlocal before
            now = 100 * done // of
            advance(now - before)
            before = now

        yield step


def write_page(target: Path, page: str) -> None:
    """Write a page, whole or not at all."""
    partial = target.with_name(f".{target.name}.partial")
    try:
        partial.write_text(page, encoding="utf-8")
        partial.replace(target)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror}; give another path") from error
