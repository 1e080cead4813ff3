"""The questions that Python asks: analyse, gate, compare, report, of anything that holds calls.

`x` is a tensor, a run, the path of a run or table, a frame, a list of dicts, a Hugging Face
dataset, or tensors by judge or by (layer, judge). `reading` says which of its calls.
"""

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack

from judgelaw.errors import InputError
from judgelaw.option_types import Option, Rule, by_name, called, checked, number
from judgelaw.runs.answers import (
    REPORT,
    analyze_source,
    baseline_of,
    check_source,
    write_report,
)
from judgelaw.runs.reading_options import (
    SEED,
    AtLeast,
    Draws,
    Permutations,
    Reading,
    Seed,
    Soft,
    for_baseline,
    names_of,
)
from judgelaw.runs.several_sources import compared, several
from judgelaw.runs.source import Source, read_source
from judgelaw.steps import Progress, unseen

if TYPE_CHECKING:
    from judgelaw.analysis import Analysis, Comparison
    from judgelaw.uncertainty import Gate


def _margin(name: str, value: Any) -> None:
    rule: Rule = by_name(number, "{'call': 0.02}") if isinstance(value, Mapping) else number
    rule(name, value)


@checked
def analyze(
    x: Any,
    *,
    draws: Draws = None,
    seed: Seed = None,
    permutations: Permutations = None,
    level: float = 0.95,
    threshold: float | None = None,
    soft: Soft = "auto",
    at_least: AtLeast = None,
    roles: Annotated[Mapping[str, str] | None, Option(example="{'second': 'reference'}")] = None,
    progress: Annotated[Progress | None, Option(rule=called)] = None,
    **reading: Unpack[Reading],
) -> "Analysis":
    """Say whether each judge may be used and what to change, and what its disagreement is made of.

    Args:
        x: a tensor, a run, the path of a run or table, a frame, a list of dicts, a Hugging Face
            dataset, or tensors by judge or by (layer, judge).
        draws: item resamples of the bands; by default 20,000, fewer for many items.
        seed: of every random choice; by default as the run declares it, else 0.
        permutations: shuffles of the permutation tests, 999 by default; 0 leaves them out.
        level: coverage of bands and intervals.
        threshold: prompt component above which a judge is flagged in the ranking of judges.
        soft: "auto" answers with token probabilities where they are there and the sampled verdicts
            look drawn from them, "never" with sampled verdicts, "only" refuses calls without.
        at_least: how often the judge has to be right, as 0.9, in place of the usual bars.
        roles: role of each layer, where its name does not say it.
        progress: opens what shows a piece of work, given its name and its size.
        reading: which calls, and how to read them.

    >>> import numpy as np, judgelaw as jl
    >>> counts = np.random.default_rng(1).multinomial(8, [0.6, 0.3, 0.1, 0], size=(50, 6, 2))
    >>> found = jl.analyze(jl.VerdictTensor.from_counts(counts), permutations=0)
    >>> found.judges["judge"].items
    50
    """
    calls = read_source(x, reading, vectors=soft != "never")
    if roles is not None:
        calls = replace(calls, roles=roles)
    if threshold is not None:
        calls = replace(calls, threshold=threshold)
    return analyze_source(
        calls,
        draws=draws,
        seed=seed,
        permutations=permutations,
        level=level,
        soft=soft,
        at_least=at_least,
        progress=progress or unseen,
    )


@checked
def gate(
    x: Any,
    limits: Annotated[Mapping[str, float] | None, Option(example="{'prompt': 0.02}")] = None,
    *,
    items: Literal["fixed", "new"] = "fixed",
    level: float = 0.95,
    strict: bool = False,
    baseline: Any = None,
    margin: Annotated[Mapping[str, float] | float | None, Option(rule=_margin)] = None,
    match: Annotated[Mapping[str, str] | None, Option(example="{'old': 'new'}")] = None,
    **reading: Unpack[Reading],
) -> "Gate":
    """Hold judges against limits: each is passed, failed, or not decided by these calls.

    Args:
        x: as for `analyze`.
        limits: largest values of call, prompt, order, interaction, total or invalid, and least
            values of coverage, gold or right: `{"prompt": 0.02, "right": 0.8}`; by default those
            that the study of a run declares.
        items: "fixed" for the items that were asked, "new" for items like them.
        level: confidence of each bound that decides a pass; all limits must pass. Those that decide
            a failure are at 1 - (1 - level) / m for m limits and judges together.
        strict: for new items, suppose one unseen item at the end of its range throughout.
        baseline: earlier calls, like x, that no judge may be worse than; limits may be left out.
        margin: how much worse, 0.01 by default in total, invalid and gold; or `{"call": 0.02}`.
        match: new names of the baseline's prompts, by old name.
        reading: which calls, and how to read them.

    >>> import numpy as np, judgelaw as jl
    >>> counts = np.random.default_rng(1).multinomial(8, [0.6, 0.3, 0.1, 0], size=(50, 6, 2))
    >>> jl.gate(jl.VerdictTensor.from_counts(counts), {"prompt": 0.05}).verdict
    'pass'
    """
    from judgelaw.uncertainty import limits_of

    calls = read_source(x, reading)
    asked = limits_of(limits or calls.gate, calls.unit)
    before = None
    if baseline is not None:
        earlier = read_source(baseline, for_baseline(reading, match))
        before = baseline_of(earlier, margin, match)
    elif margin is not None or match is not None:
        raise InputError("a margin, or matched prompts, need a baseline: pass baseline=")
    return check_source(calls, asked, scope=items, level=level, strict=strict, baseline=before)


