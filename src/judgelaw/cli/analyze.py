"""`judgelaw analyze`: what the disagreement of each judge is made of."""

from collections.abc import Iterator
from dataclasses import replace
from math import ceil, floor, isnan
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judgelaw.cli.options import examples, permutations_option, resampling_options, source_options
from judgelaw.cli.terminal import echo, progress, say, show_table, write_json
from judgelaw.processes import processes
from judgelaw.runs import Reading, analyze_source, read_source

if TYPE_CHECKING:
    from collections.abc import Callable

    from judgelaw.analysis import (
        Analysis,
        ChangeRate,
        Component,
        JudgeAnalysis,
        ScoreAnswers,
        SoftEvidence,
        SoftMode,
    )
    from judgelaw.diagnose import ProbeEffect
    from judgelaw.uncertainty import Interval


_NEGATIVE = (
    "Negative estimates are printed as they come: the truth is never below 0, so such a component "
    "is too small for these calls to see. Setting it to 0 would bias every average."
)
_LABELS = {
    "call": "repeat-to-repeat (call)",
    "prompt": "prompt",
    "order": "answer order",
    "interaction": "prompt x order",
    "total": "total",
}
_CHANGES = {
    "ask_again": "ask again: nothing else changes",
    "reword": "reword: another prompt",
    "swap": "swap: another answer order",
    "both": "both: another prompt and order",
}
_SWAPPED = ("swap", "both")
_ORDERED = ("order", "interaction")
"""What single answers have no part in."""
_ROUNDING = 1e-9
_MARKS = {"problem": "PROBLEM", "notice": "notice"}
_ASSUMED = {
    "rank_gap": "drift by repeat rank",
    "exchangeable_repeats": "exchangeable repeats",
    "cell_dependence": "independent cells",
}


@click.command(
    epilog=examples(
        "judgelaw analyze calls.csv.gz",
        "judgelaw analyze runs/my-study --json analysis.json --tables tables/",
        "judgelaw analyze calls.parquet --judge my-judge --repeats 4 --incomplete drop",
        "judgelaw analyze calls.csv.gz --prompt plain",
        "judgelaw analyze calls.parquet --soft never",
    )
)
@click.argument("source", metavar="RUN|TABLE")
@source_options
@resampling_options
@permutations_option
@click.option(
    "--prompt", "prompts", multiple=True, help="Analyse this prompt only; may be repeated."
)
@click.option(
    "--soft",
    type=click.Choice(["auto", "never", "only"]),
    default="auto",
    show_default=True,
    help="Answer with token probabilities (columns p_VERDICT): where they hold, never, or refuse "
    "calls without.",
)
@click.option(
    "--at-least",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="How often the judge has to be right, as .9, in place of the usual bars.",
)
@click.option("--details", is_flag=True, help="Print components, tests and notices below.")
@click.option("--json", "json_file", metavar="FILE", help="Write JSON; - for stdout alone.")
@click.option(
    "--tables",
    "tables_folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write every table as CSV, LaTeX and JSON.",
)
def command(
    *,
    source: str,
    reading: Reading,
    draws: int | None,
    seed: int | None,
    permutations: int | None,
    prompts: tuple[str, ...],
    soft: "SoftMode",
    at_least: float | None,
    details: bool,
    json_file: str | None,
    tables_folder: Path | None,
) -> None:
    """Say whether a judge may be used and what to change, and what its disagreement is made of.

    A table has the columns judge, item, stratum, prompt, order, repeat, verdict, gold (CSV,
    Parquet or JSON lines); a run is the folder of `judgelaw run`.
    """
    calls = read_source(source, replace(reading, vectors=soft != "never"))
    if prompts:
        calls = calls.only_prompts(prompts)
    with processes(1, calls=calls.count):
        analysis = analyze_source(
            calls,
            draws=draws,
            seed=seed,
            permutations=permutations,
            soft=soft,
            at_least=at_least,
            progress=progress,
        )
    if tables_folder is not None:
        from judgelaw.page import write_tables
        from judgelaw.study import own_folder

        own_folder(tables_folder)
        written = write_tables(analysis.tables, tables_folder)
        echo(f"{len(written)} files in {tables_folder}", err=True)
    if json_file is not None:
        write_json(analysis.to_json(), json_file)
    if json_file != "-":
        show(analysis, place=source, details=details)


