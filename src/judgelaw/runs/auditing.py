"""From a study to its report: freeze, acquire, analyse, write. Callers say who shows progress."""

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgelaw.errors import InputError, StudyChangedError, writing
from judgelaw.processes import shared
from judgelaw.runs.answers import REPORT, analyze_source, report_page, seed_of, write_page
from judgelaw.runs.decisions import begin_advice
from judgelaw.runs.repeating import chooser
from judgelaw.runs.source import read_source
from judgelaw.runs.stopping import ask_by_looks, refuse_out_of_reach
from judgelaw.steps import Progress, unseen
from judgelaw.study import note_change, placed

if TYPE_CHECKING:
    from judgelaw.acquire import Acquisition, Observer
    from judgelaw.analysis import Analysis
    from judgelaw.judges import JudgeFunction
    from judgelaw.ledger import Address
    from judgelaw.study import FrozenRun, LoadedStudy, Preview, Shard, StudyLike

RESULTS = "results"
ANALYSIS = f"{RESULTS}/analysis.json"
TABLES = "tables"


def _unobserved() -> "AbstractContextManager[Observer]":
    from judgelaw.acquire import Silent

    return nullcontext(Silent())


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Who shows how far an audit is; by default nobody.

    Attributes:
        bar: opens a bar for work of known length.
        observer: opens what shows the calls of a run under way.
        say: is told in words what happens.
    """

    bar: Progress = unseen
    observer: "Callable[[], AbstractContextManager[Observer]]" = _unobserved
    say: Callable[[str], None] = lambda _: None


@dataclass(frozen=True, kw_only=True)
class Audited:
    """A finished audit: the run folder, and what was found."""

    run: Path
    analysis: "Analysis"


def audit_study(
    study: "StudyLike",
    out: Path | None = None,
    *,
    shown: Shown | None = None,
    judge: Any = None,
    changed: str | None = None,
    tables: bool = False,
    texts: bool = True,
) -> Audited:
    """Freeze, acquire, analyse and report; a study that was interrupted goes on.

    Writes results/analysis.json and report.html into the run folder; every table into tables/
    where that is asked for. Without `texts` the page holds no question, no answer and no reply.
    `judge` is the function that answers for every `python` judge without `call:`, or functions by
    name; `changed="go on"` lets another function answer the calls that are open.

    Raises:
        IncompleteRunError: calls are open; the same command resumes.
    """
    shown = shown or Shown()
    acquired = acquire_study(study, out, shown=shown, judge=judge, changed=changed)
    acquired.raise_if_open()
    shown.say(_done(acquired))
    analysis = _analyse(acquired.path, shown.bar, tables=tables, texts=texts)
    return Audited(run=acquired.path, analysis=analysis)


def _done(acquired: "Acquisition") -> str:
    t = acquired.totals
    lost = f", {t.orphaned} orphaned" if t.orphaned else ""
    failed = f", {t.failed} failed attempts" if t.failed else ""
    return f"{t.completed:,} calls are done{failed}{lost}"


def _analyse(run: Path, bar: Progress, *, tables: bool, texts: bool) -> "Analysis":
    """Analyse a run and write everything that an audit leaves behind."""
    from judgelaw.page import write_tables

    calls = read_source(str(run))
    advice = begin_advice(calls, seed=seed_of(calls, None)) if shared() else None
    analysis = analyze_source(calls, progress=bar)
    text = json.dumps(analysis.to_json(), indent=2, ensure_ascii=False, allow_nan=False)
    page = report_page(analysis, calls, advice=advice, texts=texts, progress=bar)
    targets = run / ANALYSIS, run / TABLES, run / REPORT
    with writing(run), placed(run, *targets) as (result, folder, report):
        result.write_text(text + "\n", encoding="utf-8")
        if tables:
            write_tables(analysis.tables, folder)
        write_page(report, page)
    return analysis


def acquire_study(
    study: "StudyLike",
    out: Path | None,
    *,
    shown: Shown,
    ledger: str | None = None,
    lease_s: float = 60.0,
    date: str | None = None,
    cancel_batches: bool = False,
    accept_loss: bool = False,
    judge: Any = None,
    changed: str | None = None,
    shard: "Shard | None" = None,
) -> "Acquisition":
    """Freeze a study if need be and ask every open call; tables and hashes are written.

    With `ledger` the calls are shared with workers. With `date` the study is asked as the wave of
    that date, beside the waves that are there. With `shard` one slice of its items is asked. The
    caller decides what open calls mean, with
    `raise_if_open`.
    """
    from judgelaw.acquire import acquire, acquire_shared

    address = None if ledger is None else _address(ledger)
    functions = _functions(study, judge)
    if functions:
        study = _with_sources(study, functions)
        from_call = _other_function(study, out, changed)
    frozen = freeze_study(study, out, shown, date, shard)
    if functions and from_call:
        frozen = note_change(frozen, from_call)

    def ask(frozen: "FrozenRun") -> "Acquisition":
        with shown.observer() as observer:
            if address is None:
                return acquire(
                    frozen,
                    observer=observer,
                    cancel_batches=cancel_batches,
                    accept_loss=accept_loss,
                    functions=functions,
                )
            return acquire_shared(
                frozen,
                address,
                lease_s=lease_s,
                observer=observer,
                say=shown.say,
                cancel_batches=cancel_batches,
            )

    def tell(frozen: "FrozenRun") -> None:
        if address is not None:  # workers wait for what the last looks say
            acquire_shared(frozen, address, ask=False)

    return ask_by_looks(frozen, ask, tell=tell, bar=shown.bar, say=shown.say)


def _address(ledger: str) -> "Address":
    from judgelaw.ledger import read_address

    return read_address(ledger)


def _functions(study: "StudyLike", judge: Any) -> "dict[str, JudgeFunction]":
    """Return which function answers for which judge; what is wrong is said before the freezing."""
    if judge is None:
        return {}
    from judgelaw.judges import functions_for
    from judgelaw.study import load_study

    return functions_for({each.name: each for each in load_study(study).study.judges}, judge)


def _with_sources(study: "StudyLike", functions: "Mapping[str, JudgeFunction]") -> "LoadedStudy":
    """Write down the hash of every function that Python handed in."""
    from judgelaw.judges import source_hash
    from judgelaw.study import load_study

    loaded = load_study(study)
    judges = tuple(
        judge.model_copy(update={"source_sha256": source_hash(functions[judge.name])})
        if judge.name in functions
        else judge
        for judge in loaded.study.judges
    )
    return replace(loaded, study=loaded.study.model_copy(update={"judges": judges}))


GO_ON = "go on"


def _other_function(loaded: "LoadedStudy", out: Path | None, changed: str | None) -> list[str]:
    """Refuse a function other than that which answered so far; say from which call it answers."""
    from judgelaw.study import RECORD, open_run

    if changed not in (None, GO_ON):
        raise InputError(f"changed={changed!r}: it is 'go on', or left out")
    run = run_folder(loaded, out)
    if not (run / RECORD).exists():
        return []
    frozen, found = open_run(run), list[str]()
    for judge in loaded.study.judges:
        before = frozen.judges.get(judge.name)
        old = before and before.source_sha256
        if old is None or old == judge.source_sha256:
            continue
        done, planned = _answered(run, judge.name)
        if done == planned:
            continue  # nothing is left to ask
        if done and changed is None:
            raise StudyChangedError(
                f"{run}: the function of judge {judge.name} is another than the one that answered "
                f"{done} of its {planned} calls: verdicts of two judges would stand under one "
                'name. Name another folder, out="...", to ask everything anew, or go on with '
                'changed="go on": the report says from which call'
            )
        if done:
            found.append(
                f"judge {judge.name}: another function answers from call {done + 1} of {planned} on"
            )
    return found


def _answered(run: Path, judge: str) -> tuple[int, int]:
    """Return how many calls of a judge are answered, of how many."""
    from judgelaw.runs.folder import RunFolder

    ledger = RunFolder(run).ledger
    if ledger is None:
        return 0, 1
    totals = ledger.totals(judge)
    return totals.completed, totals.planned


def hand_over_study(
    study: "StudyLike", out: Path | None, ledger: str, bar: Progress, date: str | None = None
) -> "Acquisition":
    """Freeze a study into a shared ledger and leave the asking to workers."""
    from judgelaw.acquire import acquire_shared

    address = _address(ledger)
    return acquire_shared(freeze_study(study, out, Shown(bar=bar), date), address, ask=False)


def freeze_study(
    study: "StudyLike",
    out: Path | None,
    shown: Shown,
    date: str | None = None,
    shard: "Shard | None" = None,
) -> "FrozenRun":
    """Freeze a study, or the wave of a date, into its run folder: `runs/NAME` unless told."""
    from judgelaw.study import RECORD, field_notes, freeze, load_study, probe_notes, survey

    loaded = load_study(study)
    run = run_folder(loaded, out, shard)
    if loaded.study.stop is not None and not (run / RECORD).exists():
        refuse_out_of_reach(loaded, survey(loaded))
    first = not (run / RECORD).exists()
    choose = chooser(loaded, run)
    frozen = freeze(loaded, run, date=date, choose=choose, shard=shard, progress=shown.bar)
    if first and frozen.record.repeats_reason:
        shown.say(f"repeats by item: {frozen.record.repeats_reason}")
    found = (field_notes, probe_notes) if first else ()
    for note in (note for notes in found for note in notes(frozen.blueprint)):
        shown.say(f"note: {note}")
    return frozen


def preview_study(loaded: "LoadedStudy", *, cells: int = 1) -> "Preview":
    """Return a study as it would be frozen, or refuse it as it would be refused then."""
    from judgelaw.study import preview

    seen = preview(loaded, cells=cells, choose=chooser(loaded, run_folder(loaded, None)))
    refuse_out_of_reach(loaded, seen.run.blueprint)
    return seen


def run_folder(loaded: "LoadedStudy", out: Path | None, shard: "Shard | None" = None) -> Path:
    """Return where the run of a study is: `runs/NAME` beside it unless said otherwise."""
    name = loaded.study.name + ("" if shard is None else shard.folder)
    return out or loaded.folder / "runs" / name
