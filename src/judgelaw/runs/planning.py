"""What a study costs and how much it will know, before a cent is spent."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import isnan
from typing import TYPE_CHECKING, Annotated, Any, Literal

from judgelaw.decide import Outlook, Promise, Sizes, Spending, StopForecast, Workload
from judgelaw.errors import InputError
from judgelaw.frames import Result, plain
from judgelaw.option_types import Option, called, checked, each, number, one_of
from judgelaw.runs.source import read_source
from judgelaw.steps import Progress, unseen
from judgelaw.vocabulary import COMPONENTS

if TYPE_CHECKING:
    from judgelaw.estimate import Design
    from judgelaw.ledger import Totals
    from judgelaw.study import Preview, StudyLike
    from judgelaw.uncertainty import Scope
    from judgelaw.wire import JudgeSpec

_DEPTHS = (2, 4, 8, 16)
_LATENCY_S = 1.0
_SHORTEST_CACHED = 1_024
"""Tokens of a prompt below which providers keep nothing."""
_OUTPUT_TOKENS = 16
SUPPOSED_LAW = (0.4, 0.3, 0.2, 0.1)
_SEARCHES = 20
"""About as many sizes are tried for a wanted width."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Plan(Result):
    """What a study as it is declared costs and will know, and what it would take to know more.

    Attributes:
        study: its name.
        calls: how many calls it makes; where looks decide, at least.
        cells: prompts times orders.
        judges: cost and duration by judge.
        forecast_from: "pilot" or "laws".
        words: where the look ahead comes from, in a sentence.
        assurance: chance with which a width is promised.
        items, repeats: size of the study.
        promises: half widths for every target, depth and component.
        wanted: what a wanted width takes, None where none is asked for.
        spending: the items and repeats that a number of calls should go into, None where no
            budget is known or there is no pilot.
        stop: how soon the looks of the study will decide, None where it has none or there is no
            pilot.
        most_calls: calls if no judge stops before the last look, None where looks do not decide.
    """

    study: str
    calls: int
    cells: int
    judges: Mapping[str, Workload]
    forecast_from: str
    words: str
    assurance: float
    items: int
    repeats: int
    promises: tuple[Promise, ...]
    wanted: Sizes | None
    spending: Spending | None = None
    stop: StopForecast | None = None
    most_calls: int | None = None

    schema = "judgelaw.decide/1"
    brief = ("scope", "component", "items", "repeats", "half_width")

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

    def in_words(self) -> str:
        """Say what the study costs, and how well it will know the prompt component."""
        money = _in_money("at most", [cost.usd for cost in self.judges.values()])
        money += _in_money("about", [cost.expected_usd for cost in self.judges.values()])
        time = duration(sum(cost.seconds for cost in self.judges.values()))
        most = "" if self.most_calls is None else f", and {self.most_calls:,} at most, by looks"
        text = f"{self.study} makes {self.calls:,} calls{most}:{money} about {time}."
        width = (self.widths("fixed") or {})["prompt"][self.repeats]
        if isnan(width):
            return text
        if self.forecast_from != "pilot":
            return f"{text} How much it will know cannot be told without a pilot."
        return (
            f"{text} With {self.repeats} repeats the prompt component of the items asked will be "
            f"known to ±{width:.4f} or better, with a chance of {self.assurance:.0%}."
        )

    def records(self) -> list[dict[str, Any]]:
        """Return one row for each target, depth and component."""
        return [asdict(p) for p in self.promises]

    def to_json(self) -> dict[str, Any]:
        """Return the `judgelaw.decide/1` document: plain values, None for what is nan."""
        wanted = self.wanted
        document: dict[str, Any] = plain(
            {
                "schema": self.schema,
                "study": self.study,
                "calls": self.calls,
                **({} if self.most_calls is None else {"most_calls": self.most_calls}),
                "judges": self.judges,
                "forecast_from": self.forecast_from,
                "assurance": self.assurance,
                "items": self.items,
                "repeats": self.repeats,
                "half_widths": self.widths("fixed"),
                "half_widths_new_items": self.widths("new"),
                "wanted": wanted
                and {
                    "component": wanted.component,
                    "half_width": wanted.half_width,
                    "scope": wanted.scope,
                    "repeats": wanted.repeats and wanted.repeats.repeats,
                    "items": wanted.items and wanted.items.items,
                },
                **({} if self.spending is None else {"spending": asdict(self.spending)}),
                **({} if self.stop is None else {"stop": asdict(self.stop)}),
            }
        )
        return document


