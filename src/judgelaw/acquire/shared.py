"""A run folder whose ledger is elsewhere: the note that says where, and what must not be mixed."""

import json
from pathlib import Path

from judgelaw.design.store import durable, write_sums
from judgelaw.errors import InputError, RunError
from judgelaw.ledger import LEDGER_NAME
from judgelaw.ledger.postgres_address import Address

NOTE = "ledger.json"
SCHEMA = "judgelaw.ledger/1"


def note_ledger(run: Path, address: Address, name: str) -> None:
    """Write down where the ledger of a run folder is, without the password.

    Raises:
        InputError: the folder has a ledger of its own.
    """
    if (run / LEDGER_NAME).exists() and not (run / NOTE).exists():
        raise InputError(
            f"{run} keeps its own {LEDGER_NAME}: a run has one ledger from its first call on; go "
            "on without --ledger, or start another folder with --out"
        )
    note = {"schema": SCHEMA, "url": str(address), "run": name}
    durable(run / NOTE, (json.dumps(note, indent=1) + "\n").encode())
    write_sums(run, [NOTE])


def refuse_local(run: Path) -> None:
    """Raise where a run folder's calls are asked through a shared ledger."""
    if not (run / NOTE).exists():
        return
    note = json.loads((run / NOTE).read_bytes())
    raise RunError(
        f"the calls of {run} are asked through {note['url']}, and what is here is a copy: give "
        "`--ledger` with that address, so that nothing is asked twice"
    )
