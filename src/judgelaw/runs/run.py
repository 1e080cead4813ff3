"""A run as an object: how far it is, its calls, and its answer, in a script or a notebook.

    run = jl.Run("runs/first")
    run                      # in a notebook: progress, then the sentence and its chart
    run.analysis().judges["my-judge"].components["prompt"].estimate

Everything is read when it is asked for, so that a run that is under way may be watched.
"""

from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from judgelaw.acquire import CALLS
from judgelaw.duck import one_file
from judgelaw.errors import JudgelawError, RunError
from judgelaw.frames import Library, Result, frame_of, table_html
from judgelaw.option_types import checked
from judgelaw.runs.answers import REPORT, analyze_source, write_report
from judgelaw.runs.folder import RunFolder
from judgelaw.runs.reading_options import Draws, Permutations, Reading, Seed
from judgelaw.runs.source import Source, read_source
from judgelaw.study import MANIFEST, FrozenRun, open_run
from judgelaw.tensor import INVALID
from judgelaw.wire import parser_name
from judgelaw.words import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from judgelaw.analysis import Analysis, Key
    from judgelaw.tensor import VerdictTensor


_COUNTS = ("planned", "completed", "open", "invalid", "failed", "flagged")


@dataclass(frozen=True, kw_only=True, repr=False)
class RunStatus(Result):
    """How far a run is, or one judge of it, counted from the rows of its ledger.

    Attributes:
        planned: calls that were frozen.
        completed: calls that were answered, whatever the answer says.
        invalid: of these, how many the frozen parser reads as `invalid`.
        failed: attempts that ended without a completion.
        flagged: completed calls that look like another model's or an earlier reply.
        judges: the same for each judge; empty inside.
    """

    planned: int
    completed: int = 0
    invalid: int = 0
    failed: int = 0
    flagged: int = 0
    judges: "Mapping[str, RunStatus]" = field(default_factory=dict)

    schema = "judgelaw.run-status/1"

    @property
    def open(self) -> int:
        """Calls that wait for an answer."""
        return self.planned - self.completed

    def in_words(self) -> str:
        """Say how many calls are done."""
        return f"{self.completed:,} of {self.planned:,} calls completed"

    def counts(self) -> dict[str, int]:
        """Return the counts by name, calls that are open included."""
        return {name: getattr(self, name) for name in _COUNTS}

    def records(self) -> list[dict[str, Any]]:
        """Return one row for each judge."""
        return [{"judge": judge, **status.counts()} for judge, status in self.judges.items()]

    def to_json(self) -> dict[str, Any]:
        """Return the counts, and those of each judge."""
        judges = {judge: status.counts() for judge, status in self.judges.items()}
        return {"schema": self.schema, **self.counts(), "judges": judges}


