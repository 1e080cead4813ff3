"""The document `judgelaw.analysis/1`: plain values, None for what cannot be had."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from judgelaw.analysis.answer import Answer
from judgelaw.analysis.answer_words import effects, outlook
from judgelaw.analysis.catalogue import catalogued
from judgelaw.analysis.facet_values import ItemValues
from judgelaw.analysis.probe_answers import encode_effects, probe_sentence
from judgelaw.analysis.soft_evidence import encode_soft
from judgelaw.analysis.values import (
    Analysis,
    JudgeAnalysis,
)
from judgelaw.blocks import Place, text_of
from judgelaw.estimate import COMPONENTS
from judgelaw.frames import plain
from judgelaw.quantities import (
    CHANGE_KEYS,
    COMPONENT_KEYS,
    RIGHT_KEYS,
    Components,
    Quantity,
)
from judgelaw.words import by_criterion

SCHEMA = Analysis.schema


def encode(analysis: Analysis) -> dict[str, Any]:
    """Return the whole analysis as plain values."""
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "settings": asdict(analysis.settings),
        "judges": _judges(analysis.judges),
    }
    if analysis.layers:
        document["layers"] = {name: _judges(j) for name, j in analysis.layers.items()}
        document["main_layer"] = analysis.main_layer
        document["roles"] = dict(analysis.roles)
    document["diagnostics"] = [asdict(f) for f in analysis.diagnostics]
    document["tables"] = {
        name: {"title": t.title, "columns": t.columns, "rows": t.rows}
        for name, t in analysis.tables.items()
    }
    document["left_out"] = dict(analysis.left_out)
    document["warnings"] = list(analysis.warnings)
    document["best"] = analysis.best and asdict(analysis.best)
    encoded: dict[str, Any] = plain(document)
    return encoded


def _judges(judges: Mapping[str, JudgeAnalysis]) -> dict[str, Any]:
    return by_criterion({name: _judge(j) for name, j in judges.items()})


def encode_judge(j: JudgeAnalysis) -> dict[str, Any]:
    """Return what the document holds of one judge, as plain values."""
    encoded: dict[str, Any] = plain(_judge(j))
    return encoded


def _judge(j: JudgeAnalysis) -> dict[str, Any]:
    return {
        **encode_answer(j.answer),
        "changes": {
            name: rate.to_json(CHANGE_KEYS) for name, rate in j.quantities.of("changes").items()
        },
        "items": j.items,
        "prompts": j.prompts,
        "orders": j.orders,
        "repeats": j.repeats,
        "calls": j.calls,
        "evidence": j.evidence,
        "components": _components(j.components),
        "depths": {str(depth): _components(c) for depth, c in j.depths.items()},
        "outcomes": dict(j.outcomes),
        **{name: _figure(j.figures[name]) for name in catalogued()},
        **({"errors": {name: _figure(x) for name, x in j.errors.items()}} if j.errors else {}),
        "permutation": {facet: t and asdict(t) for facet, t in j.permutation.items()},
        "split": {name: asdict(s) for name, s in j.split.items()},
        "lead": j.lead and asdict(j.lead),
        "strata": {name: _components(c) for name, c in j.strata.items()},
        "item_values": _item_values(j.item_values),
        "prompt_distances": j.prompt_distances and asdict(j.prompt_distances),
        "order_direction": j.order_direction and asdict(j.order_direction),
        "prompt_leans": [{**asdict(x), "shown": x.shown} for x in j.prompt_leans],
        "slots": [{**asdict(x), "shown": x.shown} for x in j.slots],
        **({"factors": _components(j.factors)} if j.factors else {}),
        **({"factor_levels": dict(j.factor_levels)} if j.factors else {}),
        "by_prompt": [asdict(row) for row in j.by_prompt],
        **(
            {"right_by_prompt": {k: x.to_json(RIGHT_KEYS) for k, x in j.right_by_prompt.items()}}
            if j.right_by_prompt
            else {}
        ),
        "projection": j.projection and asdict(j.projection),
        "other_metrics": {m.name: asdict(m) for m in j.other_metrics},
        "identity": [asdict(i) for i in j.identity],
        "near_deterministic": j.near_deterministic,
        "warnings": j.warnings,
        **({"soft": encode_soft(j.soft, _components)} if j.soft else {}),
        **(
            {
                "probes": encode_effects([*j.probes.values()]),
                "probe_sentence": text_of(probe_sentence(j, Place(None))),
            }
            if j.probes
            else {}
        ),
        **({"scores": j.scores.to_json(), "changes_in": "points"} if j.scores else {}),
        **(
            {"more_prompts": {**asdict(j.more_prompts), "sentence": j.more_prompts.sentence}}
            if j.more_prompts
            else {}
        ),
    }


_TRUST = {"use": "fine", "steady": "fine", "avoid": "not yet"}
"""The words of earlier releases, for those who read `trust`."""


def encode_answer(a: Answer) -> dict[str, Any]:
    """Return the answer, with the keys of earlier releases as views of it."""
    word = "not yet" if a.problem else _TRUST.get(a.word, "with care")
    found = asdict(a)
    for key, action in zip(found["actions"], a.actions, strict=True):
        key["effects"] = list(effects(action, a))
        key["outlook"] = outlook(action, a)
    return {
        "answer": found,
        "sentence": a.headline,
        "short": a.says,
        "trust": {"word": word, "reason": a.problem or a.says, "rules": []},
        "to_do": [{"do": x.text, "because": x.why} for x in a.actions],
    }


def _components(components: Components) -> dict[str, Any]:
    """Return components by name; None where the design says nothing about one."""
    return {name: c.to_json(COMPONENT_KEYS) for name, c in components.items()}


def _figure(found: Quantity) -> float | dict[str, Any] | None:
    """Return a number, with its intervals where it has some."""
    bare = found.interval is None and found.call_interval is None
    return found.estimate if bare else found.to_json(("estimate", "interval", "call_interval"))


def _item_values(values: ItemValues) -> dict[str, Any]:
    def columns(array: Any) -> dict[str, Any]:
        return {name: array[:, c] for c, name in enumerate(COMPONENTS)}

    variance = values.call_variance
    return {
        "items": values.items,
        "strata": values.strata,
        "estimates": columns(values.estimates),
        "plugin": columns(values.plugin),
        "call_variance": None if variance is None else columns(variance),
        "moved": {
            facet: {"p": found.p, "shown": found.shown, "most": found.most}
            for facet, found in values.moved.items()
        },
    }
