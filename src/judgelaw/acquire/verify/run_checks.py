"""Everything that can be derived from a run folder, derived again and compared."""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

import duckdb

from judgelaw.acquire.call_rows import calls_columns, calls_rows
from judgelaw.acquire.outputs import (
    CALLS,
    TIMING,
    TIMING_COLUMNS,
    results,
    timing_rows,
    with_date,
)
from judgelaw.acquire.verify.frozen_checks import (
    Check,
    ManifestChecks,
    Problems,
    check_controls,
    check_record,
)
from judgelaw.duck import one_file
from judgelaw.errors import JudgelawError
from judgelaw.ledger import (
    LATE,
    LEDGER_NAME,
    LOCK_NAME,
    SENT_NAME,
    LedgerView,
    SqliteView,
    StoredCompletion,
    lost,
    traces,
)
from judgelaw.steps import Advance, Progress, unseen
from judgelaw.study import (
    MANIFEST,
    SUMS,
    FrozenRun,
    PlannedCall,
    file_sha256,
    is_inside,
    open_run,
    reading,
)
from judgelaw.wire import (
    SECONDS,
    Answer,
    Reader,
    Reply,
    Verdict,
    decode,
    parser_name,
    ran_out,
    restore,
    text_to_read,
)

_LINE = re.compile(r"([0-9a-f]{64})  (\S(?:.*\S)?)")
_EMPTY_LOCK = ".freeze.lock"
_KILLED = (SENT_NAME, "ledger.sqlite-wal", "ledger.sqlite-shm", LOCK_NAME)


def check_files(run: Path) -> Check:
    """Compare the folder with SHA256SUMS: nothing changed, nothing missing, nothing unlisted."""
    problems = Problems()
    listed = _read(run / SUMS, problems)
    found, links = _files_below(run)
    problems.extend(f"{name} is a link, and what it leads to is no part of this" for name in links)
    left = [name for name in _KILLED if name in found]
    if left:
        problems.add(
            f"{', '.join(left)}: a session is writing or was killed; `judgelaw run` resumes it "
            "and closes the run"
        )
    for name in found:
        empty_lock = name == _EMPTY_LOCK and (run / name).stat().st_size == 0
        if name not in listed and name not in _KILLED and not empty_lock:
            problems.add(f"{name} is not in {SUMS}")
    for name, digest in listed.items():
        if name in links or any(name.startswith(f"{link}/") for link in links):
            continue
        if not (run / name).is_file():
            problems.add(f"{name} is missing")
        elif file_sha256(run / name) != digest:
            problems.add(f"{name} differs from its recorded hash")
    return problems.check("files", f"{len(listed)} files match their hashes")


def check_root(run: Path, expected: str | None = None) -> Iterator[Check]:
    """Name the hash of the list of hashes, which stands for every file, and compare it."""
    if not (run / SUMS).is_file():
        if expected is not None:
            yield Check(name="root", ok=False, detail=f"there is no {SUMS}, so no root hash")
        return
    found = file_sha256(run / SUMS)
    same = expected is None or expected.strip().lower() == found
    detail = found if same else f"{found}, where {expected} was given"
    yield Check(name="root", ok=same, detail=detail)


def _files_below(run: Path) -> tuple[list[str], list[str]]:
    """Return every file of a folder but the list itself, named as the list names it, and links."""
    inside = len(os.path.join(run, ""))  # noqa: PTH118 - a path object a file takes most of a check
    found, links = [], []
    for folder, folders, names in os.walk(run):
        for name in (*names, *folders):
            path = f"{folder}/{name}"
            if os.path.islink(path):  # noqa: PTH114 - as above
                links.append(path[inside:])
            elif name in names:
                found.append(path[inside:])
    return sorted(name for name in found if name != SUMS), sorted(links)


