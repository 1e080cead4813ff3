"""`judgelaw worker`: ask calls that a shared ledger holds, beside any number of other workers."""

from typing import TYPE_CHECKING

import click

from judgelaw.cli.options import examples, lease_option

if TYPE_CHECKING:
    from judgelaw.acquire import Acquisition
    from judgelaw.ledger import Address


@click.command(
    epilog=examples(
        "judgelaw run study.yaml --ledger postgresql://me@db.example/judges",
        "judgelaw worker --ledger postgresql://me@db.example/judges",
        "JUDGELAW_LEDGER=postgresql://me:secret@db.example/judges judgelaw worker --run first",
    )
)
@click.option(
    "--ledger",
    metavar="URL",
    envvar="JUDGELAW_LEDGER",
    required=True,
    help="postgresql://USER:PASSWORD@HOST/DB, or env:NAME for a variable that holds it.",
)
@click.option("--run", metavar="NAME", help="Only this run; by default each in turn, oldest first.")
@lease_option("How long this worker may be silent before others take its calls.")
def command(ledger: str, run: str | None, lease_s: float) -> None:
    """Ask open calls of runs that `judgelaw run STUDY --ledger URL` froze into a database.

    Start as many as you like, wherever the judges' keys are set; each may be stopped, killed or
    cut off at any time. Rate limits and budgets of a study hold for all workers together. Ends
    when nothing is left to ask.
    """
    from judgelaw.cli.options import say_on_stderr
    from judgelaw.errors import RunError
    from judgelaw.ledger import list_runs, read_address

    address = read_address(ledger)
    address.wait_until_up(say_on_stderr)
    names = [run] if run is not None else list_runs(address)
    if not names:
        raise RunError(
            f"{address} holds no run: `judgelaw run STUDY --ledger URL` freezes one into it"
        )
    worked = []
    for name in names:
        acquired = _work(address, name, lease_s)
        t = acquired.totals
        say_on_stderr(f"{name}: {t.completed} of {t.planned} calls done, {t.open} open")
        worked.append(acquired)
        if acquired.interrupted:
            break
    # The gravest reason of all decides how this command ends.
    for acquired in sorted(worked, key=lambda a: -a.gravity):
        acquired.raise_if_open()


def _work(address: "Address", name: str, lease_s: float) -> "Acquisition":
    from judgelaw.acquire import work_on
    from judgelaw.cli.options import observer, say_on_stderr

    with observer() as shown:
        return work_on(address, name, lease_s=lease_s, observer=shown, say=say_on_stderr)
