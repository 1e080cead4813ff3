"""Rules of a whole study that no single field can state."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from judgelaw.study.items import FIELDS, SAMPLE
from judgelaw.study.judge_rules import is_local, judge_problems
from judgelaw.study.models import MAIN, ORDERS, Layer, Selection, Study
from judgelaw.study.problems import Path, Problem, unknown_key
from judgelaw.study.prompt_models import Generator, drawn_count
from judgelaw.study.reworded import reworded_problems
from judgelaw.study.single_answers import (
    COMPONENTS,
    answer_problems,
    gate_problems,
    verdict_problems,
)
from judgelaw.wire import Model
from judgelaw.words import is_permutation

THRESHOLDS = (*COMPONENTS, "invalid")

_TOLERANCE = 1e-9
_REPEATS = 2


def study_problems(study: Study, raw: Mapping[str, Any], origins: list[int]) -> Iterator[Problem]:
    """Yield everything wrong with a study whose fields are well-formed.

    Args:
        study: the study.
        raw: the file's own keys, to tell what was written from what was filled in.
        origins: the place in the file of each judge.
    """
    yield from problems_of_parts(study)
    yield from answer_problems(study)
    yield from gate_problems(study)
    yield from _orders(study, raw)
    yield from _items(study)
    yield from _prompts(study)
    for judge, origin in zip(study.judges, origins, strict=True):
        yield from judge_problems(judge, ("judges", origin), study.task)
        for key, text in verdict_problems(judge, study):
            yield Problem(path=("judges", origin, *key), text=text)
    yield from _judges(study, origins)
    yield from _schedule(study)
    yield from _layers(study)
    yield from _probes(study)
    yield from _stop(study, raw)
    yield from _repeats_by_item(study)
    yield from _budget(study)
    yield from _analysis(study)


def problems_of_parts(part: Any, path: Path = ()) -> Iterator[Problem]:
    """Yield what each part of a study says is wrong with itself; judges have rules of their own."""
    if isinstance(part, Model):
        for place, text in part.problems():
            yield Problem(path=(*path, *place), text=text)
        for name, field in type(part).model_fields.items():
            if (name, path) != ("judges", ()):
                yield from problems_of_parts(getattr(part, name), (*path, field.alias or name))
    elif isinstance(part, Mapping | tuple):
        inner = part.items() if isinstance(part, Mapping) else enumerate(part)
        for key, value in inner:
            yield from problems_of_parts(value, (*path, key))


def _orders(study: Study, raw: Mapping[str, Any]) -> Iterator[Problem]:
    if study.task == "pointwise":
        if "orders" in raw:
            text = "single answers have no order; leave it out"
            yield Problem(path=("orders",), text=text)
        return
    if not isinstance(study.orders, dict):
        if study.task != "choose":
            text = "a rule for task: choose; write the weights {AB: 0.5, BA: 0.5}"
            yield Problem(path=("orders",), text=text)
        return
    for order in study.orders:
        if study.task == "pairwise" and order not in ORDERS:
            text = f"{order!r}, must be 'AB' or 'BA'; choose one"
            yield Problem(path=("orders", order), text=text)
        elif not is_permutation(order):
            text = f"{order!r}, must name every candidate once by its letter, as in BCA; correct it"
            yield Problem(path=("orders", order), text=text)
    total = math.fsum(study.orders.values())
    if abs(total - 1) > _TOLERANCE:
        text = f"weights sum to {total:.6g}, must sum to 1; correct them"
        yield Problem(path=("orders",), text=text)


def _items(study: Study) -> Iterator[Problem]:
    items = study.items
    for name in items.fields:
        if name not in FIELDS:
            yield Problem(path=("items", "fields", name), text=unknown_key(name, FIELDS))
    if items.source == "llmbar" and items.fields:
        text = "llmbar files have fixed names; leave it out"
        yield Problem(path=("items", "fields"), text=text)
    if items.source != "llmbar" and items.strata != "subset":
        text = f"{items.strata!r}, is about LLMBar; other items name their own stratum"
        yield Problem(path=("items", "strata"), text=text)
    if SAMPLE in items.selections:
        text = "the name is taken by items.sample; choose another"
        yield Problem(path=("items", "selections", SAMPLE), text=text)
    if items.sample is not None:
        yield from _selection(items.sample, items.selections, ("items", "sample"))
    for name, selection in items.selections.items():
        yield from _selection(selection, items.selections, ("items", "selections", name))


def _selection(
    selection: Selection, known: Mapping[str, Selection], path: Path
) -> Iterator[Problem]:
    if (selection.per_stratum is None) == (selection.complement_of is None):
        text = "must name per_stratum or complement_of, one of them; choose"
        yield Problem(path=path, text=text)
        return
    followed: list[str] = []
    other = selection.complement_of
    while other is not None and other in known and other not in followed:
        followed.append(other)
        other = known[other].complement_of
    if other is not None:
        reason = "goes round in a circle" if other in known else "is no selection"
        text = f"{other!r} {reason}; name one of {', '.join(known) or 'items.selections'}"
        yield Problem(path=(*path, "complement_of"), text=text)


def _prompts(study: Study) -> Iterator[Problem]:
    prompts = study.prompts
    if prompts == "paper-six" and study.task != "pairwise":
        what = "single answers" if study.task == "pointwise" else "several candidates"
        text = f"'paper-six', compares pairs; declare a census for {what}"
        yield Problem(path=("prompts",), text=text)
    if isinstance(prompts, Generator) and study.task != "pairwise":
        for key in ("criterion", "output"):
            if getattr(prompts, key) is None:
                text = "missing, the built-in one compares pairs; write yours"
                yield Problem(path=("prompts", key), text=text)
    yield from reworded_problems(study)


def _judges(study: Study, origins: list[int]) -> Iterator[Problem]:
    if not study.judges:
        yield Problem(path=("judges",), text="empty, a study needs one judge at least; add one")
    seen: set[str] = set()
    for judge, origin in zip(study.judges, origins, strict=True):
        if judge.name in seen:
            text = f"{judge.name!r}, already used; judges must have distinct names"
            yield Problem(path=("judges", origin, "name"), text=text)
        seen.add(judge.name)
        fixed = judge.decoding.seed
        deepest = max(layer.repeats or 1 for layer in study.streams)
        if fixed is not None and deepest > 1:
            text = (
                f"{fixed}, one fixed seed makes {deepest} repeats one throw of the dice; "
                "write seed: sent for a distinct seed a call, or repeats: 1"
            )
            yield Problem(path=("judges", origin, "decoding", "seed"), text=text)


def _schedule(study: Study) -> Iterator[Problem]:
    """Refuse prompts in a row where a judge may drift meanwhile: that would pass for an effect."""
    away = [judge.name for judge in study.judges if not is_local(judge)]
    if study.schedule == "prompts" and away:
        text = (
            f"'prompts', asks one prompt after the other, and judge {away[0]} may drift meanwhile, "
            "which would look like an effect of prompts; write random, or cells"
        )
        yield Problem(path=("schedule",), text=text)


def _layers(study: Study) -> Iterator[Problem]:
    seen: set[str] = set()
    names = {judge.name for judge in study.judges} | {
        judge.family for judge in study.judges if judge.family
    }
    for place, layer in enumerate(study.layers):
        path: Path = ("layers", place)
        if layer.name in seen:
            text = f"{layer.name!r}, already used; layers must have distinct names"
            yield Problem(path=(*path, "name"), text=text)
        seen.add(layer.name)
        if layer.items is not None and layer.items not in study.items.selections:
            known = ", ".join(study.items.selections) or "none is declared"
            text = f"{layer.items!r}, must be one of items.selections ({known}); choose one"
            yield Problem(path=(*path, "items"), text=text)
        for which, name in enumerate(layer.judges or ()):
            if name not in names:
                text = f"{name!r}, must be one of {', '.join(sorted(names))}; choose one"
                yield Problem(path=(*path, "judges", which), text=text)
        yield from _control(layer, path)
        if layer.reuse is not None:
            yield from _reuse(study, layer, (*path, "reuse"))


def _reuse(study: Study, layer: Layer, path: Path) -> Iterator[Problem]:
    """Yield what keeps calls of another layer from standing in this one too."""
    reuse = layer.reuse
    assert reuse is not None  # noqa: S101 - the caller looked
    others = {other.name: other for other in study.streams if other.name != layer.name}
    source = others.get(reuse.layer)
    if source is None:
        text = f"{reuse.layer!r}, must be another layer ({', '.join(others) or 'there is none'})"
        yield Problem(path=(*path, "layer"), text=f"{text}; name the one that makes the calls")
        return
    if "control" in (source.role, layer.role):
        text = "hidden labels stand in the place of prompts there; reuse a layer of real prompts"
        yield Problem(path=(*path, "layer"), text=text)
    judges = [judge.name for judge in study.judges_of(source)]
    if reuse.judge not in judges:
        text = f"{reuse.judge!r}, is not asked in layer {source.name!r} ({', '.join(judges)})"
        yield Problem(path=(*path, "judge"), text=f"{text}; name one that is")
    if reuse.judge in {judge.name for judge in study.judges_of(layer)}:
        text = f"{reuse.judge!r}, is asked anew by this layer too; name it once"
        yield Problem(path=(*path, "judge"), text=text)
    depth, wanted, there = layer.repeats, reuse.repeats, source.repeats or 0
    if wanted is not None and depth is not None and wanted != depth:
        text = f"{wanted}, the layer has {depth}; plug-in values depend on it, so use one depth"
        yield Problem(path=(*path, "repeats"), text=text)
    elif (needed := wanted or depth or study.equal_repeats) > there:
        text = f"{needed}, layer {source.name!r} has {there}; reuse fewer, or deepen that layer"
        yield Problem(path=(*path, "repeats"), text=text)


def _probes(study: Study) -> Iterator[Problem]:
    seen: dict[str, None] = {}
    for place, probe in enumerate(study.probes):
        if probe.name in seen:
            text = f"{probe.name!r}, already used; probes must have distinct names"
            yield Problem(path=("probes", place), text=text)
        seen[probe.name] = None
    for name in study.gate.probes if study.gate else ():
        if name not in seen:
            known = ", ".join(seen) or "there are none"
            text = f"{name!r}, must be one of probes ({known}); list it there, or leave it out"
            yield Problem(path=("gate", "probes", name), text=text)
    yield from _probe_layers(study)


def _probe_layers(study: Study) -> Iterator[Problem]:
    own = [place for place, layer in enumerate(study.layers) if layer.role == "probe"]
    if own and not study.probes:
        text = "'probe', asks about changed answers; list the changes under probes:"
        yield Problem(path=("layers", own[0], "role"), text=text)
    for place in own[1:]:
        text = "'probe', already used; one layer serves all probes"
        yield Problem(path=("layers", place, "role"), text=text)
    if own and study.layers[own[0]].items is not None:
        text = "probes ask about the items of their baseline; leave it out"
        yield Problem(path=("layers", own[0], "items"), text=text)
    if study.probes and not any(layer.role in MAIN for layer in study.streams):
        text = f"are held against a layer of role {' or '.join(MAIN)}; add one"
        yield Problem(path=("probes",), text=text)
    depths = [layer.repeats or 0 for layer in study.streams if layer.role in (*MAIN, "probe")]
    if study.probes and min(depths) < _REPEATS:
        text = "need two repeats or more, else dice and change cannot be told apart; raise repeats"
        yield Problem(path=("probes",), text=text)


def _control(layer: Layer, path: Path) -> Iterator[Problem]:
    if layer.role == "control":
        return
    for key in ("labels", "prompt"):
        if getattr(layer, key) is not None:
            text = f"is a field of role control, not of {layer.role}; leave it out"
            yield Problem(path=(*path, key), text=text)


def _stop(study: Study, raw: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield what keeps a study from being stopped by looks."""
    stop = study.stop
    if stop is None:
        return
    yield from _stop_depths(study, raw, max(stop.looks))


