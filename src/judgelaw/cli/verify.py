"""`judgelaw verify`: derive everything in a run folder again."""

from pathlib import Path

import click

from judgelaw.cli._help import examples
from judgelaw.cli._output import progress, show_table, write_json
from judgelaw.errors import IntegrityError, JudgelawError, RunError

SCHEMA = "judgelaw.verify/1"


@click.command(epilog=examples("judgelaw verify runs/first", "judgelaw verify runs/first --json -"))
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@click.option(
    "--json",
    "json_file",
    metavar="FILE",
    is_flag=False,
    flag_value="-",
    help="Write JSON; - (or no FILE) for stdout, without the tables.",
)
def command(run: Path, json_file: str | None) -> None:
    """Check a run folder against itself, and leave with 4 if anything is wrong.

    Every file's hash, every call's identity, payload, request and seed, the join of manifest and
    ledger, every attempt, every reply decoded and parsed again, control blocks, and both tables.
    Reads only, sends nothing.
    """
    from judgelaw.acquire.verify import verify

    if not run.is_dir():
        raise RunError(f"{run} is no folder: name the run folder that `judgelaw run` wrote")
    with progress("verifying rows", _rows(run)) as advance:
        found = verify(run, tick=advance)
    if json_file is not None:
        write_json({"schema": SCHEMA, "ok": found.ok, "checks": found.checks}, json_file)
    if json_file != "-":
        rows = [[c.name, "ok" if c.ok else "WRONG", c.detail] for c in found.checks]
        show_table(("check", "", "found"), rows, title=str(run))
    if not found.ok:
        wrong = ", ".join(c.name for c in found.checks if not c.ok)
        raise IntegrityError(f"{run} is not what was frozen and acquired; see {wrong}")


def _rows(run: Path) -> int:
    """Return how many rows there are to look at: each call, and each completion."""
    from judgelaw.design import open_run

    try:
        return 2 * open_run(run).count
    except JudgelawError:
        return 1  # what keeps it from being opened is a finding of the verification itself
