"""`judgelaw compare`: judges side by side on matched items."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judgelaw.blocks import Cell, Value, span_of
from judgelaw.cli.options import at_least_option, examples, resampling_options, source_options
from judgelaw.cli.terminal import echo, say, show_table, write_json
from judgelaw.runs import Reading, compared, names_of, read_source
from judgelaw.vocabulary import CHANGES, COMPONENTS, title
from judgelaw.words import visible

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
    "--by",
    type=click.Choice(["judge", "prompt"]),
    default="judge",
    show_default=True,
    help="Compare judges, or every prompt as a judge of its own.",
)
@at_least_option
@click.option("--details", is_flag=True, help="Print the differences of components below.")
@click.option("--json", "json_file", metavar="FILE", help="Write JSON; - for stdout alone.")
def command(
    *,
    sources: tuple[str, ...],
    reading: Reading,
    draws: int | None,
    seed: int | None,
    by: str,
    at_least: float | None,
    details: bool,
    json_file: str | None,
) -> None:
    """Compare judges, versions of one judge, or prompts, on the items and cells that they share.

    The first screen says which may be used, and whether one is shown to be right more often than
    the others. Each of A, B, ... is a run or a table; a table with several judges may stand alone.
    Every difference is paired by item, at the depth that all judges have. The intervals hold
    together: they are adjusted for all differences printed.
    """
    from judgelaw.analysis import band_draws_for, by_prompt, compare

    every: Reading = {**reading, "judge": None}
    read = [read_source(source, every) for source in sources]
    chosen = compared(sources, read, judges=names_of(reading.get("judge")))
    named = by_prompt(chosen.tensors) if by == "prompt" else chosen.tensors
    comparison = compare(
        named,
        declared=chosen.estimand,
        draws=band_draws_for(named.values()) if draws is None else draws,
        seed=seed or 0,
        noun=by,
        at_least=chosen.at_least if at_least is None else at_least,
    )
    if json_file is not None:
        write_json(comparison.to_json(), json_file)
    if json_file != "-":
        where = Path(sources[0]).name if len(sources) == 1 else ""
        _show(comparison, where, details=details)


def _show(c: "Comparison", where: str, *, details: bool) -> None:
    """Print the answer; with `details` also the differences that it leaves out."""
    from judgelaw.cli.answer_screen import show_screen

    if c.criteria:
        for name, each in c.criteria.items():
            show_screen(replace(each.screen(where), who=f"{visible(name)}: {each.screen().who}"))
            echo()
    else:
        show_screen(c.screen(where))
    if details:
        echo()
        _show_differences(c)
    elif any(c.lost.values()):
        _show_lost(c)


def _show_differences(c: "Comparison") -> None:
    from judgelaw.uncertainty import MIN_REPEATS

    say("\n".join(c.in_words().splitlines()[1:]))
    echo()
    keys = ("estimate", "call_interval", "interval", "plugin")
    show_table(
        ["Difference", "Of", *map(title, keys)],
        [_row(d) for d in c.all_differences],
        title=f"{c.items:,} matched items, R = {c.depth}",
    )
    counts = (len(kind) for kind in (c.right, c.changes, c.differences))
    kinds = ", ".join(f"{n:,}" for n in counts if n)
    say(
        f"  Each column of intervals is adjusted for all differences of a kind ({kinds}): "
        "in 95 of 100 such comparisons none of a kind is wrong."
    )
    if c.depth < MIN_REPEATS:
        say(
            f"  ! R = {c.depth}: below {MIN_REPEATS} repeats, intervals for these items miss more "
            "often than they say"
        )
    _show_lost(c)


def _show_lost(c: "Comparison") -> None:
    if any(c.lost.values()):
        lost = ", ".join(f"{name} {n}" for name, n in c.lost.items() if n)
        say(f"  ! items that another judge lacks were left out: {lost}")


_NAMES = {
    "right": "Right",
    **{name: f"Changes, {term.title}" for name, term in CHANGES.items()},
    **{name: term.title for name, term in COMPONENTS.items()},
}


def _row(d: "Difference") -> list[Cell]:
    return [
        f"{d.a} - {d.b}",
        _NAMES[d.component],
        Value(d.estimate, "+.4f"),
        span_of(d.call_simultaneous, "+.4f"),
        span_of(d.simultaneous, "+.4f"),
        Value(d.plugin, "+.4f"),
    ]
