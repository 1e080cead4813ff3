"""`judgelaw audit`: from a study to its report."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judgelaw.cli.options import (
    examples,
    on_terminal,
    out_option,
    say_on_stderr,
    without_texts_option,
)
from judgelaw.cli.terminal import echo, write_json
from judgelaw.errors import writing
from judgelaw.runs import REPORT

if TYPE_CHECKING:
    from judgelaw.page import Report
    from judgelaw.runs import Audited


@click.command(
    epilog=examples(
        "judgelaw audit study.yaml",
        "judgelaw audit study.yaml --out runs/first --view",
        "judgelaw audit study.yaml --shard 3/8",
        "judgelaw -q audit study.yaml --json - | jq .judges",
    )
)
@click.argument("study", metavar="STUDY", type=click.Path(path_type=Path))
@out_option
@click.option("--json", "json_file", metavar="FILE", help="Write JSON; - for stdout alone.")
@click.option(
    "--tables", is_flag=True, help="Write every table as CSV, LaTeX and JSON into RUN/tables."
)
@click.option(
    "--shard",
    metavar="K/N",
    help="Ask one of N slices of the items, into a folder of its own; `judgelaw merge` joins them.",
)
@without_texts_option
@click.option("--details", is_flag=True, help="Print components, tests and notices below.")
@click.option("--view", "watch", is_flag=True, help="Show the run in a browser while it goes on.")
def command(
    *,
    study: Path,
    out: Path | None,
    json_file: str | None,
    tables: bool,
    without_texts: bool,
    details: bool,
    shard: str | None,
    watch: bool,
) -> None:
    """Freeze a study, ask every call, analyse the verdicts and write the report.

    Interrupt it at any time: the same command goes on where it stopped, and takes seconds when
    nothing is left to ask.

    With --shard 3/8 only the third of eight slices is asked, and nothing is analysed: join the
    folders of all with `judgelaw merge`.
    """
    if shard is not None:
        if tables or without_texts or details or watch or json_file is not None:
            raise click.UsageError("--shard asks and analyses nothing: merge the shards first")
        _ask_shard(study, out, shard)
        return
    from judgelaw.cli.analyze import show
    from judgelaw.runs import audit_study

    with _viewed(study, out) if watch else nullcontext():
        audited = audit_study(
            study, out, shown=on_terminal(), tables=tables, texts=not without_texts
        )
        if json_file is not None:
            write_json(audited.analysis.to_json(), json_file)
        if json_file != "-":
            report = partial(_report, audited, texts=not without_texts) if details else None
            show(audited.analysis, place=str(audited.run), details=report)
            echo(f"report: {audited.run / REPORT}")
        if watch and sys.stdin.isatty():
            say_on_stderr("the page stays until you press Enter")
            sys.stdin.readline()


def _ask_shard(study: Path, out: Path | None, written: str) -> None:
    """Ask one slice of the items into a folder of its own."""
    from judgelaw.runs import acquire_study
    from judgelaw.study import Shard

    shard = Shard.read(written)
    acquired = acquire_study(study, out, shown=on_terminal(), shard=shard)
    acquired.raise_if_open()
    t = acquired.totals
    say_on_stderr(
        f"shard {shard}: {t.completed:,} calls are done; when all {shard.of} are: "
        "judgelaw merge RUN... --out RUN"
    )
    echo(acquired.path)


def _report(audited: "Audited", *, texts: bool) -> "Report":
    from judgelaw.runs import read_source, report_of

    return report_of(audited.analysis, read_source(str(audited.run)), texts=texts)


@contextmanager
def _viewed(study: Path, out: Path | None) -> Iterator[None]:
    """Serve the folder of the run while it is made, and open its page."""
    from judgelaw.live import view_server
    from judgelaw.runs import run_folder
    from judgelaw.study import load_study

    run = run_folder(load_study(study), out)
    with writing(run.parent):
        run.parent.mkdir(parents=True, exist_ok=True)
    server = view_server(run.parent)
    with server.beside() as address:
        say_on_stderr(f"live: {address.url}")
        server.show()
        yield