def _stop_depths(study: Study, raw: Mapping[str, Any], last: int) -> Iterator[Problem]:
    """Yield depths that contradict the looks: they say how deep the main layer goes."""
    if not isinstance(study.repeats, int):
        text = "looks and repeats by item both say how often a cell is asked; keep one of them"
        yield Problem(path=("stop",), text=text)
        return
    main = study.main.name
    written: dict[Path, Any] = {
        ("layers", place, "repeats"): layer.repeats
        for place, layer in enumerate(study.layers)
        if layer.name == main
    }
    if not study.layers:
        written["repeats",] = raw.get("repeats")
    for path, depth in written.items():
        if isinstance(depth, int) and depth > last:
            text = f"{depth}, the last look is at {last} repeats; leave it out, or add a look"
            yield Problem(path=path, text=text)


def _repeats_by_item(study: Study) -> Iterator[Problem]:
    """Yield what keeps repeats from being chosen item by item."""
    chosen = study.repeats
    if isinstance(chosen, int):
        return
    if any(layer.name == study.main.name and layer.repeats for layer in study.layers):
        place = next(i for i, each in enumerate(study.layers) if each.name == study.main.name)
        text = "repeats by item are those of this layer; leave its own out"
        yield Problem(path=("layers", place, "repeats"), text=text)