_DRAWN = 4
"""Where the interval of drawn prompts stands, after those of items."""


def show(analysis: "Analysis", *, place: str = "", page: str = "", details: bool = False) -> None:
    """Print the answer; with `details` also what it rests on."""
    from judgelaw.analysis import probe_sentence, screen_of_analysis
    from judgelaw.cli.answer_screen import show_screen

    where = Path(place).resolve().name if place else ""
    show_screen(screen_of_analysis(analysis, where), place=place, page=page)
    for judge in analysis.judges.values():
        if judge.probes:
            say(f"{probe_sentence(judge)}")
        if judge.more_prompts is not None:
            say(judge.more_prompts.sentence)
    if details:
        echo()
        _show_details(analysis)


def _show_details(analysis: "Analysis") -> None:
    """Print changes, components, tests and notices of every judge of the main layer."""
    from judgelaw.analysis import where_largest

    negative = False
    for name, judge in analysis.judges.items():
        _changes(judge, analysis.settings.level)
        if not judge.one_call:
            show_table(_columns(analysis, judge), _rows(judge), title=_title(judge))
            echo()
        if judge.soft is not None:
            _show_soft(judge.soft, analysis.settings.level)
        for line in _notes(judge):
            say(line)
        _slots(judge, analysis.settings.level)
        _factors(judge, analysis.settings.level)
        if judge.probes:
            echo()
            show_table(
                _PROBE_COLUMNS, [*map(_probe_row, judge.probes.values())], title=f"{name}: probes"
            )
            for where in filter(None, map(where_largest, judge.probes.values())):
                say(f"  {where}")
        echo()
        negative = negative or any(c.estimate < 0 for c in judge.components.values())
    for line in _endnotes(analysis, negative=negative):
        say(line)


def _slots(judge: "JudgeAnalysis", level: float) -> None:
    """Print how often each displayed slot is chosen, where there are more than two."""
    from judgelaw.analysis import slot_sentence
    from judgelaw.arrays import PAIR

    if len(judge.slots) <= PAIR:
        return
    ends = (f"{100 * level:g}%, these items", f"{100 * level:g}%, items like these")
    echo()
    say(slot_sentence(judge.slots, judge.items))
    rows = [
        [
            x.slot,
            f"{100 * x.share:.1f}",
            f"{100 * x.lean:+.1f}",
            _signed(x.call_interval),
            _signed(x.interval),
        ]
        for x in judge.slots
    ]
    columns = ["slot", "chosen of 100", "from even", *ends]
    show_table(columns, rows, title=f"{judge.name}: position preference by slot")


def _factors(judge: "JudgeAnalysis", level: float) -> None:
    """Print how the prompt component splits over factors, where prompts cross some."""
    from judgelaw.analysis import factor_sentence

    if not judge.factors:
        return
    ends = (f"{100 * level:g}%, items like these", f"{100 * level:g}%, these items")
    echo()
    say(factor_sentence(judge))
    rows = [
        [name, f"{c.estimate:.4f}", _pair(c.interval), _pair(c.call_interval), f"{c.plugin:.4f}"]
        for name, c in judge.factors.items()
    ]
    columns = ["part of prompt", "estimate", *ends, "plug-in"]
    show_table(columns, rows, title=f"{judge.name}: the prompt component by factor")


def _signed(pair: tuple[float, float] | None) -> str:
    return "-" if pair is None else f"[{100 * pair[0]:+.1f}, {100 * pair[1]:+.1f}]"