@checked
def plan(
    study: "StudyLike",
    pilot: Any = None,
    *,
    law: Annotated[Sequence[float], Option(rule=each(number, "(0.6, 0.3, 0.1, 0)"))] = SUPPOSED_LAW,
    assurance: float = 0.8,
    half_width: float | None = None,
    component: Annotated[str, Option(rule=one_of(*COMPONENTS))] = "prompt",
    items: Literal["fixed", "new"] = "fixed",
    budget: Annotated[int | None, Option(least=1, why="no call is no budget")] = None,
    latency_s: float = _LATENCY_S,
    progress: Annotated[Progress | None, Option(rule=called)] = None,
) -> Plan:
    """Return what a study costs, and how narrow each interval will be; nothing is sent.

    Args:
        study: the path of a study file, or what such a file holds as a dict.
        pilot: calls of one judge with two repeats or more to look ahead from; anything that
            `analyze` takes.
        law: without a pilot, the law of verdicts supposed in every cell. A supposition: it has no
            effect of prompt, order or item.
        assurance: chance that an interval is as narrow as promised.
        half_width: find the repeats, and the items, that make an interval this narrow.
        component: whose interval `half_width` is about.
        items: whether it is about the items asked ("fixed") or about new ones like them ("new"),
            which needs a pilot.
        budget: calls of one judge: with a pilot, find the items and repeats that they should go
            into; by default what the study's `budget:` leaves each judge.
        latency_s: seconds that one call takes.
        progress: opens what shows a piece of work, given its name and its size.
    """
    from judgelaw.runs.auditing import preview_study
    from judgelaw.study import load_study

    if pilot is None:
        _refuse_without_pilot(items, budget)
    seen = preview_study(load_study(study))
    asked = None if half_width is None else (component, half_width, items)
    outlook, words, tokens = _outlook(seen, pilot, law, assurance)
    found = _planned(
        seen, outlook, words, asked=asked, latency_s=latency_s, progress=progress or unseen
    )
    if tokens is not None:
        found = replace(found, judges=_as_the_pilot_cost(seen, found.judges, tokens))
    if outlook.source != "pilot":
        return found
    return replace(
        found,
        spending=_spending(
            found,
            outlook,
            _budget(seen, budget),
            asked=(component, half_width),
            progress=progress or unseen,
        ),
        stop=_stop(found, outlook, seen, progress or unseen),
    )


def _in_money(how: str, parts: Sequence[float | None]) -> str:
    """Return what all judges come to together, nothing where it is not known of all."""
    known = [part for part in parts if part is not None]
    return f" {how} {dollars(sum(known))}," if parts and len(known) == len(parts) else ""


def dollars(usd: float) -> str:
    """Write money: cents from a dollar on, below two digits that count."""
    return f"${usd:,.2f}" if usd >= 1 or not usd else f"${usd:.2g}"


Tokens = tuple[float, float, float]
"""Read, written, and read from the provider's cache, by a call on average."""


def _metered(totals: "Totals | None") -> Tokens | None:
    """Return the tokens of a call of the pilot; None where its provider did not say them all."""
    if totals is None or not totals.completed or totals.unmetered:
        return None
    of = (totals.input_tokens, totals.output_tokens, totals.cached_tokens)
    read, written, cached = (tokens / totals.completed for tokens in of)
    return read, written, cached


def _as_the_pilot_cost(
    seen: "Preview", judges: Mapping[str, Workload], tokens: Tokens
) -> dict[str, Workload]:
    """Add what the calls cost if they take the tokens that those of the pilot took."""
    from judgelaw.acquire import usd

    read, written, cached = tokens
    found = {}
    for spec in seen.run.study.judges:
        cost = judges[spec.name]
        if spec.price is not None:
            each = usd(spec.price, tokens_in=read, tokens_out=written, cached=cached)
            cost = replace(cost, expected_usd=cost.calls * each)
        found[spec.name] = cost
    return found


