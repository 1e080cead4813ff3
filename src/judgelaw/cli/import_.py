"""`judgelaw import`: logs of other tools and plain tables as a calls table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from judgelaw.cli.options import examples
from judgelaw.cli.table_options import table_options
from judgelaw.cli.terminal import echo, progress, say, write_json
from judgelaw.errors import InputError
from judgelaw.tables import Wishes
from judgelaw.tables.importers import (
    FORMATS,
    PLAIN,
    Rules,
    Survey,
    detect,
    import_log,
    said_by,
    write_plain,
)

F = TypeVar("F", bound=Callable[..., Any])
_DEFAULT = Path("calls.parquet")
_PARTS = {
    "judge": "Where the judge's name stands.",
    "layer": "Where the layer stands, if there are several streams of calls.",
    "item": "Where the item stands.",
    "prompt": "Where the prompt variant stands.",
    "order": "Where the display order stands, AB or BA.",
    "repeat": "Where the repeat rank stands.  [default: order of appearance]",
    "stratum": "Where the item's stratum stands.",
    "gold": "Where the right verdict stands.",
    "verdict": "Where the verdict stands, such as scores.NAME.value.",
    "text": "Where the completion stands, for --parser.",
}


def _field_options(command: F) -> F:
    for part, text in reversed(_PARTS.items()):
        command = click.option(f"--{part}", metavar="FIELD", help=text)(command)
    return command


@click.command(
    epilog=examples(
        "judgelaw import --from inspect logs/*.eval --parser first-line",
        r"judgelaw import --from promptfoo out.json --parser 'regex:\[\[(A|B)\]\]'",
        "judgelaw import --from openai-batch out.jsonl --parser first-line -o batch.parquet",
        "judgelaw import --from csv raw.csv --verdict winner --judge =me --map-order swapped=BA",
        "judgelaw import raw.csv --positions A,B --blank invalid",
        "judgelaw import raw.csv --dry-run",
    )
)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--from",
    "source",
    type=click.Choice(list(FORMATS)),
    help="What wrote it.  [default: as names and first entries tell]",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help=f"The calls table, .parquet, .csv or .jsonl.  [default: {_DEFAULT}, if there is none]",
)
@click.option("--dry-run", is_flag=True, help="Say how it is read, and write nothing.")
@_field_options
@click.option(
    "--human",
    multiple=True,
    metavar="FIELD",
    help="Where people's labels stand; one for each person if given several times.",
)
@table_options
@click.option(
    "--custom-id",
    metavar="REGEX",
    help="How custom ids of a batch are made up, with groups item, prompt, order, repeat.  "
    "[default: item/prompt/AB/0, with / or | or __]",
)
@click.option(
    "--truncated",
    type=click.Choice(["invalid", "parse"]),
    default="invalid",
    show_default=True,
    help="What a completion cut at its cap becomes.",
)
@click.option("--drop-copies", is_flag=True, help="Keep one of each copied response.")
@click.option("--json", "json_file", metavar="FILE", help="Write what was found; - for stdout.")
def command(
    *,
    paths: Sequence[str],
    source: str | None,
    out: Path | None,
    dry_run: bool,
    human: tuple[str, ...],
    said: Wishes,
    custom_id: str | None,
    truncated: Literal["invalid", "parse"],
    drop_copies: bool,
    json_file: str | None,
    **fields: str | None,
) -> None:
    """Turn logs of other tools into a calls table, and say what can be learnt from it.

    A FIELD is a column, or a dotted path in the log's own record (metadata.order, vars.item,
    doc.id), or a constant after an equals sign (=gpt-x); --item and the like are short forms of
    --columns. Metadata called item, prompt, order, stratum and gold are found without it. A PATH
    may be a folder of logs. Copies of one response are refused: they are no repeats. So is all that
    can be read in several ways, with the words that settle it.
    """
    target = None if dry_run else _target(out)
    rules = _rules(said, fields, truncated)
    tool = source or (PLAIN if said.shapes and not rules.parser else detect(paths[0]))
    if tool == PLAIN and custom_id is None:
        short = said_by(rules)
        if human:
            short = short.and_also(Wishes(columns={"human": human}))
        rows, survey, reading = write_plain(target, paths, short.and_also(_plain(said)))
        if dry_run and json_file != "-":
            for line in reading.sentences():
                say(line)
    else:
        _refuse_columns(said, human, tool)
        imported = import_log(
            tool,
            paths,
            rules=rules,
            custom_id=custom_id,
            drop_copies=drop_copies,
            progress=progress,
        )
        survey = imported.survey
        rows = sum(judge.calls for judge in survey.judges)
        if target is not None:
            from judgelaw.tables import write_calls

            rows = write_calls(target, imported.columns)
    if target is not None:
        echo(f"{rows} calls in {target}; next: judgelaw analyze {target}", err=True)
    if json_file is not None:
        write_json(_document(survey, target), json_file)
    if json_file != "-":
        for line in survey.sentences():
            say(line)


def _rules(
    said: Wishes, fields: Mapping[str, str | None], truncated: Literal["invalid", "parse"]
) -> Rules:
    """Return what was said of the fields of a log."""
    named = {part: path for part, path in fields.items() if path is not None}
    if said.parser is not None and "verdict" in said.columns and "text" not in named:
        named["text"] = ",".join(said.columns["verdict"] or ())
    return Rules(
        fields=named,
        parser=said.parser,
        labels=said.label,
        orders=said.map_order,
        positions=said.positions or (),
        blank=said.blank,
        where=said.where,
        truncated=truncated,
    )


def _plain(said: Wishes) -> Wishes:
    """Return what was said that no rule has."""
    columns = said.columns
    if said.parser is not None:
        columns = {part: names for part, names in columns.items() if part != "verdict"}
    return replace(
        said, columns=columns, where={}, label={}, map_order={}, positions=None, parser=None
    )


def _refuse_columns(said: Wishes, human: Sequence[str], tool: str) -> None:
    """Refuse for the log of a tool what is said of the columns of a plain table."""
    rest = replace(
        said,
        where={},
        label={},
        map_order={},
        positions=None,
        parser=None,
        blank="error",
    )
    if human or rest.said():
        words = rest.options()[:1] or ["--human"]
        raise InputError(
            f"{words[0]} is about the columns of a plain table, and this is a log of {tool}: say "
            "what its fields are with --item, --prompt, --order, --verdict, or read it with "
            f"--from {PLAIN}"
        )


def _target(out: Path | None) -> Path:
    """Return where to write; a table that nobody named is never written over."""
    if out is None and _DEFAULT.exists():
        raise InputError(f"{_DEFAULT} is there already: name the new table, -o FILE")
    return out or _DEFAULT


def _document(survey: Survey, target: Path | None) -> dict[str, Any]:
    table = None if target is None else str(target)
    return {"schema": "judgelaw.import/1", "table": table, **vars(survey)}