def _changes(judge: "JudgeAnalysis", level: float) -> None:
    """Print how often the verdict changes, for both targets."""
    scored = judge.scores is not None
    columns = [
        "two calls",
        "points apart" if scored else "changed of 100",
        f"{100 * level:g}%, these items",
        f"{100 * level:g}%, items like these",
    ]
    write = _in_points if scored else _of_100
    rows = [
        _change(label, judge.changes[name], write)
        for name, label in _CHANGES.items()
        if not (judge.single and name in _SWAPPED)
    ]
    title = "How often the verdict on an item changes between two calls"
    if scored:
        title = "How many points two scores of an item are apart, on average"
    show_table(columns, rows, title=title)
    echo()
    if judge.scores is not None:
        _show_scores(judge.scores)
        echo()


def _show_scores(scores: "ScoreAnswers") -> None:
    """Print mean score and fit to gold, then what every prompt led to."""
    from judgelaw.analysis import score_lines

    for line in score_lines(scores):
        say(f"  {line}")
    echo()
    columns = ["prompt", "mean score", "these items", *(scores.by_prompt[0].counts)]
    rows = [
        [
            x.prompt,
            f"{x.mean.estimate:.2f}",
            _in_points(x.mean.call_interval),
            *(f"{n:,}" for n in x.counts.values()),
        ]
        for x in scores.by_prompt
    ]
    show_table(columns, rows, title="Scores by prompt")


def _change(
    label: str, rate: "ChangeRate | None", write: "Callable[[tuple[float, float] | None], str]"
) -> list[str]:
    if rate is None:
        return [label, "not varied", "-", "-"]
    number = _estimate(rate, write is _in_points)
    return [label, number, write(rate.call_interval), write(rate.interval)]


def _estimate(rate: "ChangeRate | None", scored: bool) -> str:  # noqa: FBT001 - one of two units
    if rate is None:
        return "not varied"
    return f"{rate.estimate:.2f}" if scored else f"{100 * rate.estimate:.1f}"


def _in_points(pair: tuple[float, float] | None) -> str:
    """Write a range in points of a score."""
    return "-" if pair is None else f"{max(0.0, pair[0]):.2f} to {pair[1]:.2f}"


def _of_100(pair: tuple[float, float] | None) -> str:
    """Write a range in points of 100, ends where no chance lies cut off at none and all."""
    if pair is None:
        return "-"
    return f"{100 * max(0.0, pair[0]):.1f} to {100 * min(1.0, pair[1]):.1f}"


def _show_soft(soft: "SoftEvidence", level: float) -> None:
    """Print what token probabilities say beside sampled verdicts, with half the calls if it can."""
    from judgelaw.analysis import side_by_side, soft_sentence

    say(soft_sentence(soft))
    columns, rows = side_by_side(soft, level)
    rows = [[_LABELS[name], *values] for name, *values in rows]
    show_table(columns, rows, title="Sampled verdicts and token probabilities side by side")
    echo()


def _title(judge: "JudgeAnalysis") -> str:
    R = judge.repeats
    depth = f"{R[0]}-{R[1]}" if isinstance(R, tuple) else str(R)
    where = "" if judge.layer is None else f", layer {judge.layer}"
    axes = [(judge.items, "item"), (judge.prompts, "prompt"), (judge.orders, "order")]
    shown = axes[:2] if judge.single else axes
    design = " x ".join(f"{n:,} {noun}{'s' * (n != 1)}" for n, noun in shown)
    return f"{judge.name}{where}: {design} x {depth} repeats, {judge.calls:,} calls"


def _columns(analysis: "Analysis", judge: "JudgeAnalysis") -> list[str]:
    level = f"{100 * analysis.settings.level:g}%"
    drawn = [] if judge.projection is None else [f"{level}, prompts like these"]
    return [
        "component",
        "estimate",
        f"{level}, items like these",
        f"{level}, these items",
        *drawn,
        "plug-in",
        "share, these items",
    ]


def _rows(judge: "JudgeAnalysis") -> list[list[str]]:
    rows = {
        name: _row(_LABELS[name], c)
        for name, c in judge.components.items()
        if not (judge.single and name in _ORDERED)
    }
    if (drawn := judge.projection) is not None:
        # Of drawn prompts, and these items: what other prompts of the generator would have given.
        known = drawn.low == drawn.low
        for name, row in rows.items():
            told = name == "prompt" and known
            row.insert(_DRAWN, _pair((drawn.low, drawn.high)) if told else "-")
    return list(rows.values())


