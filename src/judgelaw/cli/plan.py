"""`judgelaw plan`: what a study costs and how much it will know, before a cent is spent."""

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judgelaw.cli.options import examples
from judgelaw.cli.terminal import echo, progress, say, show_table, write_json
from judgelaw.errors import InputError

if TYPE_CHECKING:
    from judgelaw.decide import Choice, Promise, Sizes, Spending, StopForecast, Workload
    from judgelaw.runs import Plan
    from judgelaw.uncertainty import Scope


_SUPPOSED = "0.4,0.3,0.2,0.1"
_OF: "dict[Scope, str]" = {"fixed": "the items asked", "new": "new items like them"}


@click.command(
    epilog=examples(
        "judgelaw plan study.yaml --latency 0.4",
        "judgelaw plan study.yaml --pilot runs/pilot --half-width 0.01",
        "judgelaw plan study.yaml --pilot p.csv --half-width 0.02 --component order --new-items",
        "judgelaw plan study.yaml --pilot runs/pilot --budget 5000",
        "judgelaw plan study.yaml --law 0.9,0.05,0.03,0.02",
    )
)
@click.argument("study", metavar="STUDY", type=click.Path(path_type=Path))
@click.option("--pilot", metavar="RUN|TABLE", help="Look ahead from calls with 2 repeats or more.")
@click.option(
    "--law",
    default=_SUPPOSED,
    show_default=True,
    metavar="P,P,...",
    help="Without a pilot: the law of verdicts supposed in every cell. A supposition: it has no "
    "effect of prompt, order or item.",
)
@click.option(
    "--assurance",
    type=float,
    default=0.8,
    show_default=True,
    metavar="CHANCE",
    help="Chance that an interval is as narrow as promised.",
)
@click.option(
    "--half-width",
    type=float,
    metavar="X",
    help="Show the repeats, and the items, that make an interval this narrow.",
)
@click.option(
    "--component",
    default="prompt",
    show_default=True,
    metavar="NAME",
    help="Whose interval --half-width is about.",
)
@click.option(
    "--new-items",
    "scope",
    flag_value="new",
    default="fixed",
    help="--half-width is about new items like those asked; needs --pilot.",
)
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    metavar="CALLS",
    help="With --pilot: choose items and repeats for so many calls of one judge, for these items "
    "and for new ones.  [default: what the study's budget leaves each judge]",
)
@click.option(
    "--latency",
    "latency_s",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    help="Seconds that one call takes.",
)
@click.option("--json", "json_file", metavar="FILE", help="Write JSON; - for stdout alone.")
def command(
    study: Path,
    *,
    pilot: str | None,
    law: str,
    assurance: float,
    half_width: float | None,
    component: str,
    scope: "Scope",
    budget: int | None,
    latency_s: float,
    json_file: str | None,
) -> None:
    """Show calls, tokens, cost, duration, and how narrow each interval will be.

    Nothing is sent. Half widths are of 95% intervals, and hold with the chance of --assurance: for
    the items asked, if they were asked again, and with a pilot for new items like them. With a
    pilot, a study with `stop:` is also told how soon its looks will decide.
    """
    from judgelaw.runs import plan

    if scope == "new" and pilot is None:
        raise InputError(
            "--new-items needs --pilot: under a supposed law all items are alike, so it says "
            "nothing about other items; give a run or a table with two repeats or more"
        )
    if budget is not None and pilot is None:
        raise InputError(
            f"--budget {budget} needs --pilot: what calls buy cannot be told without one; give a "
            "run or a table with two repeats or more"
        )
    planned = plan(
        study,
        pilot,
        law=_law(law),
        assurance=assurance,
        half_width=half_width,
        component=component,
        items=scope,
        budget=budget,
        latency_s=latency_s,
        progress=progress,
    )
    if json_file is not None:
        write_json(planned.to_json(), json_file)
    if json_file != "-":
        _show(planned)