def _refuse_without_pilot(items: "Scope", budget: int | None) -> None:
    """Refuse what a supposed law says nothing about."""
    if items == "new":
        raise InputError(
            "a width for new items needs a pilot: under a supposed law all items are alike, so it "
            "says nothing about other items; give a run or a table with two repeats or more"
        )
    if budget is not None:
        raise InputError(
            f"budget = {budget}: what calls buy cannot be told without a pilot; give a run or a "
            "table with two repeats or more"
        )


def _budget(seen: "Preview", asked: int | None) -> int | None:
    """Return the calls that a judge may make: as asked, else as the study's budget leaves them."""
    declared = seen.run.study.budget
    if asked is not None or declared is None or declared.calls is None:
        return asked
    return declared.calls // len(seen.run.judges)


def _spending(
    found: Plan,
    outlook: Outlook,
    budget: int | None,
    *,
    asked: tuple[str, float | None],
    progress: Progress,
) -> Spending | None:
    """Return what a budget buys, None where there is none."""
    from judgelaw.decide import REPEATS, spend

    if budget is None:
        return None
    component, half_width = asked
    with progress("Spending the budget", outlook.studies * (len(REPEATS) + 1)) as advance:
        return spend(
            outlook,
            component,
            budget,
            items=found.items,
            cells=found.cells,
            half_width=half_width,
            advance=advance,
        )


def _stop(
    found: Plan, outlook: Outlook, seen: "Preview", progress: Progress
) -> StopForecast | None:
    """Return how soon the looks of the study will decide, None where it has none."""
    from judgelaw.decide import foresee_stop
    from judgelaw.runs.stopping import rule_of

    stop = seen.run.study.stop
    if stop is None:
        return None
    with progress("Looking ahead", outlook.studies) as advance:
        return foresee_stop(outlook, rule_of(stop), items=found.items, advance=advance)


def _planned(
    seen: "Preview",
    outlook: Outlook,
    words: str,
    *,
    asked: "tuple[str, float, Scope] | None",
    latency_s: float,
    progress: Progress,
) -> Plan:
    block = seen.planned[0]
    items = max(len(block.items) for block in seen.planned)
    depth = max(seen.run.study.streams[0].repeats or 0, min(_DEPTHS))
    single = seen.run.study.task == "pointwise"
    promises, wanted = _promised(
        outlook, items, depth, single=single, asked=asked, progress=progress
    )
    return Plan(
        study=seen.run.study.name,
        calls=seen.run.count,
        cells=len(block.prompts) * len(block.orders),
        judges={name: _cost(seen, spec, latency_s) for name, spec in seen.run.judges.items()},
        forecast_from=outlook.source,
        words=words,
        assurance=outlook.assurance,
        items=items,
        repeats=depth,
        promises=promises,
        wanted=wanted,
        most_calls=_most_calls(seen),
    )


def _most_calls(seen: "Preview") -> int | None:
    """Count the calls if no judge stops before the last look, None where looks do not decide."""
    study = seen.run.study
    if study.stop is None:
        return None
    deep = study.looked_at
    return sum(
        block.cells * (study.stop.looks[-1] if block.layer.name in deep else len(block.repeats))
        for block in seen.planned
    )


def _cost(seen: "Preview", spec: "JudgeSpec", latency_s: float) -> Workload:
    from judgelaw.decide import Price, workload

    total = sum(block.count for block in seen.planned)
    calls = sum(block.count for block in seen.planned if block.judge.name == spec.name)
    transport = seen.run.study.transport
    cap = spec.decoding.max_tokens or spec.decoding.max_completion_tokens or _OUTPUT_TOKENS
    price = None
    if spec.price is not None:
        price = Price(
            input_per_mtok=spec.price.input_per_mtok,
            output_per_mtok=spec.price.output_per_mtok,
            cached_input_per_mtok=spec.price.cached_input_per_mtok,
        )
    tokens_in = seen.input_tokens * calls // max(total, 1)
    return workload(
        calls=calls,
        input_tokens=tokens_in,
        cached_tokens=round(tokens_in * _cached_share(seen, spec)),
        output_tokens=calls * cap,
        latency_s=latency_s,
        concurrency=transport.concurrency,
        price=price,
        requests_per_minute=transport.requests_per_minute,
        tokens_per_minute=transport.tokens_per_minute,
    )


