"""Runs at a glance: which there are in a folder, how far each is, and what it found.

Everything is read, nothing is written: a run under way does not notice that somebody looks.
"""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from judgelaw.errors import JudgelawError
from judgelaw.ledger import LEDGER_NAME, Holder, Pulse, holder_of
from judgelaw.record_files import read_regular
from judgelaw.runs.answers import REPORT
from judgelaw.runs.auditing import ANALYSIS
from judgelaw.runs.folder import RunFolder
from judgelaw.runs.stopping import LOOK_COLUMNS, look_rows
from judgelaw.study import RECORD, STUDY, FrozenRun
from judgelaw.wire import parser_name
from judgelaw.words import streams_in, visible, words

_DEEPEST = 4
"""Folders below the one that was named in which a run is looked for."""
_MOST = 2_000
_SHARED = "ledger.json"
_PENDING = ".pending"

STATES = {
    "running": "under way",
    "finished": "finished",
    "answered": "every call is answered, no analysis yet",
    "stopped": "stopped, the same command goes on",
    "killed": "was killed, the same command goes on",
    "waiting": "frozen, nothing is asked yet",
    "shared": "asked through a shared ledger; this is the copy in the folder",
    "damaged": "cannot be read",
}
"""What a run may be doing, in words."""


@dataclass(frozen=True, kw_only=True)
class JudgeGlance:
    """How far one judge of a run is; money is None where no price is declared."""

    completed: int
    planned: int
    invalid: int
    usd: float | None
    usd_left: float | None


@dataclass(frozen=True, kw_only=True)
class Glance:
    """One run, as a list of runs shows it.

    Attributes:
        id: names the run in an address; says nothing about where it lies.
        name, folder: of the study, and where the run is below the folder that was named.
        state: a key of STATES.
        about: what there is to say beyond the state: who holds the run, or why it cannot be read.
        planned, completed, failed, orphaned: calls, and attempts that ended so.
        last_failure: words of the last attempt that failed.
        since: when the last session started, in seconds since 1970; None before the first.
        judges: by name.
        report: whether the run has a page.
        looks: what every declared look found, as rows of a table; empty where none was taken.
        answers: what was found, by judge; empty before the analysis.
        problems: what the checks of the analysis found.
    """

    id: str
    name: str
    folder: str
    state: str
    about: str = ""
    planned: int = 0
    completed: int = 0
    failed: int = 0
    orphaned: int = 0
    last_failure: str = ""
    since: float | None = None
    judges: Mapping[str, JudgeGlance] = field(default_factory=dict)
    report: bool = False
    looks: Sequence[Sequence[str]] = ()
    answers: Mapping[str, Any] = field(default_factory=dict)
    problems: Sequence[str] = ()

    def plain(self) -> dict[str, Any]:
        """Return it as plain values, with sums over judges."""
        money = [judge.usd for judge in self.judges.values() if judge.usd is not None]
        left = [judge.usd_left for judge in self.judges.values() if judge.usd_left is not None]
        return {
            **asdict(self),
            "words": STATES[self.state],
            "look_columns": LOOK_COLUMNS,
            "invalid": sum(judge.invalid for judge in self.judges.values()),
            "usd": sum(money) if money else None,
            "usd_left": sum(left) if left else None,
        }


def run_folders(folder: Path) -> Iterator[Path]:
    """Yield the run folders in a folder, the folder itself included, in the sequence of names."""
    found = 0
    for place, inner, names in os.walk(folder):
        if RECORD in names and STUDY in names:
            yield Path(place)
            found += 1
            inner.clear()  # a run holds no runs
        depth = len(Path(place).relative_to(folder).parts)
        inner[:] = [] if depth >= _DEEPEST else sorted(n for n in inner if not n.startswith("."))
        if found >= _MOST:
            return


def run_id(run: Path) -> str:
    """Return the name of a run in an address."""
    return sha256(str(run.resolve()).encode()).hexdigest()[:16]