@dataclass(frozen=True)
class Run:
    """A run folder: what `judgelaw run` or `judgelaw audit` wrote, finished or not.

    Args:
        path: the folder.

    Raises:
        RunError: nothing was frozen there.
    """

    path: Path

    def __init__(self, path: str | PathLike[str]) -> None:
        object.__setattr__(self, "path", Path(path))
        _ = self._frozen

    @cached_property
    def _frozen(self) -> FrozenRun:
        return open_run(self.path)

    def __fspath__(self) -> str:
        """Let a run stand wherever the path of a run may stand."""
        return str(self.path)

    @property
    def name(self) -> str:
        """The name of the study."""
        return self._frozen.study.name

    @property
    def status(self) -> RunStatus:
        """Count how far the run is; it may be under way meanwhile."""
        folder = RunFolder(self.path)  # `judgelaw extend` may have added calls
        planned = _planned(folder.frozen)
        view = folder.ledger
        if view is None:
            return _sum({name: RunStatus(planned=n) for name, n in planned.items()})
        parsers = {name: parser_name(judge) for name, judge in folder.frozen.readers.items()}
        invalid = dict.fromkeys(planned, 0)
        for found in view.verdict_counts():
            if found.verdict == INVALID and found.parser == parsers[found.judge]:
                invalid[found.judge] += found.count
        judges = {name: view.totals(name) for name in planned}
        return _sum(
            {
                name: RunStatus(
                    planned=planned[name],
                    completed=totals.completed,
                    invalid=invalid[name],
                    failed=totals.failed,
                    flagged=view.flagged(name),
                )
                for name, totals in judges.items()
            }
        )

    def tensors(self) -> "Mapping[Key, VerdictTensor]":
        """Return the verdicts by (layer, judge)."""
        return self._source().tensors

    @checked
    def analysis(
        self,
        *,
        draws: Draws = None,
        seed: Seed = None,
        permutations: Permutations = None,
        **reading: Unpack[Reading],
    ) -> "Analysis":
        """Analyse the run as `judgelaw analyze` does; what is not given is as the study declares.

        Args:
            draws: item resamples of the bands, 20,000 by default.
            seed: of every random choice, 0 by default.
            permutations: shuffles of the permutation tests, 999 by default; 0 leaves them out.
            reading: which calls, and how to read them.
        """
        calls = self._source(reading)
        return analyze_source(calls, draws=draws, seed=seed, permutations=permutations)

    def to_frame(self, library: Library = "pandas") -> Any:
        """Return the calls table, one row for each completed call, in a frame of the library."""
        self._need_calls()
        names, rows = _query(f"SELECT * FROM {one_file(self.path / CALLS)}")  # noqa: S608 - quoted
        columns = zip(*rows, strict=True) if rows else ([] for _ in names)
        return frame_of(dict(zip(names, map(list, columns), strict=True)), library)

    def to_json(self) -> dict[str, Any]:
        """Return which run it is and how far, as plain values; `analysis()` has the answer."""
        status = self.status.to_json()
        return {**status, "schema": "judgelaw.run/1", "name": self.name, "path": str(self.path)}

    def report(self, path: str | PathLike[str] | None = None) -> Path:
        """Write the HTML report, `report.html` in the run by default; return where it is."""
        calls = self._source()
        target = self.path / REPORT if path is None else Path(path)
        return write_report(analyze_source(calls), calls, target)

    def _source(self, reading: Reading | None = None) -> Source:
        self._need_calls()
        return read_source(str(self.path), reading)

    def _need_calls(self) -> None:
        if not (self.path / CALLS).is_file():
            raise RunError(f"{self.path}: no call is answered yet; `judgelaw run` asks them")

    def __repr__(self) -> str:
        status = self.status
        return f"Run({str(self.path)!r}, {status.completed:,} of {status.planned:,} calls)"

    def _repr_html_(self) -> str:
        """Show progress and, once nothing is open, each judge's sentence with its components."""
        status = self.status
        parts = [_progress_html(self.name, status)]
        if not status.open:
            parts.append(self._answer_html())
        return f"<div>{''.join(parts)}</div>"

    def _answer_html(self) -> str:
        from judgelaw.page import answer_html

        try:
            # Permutation tests take seconds and are no part of what is shown here.
            analysis = self.analysis(permutations=0)
        except JudgelawError as error:
            # A run whose design cannot answer is still a run to look at: say why, in its place.
            return f"<p>No answer from these calls: {escape(visible(str(error)))}</p>"
        return "".join(answer_html(analysis, judge) for judge in analysis.judges)


def _planned(frozen: FrozenRun) -> dict[str, int]:
    """Count the frozen calls of each judge, in the order of the study."""
    manifest = one_file(frozen.path / MANIFEST)
    found = dict(_query(f"SELECT judge, count(*) FROM {manifest} GROUP BY judge")[1])  # noqa: S608 - quoted
    return {name: int(found.get(name, 0)) for name in frozen.judges}


def _query(sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the names of the columns, and the rows."""
    import duckdb

    with duckdb.connect() as connection:
        read = connection.execute(sql)
        return [column[0] for column in read.description or ()], read.fetchall()


def _sum(judges: "Mapping[str, RunStatus]") -> RunStatus:
    counts = {
        name: sum(getattr(status, name) for status in judges.values())
        for name in _COUNTS
        if name != "open"
    }
    return RunStatus(**counts, judges=judges)


def _progress_html(name: str, status: RunStatus) -> str:
    bar = f"<progress value='{status.completed}' max='{status.planned}'></progress>"
    rows = [
        [visible(judge), *(f"{getattr(found, count):,}" for count in _COUNTS)]
        for judge, found in status.judges.items()
    ]
    said = f"{visible(name)}: {status.completed:,} of {status.planned:,} calls completed"
    return f"{table_html(said, ('judge', *_COUNTS), rows)}{bar}"