def _row(label: str, c: "Component") -> list[str]:
    if c.absent:
        return [label, "not varied", "-", "-", "-", "-"]
    return [
        label,
        f"{c.estimate:.4f}",
        _pair(c.interval),
        _pair(c.call_interval),
        f"{c.plugin:.4f}",
        _share(c.share_interval),
    ]


def _pair(pair: tuple[float, float] | None) -> str:
    return "-" if pair is None else f"[{pair[0]:.4f}, {pair[1]:.4f}]"


def _share(pair: tuple[float, float] | None) -> str:
    """Write a range of shares in whole percent, rounded outwards; `-` if there is no range."""
    if pair is None:
        return "-"
    low, high = 100 * pair[0], 100 * pair[1]
    return f"{floor(low + _ROUNDING)}% to {ceil(high - _ROUNDING)}%"


_PROBE_COLUMNS = [
    "change of an answer",
    "moves of 100",
    "95%, items like these",
    "95%, these items",
    "change of law",
    "p, all probes",
    "items move",
    "found from",
]


def _probe_row(effect: "ProbeEffect") -> list[str]:
    from judgelaw.analysis import points_of_100

    return [
        effect.probe,
        points_of_100(effect.shift.estimate),
        _points(effect.shift),
        _points(effect.shift_asked),
        f"{effect.change.estimate:.4f}",
        f"{effect.p:.3g}",
        f"{effect.moved} of {effect.items} or more" if effect.moved else "none shown",
        f"{100 * effect.smallest:.1f}",
    ]


def _points(interval: "Interval") -> str:
    return "-" if isnan(interval.low) else _signed((interval.low, interval.high))


def _notes(judge: "JudgeAnalysis") -> Iterator[str]:
    if judge.scores is not None:
        yield f"  {judge.scores.meaning}"
    if len(judge.depths) > 1 and not judge.components["prompt"].absent:
        at = ", ".join(
            f"R={depth} {c['prompt'].plugin:.4f} -> {c['prompt'].estimate:.4f}"
            for depth, c in judge.depths.items()
        )
        yield f"  prompt, plug-in -> corrected: {at}"
    tests = {
        facet: test for facet, test in judge.permutation.items() if test is not None and test.draws
    }
    if tests:
        said = ", ".join(f"across {facet}s p = {test.p:.3g}" for facet, test in tests.items())
        yield f"  permutation tests of one law: {said}"
    counts = ", ".join(f"{verdict} {n:,}" for verdict, n in judge.outcomes.items())
    yield f"  verdicts: {counts}"
    for warning in judge.warnings:
        yield f"  ! {warning}"


def _endnotes(analysis: "Analysis", *, negative: bool) -> Iterator[str]:
    if negative:
        yield _NEGATIVE
    others = [name for name in analysis.layers if name != analysis.main_layer]
    if others:
        yield f"Other layers ({', '.join(others)}) are in --json and --tables; --layer shows one."
    for finding in analysis.diagnostics:
        if finding.verdict in _MARKS:
            about = f" ({finding.subject})" if finding.subject else ""
            yield f"{_MARKS[finding.verdict]}{about}: {finding.headline} {finding.advice}"
    yield from (f"{f.headline} {f.advice}" for f in analysis.diagnostics if f.name == "top_judge")
    yield from _not_tested(analysis)
    for warning in analysis.warnings:
        yield f"! {warning}"


def _not_tested(analysis: "Analysis") -> Iterator[str]:
    """Say which assumptions these calls cannot test: silence would pass for a clean bill."""
    found = {
        words: [
            f.subject for f in analysis.diagnostics if f.name == name and f.verdict == "unknown"
        ]
        for name, words in _ASSUMED.items()
    }
    said = "; ".join(f"{words} ({', '.join(who)})" for words, who in found.items() if who)
    if said:
        yield f"Not testable here: {said}. The reasons are in --json and in the report."
