"""`judgelaw compare`: judges side by side on matched items."""

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from judgelaw.blocks import Cell, Value, span_of
from judgelaw.cli.options import examples, resampling_options, source_options
from judgelaw.cli.terminal import echo, say, show_table, write_json
from judgelaw.runs import Reading, compared, read_source
from judgelaw.vocabulary import COMPONENTS, title

if TYPE_CHECKING:
    from judgelaw.analysis import Comparison, Difference


@click.command(
    epilog=examples(
        "judgelaw compare runs/monday runs/tuesday",
        "judgelaw compare calls.csv.gz --judge model-a --judge model-b",
        "judgelaw compare calls.csv.gz --judge model-a --by prompt",
    )
)
@click.argument("sources", nargs=-1, required=True, metavar="A B...")
@source_options
@resampling_options
@click.option(
    "--prompt", "prompts", multiple=True, help="Compare on this prompt only; may be repeated."
)
@click.option(
    "--by",
    type=click.Choice(["judge", "prompt"]),
    default="judge",
    show_default=True,
    help="Compare judges, or every prompt as a judge of its own.",
)
@click.option("--json", "json_file", metavar="FILE", help="Write JSON; - for stdout alone.")
def command(
    *,
    sources: tuple[str, ...],
    reading: Reading,
    draws: int | None,
    seed: int | None,
    prompts: tuple[str, ...],
    by: str,
    json_file: str | None,
) -> None:
    """Compare judges, versions of one judge, or prompts, on the items and cells that they share.

    The first sentence says which to keep: those that no other is shown to be better than.
    Each of A, B, ... is a run or a table; a table with several judges may stand alone. Every
    difference is paired by item, at the depth that all judges have. The intervals hold together:
    they are adjusted for all differences printed.
    """
    from judgelaw.analysis import band_draws_for, by_prompt, compare

    read = [read_source(source, replace(reading, judges=())) for source in sources]
    chosen = compared(sources, read, judges=reading.judges, prompts=prompts or None)
    named = by_prompt(chosen.tensors) if by == "prompt" else chosen.tensors
    comparison = compare(
        named,
        declared=chosen.estimand,
        draws=band_draws_for(named.values()) if draws is None else draws,
        seed=seed or 0,
    )
    if json_file is not None:
        write_json(comparison.to_json(), json_file)
    if json_file != "-":
        _show(comparison)


def _show(c: "Comparison") -> None:
    from judgelaw.uncertainty import MIN_REPEATS

    say(c.in_words())
    echo()
    keys = ("estimate", "interval", "call_interval", "plugin")
    rows = [_row(d) for d in c.differences]
    show_table(
        ["Difference", "Component", *map(title, keys)],
        rows,
        title=f"{c.items:,} matched items, R = {c.depth}",
    )
    say(
        f"  Each column of intervals is adjusted for all {len(rows)} differences printed: in 95 of "
        "100 such comparisons none of them is wrong."
    )
    if c.depth < MIN_REPEATS:
        say(
            f"  ! R = {c.depth}: below {MIN_REPEATS} repeats, intervals for these items miss more "
            "often than they say"
        )
    if any(c.lost.values()):
        lost = ", ".join(f"{name} {n}" for name, n in c.lost.items() if n)
        say(f"  ! items that another judge lacks were left out: {lost}")


def _row(d: "Difference") -> list[Cell]:
    return [
        f"{d.a} - {d.b}",
        COMPONENTS[d.component].title,
        Value(d.estimate, "+.4f"),
        span_of(d.simultaneous, "+.4f"),
        span_of(d.call_simultaneous, "+.4f"),
        Value(d.plugin, "+.4f"),
    ]