@checked
def compare(
    *xs: Any,
    by: Literal["judge", "prompt"] = "judge",
    draws: Draws = None,
    seed: Annotated[int, SEED] = 0,
    level: float = 0.95,
    at_least: AtLeast = None,
    **reading: Unpack[Reading],
) -> "Comparison":
    """Compare judges, or versions of one judge, on the items and cells that they share.

    Args:
        xs: each as for `analyze`, or all by name, `{"old": frame, "new": frame}`; one alone may
            hold several judges.
        by: "prompt" compares every prompt as a judge of its own.
        draws: item resamples of the bands.
        seed: of every random choice.
        level: coverage of bands and intervals.
        at_least: as for `analyze`.
        reading: which calls, and how to read them.

    >>> import numpy as np, judgelaw as jl
    >>> rng = np.random.default_rng(1)
    >>> a, b = (
    ...     jl.VerdictTensor.from_counts(rng.multinomial(4, law, size=(30, 3, 2)))
    ...     for law in ([0.6, 0.3, 0.1, 0], [0.98, 0.02, 0, 0])
    ... )
    >>> jl.compare({"a": a, "b": b}, draws=200).judges
    ('a', 'b')
    """
    from judgelaw.analysis import band_draws_for, by_prompt, compare as compare_tensors

    if not xs:
        raise InputError("nothing to compare: give two runs, tables or tensors, or one of several")
    every: Reading = {**reading, "judge": None}
    found, sources, own_names = several(xs)
    read = [read_source(x, every) for x in sources]
    judges = names_of(reading.get("judge"))
    chosen = compared(found, read, judges=judges, by_source=own_names)
    named = by_prompt(chosen.tensors) if by == "prompt" else chosen.tensors
    return compare_tensors(
        named,
        declared=chosen.estimand,
        draws=band_draws_for(named.values()) if draws is None else draws,
        seed=seed,
        level=level,
        noun=by,
        at_least=chosen.at_least if at_least is None else at_least,
    )


@checked
def report(
    x: Any,
    path: str | PathLike[str] | None = None,
    *,
    title: str | None = None,
    draws: Draws = None,
    seed: Seed = None,
    permutations: Permutations = None,
    at_least: AtLeast = None,
    **reading: Unpack[Reading],
) -> Path:
    """Write one HTML page: the answer, its intervals, every item, what to do. Return its path.

    Args:
        x: as for `analyze`.
        path: where the page goes; by default `report.html` in a run, `NAME.html` beside a table,
            `report.html` here for what is in memory.
        title: what the page is about; by default the name of the study or file.
        draws: as for `analyze`.
        seed: as for `analyze`.
        permutations: as for `analyze`.
        at_least: as for `analyze`.
        reading: which calls, and how to read them.
    """
    calls = read_source(x, reading)
    target = report_target(x, calls) if path is None else Path(path)
    check_target(target)
    analysis = analyze_source(
        calls, draws=draws, seed=seed, permutations=permutations, at_least=at_least
    )
    return write_report(analysis, calls, target, title=title)


def report_target(x: Any, calls: Source) -> Path:
    """Return where the page of x goes unless said otherwise."""
    if calls.run is not None:
        return calls.run / REPORT
    if isinstance(x, str | PathLike) and (path := Path(x)).is_file():
        return path.with_name(path.name.split(".")[0] + ".html")
    return Path(REPORT)


def check_target(target: Path) -> None:
    """Refuse a page that could not be written, before the work that would be lost with it."""
    if target.is_dir():
        raise InputError(f"cannot write {target}: it is a folder; name a file, report.html")
    if not target.parent.is_dir():
        raise InputError(f"cannot write {target}: {target.parent} is no folder; make it first")