class Overview:
    """The runs of a folder; a run whose files have not changed is not read again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[str, tuple[object, Glance]] = {}
        self.paths: dict[str, Path] = {}

    def find(self) -> list[str]:
        """Look for runs and return their ids."""
        found = {run_id(run): run for run in run_folders(self.folder)}
        self.paths = found
        return list(found)

    def glance(self, name: str) -> Glance:
        """Return one run as it is now."""
        run = self.paths[name]
        seen = _fingerprint(run)
        known = self._known.get(name)
        if known is not None and known[0] == seen:
            return known[1]
        found = self._read(name, run)
        self._known[name] = (seen, found)
        return found

    def _read(self, name: str, run: Path) -> Glance:
        place = os.path.relpath(run, self.folder)
        try:
            if (run / _PENDING).exists():
                return Glance(id=name, name=run.name, folder=place, state="waiting")
            return _glance(name, place, RunFolder(run))
        except (JudgelawError, OSError, ValueError, KeyError, TypeError) as error:
            return Glance(
                id=name,
                name=visible(run.name),
                folder=visible(place),
                state="damaged",
                about=words(str(error)),
            )


def _fingerprint(run: Path) -> object:
    """Return what changes when anything that a glance shows does."""
    names = (RECORD, LEDGER_NAME, f"{LEDGER_NAME}-wal", ANALYSIS, REPORT, ".lock", _PENDING)
    holder = holder_of(run)
    return [holder and holder.alive, *(_stamp(run / name) for name in names)]


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _glance(name: str, place: str, folder: RunFolder) -> Glance:
    run, frozen = folder.path, folder.frozen
    pulse, invalid = _pulse(folder)
    holder = holder_of(run)
    judges = _judges(frozen, pulse, invalid)
    completed = pulse.completed if pulse else 0
    answers, problems = _answers(run / ANALYSIS)
    state = _state(run, holder, pulse, left=frozen.asked_count - completed, analysed=bool(answers))
    return Glance(
        id=name,
        name=visible(frozen.study.name),
        folder=visible(place),
        state=state,
        about=_about(state, holder),
        planned=frozen.asked_count,
        completed=completed,
        failed=pulse.failed if pulse else 0,
        orphaned=pulse.orphaned if pulse else 0,
        last_failure=words((pulse and pulse.last_failure) or ""),
        since=pulse.started_at if pulse else None,
        judges=judges,
        report=(run / REPORT).is_file(),
        looks=[[visible(cell) for cell in row] for row in look_rows(frozen.record.looks)],
        answers=answers,
        problems=problems,
    )


def _pulse(folder: RunFolder) -> tuple[Pulse | None, Mapping[str, int]]:
    """Read the ledger; None where nothing was asked yet."""
    if folder.ledger is None:
        return None, {}
    pulse = folder.ledger.pulse()
    judges = folder.frozen.judges
    return pulse, {
        name: found.invalid.get(parser_name(judges[name]), 0)
        for name, found in pulse.judges.items()
        if name in judges
    }


def _judges(
    frozen: FrozenRun, pulse: Pulse | None, invalid: Mapping[str, int]
) -> dict[str, JudgeGlance]:
    from judgelaw.acquire import usd

    layers = frozen.record.counts["layers"].values()
    found = {}
    for name, spec in frozen.judges.items():
        rows = pulse.judges.get(name) if pulse else None
        completed = rows.completed if rows else 0
        wanted = sum(int(layer.get(name, 0)) for layer in layers)
        spent = left = None
        if spec.price is not None and rows is not None:
            spent = usd(
                spec.price,
                tokens_in=rows.input_tokens,
                tokens_out=rows.output_tokens,
                cached=rows.cached_tokens,
            )
            left = spent / completed * (wanted - completed)
        found[name] = JudgeGlance(
            completed=completed,
            planned=wanted,
            invalid=invalid.get(name, 0),
            usd=spent,
            usd_left=left,
        )
    return found


def _state(
    run: Path, holder: Holder | None, pulse: Pulse | None, *, left: int, analysed: bool
) -> str:
    if holder is not None and holder.alive is not False:
        return "running"
    if left == 0:
        return "finished" if analysed else "answered"
    if (run / _SHARED).exists():
        return "shared"
    if pulse is None:
        return "waiting"
    return "killed" if holder is not None or pulse.ended_at is None else "stopped"


def _about(state: str, holder: Holder | None) -> str:
    if state != "running" or holder is None:
        return ""
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(holder.since))
    where = "" if holder.alive else f" on {words(holder.host)}, as far as its lock says"
    return f"process {holder.pid}{where}, since {since}"


_SHOWN = (
    *("trust", "short", "changes", "changes_in", "to_do", "sentence", "gold_match"),
    *("items", "prompts", "orders", "repeats", "calls", "outcomes"),
)


def _answers(path: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Read what the analysis found, as far as a list of runs shows it."""
    if not path.is_file():
        return {}, ()
    try:
        document = from_json(read_regular(path))
        judges = {
            visible(name): {
                **{key: judge.get(key) for key in _SHOWN},
                "components": {
                    part: found and {"estimate": found["estimate"], "interval": found["interval"]}
                    for part, found in judge["components"].items()
                },
            }
            for name, judge in streams_in(document["judges"]).items()
        }
        problems = tuple(
            visible(f"{finding.get('subject') or ''} {finding['headline']}".strip())
            for finding in document.get("diagnostics", ())
            if finding["verdict"] == "problem"
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        said = (
            f"{ANALYSIS} cannot be read ({type(error).__name__}): `judgelaw audit` writes it anew"
        )
        return {}, (said,)
    return judges, problems
