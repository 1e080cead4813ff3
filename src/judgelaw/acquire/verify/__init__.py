"""Everything that can be derived from a run folder, derived again."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from judgelaw.acquire.verify.check import Check
from judgelaw.acquire.verify.controls import check_controls
from judgelaw.acquire.verify.files import check_files
from judgelaw.acquire.verify.ledger import (
    CompletionChecks,
    check_attempts,
    check_database,
    check_join,
)
from judgelaw.acquire.verify.manifest import ManifestChecks, Tick, check_record
from judgelaw.acquire.verify.tables import check_tables
from judgelaw.design.manifest import FrozenRun, open_run
from judgelaw.errors import JudgelawError
from judgelaw.ledger import LEDGER_NAME, SqliteView, lost

__all__ = ["Check", "Verification", "verify"]


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What `verify` found."""

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether everything is as it was frozen and acquired."""
        return all(check.ok for check in self.checks)


def verify(run: Path, *, tick: Tick = lambda _: None) -> Verification:
    """Derive everything in a run folder again and compare; reads only, sends nothing.

    Args:
        run: the folder.
        tick: told how many rows were looked at since the last time.
    """
    return Verification(checks=tuple(_checks(run, tick)))


def _checks(run: Path, tick: Tick) -> Iterator[Check]:
    yield check_files(run)
    try:
        frozen = open_run(run)
    except JudgelawError as error:
        yield Check(name="frozen", ok=False, detail=str(error))
        return
    yield from _each("record", lambda: [check_record(frozen)])
    yield from _each("manifest", lambda: ManifestChecks(frozen).run(tick))
    yield from _each("controls", lambda: check_controls(frozen))
    yield from _each("marks", lambda: _missing(run))
    if not (run / LEDGER_NAME).exists():
        yield Check(name="ledger", ok=True, detail="nothing was acquired yet")
        return
    with SqliteView(run / LEDGER_NAME) as view:
        yield from _each("database", lambda: [check_database(view)])
        yield from _each("join", lambda: [check_join(frozen, view)])
        yield from _each("attempts", lambda: [check_attempts(view)])
        yield from _each("completions", lambda: CompletionChecks(frozen, view).run(tick))
        yield from _each("tables", lambda: check_tables(frozen, view))
        yield from _each("complete", lambda: [_complete(frozen, view)])


def _each(name: str, look: Callable[[], Iterable[Check]]) -> Iterator[Check]:
    """Run one group of checks; what is too damaged to be looked at fails, and says why."""
    try:
        yield from look()
    except Exception as error:  # noqa: BLE001 - a damaged file raises whatever its reader raises
        said = str(error) or type(error).__name__
        yield Check(name=name, ok=False, detail=f"cannot be looked at: {said.splitlines()[0]}")


def _missing(run: Path) -> Iterator[Check]:
    """Compare the ledger with what a session that was killed had on the disk."""
    loss = lost(run / LEDGER_NAME)
    if loss is not None:
        yield Check(name="marks", ok=False, detail=f"{LEDGER_NAME} lacks {loss.words}")


def _complete(frozen: FrozenRun, view: SqliteView) -> Check:
    """Say how far the run is; an open call is no damage."""
    t = view.totals()
    gone = f", {t.orphaned} orphaned attempts" if t.orphaned else ""
    for loss in view.losses():
        gone += f"; a session went on without {loss.words}"
    # Planned is what was frozen: the ledger has calls that `extend` added once they are asked.
    left = frozen.count - t.completed
    detail = f"{t.completed} of {frozen.count} calls completed, {left} open{gone}"
    return Check(name="complete", ok=True, detail=detail)