def _read(path: Path, problems: Problems) -> dict[str, str]:
    """Read the list strictly: a changed byte in it must not go unnoticed either."""
    if not path.is_file():
        problems.add(f"{SUMS} is missing")
        return {}
    text = path.read_bytes().decode("utf-8", "replace")
    if not text.endswith("\n"):
        problems.add(f"{SUMS} does not end in a newline")
    listed: dict[str, str] = {}
    names: list[str] = []
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        match = _LINE.fullmatch(line)
        if match is None:
            problems.add(f"{SUMS}:{number}: no line of hash and name")
            continue
        if not is_inside(match[2]):
            problems.add(f"{SUMS}:{number}: {match[2]} lies outside the folder")
            continue
        listed[match[2]] = match[1]
        names.append(match[2])
    if names != sorted(set(names)):
        problems.add(f"{SUMS}: names are doubled or out of sequence")
    return listed


INVALID = "invalid"
_SECONDS = 5 * SECONDS
"""More than acquisition gives, so that a slower machine reads what was read before."""


def check_database(view: SqliteView) -> Check:
    """Ask the database about its own pages, keys and rules."""
    problems = Problems()
    problems.extend(view.check())
    return problems.check("database", "pages, keys and rules are intact")


def check_join(frozen: FrozenRun, view: SqliteView) -> Check:
    """Compare the ledger's calls with the manifest, row by row in schedule order.

    Calls behind the ledger's last one are open where no session has taken them in yet.
    """
    problems, same, before = Problems(), 0, ""
    for planned, stored in zip_longest(frozen.asked_calls(), view.calls()):
        if planned == stored:
            same += 1
            before = planned.call_id if planned else ""
        elif stored is None and _awaits_session(frozen, view):
            break
        elif planned is None or stored is None or planned.position != stored.position:
            problems.add(_out_of_step(planned, stored, before))
            break  # everything behind a missing row is out of step
        else:
            problems.add(f"call {planned.call_id}: ledger and manifest differ")
            before = planned.call_id
    added = frozen.asked_count - same
    waiting = f"; {added} calls added, not asked yet" if added else ""
    return problems.check("join", f"{same} calls are the same in manifest and ledger{waiting}")


def _awaits_session(frozen: FrozenRun, view: SqliteView) -> bool:
    """Whether calls may be missing from the ledger's end: the next session takes them in.

    The ledger names the manifest that it took in last: none where that was cut short, another one
    where `extend` or a wave of a later date added calls since.
    """
    taken_in = view.manifest()
    if taken_in is None:
        return True
    extended = frozen.record.sessions[-1].kind != "freeze"
    return extended and taken_in != file_sha256(frozen.path / MANIFEST)


def _out_of_step(planned: PlannedCall | None, stored: PlannedCall | None, before: str) -> str:
    """Say which side has a call that the other has not, or has it twice."""
    ahead = stored is None or (planned is not None and planned.position < stored.position)
    one, where = (planned, "manifest") if ahead else (stored, "ledger")
    name = "" if one is None else one.call_id
    often = "twice" if name == before else "only"
    return f"call {name}: {often} in the {where}"


def check_attempts(view: SqliteView) -> Check:
    """Check that attempts are numbered, ended, and end with the completion of their call."""
    problems = Problems()
    last: dict[str, int] = {}
    states: Counter[str] = Counter()
    completed: set[str] = set()
    late: set[str] = set()
    for a in view.attempts():
        states[a.state] += 1
        number = last.get(a.call_id, 0)
        if a.number != number + 1:
            problems.add(f"call {a.call_id}: attempt {a.number} follows attempt {number}")
        if a.call_id in completed - late:
            problems.add(f"call {a.call_id} was requested again after its completion")
        last[a.call_id] = a.number
        if a.state == "completed":
            completed.add(a.call_id)
            late |= {a.call_id} if a.detail == LATE else set()
    answered = 0
    for c in view.completions():
        answered += 1
        if c.call.call_id not in completed:
            problems.add(f"call {c.call.call_id} has a completion without a completed attempt")
    if answered != len(completed):
        problems.add(f"{len(completed)} completed attempts, {answered} completions")
    # As `Totals.attempts` has it: what was reserved ahead and never sent is no attempt.
    unsent = states.pop("unsent", 0)
    rest = f"; {unsent} more reserved and never sent" if unsent else ""
    held = f"; {len(late)} replies turned up late, some after others were asked" if late else ""
    good = f"{states.total()} attempts, {answered} completions, none requested again{rest}{held}"
    return problems.check("attempts", good)


