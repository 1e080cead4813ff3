"""`judgelaw plan`: what a study costs and how much it will know, before a cent is spent."""

from dataclasses import asdict, dataclass
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judgelaw.cli.options import examples
from judgelaw.cli.terminal import echo, progress, say, show_table, write_json
from judgelaw.errors import InputError

if TYPE_CHECKING:
    from judgelaw.decide import Outlook, Promise, Sizes, Workload
    from judgelaw.estimate import Design
    from judgelaw.study import Preview
    from judgelaw.uncertainty import Scope
    from judgelaw.wire import JudgeSpec


_DEPTHS = (2, 4, 8, 16)
_LATENCY_S = 1.0
_OUTPUT_TOKENS = 16
_SUPPOSED = "0.4,0.3,0.2,0.1"
_SEARCHES = 20
"""About as many sizes are tried for a wanted width."""
_OF: "dict[Scope, str]" = {"fixed": "the items asked", "new": "new items like them"}


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What the study as it is declared will know, and what it would take to know more.

    Attributes:
        outlook: where that comes from, `words` in a sentence.
        items, depth: size of the study as declared.
        promises: for every target, depth and component.
        wanted: what a wanted width takes, None where none is asked for.
    """

    outlook: "Outlook"
    words: str
    items: int
    depth: int
    promises: "tuple[Promise, ...]"
    wanted: "Sizes | None"

    @property
    def depths(self) -> list[int]:
        """The depths that are shown."""
        return sorted({p.repeats for p in self.promises})

    def widths(self, scope: "Scope") -> dict[str, dict[int, float]] | None:
        """Return half widths by component and depth, None where nothing is known of the target."""
        found: dict[str, dict[int, float]] = {}
        for p in self.promises:
            if p.scope == scope:
                found.setdefault(p.component, {})[p.repeats] = p.half_width
        return found or None

    def reasons(self, scope: "Scope") -> dict[str, str]:
        """Return why components will have no interval."""
        return {p.component: p.reason for p in self.promises if p.scope == scope and p.reason}


@click.command(
    epilog=examples(
        "judgelaw plan study.yaml --latency 0.4",
        "judgelaw plan study.yaml --pilot runs/pilot --half-width 0.01",
        "judgelaw plan study.yaml --pilot p.csv --half-width 0.02 --component order --new-items",
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
    "--latency",
    "latency_s",
    type=click.FloatRange(min=0),
    default=_LATENCY_S,
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
    latency_s: float,
    json_file: str | None,
) -> None:
    """Show calls, tokens, cost, duration, and how narrow each interval will be.

    Nothing is sent. Half widths are of 95% intervals, and hold with the chance of --assurance: for
    the items asked, if they were asked again, and with a pilot for new items like them.
    """
    from judgelaw.study import load_study, preview

    if scope == "new" and pilot is None:
        raise InputError(
            "--new-items needs --pilot: under a supposed law all items are alike, so it says "
            "nothing about other items; give a run or a table with two repeats or more"
        )
    seen = preview(load_study(study))
    costs = {name: _cost(seen, spec, latency_s) for name, spec in seen.run.judges.items()}
    outlook, words = _outlook(seen, pilot, law, assurance)
    asked = None if half_width is None else (component, half_width, scope)
    expected = _expect(seen, outlook, words, asked=asked)
    if json_file is not None:
        write_json(_summary(seen, costs, expected), json_file)
    if json_file != "-":
        _show(seen, costs, expected)


def _cost(seen: "Preview", spec: "JudgeSpec", latency_s: float) -> "Workload":
    from judgelaw.decide import Price, workload

    total = sum(block.count for block in seen.planned)
    calls = sum(block.count for block in seen.planned if block.judge.name == spec.name)
    transport = seen.run.study.transport
    cap = spec.decoding.max_tokens or spec.decoding.max_completion_tokens or _OUTPUT_TOKENS
    price = None
    if spec.price is not None:
        price = Price(
            input_per_mtok=spec.price.input_per_mtok, output_per_mtok=spec.price.output_per_mtok
        )
    return workload(
        calls=calls,
        input_tokens=seen.input_tokens * calls // max(total, 1),
        output_tokens=calls * cap,
        latency_s=latency_s,
        concurrency=transport.concurrency,
        price=price,
        requests_per_minute=transport.requests_per_minute,
        tokens_per_minute=transport.tokens_per_minute,
    )


def _outlook(
    seen: "Preview", pilot: str | None, law: str, assurance: float
) -> "tuple[Outlook, str]":
    """Return where the look ahead comes from, and that in words."""
    from judgelaw.decide import outlook_from_law, outlook_from_pilot

    block = seen.planned[0]
    K, O = len(block.prompts), len(block.orders)
    if pilot is None:
        supposed = outlook_from_law(
            _law(law), prompts=K, orders=O, design=_design(seen), assurance=assurance
        )
        return supposed, (
            f"This supposes one law in every cell ({law}): call noise, and no effect of prompt, "
            "order or item. Effects make intervals wider, so nothing is promised. "
            "Give a pilot of some 20 items with two repeats or more (--pilot)."
        )
    from judgelaw.runs import read_source

    source = read_source(pilot)
    judges = source.main()
    if len(judges) != 1:
        raise InputError(f"the pilot holds judges {list(judges)}: look ahead from a table of one")
    (tensor,) = judges.values()
    N, pilot_K, pilot_O, _ = tensor.counts.shape
    words = (
        f"This looks ahead from a pilot of {N} items with {_calls_of(tensor.depth)} calls a cell."
    )
    if (pilot_K, pilot_O) != (K, O):
        words += (
            f" The pilot has {pilot_K} prompts and {pilot_O} orders, the study {K} and {O}: widths "
            "are those of the pilot's."
        )
    return outlook_from_pilot(
        tensor, design=source.design, order_weights=source.order_weights, assurance=assurance
    ), words


def _calls_of(depth: tuple[int, int]) -> str:
    least, most = depth
    return str(least) if least == most else f"{least} to {most}"


def _design(seen: "Preview") -> "Design":
    """Return the design that the analysis of the study will take."""
    study = seen.run.study
    if study.analysis and study.analysis.estimator:
        return study.analysis.estimator
    return "sampled" if getattr(study.prompts, "policy", None) == "generator" else "census"


def _law(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise InputError(
            f"--law {text!r}: give probabilities that sum to 1, such as {_SUPPOSED}"
        ) from error


def _expect(
    seen: "Preview", outlook: "Outlook", words: str, *, asked: "tuple[str, float, Scope] | None"
) -> Expected:
    from judgelaw.estimate import COMPONENTS

    items = max(len(block.items) for block in seen.planned)
    depth = max(seen.run.study.streams[0].repeats or 0, min(_DEPTHS))
    depths = sorted({*_DEPTHS, depth})
    scopes: list[Scope] = ["fixed", "new"] if outlook.source == "pilot" else ["fixed"]
    total = outlook.studies * (len(depths) + (_SEARCHES if asked else 0))
    wanted = None
    with progress("Simulating studies", total) as advance:
        if asked is not None:
            component, half_width, scope = asked
            wanted = outlook.sizes_for(
                component, half_width, items=items, repeats=depth, scope=scope, advance=advance
            )
        promises = tuple(
            outlook.promises(COMPONENTS, scopes, items=items, repeats=depths, advance=advance)
        )
    return Expected(
        outlook=outlook, words=words, items=items, depth=depth, promises=promises, wanted=wanted
    )


def _summary(seen: "Preview", costs: "dict[str, Workload]", expected: Expected) -> dict[str, Any]:
    wanted = expected.wanted
    return {
        "schema": "judgelaw.decide/1",
        "study": seen.run.study.name,
        "calls": seen.run.count,
        "judges": {name: asdict(cost) for name, cost in costs.items()},
        "forecast_from": expected.outlook.source,
        "assurance": expected.outlook.assurance,
        "items": expected.items,
        "repeats": expected.depth,
        "half_widths": expected.widths("fixed"),
        "half_widths_new_items": expected.widths("new"),
        "wanted": wanted
        and {
            "component": wanted.component,
            "half_width": wanted.half_width,
            "scope": wanted.scope,
            "repeats": wanted.repeats and wanted.repeats.repeats,
            "items": wanted.items and wanted.items.items,
        },
    }


def _show(seen: "Preview", costs: "dict[str, Workload]", expected: Expected) -> None:
    say(_sentence(seen, costs, expected))
    say(expected.words)
    if expected.wanted is not None:
        say(_answer(seen, expected, expected.wanted))
    echo()
    rows = [
        [
            name,
            f"{cost.calls:,}",
            f"{cost.input_tokens:,}",
            f"{cost.output_tokens:,}",
            "no price declared" if cost.usd is None else f"${cost.usd:,.2f}",
            _duration(cost.seconds),
            cost.limited_by,
        ]
        for name, cost in costs.items()
    ]
    columns = ["judge", "calls", "tokens read", "written at most", "cost", "takes", "limited by"]
    show_table(columns, rows, title="What it costs")
    for scope, of in _OF.items():
        if widths := expected.widths(scope):
            echo()
            _show_widths(widths, expected, of)
            for component, reason in expected.reasons(scope).items():
                say(f"{component}: {reason}")


def _show_widths(widths: dict[str, dict[int, float]], expected: Expected, of: str) -> None:
    rows = [
        [component, *("none" if isnan(w) else f"±{w:.4f}" for w in by_depth.values())]
        for component, by_depth in widths.items()
    ]
    supposed = "" if expected.outlook.source == "pilot" else ", under the supposed law"
    title = (
        f"Half width of the 95% interval for {of}, {expected.items} items, reached with a chance "
        f"of {expected.outlook.assurance:.0%}{supposed}"
    )
    show_table(["component", *(f"R = {d}" for d in expected.depths)], rows, title=title)


def _sentence(seen: "Preview", costs: "dict[str, Workload]", expected: Expected) -> str:
    known = [cost.usd for cost in costs.values() if cost.usd is not None]
    money = f" about ${sum(known):,.2f}," if len(known) == len(costs) else ""
    time = _duration(sum(cost.seconds for cost in costs.values()))
    text = f"{seen.run.study.name} makes {seen.run.count:,} calls:{money} about {time}."
    width = (expected.widths("fixed") or {})["prompt"][expected.depth]
    if isnan(width):
        return text
    if expected.outlook.source != "pilot":
        return f"{text} How much it will know cannot be told without a pilot."
    return (
        f"{text} With {expected.depth} repeats the prompt component of the items asked will be "
        f"known to ±{width:.4f} or better, with a chance of {expected.outlook.assurance:.0%}."
    )


def _answer(seen: "Preview", expected: Expected, wanted: "Sizes") -> str:
    """Say which repeats, and which items, reach a wanted width."""
    from judgelaw.decide import MOST_ITEMS, MOST_REPEATS

    cells = len(seen.planned[0].prompts) * len(seen.planned[0].orders)

    def calls(p: "Promise") -> str:
        return f"{p.items * p.repeats * cells:,} calls a judge, ±{p.half_width:.4f}"

    chance = f"a chance of {expected.outlook.assurance:.0%}"
    if (reason := expected.reasons(wanted.scope).get(wanted.component)) is not None:
        return f"{wanted.component} will have no interval: {reason}"
    lines = [
        f"{wanted.component} to ±{wanted.half_width:g} for {_OF[wanted.scope]}, with {chance}:"
    ]
    if (p := wanted.repeats) is not None:
        lines.append(f"  on {p.items} items: {p.repeats} repeats ({calls(p)})")
    else:
        lines.append(f"  on {expected.items} items: not even with {MOST_REPEATS} repeats")
    if (p := wanted.items) is not None:
        lines.append(f"  with {p.repeats} repeats: about {p.items} items ({calls(p)})")
    else:
        lines.append(f"  with {expected.depth} repeats: not even with {MOST_ITEMS:,} items")
    return "\n".join(lines)


def _duration(seconds: float) -> str:
    minute, hour = 60, 3600
    if seconds < 2 * minute:
        return f"{seconds:.0f} s"
    if seconds < 2 * hour:
        return f"{seconds / minute:.0f} min"
    return f"{seconds / hour:.1f} h"
