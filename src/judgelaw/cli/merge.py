"""`judgelaw merge`: shards of a run into one run folder."""

from pathlib import Path

import click

from judgelaw.cli.options import examples
from judgelaw.cli.terminal import echo
from judgelaw.errors import IncompleteRunError


@click.command(
    epilog=examples(
        "judgelaw merge runs/nightly-*-of-8 --out runs/nightly",
        "judgelaw audit study.yaml --out runs/nightly",
    )
)
@click.argument(
    "runs",
    metavar="RUN...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
@click.option(
    "--out",
    metavar="RUN",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder to write: the run that one process would have left.",
)
def command(runs: tuple[Path, ...], out: Path) -> None:
    """Join the shards of a run: their folders stay as they are, and RUN holds all calls.

    Manifests are compared, no call is taken twice, failed and orphaned attempts are added up, and
    a shard that is missing is named. Afterwards `judgelaw audit STUDY --out RUN` analyses, and asks
    what is open.
    """
    from judgelaw.acquire import merge_shards

    t = merge_shards(runs, out)
    echo(
        f"{t.completed:,} of {t.planned:,} calls from {len(runs)} shards, {t.attempts:,} attempts "
        f"({t.failed:,} failed, {t.orphaned:,} orphaned)",
        err=True,
    )
    echo(out)
    if t.open:
        raise IncompleteRunError(
            f"{t.open:,} calls are open: `judgelaw audit STUDY --out {out}` asks them"
        )
