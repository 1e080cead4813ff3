"""`judgelaw plan`: what a study costs and how much it will know, before a cent is spent."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judgelaw.cli._help import examples
from judgelaw.cli._output import echo, say, show_table, write_json
from judgelaw.errors import InputError

if TYPE_CHECKING:
    from judgelaw.design import JudgeSpec
    from judgelaw.plan import Forecast, Workload
    from judgelaw.render.preview import Preview

_DEPTHS = (2, 4, 8, 16)
_LATENCY_S = 1.0
_OUTPUT_TOKENS = 16
_SUPPOSED = "0.4,0.3,0.2,0.1"


@click.command(
    epilog=examples(
        "judgelaw plan study.yaml --latency 0.4",
        "judgelaw plan study.yaml --pilot runs/pilot",
        "judgelaw plan study.yaml --law 0.9,0.05,0.03,0.02",
    )
)
@click.argument("study", metavar="STUDY", type=click.Path(path_type=Path))
@click.option("--pilot", metavar="RUN|TABLE", help="Forecast from calls with 4 repeats or more.")
@click.option(
    "--law",
    default=_SUPPOSED,
    show_default=True,
    metavar="P,P,...",
    help="Without a pilot: the law of verdicts supposed in every cell.",
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
    study: Path, *, pilot: str | None, law: str, latency_s: float, json_file: str | None
) -> None:
    """Show calls, tokens, cost, duration, and how narrow each interval will be.

    Nothing is sent. Half widths are of 95% call intervals: what asking the same items again would
    change.
    """
    from judgelaw.design import load_study
    from judgelaw.render.preview import preview

    seen = preview(load_study(study))
    costs = {name: _cost(seen, spec, latency_s) for name, spec in seen.run.judges.items()}
    forecast = _forecast(seen, pilot, law)
    items = max(len(block.items) for block in seen.planned)
    widths = _widths(forecast, items)
    if json_file is not None:
        write_json(_summary(seen, costs, widths, forecast), json_file)
    if json_file != "-":
        _show(seen, costs, widths, forecast, items)


def _cost(seen: "Preview", spec: "JudgeSpec", latency_s: float) -> "Workload":
    from judgelaw.plan import Price, workload

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


def _forecast(seen: "Preview", pilot: str | None, law: str) -> "Forecast":
    import numpy as np

    from judgelaw.plan import forecast_from_laws, forecast_from_pilot

    if pilot is not None:
        from judgelaw.runs.source import read_source

        source = read_source(pilot)
        judges = source.main()
        if len(judges) != 1:
            raise InputError(f"the pilot holds judges {list(judges)}: forecast from a table of one")
        (tensor,) = judges.values()
        return forecast_from_pilot(tensor, design=source.design)
    block = seen.planned[0]
    shape = (1, len(block.prompts), len(block.orders), 1)
    return forecast_from_laws(np.tile(_law(law), shape))


def _law(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise InputError(
            f"--law {text!r}: give probabilities that sum to 1, such as {_SUPPOSED}"
        ) from error


def _widths(forecast: "Forecast", items: int) -> dict[str, dict[int, float]]:
    return {
        component: {
            depth: forecast.at(component, repeats=depth, items=items).call_half_width
            for depth in _DEPTHS
        }
        for component in forecast.parts
    }


def _summary(
    seen: "Preview",
    costs: "dict[str, Workload]",
    widths: dict[str, dict[int, float]],
    forecast: "Forecast",
) -> dict[str, Any]:
    return {
        "schema": "judgelaw.plan/1",
        "study": seen.run.study.name,
        "calls": seen.run.count,
        "judges": {name: asdict(cost) for name, cost in costs.items()},
        "forecast_from": forecast.source,
        "half_widths": widths,
    }


def _show(
    seen: "Preview",
    costs: "dict[str, Workload]",
    widths: dict[str, dict[int, float]],
    forecast: "Forecast",
    items: int,
) -> None:
    depth = seen.run.study.streams[0].repeats or 0
    say(_sentence(seen, costs, widths, depth))
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
    echo()
    supposed = "a pilot" if forecast.source == "pilot" else "one law in every cell, a supposition"
    rows = [
        [component, *(_plus_minus(forecast, component, d, widths[component][d]) for d in _DEPTHS)]
        for component in widths
    ]
    title = f"Half width of 95% call intervals on {items} items, forecast from {supposed}"
    show_table(["component", *(f"R = {d}" for d in _DEPTHS)], rows, title=title)


def _sentence(
    seen: "Preview",
    costs: "dict[str, Workload]",
    widths: dict[str, dict[int, float]],
    depth: int,
) -> str:
    known = [cost.usd for cost in costs.values() if cost.usd is not None]
    money = f" about ${sum(known):,.2f}," if len(known) == len(costs) else ""
    time = _duration(sum(cost.seconds for cost in costs.values()))
    text = f"{seen.run.study.name} makes {seen.run.count:,} calls:{money} about {time}."
    width = widths["prompt"].get(depth)
    if width is None or width != width:  # noqa: PLR0124 - nan: the design has no prompt component
        return text
    return f"{text} With {depth} repeats the prompt component will be known to about ±{width:.4f}."


def _plus_minus(forecast: "Forecast", component: str, depth: int, width: float) -> str:
    from math import isnan

    from judgelaw.uncertainty.call_variance import MIN_REPEATS

    if isnan(forecast.parts[component][0]):
        return "not varied"
    if depth < MIN_REPEATS:
        return f"no interval below {MIN_REPEATS}"
    return "not known" if isnan(width) else f"±{width:.4f}"


def _duration(seconds: float) -> str:
    minute, hour = 60, 3600
    if seconds < 2 * minute:
        return f"{seconds:.0f} s"
    if seconds < 2 * hour:
        return f"{seconds / minute:.0f} min"
    return f"{seconds / hour:.1f} h"
