"""`judgelaw reparse`: read the completions of a run under another parser, offline."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judgelaw.cli.options import examples
from judgelaw.cli.terminal import echo, show_table, write_json
from judgelaw.errors import InputError

if TYPE_CHECKING:
    from judgelaw.acquire import Reparse
    from judgelaw.runs import RunFolder
    from judgelaw.study import FrozenRun
    from judgelaw.wire import JudgeSpec


SCHEMA = "judgelaw.reparse/1"


@click.command(
    epilog=examples(
        "judgelaw reparse runs/first --parser '{regex: \"([AB]|TIE)\"}'",
        "judgelaw reparse runs/first --parser first-line --truncated parse --out calls.parquet",
        "judgelaw reparse runs/first --parser 'regex:verdict is ([AB])' --adopt",
    )
)
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@click.option(
    "--parser",
    required=True,
    metavar="RULE",
    help="As a study writes it: first-line, regex:PATTERN, json:FIELD, {regex: ...}.",
)
@click.option(
    "--truncated", type=click.Choice(["invalid", "parse"]), help="Another terminal rule as well."
)
@click.option("--judge", "judges", multiple=True, metavar="NAME", help="Only this judge.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Write the calls table under the new parser."
)
@click.option(
    "--adopt",
    "adopting",
    is_flag=True,
    help="Make the new parser the run's own: calls.parquet and analyses take its verdicts.",
)
@click.option("--json", "json_file", metavar="FILE", help="Write JSON; - for stdout alone.")
def command(
    run: Path,
    *,
    parser: str,
    truncated: str | None,
    judges: tuple[str, ...],
    out: Path | None,
    adopting: bool,
    json_file: str | None,
) -> None:
    """Apply another parser to the stored completions and show which verdicts change.

    Both versions stay in the ledger, and nothing is sent. RUN/calls.parquet keeps the verdicts of
    the frozen parser, unless --adopt makes the new one the run's own; --out writes a table apart.
    """
    from judgelaw.acquire import reparse, with_parser, write_outputs
    from judgelaw.runs import RunFolder
    from judgelaw.study import adopt, reading_rule

    folder = RunFolder(run)
    frozen = folder.frozen
    rules = {"truncated": truncated} if truncated else {}
    rule = reading_rule(frozen.study, parser)
    specs = {
        name: with_parser(frozen.readers[name], rule).model_copy(update=rules)
        for name in _chosen(frozen, judges)
    }
    found = reparse(frozen, specs)
    if adopting:
        write_outputs(adopt(frozen, specs))
    if out is not None:
        _write(folder, specs, out)
    if json_file is not None:
        write_json({"schema": SCHEMA, "judges": {r.judge: _plain(r) for r in found}}, json_file)
    if json_file != "-":
        _show(run, found)


def _chosen(frozen: "FrozenRun", judges: tuple[str, ...]) -> tuple[str, ...]:
    for name in judges:
        if name not in frozen.judges:
            known = ", ".join(frozen.judges)
            raise InputError(f"no judge is called {name!r}; the run has {known}")
    return judges or tuple(frozen.judges)


def _write(folder: "RunFolder", specs: "dict[str, JudgeSpec]", out: Path) -> None:
    from judgelaw.acquire import write_results
    from judgelaw.wire import parser_name

    judges = folder.frozen.readers
    parsers = {name: parser_name(specs.get(name, spec)) for name, spec in judges.items()}
    if folder.ledger is not None:  # without one there was nothing to parse
        write_results(out, folder.frozen, folder.ledger, parsers)


def _plain(found: "Reparse") -> dict[str, Any]:
    changes = [
        {"from": before, "to": after, "count": count}
        for (before, after), count in sorted(found.changes.items())
    ]
    return {
        "before": found.before,
        "after": found.after,
        "read": found.read,
        "changed": sum(found.changes.values()),
        "changes": changes,
    }


def _show(run: Path, found: "tuple[Reparse, ...]") -> None:
    rows = [
        [r.judge, r.before, r.after, before, after, str(count)]
        for r in found
        for (before, after), count in sorted(r.changes.items())
    ]
    for r in found:
        changed = sum(r.changes.values())
        echo(f"{r.judge}: {changed} of {r.read} verdicts change from {r.before} to {r.after}")
    if rows:
        columns = ("judge", "parser", "new parser", "verdict", "new verdict", "calls")
        show_table(columns, rows, title=str(run))
