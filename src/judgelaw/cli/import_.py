"""`judgelaw import`: logs of other tools as a calls table."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from judgelaw.cli.options import examples
from judgelaw.cli.terminal import echo, progress, say, write_json
from judgelaw.errors import InputError
from judgelaw.tables.importers import FORMATS, Rules, Survey, detect, import_log

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
@click.option(
    "--parser",
    metavar="RULE",
    help="Read the verdict from the completion, as a study writes it: first-line, regex:PATTERN, "
    "json:FIELD, score:MIN..MAX, '{regex: ..., labels: {...}}'.",
)
@_field_options
@click.option(
    "--label", "labels", multiple=True, metavar="VALUE=VERDICT", help="What a value stands for."
)
@click.option(
    "--map-order", "orders", multiple=True, metavar="VALUE=AB|BA", help="What an order means."
)
@click.option(
    "--positions",
    metavar="A,B",
    help="Stored verdicts are positions: the words for the answer shown first, shown second, and "
    "for a tie if it has one.",
)
@click.option(
    "--blank",
    type=click.Choice(["error", "invalid", "drop"]),
    default="error",
    show_default=True,
    help="What a stored verdict that is blank becomes.",
)
@click.option("--where", multiple=True, metavar="FIELD=VALUE", help="Keep these entries only.")
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
    parser: str | None,
    labels: tuple[str, ...],
    orders: tuple[str, ...],
    positions: str | None,
    blank: Literal["error", "invalid", "drop"],
    where: tuple[str, ...],
    custom_id: str | None,
    truncated: Literal["invalid", "parse"],
    drop_copies: bool,
    json_file: str | None,
    **fields: str | None,
) -> None:
    """Turn logs of other tools into a calls table, and say what can be learnt from it.

    A FIELD is a dotted path in the log's own record (metadata.order, vars.item, doc.id), or a
    constant after an equals sign (=gpt-x). Metadata called item, prompt, order, stratum and gold
    are found without it. A PATH may be a folder of logs. Copies of one response are refused: they
    are no repeats. So are letters under several orders, until --positions says what they are.
    """
    target = _target(out)
    from judgelaw.tables import write_calls

    rules = Rules(
        fields={part: path for part, path in fields.items() if path is not None},
        parser=parser,
        labels=_pairs("--label", labels),
        orders=_pairs("--map-order", orders),
        positions=_words(positions),
        blank=blank,
        where=_pairs("--where", where),
        truncated=truncated,
    )
    tool = source or detect(paths[0])
    imported = import_log(
        tool, paths, rules=rules, custom_id=custom_id, drop_copies=drop_copies, progress=progress
    )
    rows = write_calls(target, imported.columns)
    echo(f"{rows} calls in {target}; next: judgelaw analyze {target}", err=True)
    if json_file is not None:
        write_json(_document(imported.survey, target), json_file)
    if json_file != "-":
        for line in imported.survey.sentences():
            say(line)


def _target(out: Path | None) -> Path:
    """Return where to write; a table that nobody named is never written over."""
    if out is None and _DEFAULT.exists():
        raise InputError(f"{_DEFAULT} is there already: name the new table, -o FILE")
    return out or _DEFAULT


def _words(given: str | None) -> tuple[str, ...]:
    return tuple(word.strip() for word in (given or "").split(",") if word.strip())


def _pairs(option: str, texts: Sequence[str]) -> dict[str, str]:
    """Split VALUE=MEANING at the last equals sign: values may hold some themselves."""
    pairs = {}
    for text in texts:
        value, equals, meaning = text.rpartition("=")
        if not (value and equals and meaning):
            raise click.BadParameter(f"{text!r}: write VALUE=MEANING", param_hint=option)
        pairs[value] = meaning
    return pairs


def _document(survey: Survey, target: Path) -> dict[str, Any]:
    return {"schema": "judgelaw.import/1", "table": str(target), **vars(survey)}
