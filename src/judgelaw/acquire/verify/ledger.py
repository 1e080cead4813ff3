"""The ledger against the manifest, against itself, and against the bodies that it keeps."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import zip_longest

from judgelaw.acquire.verify.check import Check, Problems
from judgelaw.acquire.verify.manifest import Tick
from judgelaw.design.manifest import MANIFEST, FrozenRun, PlannedCall
from judgelaw.design.store import file_sha256
from judgelaw.judges import Answer, Reply, decode
from judgelaw.ledger import SqliteView, StoredCompletion
from judgelaw.render import parser_name, restore
from judgelaw.render.bounded import SECONDS, Reader
from judgelaw.render.completion import Verdict
from judgelaw.render.reading import ran_out, text_to_read

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
    for planned, stored in zip_longest(frozen.iter_calls(), view.calls()):
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
    added = frozen.count - same
    waiting = f"; {added} calls added, not asked yet" if added else ""
    return problems.check("join", f"{same} calls are the same in manifest and ledger{waiting}")


def _awaits_session(frozen: FrozenRun, view: SqliteView) -> bool:
    """Whether calls may be missing from the ledger's end: the next session takes them in.

    The ledger names the manifest that it took in last: none where that was cut short, another one
    where `extend` added calls since.
    """
    taken_in = view.manifest()
    if taken_in is None:
        return True
    extended = frozen.record.sessions[-1].kind == "extend"
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
    last: dict[str, tuple[int, str]] = {}
    states: Counter[str] = Counter()
    for a in view.attempts():
        states[a.state] += 1
        number, state = last.get(a.call_id, (0, ""))
        if a.number != number + 1:
            problems.add(f"call {a.call_id}: attempt {a.number} follows attempt {number}")
        if state == "completed":
            problems.add(f"call {a.call_id} was requested again after its completion")
        last[a.call_id] = (a.number, a.state)
    completed = {call for call, (_, state) in last.items() if state == "completed"}
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
    return problems.check(
        "attempts",
        f"{states.total()} attempts, {answered} completions, none requested again{rest}",
    )


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

    def run(self, tick: Tick) -> Iterator[Check]:
        """Decode, parse and restore everything once more."""
        with ExitStack() as stack:
            self._readers = {
                name: stack.enter_context(Reader(spec, seconds=_SECONDS))
                for name, spec in self.frozen.judges.items()
            }
            count = self._look(tick)
        waiting = f"; {self.unread} replies wait to be read, by the next run" if self.unread else ""
        read = f"{count - self.unread} verdicts are what the frozen parser reads{waiting}"
        yield self.bodies.check("bodies", f"{count} replies decode to what is stored")
        yield self.verdicts.check("verdicts", read)
        yield self.restoration.check("restoration", "every label maps to the candidate shown there")

    def _look(self, tick: Tick) -> int:
        count = 0
        stored = _by_call(self.view.verdicts())
        call_id, verdicts = next(stored, ("", {}))
        for done in self.view.completions():
            count += 1
            tick(1)
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
        spec = self.frozen.judges[done.call.judge]
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
        for verdict in stored.values():
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
        if stored == ran_out(reader.judge) and reader.foreign:
            text, _ = text_to_read(reader.judge, done.completion)
            if text is not None:
                return stored
        return reader.read(done.completion, done.call.order)


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
