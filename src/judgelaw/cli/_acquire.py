"""What commands that acquire share: freezing with progress, then asking with progress."""

import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from judgelaw.cli._output import echo

if TYPE_CHECKING:
    from judgelaw.acquire import Acquisition, Observer
    from judgelaw.design import FrozenRun, LoadedStudy

F = TypeVar("F", bound=Callable[..., Any])


def lease_option(words: str) -> Callable[[F], F]:
    """Add the option of how long a worker holds its calls, with the command's own words."""
    return click.option(
        "--lease",
        "lease_s",
        metavar="SECONDS",
        type=click.FloatRange(min=1),
        default=60.0,
        show_default=True,
        help=words,
    )


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
        from judgelaw.acquire.worker import acquire_shared
        from judgelaw.ledger.postgres_address import read_address

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
    from judgelaw.acquire.worker import acquire_shared
    from judgelaw.ledger.postgres_address import read_address

    address = read_address(ledger)
    return acquire_shared(freeze_study(study, out), address, ask=False)


def say(words: str) -> None:
    """Tell on stderr what happens."""
    echo(words, err=True)


def freeze_study(study: Path, out: Path | None) -> "FrozenRun":
    """Freeze a study into its run folder, `runs/NAME` beside it unless said otherwise."""
    from judgelaw.cli._output import progress
    from judgelaw.design import load_study
    from judgelaw.design.blueprint import blocks, survey
    from judgelaw.render import freeze

    loaded = load_study(study)
    run = run_folder(loaded, out)
    # Items are read twice for a new run; that buys a bar that knows its end.
    total = 1 if run.exists() else sum(block.count for block in blocks(survey(loaded)))
    with progress("freezing calls", total) as advance:
        return freeze(loaded, run, tick=advance)


def run_folder(loaded: "LoadedStudy", out: Path | None) -> Path:
    """Return where the run of a study is: `runs/NAME` beside it unless said otherwise."""
    return out or loaded.folder / "runs" / loaded.study.name


def require_folder(run: Path) -> None:
    """Refuse a run folder that is not there, before anything is looked for in it."""
    from judgelaw.errors import InputError

    if not run.is_dir():
        raise InputError(f"{run}: no such folder; name the run folder that `judgelaw run` wrote")


def observer(stack: ExitStack) -> "Observer":
    """Return who shows progress: a bar on a terminal, plain lines elsewhere."""
    from judgelaw.acquire import Bar, PlainLines

    if sys.stderr.isatty():
        return stack.enter_context(Bar(sys.stderr))
    return PlainLines(sys.stderr)
