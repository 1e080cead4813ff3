"""`judgelaw verify`: derive everything in a run folder again."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from judgelaw.cli.options import examples, state_json_option
from judgelaw.cli.terminal import progress, show_table, write_json
from judgelaw.errors import InputError, IntegrityError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from judgelaw.acquire.verify import Check, Verification


SCHEMA = "judgelaw.verify/1"


@click.command(
    epilog=examples(
        "judgelaw verify runs/first",
        "judgelaw verify runs/first --json -",
        "judgelaw verify runs/first --recompute",
        "judgelaw verify package    of `judgelaw release`, or of another program",
        "judgelaw verify package.zip    with package.zip.sha256 beside it, if it is there",
    )
)
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@state_json_option
@click.option(
    "--recompute",
    is_flag=True,
    help="Make analysis, tables, figures and page again, and compare every value of them.",
)
@click.option(
    "--root",
    metavar="HASH",
    help="Hold the folder against the root hash that was printed when it was made.",
)
def command(run: Path, json_file: str | None, *, recompute: bool, root: str | None) -> None:
    """Check a run folder or a package against itself, and leave with 4 if anything is wrong.

    Of a run: every file's hash, every call's identity, payload, request and seed, the join of
    manifest and ledger, every attempt, every reply decoded and parsed again, control blocks, and
    both tables. Of a package of `judgelaw release`: its hashes, its frozen calls joined with its
    verdicts, and every table made again and compared to the byte. Of another program's package, a
    calls table with hashes and a manifest: what they say of each other. Reads only, sends nothing.

    Who can change files can change their hashes too. The root hash stands for all of them: keep it
    elsewhere, and `--root` finds any change. `--recompute` makes again what was made of the calls.
    """
    from judgelaw.runs import package_folder

    _require(run)
    with package_folder(run) as (folder, before):
        checks = [*before, *_checks(folder, recompute=recompute, root=root)]
    wrong = ", ".join(c.name for c in checks if not c.ok)
    if json_file is not None:
        write_json({"schema": SCHEMA, "ok": not wrong, "checks": checks}, json_file)
    if json_file != "-":
        rows = [[c.name, "ok" if c.ok else "WRONG", c.detail] for c in checks]
        show_table(("check", "", "found"), rows, title=str(run))
    if wrong:
        raise IntegrityError(f"{run} is not what was frozen and acquired; see {wrong}")


def _require(place: Path) -> None:
    if not place.is_dir() and not place.is_file():
        raise InputError(f"{place}: no such folder or ZIP; name a run folder or a package")


def _checks(folder: Path, *, recompute: bool, root: str | None) -> "list[Check]":
    from judgelaw.acquire.verify import check_root

    checks = list(_verified(folder).checks)
    if all(c.ok for c in checks):
        checks += _looks(folder)
    if recompute:
        checks += _recomputed(folder)
    return [*checks, *check_root(folder, root)]


def _verified(run: Path) -> "Verification":
    """Look at a folder as what it is: a package, a run, or a package of another program."""
    from judgelaw.acquire.verify import verify
    from judgelaw.runs import is_package, verify_foreign, verify_package

    if is_package(run):
        return verify_package(run, progress=progress)
    if not _is_run(run) and _holds_hashes(run):
        return verify_foreign(run)
    return verify(run, progress=progress)


def _is_run(folder: Path) -> bool:
    """Whether a folder holds a run, damaged or not; other programs have a manifest.json too."""
    from judgelaw.ledger import LEDGER_NAME
    from judgelaw.study import MANIFEST, STUDY

    return any((folder / name).exists() for name in (STUDY, MANIFEST, LEDGER_NAME))


def _looks(run: Path) -> "Iterator[Check]":
    """Take the looks of a run again that was asked depth by depth."""
    from judgelaw.acquire.verify import Check
    from judgelaw.runs import differing_looks, is_package
    from judgelaw.study import RECORD, open_run

    if is_package(run) or not _is_run(run) or not (run / RECORD).exists():
        return
    frozen = open_run(run)
    if looks := frozen.record.looks:
        wrong = differing_looks(frozen)
        detail = "; ".join(wrong) or f"{len(looks)} looks come out as they were taken"
        yield Check(name="looks", ok=not wrong, detail=detail)


def _holds_hashes(folder: Path) -> bool:
    """Whether a folder that is no run has anything to be held against."""
    names = {path.name.lower() for path in folder.rglob("*") if path.is_file()}
    return any(n.startswith(("sha256sums", "checksums")) or "manifest" in n for n in names)


def _recomputed(run: Path) -> "Iterator[Check]":
    """Make everything again that was made of the calls."""
    from judgelaw.runs import recompute_results

    return recompute_results(run, progress=progress)
