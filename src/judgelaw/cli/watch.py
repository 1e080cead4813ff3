"""`judgelaw watch`: has the judge moved since the first date?"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from judgelaw.blocks import Cell, Value, span_of, text_of, write
from judgelaw.cli.options import FILE, examples, selection_options
from judgelaw.cli.terminal import echo, progress, say, show_table, write_json
from judgelaw.runs import Selection

if TYPE_CHECKING:
    from judgelaw.labels import Watch
    from judgelaw.quantities import Estimate

_EXITS = {"quiet": 0, "alarm": 1, "cannot tell": 7}
_WIDTH = 20


@click.command(
    epilog=examples(
        "judgelaw run study.yaml --date 2026-11-16 && judgelaw watch runs/anchors",
        "judgelaw watch calls.csv --looks 52",
        "judgelaw watch may.csv june.csv july.csv --positive pass --json watch.json",
    )
)
@click.argument("sources", metavar="RUN|TABLE...", nargs=-1, required=True)
@click.option(
    "--looks",
    type=click.IntRange(1, 104),
    default=52,
    show_default=True,
    help="The declared number of looks: false alarms over all of them stay at 5%.",
)
@click.option(
    "--human",
    metavar="COLUMN",
    default="human",
    show_default="human, else gold",
    help="The column of people's labels on anchors; tells judge from system.",
)
@click.option("--positive", metavar="VERDICT", help="The verdict whose share is the score.")
@selection_options
@click.option(
    "--permutations",
    type=click.IntRange(min=99),
    default=39_999,
    show_default=True,
    help="The most shuffles behind a p value; 199 are enough where it is not small.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of every draw."
)
@click.option(
    "--report", "report_file", type=FILE, metavar="FILE", help="Write a page with the figures."
)
@click.option("--json", "json_file", metavar="FILE", help="Write JSON; - for stdout alone.")
def command(
    *,
    sources: tuple[str, ...],
    looks: int,
    human: str,
    positive: str | None,
    judge: str | None,
    criterion: str | None,
    reading: Selection,
    permutations: int,
    seed: int,
    report_file: Path | None,
    json_file: str | None,
) -> int:
    """Say whether a judge moved since the first date, how far, and on which items.

    One table or run with a column `date`, or one of each date. Exit codes: 0 no move is shown, 1
    an alarm, 7 it cannot be told.
    """
    from judgelaw.runs import watch

    with progress("reading and testing", 1) as advance:
        found = watch(
            list(sources),
            looks=looks,
            human=human,
            positive=positive,
            judge=judge,
            criterion=criterion,
            **reading,
            permutations=permutations,
            seed=seed,
        )
        advance(1)
    if report_file is not None:
        from judgelaw.page import watch_page
        from judgelaw.runs import write_page

        write_page(
            report_file, watch_page(found, title=", ".join(Path(one).name for one in sources))
        )
    if json_file is not None:
        write_json(found.to_json(), json_file)
    if json_file != "-":
        show(found)
    return _EXITS[found.verdict]


def show(w: "Watch") -> None:
    """Print the answer: sentence, chart over dates, what was tested."""
    say(w.sentence)
    if w.dates:
        echo()
        rows = [
            [
                one.date,
                _moved(one.change),
                _moved(one.shift),
                "-" if one.p is None else f"{write(one.p[0], 'p')} {write(one.p[1], 'p')}",
                _bar(max(one.chart), w.threshold),
            ]
            for one in w.dates
        ]
        show_table(
            ["date", "change since the first, 95%", "shift, 95%", "p", "chart"],
            rows,
            title=f"held against {w.first}; alarms: chart {w.threshold:g}, one p {w.single:.2g}",
        )
        echo()
    for one in w.moved:
        say(f"  {one.item}: law moved {one.change:.3f}, score {one.shift:+.3f}")
    if w.system is not None:
        s = w.system
        say(
            f"  share of {s.of!r} on the system's own items: the judge says it moved "
            f"{s.observed:+.3f}, corrected {text_of(_moved(s.corrected))} "
            f"({s.anchors} labelled anchors)"
        )
    say(f"  shift is of the {w.scored}")
    say(f"  tested: {w.tested}")
    for note in w.notes:
        say(f"  ! {note}")


def _moved(e: "Estimate") -> Cell:
    """Return an estimate, which may have no point, with its interval."""
    if e.interval is None:
        return "-"
    return ("no point" if e.absent else Value(e.estimate, "+.3f"), " ", span_of(e.interval, "+.3f"))


def _bar(height: float, limit: float) -> str:
    """Draw how near a chart is to its alarm."""
    full = min(_WIDTH, round(_WIDTH * height / limit))
    mark = " ALARM" if height >= limit else ""
    return f"{'#' * full}{'.' * (_WIDTH - full)} {height:.2f}{mark}"
