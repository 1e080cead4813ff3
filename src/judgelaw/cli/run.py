"""`judgelaw run`: freeze a study if need be, and ask every open call."""

from pathlib import Path

import click

from judgelaw.cli.options import examples, lease_option, on_terminal, out_option
from judgelaw.cli.terminal import echo, progress


@click.command(
    epilog=examples(
        "judgelaw run study.yaml --out runs/first",
        "judgelaw status runs/first",
        "judgelaw run anchors.yaml --date 2026-11-16",
        "judgelaw run study.yaml --ledger postgresql://me@db.example/judges",
    )
)
@click.argument("study", metavar="STUDY", type=click.Path(path_type=Path))
@out_option
@click.option(
    "--ledger",
    metavar="URL",
    help="Share the calls with workers through PostgreSQL: postgresql://USER:PASSWORD@HOST/DB, "
    "or env:NAME for a variable that holds it.",
)
@click.option(
    "--freeze-only",
    is_flag=True,
    help="With --ledger: hand the run over to workers and ask nothing here.",
)
@click.option(
    "--cancel-batches",
    is_flag=True,
    help="Cancel what waits in batches at providers, collect what they answered, submit no more.",
)
@click.option(
    "--accept-loss",
    is_flag=True,
    help="Go on although the ledger lacks replies that it had: ask and pay for those calls again, "
    "and write the loss down.",
)
@click.option(
    "--date",
    metavar="DATE",
    help="Ask the whole study as the wave of this date (YYYY-MM-DD), beside earlier waves.",
)
@lease_option("With --ledger: how long a worker may be silent before others take its calls.")
def command(
    study: Path,
    out: Path | None,
    ledger: str | None,
    lease_s: float,
    *,
    date: str | None,
    freeze_only: bool,
    cancel_batches: bool,
    accept_loss: bool,
) -> None:
    """Freeze a study, ask every open call, and write RUN/calls.parquet.

    The same command resumes a run that was stopped, killed or cut off: what was answered is
    never asked again. Ctrl-C lets the replies under way arrive; a second one does not wait.

    With --date the study is asked as the wave of that date; `judgelaw watch RUN` compares waves.

    With --ledger the calls are frozen into a PostgreSQL database, where `judgelaw worker` on any
    number of machines asks them too; this command finishes when all are done, and brings a copy
    of the ledger home into RUN.
    """
    from judgelaw.runs import acquire_study, hand_over_study

    if freeze_only:
        if ledger is None:
            raise click.UsageError("--freeze-only hands a run to workers; it needs --ledger URL")
        acquired = hand_over_study(study, out, ledger, progress, date)
    else:
        acquired = acquire_study(
            study,
            out,
            shown=on_terminal(),
            ledger=ledger,
            lease_s=lease_s,
            date=date,
            cancel_batches=cancel_batches,
            accept_loss=accept_loss,
        )
        acquired.raise_if_open()
    t = acquired.totals
    if t.open:
        echo(f"{t.open} calls wait for workers, {t.completed} are done", err=True)
        return
    echo(
        f"{t.completed} calls done in {t.attempts} attempts ({t.failed} failed, {t.orphaned} "
        "orphaned)",
        err=True,
    )
    echo(acquired.path / "calls.parquet")
