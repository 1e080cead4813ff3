"""`judgelaw compare`: judges side by side on matched items."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from judgelaw.cli._help import examples
from judgelaw.cli._output import echo, plain, say, show_table, write_json
from judgelaw.cli._source import resampling_options, source_options
from judgelaw.errors import InputError
from judgelaw.runs.source import Reading, Source, read_source

if TYPE_CHECKING:
    from judgelaw.analysis.comparison import Comparison, Difference
    from judgelaw.analysis.depths import Declaration
    from judgelaw.tensor import VerdictTensor


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
    difference is paired by item, at the depth that all judges have.
    """
    from judgelaw.analysis.comparison import compare
    from judgelaw.analysis.effort import draws_for

    read = [read_source(source, replace(reading, judges=())) for source in sources]
    named = _named(sources, read, reading.judges)
    if prompts:
        named = {name: t.select(prompts=prompts) for name, t in named.items()}
    comparison = compare(
        named,
        declared=_declared(sources, read),
        draws=draws_for(named.values()) if draws is None else draws,
        seed=seed or 0,
    )
    if json_file is not None:
        write_json({"schema": "judgelaw.comparison/1", **plain(comparison)}, json_file)
    if json_file != "-":
        _show(comparison)


def _declared(paths: Sequence[str], read: Sequence[Source]) -> "Declaration":
    from judgelaw.analysis.depths import Declaration

    first = read[0]
    for path, calls in zip(paths, read, strict=True):
        if (calls.design, calls.order_weights) != (first.design, first.order_weights):
            raise InputError(
                f"{path} declares design {calls.design!r} with order weights "
                f"{calls.order_weights}, {paths[0]} {first.design!r} with {first.order_weights}: "
                "a difference needs one estimand; pass --design, or run one study twice"
            )
    return Declaration(design=first.design, order_weights=first.order_weights)


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
    for line in _sentences(c):
        say(line)
    echo()
    columns = ["difference", "component", "corrected", "95% item band", "95% all together"]
    rows = [_row(d) for d in c.differences]
    show_table(
        [*columns, "95% call interval", "plug-in"],
        rows,
        title=f"{c.items:,} matched items, R = {c.depth}",
    )
    if any(c.lost.values()):
        lost = ", ".join(f"{name} {n}" for name, n in c.lost.items() if n)
        say(f"  ! items that another judge lacks were left out: {lost}")


def _sentences(c: "Comparison") -> Iterator[str]:
    total = c.rankings["total"]
    yield f"Total disagreement, largest first: {' > '.join(total.corrected)}."
    settled = [d for d in c.differences if d.settled]
    if settled:
        said = "; ".join(f"{d.component} of {d.a} and {d.b}" for d in settled)
        yield f"Differences that other items would not undo: {said}."
    else:
        yield "No difference is settled: taken together, the intervals over items all hold 0."
    for name, ranking in c.rankings.items():
        if ranking.corrected != ranking.plugin:
            yield (
                f"By {name} the plug-in ranks {' > '.join(ranking.plugin)}, the corrected estimate "
                f"{' > '.join(ranking.corrected)}; the top judge changes in "
                f"{100 * ranking.top_differs:.1f}% of item resamples."
            )


def _row(d: "Difference") -> list[str]:
    return [
        f"{d.a} - {d.b}",
        d.component,
        f"{d.estimate:+.4f}",
        _pair(d.band),
        _pair(d.simultaneous),
        _pair(d.call_interval),
        f"{d.plugin:+.4f}",
    ]


def _pair(pair: tuple[float, float] | None) -> str:
    return "-" if pair is None else f"[{pair[0]:+.4f}, {pair[1]:+.4f}]"
