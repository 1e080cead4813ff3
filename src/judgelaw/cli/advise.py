"""`judgelaw advise`: which prompt to keep, how to ask, what a target costs."""

from math import isnan
from typing import TYPE_CHECKING

import click

from judgelaw.blocks import Cell, Value, span_of
from judgelaw.cli.options import Place, examples, source_argument, source_options
from judgelaw.cli.terminal import echo, progress, say, show_table, write_json
from judgelaw.runs import Reading, read_source
from judgelaw.vocabulary import COMPONENTS

if TYPE_CHECKING:
    from judgelaw.decide import Advice, JudgeAdvice, ProtocolRow
    from judgelaw.quantities import Estimate


_WIDTH = 40
"""Characters of the figure, from the least stability shown to 1."""


@click.command(
    epilog=examples(
        "judgelaw advise runs/my-study --target stability=0.9",
        "judgelaw advise calls.csv.gz --gold candidate_1 --json advice.json",
        "judgelaw advise calls.csv --protocol 'drawn:3 both 2 random' --price 0.002",
    )
)
@source_argument
@click.option(
    "--target",
    metavar="NAME=X",
    help="Find the cheapest protocol that is shown to have this stability (or accuracy).",
)
@click.option(
    "--protocol",
    "protocols",
    multiple=True,
    metavar="'PROMPTS ORDERS REPEATS RULE'",
    help="Look at this protocol: fixed:NAME, drawn:NUMBER or all; one, both or consistent; repeats "
    "of a cell; random, tie or priority. May be repeated. [default: a list of usual ones]",
)
@click.option("--gold", metavar="VERDICT", help="The right verdict of every item.")
@click.option(
    "--price",
    type=click.FloatRange(min=0),
    metavar="USD",
    help="Dollars of a call. [default: as the run declares and used]",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of every draw.")
@click.option("--json", "json_file", metavar="FILE", help="Write JSON; - for stdout alone.")
@source_options
def command(
    *,
    source: Place,
    target: str | None,
    protocols: tuple[str, ...],
    gold: str | None,
    price: float | None,
    seed: int,
    json_file: str | None,
    reading: Reading,
) -> None:
    """Say what to do about a judge: which prompt to keep, and how to ask.

    A protocol is a way to ask about an item: which prompts, which orders, how many repeats, and who
    wins a tied vote. Its stability is the chance that the whole of it, run again, gives the same
    verdict. All figures are for items like these, with 95% intervals.
    """
    from judgelaw.runs import advise_source, target_of

    wanted = target_of(target)
    advice = advise_source(
        read_source(source, reading),
        target=wanted,
        protocols=protocols or None,
        gold=gold,
        price=price,
        seed=seed,
        progress=progress,
    )
    if json_file is not None:
        write_json(advice.to_json(), json_file)
    if json_file != "-":
        show(advice)


def show(advice: "Advice") -> None:
    """Print the advice on every judge: sentences, prompts, protocols, what to know."""
    for name, judge in advice.judges.items():
        say(f"{name}: {judge.sentence}" if len(advice.judges) > 1 else judge.sentence)
        if judge.wrong is not None:
            say(judge.wrong.in_words())
        echo()
        _show_prompts(judge)
        echo()
        _show_protocols(judge)
        for note in judge.notes:
            say(f"  ! {note}")
        echo()


def _show_prompts(judge: "JudgeAdvice") -> None:
    rows = judge.choice.rows
    kept = [
        (title, key, form)
        for title, key, form in _OF_PROMPTS
        if any(not isnan(getattr(row, key)) for row in rows)
    ]
    body = [
        [
            row.prompt,
            *(Value(getattr(row, key), form) for _, key, form in kept),
            "yes" if row.keep else "no",
        ]
        for row in rows
    ]
    columns = ["Prompt", *(title for title, _, _ in kept), "Keep"]
    lean = "; lean is to the answer shown first, in points of 100"
    told = lean if any(key == "lean" for _, key, _ in kept) else ""
    show_table(columns, body, title=f"Prompts, {judge.items:,} item{'s' * (judge.items > 1)}{told}")


_OF_PROMPTS = (
    (COMPONENTS["call"].title, "call", ".4f"),
    ("Invalid", "invalid", ".4f"),
    ("Accuracy", "accuracy", ".4f"),
    ("Lean", "lean", "+.1f"),
    ("Distance", "distance", ".4f"),
)


def _show_protocols(judge: "JudgeAdvice") -> None:
    rows = [row for _, row in judge.worth_showing()]
    with_gold = any(r.accuracy is not None for r in rows)
    with_cost = any(r.cost is not None for r in rows)
    least = min((r.stability.low for r in rows if not isnan(r.stability.low)), default=0.0)
    columns = ["Protocol", "Calls", "Stability", "95%, items like these"]
    columns += ["Accuracy"] * with_gold + ["USD an item"] * with_cost
    body = []
    for row in rows:
        cells: list[Cell] = [_name(row), Value(row.calls, ",d"), *_stability(row.stability)]
        cells += [Value(None if row.accuracy is None else row.accuracy.estimate)] * with_gold
        cells += [Value(row.cost)] * with_cost
        body.append([*cells, _bar(row.stability, least)])
    title = "Protocols by calls: stability is the same verdict again"
    show_table([*columns, f"{least:.2f}{'':{_WIDTH - 5}}1"], body, title=title)


def _name(row: "ProtocolRow") -> str:
    p = row.protocol
    return f"{p.prompts} {p.orders} {p.repeats} {p.rule}"


def _stability(s: "Estimate") -> "list[Cell]":
    if s.absent:
        return ["forecast", span_of(s.interval, ".2f", to=True)]
    return [Value(s.estimate), span_of(s.interval)]


def _bar(s: "Estimate", least: float) -> str:
    """Draw an interval between the least value shown and 1, its point marked; a forecast dotted."""
    if isnan(s.low) or least >= 1:
        return ""

    def at(value: float) -> int:
        return min(max(round((value - least) / (1 - least) * (_WIDTH - 1)), 0), _WIDTH - 1)

    known = not s.absent
    line = [" "] * _WIDTH
    for place in range(at(s.low), at(s.high) + 1):
        line[place] = "-" if known else "."
    if known:
        line[at(s.estimate)] = "o"
    return "".join(line).rstrip()