def _cached_share(seen: "Preview", spec: "JudgeSpec") -> float:
    """Return the share of what a judge reads that its provider is expected to have read before.

    Every repeat of a cell but the first; nothing of prompts that are too short to be kept.
    """
    mine = [block for block in seen.planned if block.judge.name == spec.name]
    calls, total = sum(b.count for b in mine), sum(b.count for b in seen.planned)
    too_short = seen.input_tokens < _SHORTEST_CACHED * total
    if spec.prompt_cache == "off" or too_short or not calls:
        return 0.0
    return 1.0 - sum(block.cells for block in mine) / calls


def _outlook(
    seen: "Preview", pilot: Any, law: Sequence[float], assurance: float
) -> tuple[Outlook, str, Tokens | None]:
    """Return where the look ahead comes from, that in words, and the tokens of a pilot's call."""
    from judgelaw.decide import outlook_from_law, outlook_from_pilot
    from judgelaw.estimate import Estimand

    block = seen.planned[0]
    K, O = len(block.prompts), len(block.orders)
    if pilot is None:
        supposed = outlook_from_law(
            list(law), Estimand(design=_design(seen)), prompts=K, orders=O, assurance=assurance
        )
        return (
            supposed,
            (
                f"This supposes one law in every cell ({', '.join(f'{p:g}' for p in law)}): call "
                "noise, and no effect of prompt, order or item. Effects make intervals wider, so "
                "nothing is promised. Give a pilot of some 20 items with two repeats or more."
            ),
            None,
        )
    source = read_source(pilot)
    judges = source.main()
    if len(judges) != 1:
        raise InputError(f"the pilot holds judges {list(judges)}: look ahead from a table of one")
    (tensor,) = judges.values()
    N, pilot_K, pilot_O, _ = tensor.counts.shape
    least, most = tensor.depth
    depth = str(least) if least == most else f"{least} to {most}"
    words = f"This looks ahead from a pilot of {N} items with {depth} calls a cell."
    if (pilot_K, pilot_O) != (K, O):
        words += (
            f" The pilot has {pilot_K} prompts and {pilot_O} orders, the study {K} and {O}: widths "
            "are those of the pilot's."
        )
    spent = _metered(source.folder.totals) if source.folder is not None else None
    return outlook_from_pilot(tensor, source.estimand, assurance=assurance), words, spent


def _design(seen: "Preview") -> "Design":
    """Return the design that the analysis of the study will take."""
    from judgelaw.study import drawn_count

    study = seen.run.study
    if study.analysis and study.analysis.estimator:
        return study.analysis.estimator
    return "census" if drawn_count(study.prompts) is None else "sampled"


def _promised(
    outlook: Outlook,
    items: int,
    depth: int,
    *,
    single: bool,
    asked: "tuple[str, float, Scope] | None",
    progress: Progress,
) -> tuple[tuple[Promise, ...], Sizes | None]:
    """Return the promises of the study's size, and what a wanted width takes."""
    from judgelaw.estimate import COMPONENTS

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
        promises = outlook.promises(
            ("call", "prompt", "total") if single else COMPONENTS,
            scopes,
            items=items,
            repeats=depths,
            advance=advance,
        )
        return tuple(promises), wanted


def duration(seconds: float) -> str:
    """Write a duration in the unit that reads best."""
    minute, hour = 60, 3600
    if seconds < 2 * minute:
        return f"{seconds:.0f} s"
    if seconds < 2 * hour:
        return f"{seconds / minute:.0f} min"
    return f"{seconds / hour:.1f} h"
