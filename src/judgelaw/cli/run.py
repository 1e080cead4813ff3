"""`judgelaw run`: freeze a study if need be, and ask every open call."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judgelaw.cli.options import examples, lease_option, observer, say
from judgelaw.cli.terminal import echo

if TYPE_CHECKING:
    from judgelaw.acquire import Acquisition
    from judgelaw.study import FrozenRun, LoadedStudy


def acquire_study(
    study: Path,
    out: Path | None,
    *,
    ledger: str | None = None,
    lease_s: float = 60.0,
    cancel_batches: bool = False,
    accept_loss: bool = False,
) -> "Acquisition":
    """Freeze a study if need be and ask every open call; tables and hashes are written.

    With `ledger` the calls are shared with workers. The caller decides what open calls mean, with
    `raise_if_open`.
    """
    if ledger is not None:
        from judgelaw.acquire import acquire_shared
        from judgelaw.ledger import read_address

        address = read_address(ledger)
        frozen = freeze_study(study, out)
        with ExitStack() as stack:
            shown = observer(stack)
            return acquire_shared(
                frozen,
                address,
                lease_s=lease_s,
                observer=shown,
                say=say,
                cancel_batches=cancel_batches,
            )
    from judgelaw.acquire import acquire

    frozen = freeze_study(study, out)
    with ExitStack() as stack:
        return acquire(
            frozen,
            observer=observer(stack),
            cancel_batches=cancel_batches,
            accept_loss=accept_loss,
        )


def hand_over_study(study: Path, out: Path | None, ledger: str) -> "Acquisition":
    """Freeze a study into a shared ledger and leave the asking to workers."""
    from judgelaw.acquire import acquire_shared
    from judgelaw.ledger import read_address

    address = read_address(ledger)
    return acquire_shared(freeze_study(study, out), address, ask=False)


def freeze_study(study: Path, out: Path | None) -> "FrozenRun":
    """Freeze a study into its run folder, `runs/NAME` beside it unless said otherwise."""
    from judgelaw.cli.terminal import progress
    from judgelaw.study import blocks, freeze, load_study, survey

    loaded = load_study(study)
    run = run_folder(loaded, out)
    # Items are read twice for a new run; that buys a bar that knows its end.
    total = 1 if run.exists() else sum(block.count for block in blocks(survey(loaded)))
    with progress("freezing calls", total) as advance:
        return freeze(loaded, run, tick=advance)


def run_folder(loaded: "LoadedStudy", out: Path | None) -> Path:
    """Return where the run of a study is: `runs/NAME` beside it unless said otherwise."""
    return out or loaded.folder / "runs" / loaded.study.name


@click.command(
    epilog=examples(
        "judgelaw run study.yaml --out runs/first",
        "judgelaw status runs/first",
        "judgelaw run study.yaml --ledger postgresql://me@db.example/judges",
    )
)
@click.argument("study", metavar="STUDY", type=click.Path(path_type=Path))
@click.option(
    "--out",
    metavar="RUN",
    type=click.Path(file_okay=False, path_type=Path),
    help="The run folder; by default runs/NAME beside the study.",
)
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
@lease_option("With --ledger: how long a worker may be silent before others take its calls.")
def command(
    study: Path,
    out: Path | None,
    ledger: str | None,
    lease_s: float,
    *,
    freeze_only: bool,
    cancel_batches: bool,
    accept_loss: bool,
) -> None:
    """Freeze a study, ask every open call, and write RUN/calls.parquet.

    The same command resumes a run that was stopped, killed or cut off: what was answered is
    never asked again. Ctrl-C lets the replies under way arrive; a second one does not wait.

    With --ledger the calls are frozen into a PostgreSQL database, where `judgelaw worker` on any
    number of machines asks them too; this command finishes when all are done, and brings a copy
    of the ledger home into RUN.
    """
    if freeze_only:
        if ledger is None:
            raise click.UsageError("--freeze-only hands a run to workers; it needs --ledger URL")
        acquired = hand_over_study(study, out, ledger)
    else:
        acquired = acquire_study(
            study,
            out,
            ledger=ledger,
            lease_s=lease_s,
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