def _law(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise InputError(
            f"--law {text!r}: give probabilities that sum to 1, such as {_SUPPOSED}"
        ) from error


def _show(planned: "Plan") -> None:
    from judgelaw.runs import duration

    say(planned.in_words())
    say(planned.words)
    if planned.wanted is not None:
        say(_answer(planned, planned.wanted))
    if planned.spending is not None:
        say(_bought(planned.spending))
    if planned.stop is not None:
        say(_stopping(planned.stop))
    echo()
    rows = [
        [
            name,
            f"{cost.calls:,}",
            f"{cost.input_tokens:,}"
            + (f", {cost.cached_tokens:,} of them cached" if cost.cached_tokens else ""),
            f"{cost.output_tokens:,}",
            "no price declared" if cost.usd is None else _money(cost),
            duration(cost.seconds),
            cost.limited_by,
        ]
        for name, cost in planned.judges.items()
    ]
    columns = ["judge", "calls", "tokens read", "written at most", "cost at most", "takes"]
    columns.append("limited by")
    show_table(columns, rows, title="What it costs")
    for scope, of in _OF.items():
        if widths := planned.widths(scope):
            echo()
            _show_widths(widths, planned, of)
            for component, reason in planned.reasons(scope).items():
                say(f"{component}: {reason}")


def _money(cost: "Workload") -> str:
    from judgelaw.runs import dollars

    most = dollars(cost.usd or 0.0)
    expected = cost.expected_usd
    return most if expected is None else f"{most}, about {dollars(expected)} as the pilot's"


def _show_widths(widths: dict[str, dict[int, float]], planned: "Plan", of: str) -> None:
    rows = [
        [component, *("none" if isnan(w) else f"±{w:.4f}" for w in by_depth.values())]
        for component, by_depth in widths.items()
    ]
    supposed = "" if planned.forecast_from == "pilot" else ", under the supposed law"
    title = (
        f"Half width of the 95% interval for {of}, {planned.items} items, reached with a chance "
        f"of {planned.assurance:.0%}{supposed}"
    )
    show_table(["component", *(f"R = {d}" for d in planned.depths)], rows, title=title)


def _answer(planned: "Plan", wanted: "Sizes") -> str:
    """Say which repeats, and which items, reach a wanted width."""
    from judgelaw.decide import MOST_ITEMS, MOST_REPEATS

    def calls(p: "Promise") -> str:
        return f"{p.items * p.repeats * planned.cells:,} calls a judge, ±{p.half_width:.4f}"

    chance = f"a chance of {planned.assurance:.0%}"
    if (reason := planned.reasons(wanted.scope).get(wanted.component)) is not None:
        return f"{wanted.component} will have no interval: {reason}"
    lines = [
        f"{wanted.component} to ±{wanted.half_width:g} for {_OF[wanted.scope]}, with {chance}:"
    ]
    if (p := wanted.repeats) is not None:
        lines.append(f"  on {p.items} items: {p.repeats} repeats ({calls(p)})")
    else:
        lines.append(f"  on {planned.items} items: not even with {MOST_REPEATS} repeats")
    if (p := wanted.items) is not None:
        lines.append(f"  with {p.repeats} repeats: about {p.items} items ({calls(p)})")
    else:
        lines.append(f"  with {planned.repeats} repeats: not even with {MOST_ITEMS:,} items")
    return "\n".join(lines)


def _bought(found: "Spending") -> str:
    """Say which items and repeats a number of calls should go into."""

    def words(choice: "Choice | None", none: str) -> str:
        if choice is None:
            return none
        reached = "" if choice.chance is None else f"; the wanted width in {choice.chance:.0%}"
        return (
            f"{choice.items} items x {choice.repeats} repeats ({choice.calls:,} calls): expected "
            f"±{choice.expected:.4f}, ±{choice.half_width:.4f} or better with a chance of "
            f"{choice.assurance:.0%}{reached}"
        )

    these = words(found.these, "not two repeats of every cell; choose fewer items")
    new = words(found.new, "not two items; raise the budget")
    return (
        f"What {found.budget:,} calls of a judge buy for the {found.component} component:\n"
        f"  about these items: {these}\n"
        f"  about new items:   {new}"
    )


def _stopping(found: "StopForecast") -> str:
    """Say how soon the looks of a study will decide."""
    looks = ", ".join(f"{share:.0%} by {depth} repeats" for depth, share in found.decided.items())
    if found.hopeless:
        return (
            f"The looks will hardly ever decide ({looks}): the limit is too near what the pilot "
            "shows, or too small for these calls; move it, add a deeper look, or take more items."
        )
    return (
        f"Looks: {looks} of studies like this one are decided ({found.passed:.0%} kept, "
        f"{found.failed:.0%} broken); {found.repeats:.1f} repeats are made on average."
    )
