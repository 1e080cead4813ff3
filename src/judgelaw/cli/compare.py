"""`judgelaw compare`: judges side by side on matched items."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from judgelaw.cli.options import examples, resampling_options, source_options
from judgelaw.cli.terminal import echo, plain, say, show_table, write_json
from judgelaw.errors import InputError
from judgelaw.runs import Reading, Source, read_source

if TYPE_CHECKING:
    from judgelaw.analysis import Comparison, Difference
    from judgelaw.tensor import VerdictTensor
    from judgelaw.uncertainty import Estimand


_TIE = 1e-12


@click.command(
    epilog=examples(
        "judgelaw compare runs/monday runs/tuesday",
        "judgelaw compare calls.csv.gz --judge model-a --judge model-b",
    )
)
@click.argument("sources", nargs=-1, required=True, metavar="A B...")
@source_options
@resampling_options
@click.option(
    "--prompt", "prompts", multiple=True, help="Compare on this prompt only; may be repeated."
)
@click.option("--json", "json_file", metavar="FILE", help="Write JSON; - for stdout alone.")
def command(
    *,
    sources: tuple[str, ...],
    reading: Reading,
    draws: int | None,
    seed: int | None,
    prompts: tuple[str, ...],
    json_file: str | None,
) -> None:
    """Compare judges, or versions of one judge, on the items and cells that they share.

    Each of A, B, ... is a run or a table; a table with several judges may stand alone. Every
    difference is paired by item, at the depth that all judges have. The intervals hold together:
    they are adjusted for all differences printed.
    """
    from judgelaw.analysis import compare, draws_for

    read = [read_source(source, replace(reading, judges=())) for source in sources]
    named = _named(sources, read, reading.judges)
    if prompts:
        named = {name: t.select(prompts=prompts) for name, t in named.items()}
    comparison = compare(
        named,
        declared=_one_estimand(sources, read),
        draws=draws_for(named.values()) if draws is None else draws,
        seed=seed or 0,
    )
    if json_file is not None:
        write_json({"schema": "judgelaw.comparison/1", **plain(comparison)}, json_file)
    if json_file != "-":
        _show(comparison)


def _one_estimand(paths: Sequence[str], read: Sequence[Source]) -> "Estimand":
    from judgelaw.uncertainty import Estimand

    first = read[0]
    for path, calls in zip(paths, read, strict=True):
        if (calls.design, calls.order_weights) != (first.design, first.order_weights):
            raise InputError(
                f"{path} declares design {calls.design!r} with order weights "
                f"{calls.order_weights}, {paths[0]} {first.design!r} with {first.order_weights}: "
                "a difference needs one estimand; pass --design, or run one study twice"
            )
    return Estimand(design=first.design, order_weights=first.order_weights)


def _named(
    paths: Sequence[str], read: Sequence[Source], judges: Sequence[str]
) -> "dict[str, VerdictTensor]":
    """Name every judge, with its source where a name comes twice."""
    found = [
        (path, judge, tensor)
        for path, calls in zip(paths, read, strict=True)
        for judge, tensor in calls.main().items()
    ]
    known = Counter(judge for _, judge, _ in found)
    if unknown := [judge for judge in judges if judge not in known]:
        raise InputError(f"no judge is called {unknown[0]!r}: there are {', '.join(known)}")
    if len(set(paths)) < len(paths):
        twice = Counter(paths).most_common(1)[0][0]
        raise InputError(f"{twice} is named twice: nothing differs from itself")
    return {
        judge if known[judge] == 1 else f"{path}: {judge}": tensor
        for path, judge, tensor in found
        if not judges or judge in judges
    }


def _show(c: "Comparison") -> None:
    from judgelaw.uncertainty import MIN_REPEATS

    for line in _sentences(c):
        say(line)
    echo()
    columns = ["difference", "component", "corrected", "95%, items like these"]
    rows = [_row(d) for d in c.differences]
    show_table(
        [*columns, "95%, these items", "plug-in"],
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


def _sentences(c: "Comparison") -> Iterator[str]:
    """Say what is told apart; every claim rests on the intervals that are printed."""
    yield f"Total disagreement, largest estimate first: {', '.join(c.rankings['total'].corrected)}."
    settled = [d for d in c.differences if d.settled]
    here = [d for d in c.differences if d.settled_here and not d.settled]
    if settled:
        yield f"Differences that other items like these would not undo: {_named_pairs(settled)}."
    if here:
        yield f"Differences on these items, which other items may undo: {_named_pairs(here)}."
    if not settled and not here:
        yield "No difference is settled: taken together, all intervals hold 0."
    for name, ranking in c.rankings.items():
        turned = [d for d in c.differences if d.component == name and _turned(d)]
        if turned:
            told = any(d.settled_here or d.settled for d in turned)
            yield (
                f"By {name} the plug-in ranks {ranking.plugin_in_words}, the corrected estimate "
                f"{ranking.in_words}"
                + ("." if told else "; these calls do not tell which is right.")
            )


def _named_pairs(found: "Sequence[Difference]") -> str:
    return "; ".join(f"{d.component} of {d.a} and {d.b}" for d in found)


def _turned(d: "Difference") -> bool:
    """Whether the plug-in ranks two judges the other way round; ties are no ranking."""
    return d.estimate * d.plugin < 0 and min(abs(d.estimate), abs(d.plugin)) > _TIE


def _row(d: "Difference") -> list[str]:
    return [
        f"{d.a} - {d.b}",
        d.component,
        f"{d.estimate:+.4f}",
        _pair(d.simultaneous),
        _pair(d.call_simultaneous),
        f"{d.plugin:+.4f}",
    ]


def _pair(pair: tuple[float, float] | None) -> str:
    return "-" if pair is None else f"[{pair[0]:+.4f}, {pair[1]:+.4f}]"
