"""`judgelaw panel`: is a jury of judges worth its calls, and which."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from judgelaw.cli.options import FILE, examples, source_options
from judgelaw.cli.terminal import echo, say, write_json
from judgelaw.errors import InputError
from judgelaw.runs import Reading, groups_of, names_of, panel_of_sources, read_source

if TYPE_CHECKING:
    from judgelaw.analysis import PanelAnswer
    from judgelaw.decide import Ties


@click.command(
    epilog=examples(
        "judgelaw panel calls.csv.gz",
        "judgelaw panel runs/gpt runs/claude runs/gemini --report panel.html",
        "judgelaw panel calls.csv.gz --of model-a,model-b,model-c --size 3 --json -",
    )
)
@click.argument("sources", nargs=-1, required=True, metavar="RUN|TABLE...")
@click.option(
    "--size",
    metavar="3,5",
    help="How many judges vote: 3, 5, or both. [default: both]",
)
@click.option(
    "--of",
    multiple=True,
    metavar="A,B,C",
    help="Form panels among these judges only; may be repeated. [default: all judges]",
)
@click.option(
    "--ties",
    type=click.Choice(["random", "tie", "first"]),
    default="random",
    show_default=True,
    help="Who wins a tied vote: any of the tied verdicts, the verdict tie, or the judge listed "
    "first.",
)
@source_options
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of every draw.",
)
@click.option("--details", is_flag=True, help="Print every panel, and what verdicts hang on.")
@click.option("--report", "report_file", type=FILE, metavar="FILE", help="Write a page.")
@click.option("--json", "json_file", metavar="FILE", help="Write JSON; - for stdout alone.")
def command(
    *,
    sources: tuple[str, ...],
    size: str | None,
    of: tuple[str, ...],
    ties: "Ties",
    reading: Reading,
    seed: int,
    details: bool,
    report_file: Path | None,
    json_file: str | None,
) -> None:
    """Say whether a panel of judges is worth its calls, and which.

    Combine some by majority, keep one, or ask one alone: each is said only where it is shown,
    beside the best judge and beside as many calls of it. Each RUN or TABLE holds one judge or
    several; they are matched by item.
    """
    groups = [group for one in of for group in groups_of(one)]
    every: Reading = {**reading, "judge": None}
    read = [read_source(source, every) for source in sources]
    judges = names_of(reading.get("judge"))
    found = panel_of_sources(
        sources, read, judges=judges, size=_sizes(size), of=groups, ties=ties, seed=seed
    )
    where = Path(sources[0]).name if len(sources) == 1 else ""
    if report_file is not None:
        from judgelaw.page import panel_page
        from judgelaw.runs import write_page

        write_page(report_file, panel_page(found, title=where or "Panel of judges"))
    if json_file is not None:
        write_json(found.to_json(), json_file)
    if json_file != "-":
        _show(found, where, details=details)


def _sizes(given: str | None) -> tuple[int, ...] | None:
    if given is None:
        return None
    parts = given.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise InputError(f"--size {given}: how many judges vote, 3 or 5, or 3,5")
    return tuple(int(part) for part in parts)


def _show(found: "PanelAnswer", where: str, *, details: bool) -> None:
    from judgelaw.cli.answer_screen import show_screen

    show_screen(found.screen(where))
    if details:
        from judgelaw.cli.sections import show_sections
        from judgelaw.page import sections_of_panel

        echo()
        show_sections(sections_of_panel(found))
    if any(found.panel.lost.values()):
        lost = ", ".join(f"{name} {n}" for name, n in found.panel.lost.items() if n)
        say(f"  ! items that another judge lacks were left out: {lost}")
