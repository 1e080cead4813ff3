"""`judgelaw status`: how far a run is, counted from its rows."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judgelaw.cli.options import examples, state_json_option
from judgelaw.cli.terminal import echo, show_table, write_json
from judgelaw.words import counted, words

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from judgelaw.ledger import JudgeSummary, LedgerView
    from judgelaw.runs import RunFolder
    from judgelaw.study import FrozenRun


SCHEMA = "judgelaw.status/1"
_RARE = ("refused", "in_flight")
_ATTEMPTS = ("failed", "orphaned", *_RARE)
_FORMS = 5
BATCH = ("judge", "state", "calls", "provider_id", "detail")


@click.command(epilog=examples("judgelaw status runs/first", "judgelaw status runs/first --json -"))
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@state_json_option
@click.option(
    "--ledger",
    metavar="URL",
    help="Of a run that workers share: look into its PostgreSQL ledger, not at the copy in RUN.",
)
def command(run: Path, json_file: str | None, ledger: str | None) -> None:
    """Say how far a run is, and how its calls ended: retries, truncation, stop reasons, flags.

    Reads only; the run may be under way meanwhile.
    """
    from judgelaw.cli.options import require_folder
    from judgelaw.runs import RunFolder

    require_folder(run)
    folder = RunFolder(run)
    with nullcontext(folder.ledger) if ledger is None else _shared(folder, ledger) as view:
        found = status(folder.frozen, view)
    if json_file is not None:
        write_json(found, json_file)
    if json_file != "-":
        _show(run, found)
        _show_looks(folder.frozen)


def _shared(folder: "RunFolder", ledger: str) -> "AbstractContextManager[LedgerView]":
    """Open the ledger that workers share."""
    from judgelaw.ledger import PostgresView, read_address

    return PostgresView(read_address(ledger), folder.path.resolve().name)


def status(frozen: "FrozenRun", view: "LedgerView | None") -> dict[str, Any]:
    """Return what the command shows, as plain data."""
    from judgelaw.acquire import unread

    counts = dict.fromkeys((*_ATTEMPTS, "completed", "attempts", "flagged", "unsent", "unread"), 0)
    judges: dict[str, Any] = {}
    batches: list[Any] = []
    if view is not None:
        totals = view.totals()
        counts = {name: getattr(totals, name, 0) for name in counts}
        counts |= {"flagged": view.flagged(), "unread": unread(frozen, view)}
        forms = _unreadable(frozen, view)
        said, fields = _failure_words(view), _unread_fields(view)
        judges = {
            s.judge: {
                **_judge(s, frozen, forms[s.judge], said[s.judge]),
                "unread_fields": fields[s.judge],
            }
            for s in view.summaries()
        }
        batches = [{name: getattr(b, name) for name in BATCH} for b in view.batches()]
    # Planned is what was frozen: calls that `extend` added are in the ledger once it runs again.
    open_calls = frozen.asked_count - counts["completed"]
    first = {"planned": frozen.asked_count, "completed": counts["completed"], "open": open_calls}
    looks = {} if frozen.study.stop is None else {"stop": _stop(frozen)}
    return {"schema": SCHEMA, **first, **counts, "judges": judges, "batches": batches, **looks}


def _stop(frozen: "FrozenRun") -> dict[str, Any]:
    """Return the rule by which a run stops, every look that was taken, and who goes on."""
    from dataclasses import asdict

    rule = frozen.study.stop.model_dump(mode="json", exclude_none=True) if frozen.study.stop else {}
    looks = [asdict(look) for look in frozen.record.looks]
    return {**rule, "taken": looks, "undecided": frozen.undecided}


def _unreadable(frozen: "FrozenRun", view: "LedgerView") -> dict[str, dict[str, Any]]:
    """Count the replies in which no label was found, with their most frequent beginnings."""
    from judgelaw.wire import parser_name

    parsers = {name: parser_name(spec) for name, spec in frozen.readers.items()}
    found: dict[str, dict[str, Any]] = {name: {"count": 0, "forms": []} for name in parsers}
    for judge, criterion, parser, form, count in view.unreadable():
        if parser != parsers.get(judge):
            continue
        found[judge]["count"] += count
        if len(found[judge]["forms"]) < _FORMS:
            of = {} if criterion is None else {"criterion": criterion}
            found[judge]["forms"].append({"form": form, "count": count, **of})
    return found


def _failure_words(view: "LedgerView") -> dict[str, list[dict[str, Any]]]:
    """Return what the failed attempts of each judge said, the most frequent words first."""
    found: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for judge, said, count in view.failure_words():
        if len(found[judge]) < _FORMS:
            found[judge].append({"words": words(said), "count": count})
    return found


def _unread_fields(view: "LedgerView") -> dict[str, list[dict[str, Any]]]:
    """Return which optional fields of replies could not be read, the most frequent first."""
    found: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for judge, name, why, count in view.unread_fields():
        if len(found[judge]) < _FORMS:
            found[judge].append({"field": name, "words": words(why), "count": count})
    return found


def _judge(
    summary: "JudgeSummary",
    frozen: "FrozenRun",
    unreadable: dict[str, Any],
    failure_words: list[dict[str, Any]],
) -> dict[str, Any]:
    spec = frozen.judges[summary.judge]
    truncated = sum(summary.finish_reasons.get(reason, 0) for reason in spec.truncated_on)
    return {
        "planned": summary.planned,
        "completed": summary.completed,
        "retried": summary.retried,
        "truncated": truncated,
        "finish_reasons": dict(summary.finish_reasons),
        "failures": dict(summary.failures),
        "failure_words": failure_words,
        "flags": dict(summary.flags),
        "models": dict(summary.models),
        "fingerprints": dict(summary.fingerprints),
        "unreadable": unreadable,
    }


def _show(run: Path, found: Mapping[str, Any]) -> None:
    # Completed calls and these add up to the attempts; rare ones show where there are any.
    rare = [name for name in _RARE if found[name]]
    names = ["planned", "completed", "open", "attempts", "failed", "orphaned", *rare, "flagged"]
    heads = [name.replace("_", " ") for name in names]
    show_table(heads, [[str(found[name]) for name in names]], title=str(run))
    for note in _notes(found):
        echo(f"note: {note}", err=True)
    columns = ("judge", "completed", "retried", "truncated", "stop reasons", "failures", "flags")
    rows = [
        [
            name,
            f"{judge['completed']}/{judge['planned']}",
            str(judge["retried"]),
            str(judge["truncated"]),
            *(listed(judge[key]) for key in ("finish_reasons", "failures", "flags")),
        ]
        for name, judge in found["judges"].items()
    ]
    if rows:
        echo()
        show_table(columns, rows, title="How the calls of each judge ended")
    if found["batches"]:
        echo()
        listed_batches = [[str(batch[name] or "") for name in BATCH] for batch in found["batches"]]
        show_table(BATCH, listed_batches, title="Batches at providers")


def _show_looks(frozen: "FrozenRun") -> None:
    """Show every look that was taken, and which judges wait for one."""
    from judgelaw.runs import LOOK_COLUMNS, look_rows

    if frozen.study.stop is None:
        return
    echo()
    for judge, depth in frozen.undecided.items():
        echo(f"note: {judge} goes on to {depth} repeats; the next look is taken there", err=True)
    if frozen.record.looks:
        about = f"Looks at the {frozen.study.stop.component} component, each judge for itself"
        show_table(LOOK_COLUMNS, look_rows(frozen.record.looks), title=about)


def _notes(found: Mapping[str, Any]) -> Iterator[str]:
    if found["in_flight"]:
        yield (
            f"{found['in_flight']} attempts in flight: reserved, and perhaps sent; where no "
            "session is at work any more, the next one finds out which were"
        )
    if found["unsent"]:
        yield f"{found['unsent']} more were reserved and never sent, which is no attempt"
    for name, judge in found["judges"].items():
        for failure in judge["failure_words"]:
            yield f"judge {name}: {counted(failure['count'], 'attempt')} failed: {failure['words']}"
        for field in judge["unread_fields"]:
            yield (
                f"judge {name}: {field['field']} of {counted(field['count'], 'reply')} is missing: "
                f"{field['words']}"
            )
        if forms := judge["unreadable"]["forms"]:
            shown = ", ".join(f"{form['form']!r} ({form['count']})" for form in forms)
            yield (
                f"judge {name}: no label was found in {judge['unreadable']['count']} replies, most "
                f"often {shown}; `judgelaw reparse` reads them by another rule, without asking"
            )
    if found["unread"]:
        yield (
            f"{found['unread']} replies are kept and not read yet; the next session reads them, "
            "without asking again"
        )


def listed(counts: Mapping[str, int]) -> str:
    """Write counts in one cell, the most frequent first."""
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{name} {count}" for name, count in ranked) or "none"
