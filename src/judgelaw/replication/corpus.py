"""The paper's corpus found in a calls table."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgelaw.diagnose import Cell
from judgelaw.errors import InputError
from judgelaw.replication.paper_parts import PaperParts, complete_ranks
from judgelaw.replication.published_numbers import published
from judgelaw.tensor import VerdictTensor

JUDGES = {
    "Qwen3.6-27B": ("qwen",),
    "GPT-OSS-120B": ("gpt-oss", "gpt_oss", "gptoss"),
    "Gemma-3-27B-IT": ("gemma",),
    "Claude Haiku 4.5": ("claude", "haiku"),
}
"""A judge's name in the table holds one of these, in any case."""

_MODELS = {
    "Qwen3.6-27B": "qwen36",
    "GPT-OSS-120B": "gptoss120",
    "Gemma-3-27B-IT": "gemma327",
    "Claude Haiku 4.5": "claudehaiku(45|$)",
}
"""Letters and digits that name the model itself: another one of its family is another judge."""

LAYERS = {
    "control": ("control", "null", "hidden"),
    "evaluation": ("evaluation", "matched"),
    "reference": ("reference",),
    "broad": ("broad", "audit"),
}
"""A layer's name in the table holds one of these, in any case."""

QWEN = "Qwen3.6-27B"
PANEL_REPEATS = 4
_PANEL = (50, 6, 2, PANEL_REPEATS)
"""Items, prompts, orders and repeats of every configuration of the published panel."""

Key = tuple[str | None, str | None]
"""Layer and judge, None where the table has no such column."""

