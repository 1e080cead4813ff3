"""`judgelaw score`: the benchmark score, what moves it, and which systems it tells apart."""

from math import isnan, sqrt
from typing import TYPE_CHECKING, Any

import click

from judgelaw.blocks import Cell, Value, span_of
from judgelaw.cli.options import Place, examples, source_argument, source_options_at_full_depth
from judgelaw.cli.terminal import echo, say, show_table, write_json
from judgelaw.errors import InputError
from judgelaw.runs import Reading, Source, read_source
from judgelaw.words import counted

if TYPE_CHECKING:
    from judgelaw.decide import JudgeScore, Score, ScoreDifference


_COUNT = click.IntRange(min=1)
_SOURCES = {
    "items": "items",
    "call": "dice",
    "prompt_shared": "prompts, shared by all items",
    "prompt_item": "prompts, item by item",
    "order_shared": "orders, shared by all items",
    "order_item": "orders, item by item",
    "interaction_shared": "prompt x order, shared by all items",
    "interaction_item": "prompt x order, item by item",
}


@click.command(
    epilog=examples(
        "judgelaw score runs/my-study",
        "judgelaw score calls.csv --by system --json score.json",
        "judgelaw score battles.csv --by model_a,model_b",
        "judgelaw score calls.csv.gz --prompts 1 --items 500 --draw item",
    )
)
@source_argument
@click.option(
    "--by",
    metavar="COLUMN[,COLUMN]",
    help="The column that names the systems judged; two columns, for candidate 1 and 2, rank "
    "systems that were compared two at a time.",
)
@click.option("--prompts", type=_COUNT, help="Look at a protocol that draws so many prompts.")
@click.option("--orders", type=_COUNT, help="Look at a protocol that draws so many orders.")
@click.option("--repeats", type=_COUNT, help="Look at a protocol with so many calls a cell.")
@click.option("--items", type=_COUNT, help="Look at a protocol with so many items like these.")
@click.option(
    "--draw",
    type=click.Choice(["once", "item"]),
    default="once",
    show_default=True,
    help="Are prompts and orders drawn once for all items, or for each item?",
)
@click.option(
    "--value",
    "values",
    multiple=True,
    metavar="VERDICT=X",
    help="What a verdict is worth; may be repeated. [default: by gold, candidates, numbers, pass]",
)
@click.option(
    "--difference",
    type=click.FloatRange(min=0, min_open=True),
    help="The difference of systems that is worth finding.  [default: 0.02]",
)
@click.option(
    "--item-cost",
    type=click.FloatRange(min=0, min_open=True),
    metavar="CALLS",
    help="What a new item costs beside its calls, in calls: how often to ask each item then.",
)
@click.option("--json", "json_file", metavar="FILE", help="Write JSON; - for stdout alone.")
@source_options_at_full_depth
def command(
    *,
    source: Place,
    by: str | None,
    prompts: int | None,
    orders: int | None,
    repeats: int | None,
    items: int | None,
    draw: str,
    values: tuple[str, ...],
    difference: float | None,
    item_cost: float | None,
    json_file: str | None,
    reading: Reading,
) -> None:
    """Score the judge's verdicts, and split the standard error by what causes it.

    The score is the share of right verdicts where there is gold, else the win rate of candidate 1
    (a tie counts half), the mean of numeric verdicts, or the pass rate.
    """
    from judgelaw.runs import apart_by, score_by, score_source, with_item_cost

    how: dict[str, Any] = {
        "protocol": {
            "prompts": prompts,
            "orders": orders,
            "repeats": repeats,
            "items": items,
            "draw": draw,
        },
        "values": _values(values) or None,
        "worth": difference,
    }
    if by is None:
        found = score_source(read_source(source, reading), **how)
    else:
        if reading.get("layer") is not None:
            raise InputError(f"--layer and --by {by} cannot go together")

        def read(column: str | None) -> Source:
            columns = {**(reading.get("columns") or {}), **apart_by(column)}
            return read_source(source, {**reading, "columns": columns})

        found = score_by(by, read, **how)
    found = with_item_cost(found, item_cost)
    if json_file is not None:
        write_json(found.to_json(), json_file)
    if json_file != "-":
        show(found)


def _values(given: tuple[str, ...]) -> dict[str, float]:
    found = {}
    for text in given:
        name, equals, number = text.rpartition("=")
        try:
            found[name.strip()] = float(number)
        except ValueError:
            equals = ""
        if not equals or not name:
            raise InputError(f"--value {text}: write VERDICT=NUMBER, as in --value pass=1")
    return found


def show(score: "Score") -> None:
    """Print the score of every judge: sentences, what moves it, what to buy, systems."""
    for name, judge in score.judges.items():
        say(f"{name}: {judge.sentence}" if len(score.judges) > 1 else judge.sentence)
        echo()
        _show_parts(judge)
        echo()
        _show_purchases(judge)
        if judge.systems:
            echo()
            _show_systems(judge)
        if judge.differences:
            echo()
            _show_differences(judge)
        for note in judge.notes:
            say(f"  ! {note}")
        echo()


def _show_parts(judge: "JudgeScore") -> None:
    parts, p = judge.parts.parts(judge.protocol), judge.protocol
    rows: list[list[Cell]] = [
        [
            _SOURCES[name],
            Value(variance, ".3g"),
            Value(None if variance < 0 else sqrt(variance)),
        ]
        for name, variance in parts.items()
        if variance != 0 and not isnan(variance)
    ]
    whole = sum(parts.values())
    rows.append(["all", Value(whole, ".3g"), Value(judge.se)])
    orders = "" if p.orders == 1 else f"{p.orders} orders x "
    title = (
        f"Standard error by source: {p.items:,} item{'s' * (p.items > 1)} x "
        f"{counted(p.prompts, 'prompt')} x {orders}{counted(p.repeats, 'repeat')}, "
        f"{p.calls:,} calls"
    )
    show_table(["source", "variance", "standard error"], rows, title=title)
    if any(variance < 0 for variance in parts.values()):
        say("  A negative variance is too small for these calls to see; it is not set to 0.")


def _show_purchases(judge: "JudgeScore") -> None:
    rows: list[list[Cell]] = [
        [p.buy, Value(p.calls, "+,d"), Value(p.se), Value(1e6 * p.per_call, ".3g")]
        for p in judge.purchases
    ]
    columns = ["buy", "calls", "standard error then", "variance less, per million calls"]
    show_table(columns, rows, title="What narrows it, the most per call first")


def _show_systems(judge: "JudgeScore") -> None:
    rows: list[list[Cell]] = [
        [name, Value(e.estimate), span_of(e.interval)] for name, e in judge.systems.items()
    ]
    show_table(["system", judge.metric, "95%, items like these"], rows, title="Systems, best first")


def _items(d: "ScoreDifference") -> str:
    if d.items_needed is not None:
        return f"{d.items_needed:,}"
    return "-" if isnan(d.smallest) else "no number"


def _show_differences(judge: "JudgeScore") -> None:
    rows: list[list[Cell]] = [
        [
            f"{d.a} - {d.b}",
            Value(d.estimate, "+.4f"),
            span_of(None if isnan(d.low) else (d.low, d.high), "+.4f"),
            Value(d.smallest),
            _items(d),
        ]
        for d in judge.differences
    ]
    worth = judge.differences[0].worth
    columns = ["difference", "estimate", "95%, all together", "smallest found"]
    show_table([*columns, f"items for {worth:g}"], rows, title="Differences on items like these")