@dataclass
class CompletionChecks:
    """One pass over the completions; each account becomes a check."""

    frozen: FrozenRun
    view: SqliteView
    unread: int = 0
    bodies: Problems = field(default_factory=Problems)
    verdicts: Problems = field(default_factory=Problems)
    restoration: Problems = field(default_factory=Problems)
    _readers: dict[str, Reader] = field(default_factory=dict)

    def run(self, advance: Advance) -> Iterator[Check]:
        """Decode, parse and restore everything once more."""
        with ExitStack() as stack:
            self._readers = {
                name: stack.enter_context(Reader(spec, seconds=_SECONDS))
                for name, spec in self.frozen.readers.items()
            }
            count = self._look(advance)
        waiting = f"; {self.unread} replies wait to be read, by the next run" if self.unread else ""
        read = f"{count - self.unread} verdicts are what the frozen parser reads{waiting}"
        yield self.bodies.check("bodies", f"{count} replies decode to what is stored")
        yield self.verdicts.check("verdicts", read)
        yield self.restoration.check("restoration", "every label maps to the candidate shown there")

    def _look(self, advance: Advance) -> int:
        count = 0
        stored = _by_call(self.view.verdicts())
        call_id, verdicts = next(stored, ("", {}))
        for done in self.view.completions():
            count += 1
            advance(1)
            mine: dict[str, Verdict] = {}
            if call_id == done.call.call_id:
                mine = verdicts
                call_id, verdicts = next(stored, ("", {}))
            self._body(done)
            self._verdict(done, mine)
        return count

    def _body(self, done: StoredCompletion) -> None:
        spec = self.frozen.judges[done.call.judge]
        if spec.body is None:
            return  # the package that added the provider decodes its replies itself
        reply = Reply(status=done.status, body=done.body)
        answer = decode(spec.body, reply, content_filter=spec.content_filter, now=done.ended_at)
        if not isinstance(answer, Answer):
            self.bodies.add(f"call {done.call.call_id}: its reply is no completion")
        elif answer.completion != done.completion:
            self.bodies.add(f"call {done.call.call_id}: its reply says something else")
        elif (answer.model, answer.response_id) != (done.receipt.model, done.receipt.response_id):
            self.bodies.add(f"call {done.call.call_id}: its reply names another model or id")

    def _verdict(self, done: StoredCompletion, stored: dict[str, Verdict]) -> None:
        spec = self.frozen.readers[done.call.judge]
        frozen_name = parser_name(spec)
        mine = stored.get(frozen_name)
        if not stored:
            self.unread += 1
        elif mine is None:
            others = ", ".join(stored) or "none"
            self.verdicts.add(
                f"call {done.call.call_id} was read by {others}, not by {frozen_name}"
            )
        elif (read := self._read(done, mine)) != mine:
            self.verdicts.add(
                f"call {done.call.call_id} is stored as {mine.verdict}, and reads {read.verdict}"
            )
        every = [v for whole in stored.values() for v in _parts(whole)]
        for verdict in every:
            shown = (
                None if verdict.displayed is None else restore(verdict.displayed, done.call.order)
            )
            if verdict.verdict != (shown or INVALID):
                self.restoration.add(
                    f"call {done.call.call_id}: {verdict.displayed} in order {done.call.order} "
                    f"is {shown or INVALID}, not {verdict.verdict}"
                )

    def _read(self, done: StoredCompletion, stored: Verdict) -> Verdict:
        """Read once more; that a foreign parser had no time left is taken as it stands."""
        reader = self._readers[done.call.judge]
        if any(part == ran_out(reader.judge) for part in _parts(stored)) and reader.foreign:
            text, _ = text_to_read(reader.judge, done.completion)
            if text is not None:
                return stored
        return reader.read(done.completion, done.call.order)


def _parts(verdict: Verdict) -> list[Verdict]:
    """Return the verdicts on the criteria of a reply, or the one verdict that it holds."""
    return [part for _, part in verdict.criteria] or [verdict]


def _by_call(
    verdicts: Iterator[tuple[str, Verdict]],
) -> Iterator[tuple[str, dict[str, Verdict]]]:
    """Gather the verdicts of each call by parser version."""
    current, gathered = "", dict[str, Verdict]()
    for call_id, verdict in verdicts:
        if call_id != current and current:
            yield current, gathered
            gathered = {}
        current = call_id
        gathered[verdict.parser] = verdict
    if current:
        yield current, gathered