Seconds = Mapping[Any, NDArray[np.float64]]
"""When calls were made, by stream: its key in the table, or its name in the paper."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Corpus:
    """The calls behind the empirical tables; a part that the table lacks is absent.

    Attributes:
        layers: calls of Qwen by layer of the paper.
        panel: the first four repeats of the matched items, by configuration of the paper.
        seconds: when the calls of a stream were made, where that is known, shaped like them.
    """

    layers: Mapping[str, VerdictTensor]
    panel: Mapping[str, VerdictTensor]
    seconds: Seconds = field(default_factory=dict)


def find_corpus(
    tensors: Mapping[Key, VerdictTensor],
    *,
    layers: Mapping[str, str] | None = None,
    seconds: Seconds | None = None,
) -> Corpus:
    """Sort the tensors of a calls table into the parts of the paper.

    `layers` are names in the table by layer of the paper, where they are not to be guessed.

    Raises:
        InputError: no part of the paper's corpus is in the table, or two of its parts are one of
            the paper.
    """
    known = _sorted_by_part(tensors, layers or {})
    of_qwen = {
        layer: key for (layer, judge), key in known.items() if judge == QWEN and layer is not None
    }
    matched = {judge: _matched_key(known, judge) for judge in JUDGES}
    panel: dict[str, VerdictTensor] = {}
    for judge, key in matched.items():
        tensor = None if key is None else complete_ranks(tensors[key], PANEL_REPEATS)
        # Other items would be no stand-in for a layer whose calls are incomplete.
        if tensor is not None and tensor.depth[0] == PANEL_REPEATS:
            panel[judge] = tensor
    if not of_qwen and not panel:
        named = sorted(f"{layer or 'no layer'} / {judge or 'no judge'}" for layer, judge in tensors)
        judges = ", ".join(names[0] for names in JUDGES.values())
        parts = ", ".join(names[0] for names in LAYERS.values())
        raise InputError(
            f"the table holds {', '.join(named[:6])}, and none of it is a part of the paper: a "
            f"judge's name holds one of {judges}, a layer's one of {parts}; rename the columns' "
            "values, or say which layer is which"
        )
    streams = {**{judge: matched[judge] for judge in panel}, **of_qwen}
    return Corpus(
        layers={layer: tensors[key] for layer, key in of_qwen.items()},
        panel=panel,
        seconds=_times(streams, seconds or {}),
    )


def _times(streams: Mapping[str, Key | None], seconds: Seconds) -> Seconds:
    """Return the times of every stream of the paper; the panel has the first four repeats."""
    return {
        name: times[..., :PANEL_REPEATS] if name in JUDGES else times
        for name, key in streams.items()
        if key is not None and (times := seconds.get(key)) is not None
    }


def comparable_corpus(
    parts: PaperParts,
    configurations: Mapping[str, Mapping[str, Cell]],
    tensors: Mapping[tuple[str | None, str], VerdictTensor],
    seconds: Seconds | None = None,
) -> Corpus | None:
    """Return what of these calls is of the paper's judges and designs; None without any of it.

    One judge is enough, and a part of the items: what is compared then says how little it could
    see. Prompts, orders and repeats have to be as many as the paper's, since plug-in values depend
    on them. A run says which models answered: another model under a published name, or a simulated
    one, is not the published judge. A table has nothing but names: they have to say the model.
    """
    designs = {
        row["layer"]: tuple(int(row[axis]) for axis in ("items", "prompts", "orders", "repeats"))
        for row in published()["tab:s-qwen-layers"].rows
    }
    judges = dict.fromkeys(judge for judge in [*parts.panel, parts.judge] if judge)
    names = {judge: _published_judge(judge, configurations.get(judge)) for judge in judges}
    known_names = [name for name in names.values() if name is not None]
    if len(set(known_names)) < len(known_names):
        return None
    layers = {
        part: tensors[key]
        for part, key in parts.streams.items()
        if _fits(parts.layers[part], designs[part])
    }
    known = {
        name: tensor.prefix(PANEL_REPEATS)
        for judge, tensor in parts.panel.items()
        if (name := names[judge]) is not None and _fits(tensor, _PANEL)
    }
    of_qwen = layers if parts.judge is not None and names[parts.judge] == QWEN else {}
    if not known and not of_qwen:
        return None
    made: dict[str, Key | None] = {
        name: (parts.panel_layer, judge)
        for judge in parts.panel
        if (name := names[judge]) is not None and name in known
    }
    times = _times({**made, **{part: parts.streams[part] for part in of_qwen}}, seconds or {})
    return Corpus(layers=of_qwen, panel=known, seconds=times)


def _published_judge(judge: str, configuration: Mapping[str, Cell] | None) -> str | None:
    """Return the configuration of the paper that a judge is, None for any other."""
    if configuration is not None:
        rows = published()["tab:judge-configurations"].rows
        return {r["model"]: r["judge"] for r in rows}.get(configuration.get("model"))
    plain = re.sub(r"[^a-z0-9]", "", judge.lower())
    return next((name for name, model in _MODELS.items() if re.search(model, plain)), None)


def _fits(tensor: VerdictTensor, design: tuple[int, ...]) -> bool:
    """Whether a stream has a published design, on as many items or on fewer."""
    items, prompts, orders = tensor.counts.shape[:3]
    depth = tensor.depth[0]
    return items <= design[0] and (prompts, orders) == design[1:3] and depth >= design[3]


def _sorted_by_part(tensors: Iterable[Key], declared: Mapping[str, str]) -> dict[Key, Key]:
    """Return the one place in the table of every layer and judge of the paper."""
    places: dict[Key, list[Key]] = {}
    for layer, judge in tensors:
        part = (_match(LAYERS, layer, declared), _match(JUDGES, judge, {}))
        if part[1] is not None:
            places.setdefault(part, []).append((layer, judge))
    known = {}
    for (layer, judge), given in places.items():
        if len(given) == 1:
            known[layer, judge] = given[0]
        elif layer is not None or ("evaluation", judge) not in places:
            raise InputError(_two_for_one(given, layer, judge))
        # Layers that are none of the paper's serve only where no evaluation layer is there.
    return known


def _two_for_one(given: list[Key], layer: str | None, judge: str | None) -> str:
    named = " and ".join(f"{part or 'no layer'} / {who}" for part, who in given)
    return (
        f"the table's {named} all match {layer or 'the matched panel'} of {judge}, which is one "
        f"set of calls: say which layer is meant with --layer {layer or 'evaluation'}=NAME, and "
        "keep one judge of that name in the table"
    )


def _matched_key(known: Mapping[Key, Key], judge: str) -> Key | None:
    """Return where the matched calls of a configuration stand: in the evaluation layer first."""
    order = ("evaluation", None, "broad")
    return next((known[layer, judge] for layer in order if (layer, judge) in known), None)


def _match(
    names: Mapping[str, tuple[str, ...]], given: str | None, declared: Mapping[str, str]
) -> str | None:
    if given is None:
        return None
    for name, as_given in declared.items():
        if as_given == given:
            return name
    low = given.lower()
    for name, parts in names.items():
        if name not in declared and any(part in low for part in parts):
            return name
    return None