def _budget(study: Study) -> Iterator[Problem]:
    if study.budget is None or study.budget.usd is None:
        return
    unpriced = [judge.name for judge in study.judges if judge.price is None and not is_local(judge)]
    if unpriced:
        text = f"the price of {', '.join(unpriced)} is unknown; add price: to the judge"
        yield Problem(path=("budget", "usd"), text=text)


def _analysis(study: Study) -> Iterator[Problem]:
    analysis = study.analysis
    if analysis is None:
        return
    for name in analysis.thresholds:
        if name not in THRESHOLDS:
            path: Path = ("analysis", "thresholds", name)
            yield Problem(path=path, text=unknown_key(name, THRESHOLDS))
    deepest = max(layer.repeats or 1 for layer in study.streams)
    if study.stop is not None and analysis.depth is not None:
        text = f"{analysis.depth}, looks say how deep a judge is analysed; leave it out"
        yield Problem(path=("analysis", "depth"), text=text)
    elif analysis.depth is not None and analysis.depth > deepest:
        text = f"{analysis.depth}, exceeds the deepest layer ({deepest} repeats); lower it"
        yield Problem(path=("analysis", "depth"), text=text)
    if analysis.estimator == "sampled" and drawn_count(study.prompts) is None:
        text = "'sampled', is about a generator's prompts; a census is estimated by census"
        yield Problem(path=("analysis", "estimator"), text=text)
