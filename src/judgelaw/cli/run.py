"""`judgelaw run`: ask every call of a study; the same command resumes."""

from pathlib import Path

import click


@click.command(
    epilog="\b\nExample:\n  judgelaw run study.yaml --out runs/first\n  judgelaw status runs/first"
)
@click.argument("study", metavar="STUDY", type=click.Path(path_type=Path))
@click.option(
    "--out",
    metavar="RUN",
    type=click.Path(file_okay=False, path_type=Path),
    help="The run folder; by default runs/NAME beside the study.",
)
def command(study: Path, out: Path | None) -> None:
    """Freeze a study, ask every open call, and write RUN/calls.parquet.

    The same command resumes a run that was stopped, killed or cut off: what was answered is
    never asked again. Ctrl-C lets the replies under way arrive; a second one does not wait.
    """
    from judgelaw.cli._acquire import acquire_study

    acquired = acquire_study(study, out)
    acquired.raise_if_open()
    t = acquired.totals
    click.echo(
        f"{t.completed} calls done in {t.attempts} attempts ({t.failed} failed, {t.orphaned} "
        "orphaned)",
        err=True,
    )
    click.echo(acquired.path / "calls.parquet")