_FETCH = 10_000


def check_tables(frozen: FrozenRun, view: LedgerView) -> Iterator[Check]:
    """Derive both tables again and compare every row."""
    calls = calls_rows(frozen, results(frozen, view))
    timing = timing_rows(frozen, view)
    yield _same(frozen.path / CALLS, calls_columns(frozen), calls, "calls")
    yield _same(frozen.path / TIMING, with_date(TIMING_COLUMNS, frozen), timing, "timing")


def _same(
    path: Path, columns: tuple[str, ...], derived: Iterable[tuple[Any, ...]], name: str
) -> Check:
    problems, count = Problems(), 0
    for row, (stored, expected) in enumerate(zip_longest(_rows(path, columns), derived)):
        count = row + 1
        if stored == expected:
            continue
        if stored is None or expected is None:
            less = path.name if stored is None else "the ledger"
            problems.add(f"{path.name}: row {row} is missing from {less}")
            break
        problems.add(
            f"{path.name}: row {row} is {_short(stored)}, the ledger has {_short(expected)}"
        )
    return problems.check(name, f"{count} rows are what the ledger gives")


def _rows(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    quoted = ", ".join(f'"{column}"' for column in columns)
    with reading() as connection:
        try:
            # Rows in the sequence of the file, which is part of what is compared.
            query = f"SELECT {quoted} FROM {one_file(path)}"  # noqa: S608 - column names are ours
            cursor = connection.execute(query)
            while rows := cursor.fetchmany(_FETCH):
                yield from rows
        except duckdb.Error as error:
            yield (f"cannot be read: {str(error).splitlines()[0]}",)


def _short(row: tuple[Any, ...]) -> str:
    return " / ".join(str(value) for value in row if value is not None)


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What `verify` found."""

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether everything is as it was frozen and acquired."""
        return all(check.ok for check in self.checks)


def verify(run: Path, *, progress: Progress = unseen) -> Verification:
    """Derive everything in a run folder again and compare; reads only, sends nothing."""
    return Verification(checks=tuple(_checks(run, progress)))


def _checks(run: Path, progress: Progress) -> Iterator[Check]:
    yield check_files(run)
    try:
        frozen = open_run(run)
    except JudgelawError as error:
        yield Check(name="frozen", ok=False, detail=str(error))
        return
    with progress("verifying rows", 2 * frozen.count) as advance:  # each call, each completion
        yield from _opened(run, frozen, advance)


def _opened(run: Path, frozen: FrozenRun, advance: Advance) -> Iterator[Check]:
    yield from guarded("record", lambda: [check_record(frozen)])
    yield from guarded("manifest", lambda: ManifestChecks(frozen).run(advance))
    yield from guarded("controls", lambda: check_controls(frozen))
    yield from guarded("marks", lambda: _missing(run))
    if not (run / LEDGER_NAME).exists():
        yield from guarded("ledger", lambda: [_no_ledger(run)])
        return
    with SqliteView(run / LEDGER_NAME) as view:
        yield from guarded("database", lambda: [check_database(view)])
        yield from guarded("join", lambda: [check_join(frozen, view)])
        yield from guarded("attempts", lambda: [check_attempts(view)])
        yield from guarded("completions", lambda: CompletionChecks(frozen, view).run(advance))
        yield from guarded("tables", lambda: check_tables(frozen, view))
        yield from guarded("complete", lambda: [_complete(frozen, view)])


def _no_ledger(run: Path) -> Check:
    """Say whether a run without a ledger was never asked, or has lost it."""
    told = traces(run)
    detail = f"there is none, and {', '.join(told)}" if told else "nothing was acquired yet"
    return Check(name="ledger", ok=not told, detail=detail)


def guarded(name: str, look: Callable[[], Iterable[Check]]) -> Iterator[Check]:
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
    planned = frozen.asked_count
    left = planned - t.completed
    detail = f"{t.completed} of {planned} calls completed, {left} open{gone}"
    return Check(name="complete", ok=True, detail=detail)
