"""The parts of the paper's protocol in any calls: deep layers of one judge, and a matched panel.

Whatever the judges are called: a layer's role says what it is for, else its name does. Plug-in
values depend on the depth, so every stream is cut to the repeats that all its cells have, and the
judges of the panel to the repeats that all of them have.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgelaw.analysis import Analysis, JudgeAnalysis, Key, analyze, infer_roles
from judgelaw.arrays import ABSENT, PAIR
from judgelaw.diagnose import Cell, Drift, match, rank_drift, time_drift, time_span
from judgelaw.errors import InputError
from judgelaw.estimate import CENSUS, Estimand
from judgelaw.quantities import Quantity
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import Resampling

PARTS = ("control", "evaluation", "reference", "broad")
NAMES = {
    "control": "Byte-identical hidden-factor null",
    "evaluation": "Matched evaluation",
    "reference": "Independent reference",
    "broad": "Broad audit",
}
ROLES = ("control", "evaluation", "reference")
_WORDS = {"matched": "evaluation", "hidden": "control", "broad": "audit", "panel": "audit"}
_ALL = 2**31


@dataclass(frozen=True, kw_only=True, eq=False)
class PaperParts:
    """The calls that the paper's tables are made of; a part that is not there is absent.

    Attributes:
        judge: the judge of the deep layers, None without any.
        streams: where each part stands in the data, (layer, judge).
        layers: the calls of the deep judge by part, all cells at one depth.
        panel: calls of several judges on the same cells, all at one depth, by judge.
        reused: the judge of the panel whose calls are those of the evaluation, None without.
        differences: cells that a judge of the panel has and the first lacks, or lacks, by judge.
    """

    judge: str | None
    streams: Mapping[str, Key]
    layers: Mapping[str, VerdictTensor]
    panel: Mapping[str, VerdictTensor]
    panel_layer: str | None
    reused: str | None
    differences: Mapping[str, int]


def find_parts(
    tensors: Mapping[Key, VerdictTensor], roles: Mapping[str, str] | None = None
) -> PaperParts:
    """Sort the streams of a run or table into the parts of the paper.

    Raises:
        InputError: nothing can be made of these calls, or the judges of the panel were asked with
            other prompts.
    """
    by_layer: dict[str | None, dict[str, VerdictTensor]] = {}
    for (at, name), tensor in tensors.items():
        by_layer.setdefault(at, {})[name] = tensor
    known = _roles([layer for layer in by_layer if layer is not None], roles)
    places: dict[str, str | None] = {
        part: next((layer for layer, role in known.items() if role == part), None) for part in ROLES
    }
    named = [places[part] for part in ("reference", "evaluation", "control") if places[part]]
    judge = next(iter(by_layer[named[0]])) if named else None
    audits = [layer for layer in by_layer if layer is None or known[layer] in ("audit", "")]
    panel_layer = _panel_layer(audits, by_layer, judge)
    others = (layer for layer in audits if layer != panel_layer and judge in by_layer[layer])
    places["broad"] = next(others, None)
    streams = {
        part: (layer, judge)
        for part, layer in places.items()
        if judge is not None and layer is not None and judge in by_layer[layer]
    }
    cut = {part: complete_ranks(tensors[key], _ALL) for part, key in streams.items()}
    panel, reused, differences = _panel(by_layer, panel_layer, streams, tensors)
    if not panel and all(tensor is None for tensor in cut.values()):
        raise InputError(
            "no stream has two calls in every cell, so that no table of the paper can be made: "
            "one call cannot tell noise from a prompt's effect; ask every cell twice or more"
        )
    return PaperParts(
        judge=judge,
        streams={part: key for part, key in streams.items() if cut[part] is not None},
        layers={part: tensor for part, tensor in cut.items() if tensor is not None},
        panel=panel,
        panel_layer=panel_layer,
        reused=reused,
        differences=differences,
    )


def _roles(layers: list[str], declared: Mapping[str, str] | None) -> dict[str, str]:
    found = infer_roles(layers, declared)
    for layer, role in found.items():
        if not role:
            found[layer] = next((r for word, r in _WORDS.items() if word in layer.lower()), "")
    return found


def _panel_layer(
    audits: list[str | None], by_layer: Mapping[str | None, Mapping[str, Any]], judge: str | None
) -> str | None:
    """Return the layer of the matched judges: several of them, or any but the deep judge."""
    for layer in audits:
        if len(by_layer[layer]) > 1 or judge not in by_layer[layer]:
            return layer
    return None


def _panel(
    by_layer: Mapping[str | None, Mapping[str, VerdictTensor]],
    layer: str | None,
    streams: Mapping[str, Key],
    tensors: Mapping[Key, VerdictTensor],
) -> tuple[dict[str, VerdictTensor], str | None, Mapping[str, int]]:
    """Return the judges of the panel on the same cells, with the evaluation's calls among them."""
    given = dict(by_layer.get(layer, {}))
    key = streams.get("evaluation")
    reused = None
    if key is not None:
        whole = by_layer[key[0]] if not given else {key[1]: tensors[key]}
        held = given.get(key[1])
        if held is None or _is_prefix(held, tensors[key]):
            reused = key[1] if given else None
        given = {**whole, **given} if held is None else given
    found = {name: complete_ranks(t, _ALL) for name, t in given.items()}
    chosen = {name: tensor for name, tensor in found.items() if tensor is not None}
    if len(chosen) < PAIR:
        return chosen, None, {}
    matched = match(chosen)
    return dict(matched.tensors), reused, matched.differences


def _is_prefix(calls: VerdictTensor, other: VerdictTensor) -> bool:
    """Whether calls are the first ones of another stream, rank by rank."""
    if calls.ranked is None or other.ranked is None or calls.items != other.items:
        return False
    depth = calls.ranked.shape[-1]
    return bool((calls.ranked == other.ranked[..., :depth]).all())


def complete_ranks(tensor: VerdictTensor, most: int) -> VerdictTensor | None:
    """Return the first ranks that every cell has, at most so many; None without a pair of them."""
    if tensor.ranked is None:
        return tensor if tensor.depth[0] == tensor.depth[1] >= PAIR else None
    gaps = (tensor.ranked == ABSENT).any(axis=(0, 1, 2))
    depth = min(most, int(gaps.argmax()) if gaps.any() else len(gaps))
    return tensor.prefix(depth) if depth >= PAIR else None


@dataclass(frozen=True, kw_only=True, eq=False)
class AnalysedParts:
    """What `analyze` says of the parts.

    Attributes:
        layers: of the deep judge, by part.
        panel: by judge.
        analyses: of evaluation with reference, of the other layers, and of the panel.
        how: the resampling behind the bands.
        estimand: how prompts came about, and how often each order is used.
    """

    layers: Mapping[str, JudgeAnalysis]
    panel: Mapping[str, JudgeAnalysis]
    analyses: tuple[Analysis, ...]
    how: Resampling
    estimand: Estimand = CENSUS

    def component(self, stream: str, repeats: int | str, name: str) -> Quantity | None:
        """Return a component of a part or judge at a depth, None where it cannot be had."""
        found = self.layers.get(stream) or self.panel.get(stream)
        depths = {} if found is None else found.depths
        return depths[int(repeats)][name] if int(repeats) in depths else None

    def rows(self, table: str) -> Iterator[Mapping[str, Any]]:
        """Yield the rows of a table of the analyses."""
        for analysis in self.analyses:
            if table in analysis.tables:
                found = analysis.tables[table]
                yield from (dict(zip(found.columns, row, strict=True)) for row in found.rows)


def analyse_parts(
    layers: Mapping[str, VerdictTensor],
    panel: Mapping[str, VerdictTensor],
    *,
    judge: str | None,
    how: Resampling,
    estimand: Estimand = CENSUS,
) -> AnalysedParts:
    """Analyse the parts, each against those that it is compared with."""
    # The broad audit would be held against the reference too, where the two share items.
    groups: list[dict[Key, VerdictTensor]] = [
        {(part, str(judge)): layers[part] for part in parts if part in layers}
        for parts in (("evaluation", "reference"), ("control", "broad"))
    ]
    groups.append({(None, name): tensor for name, tensor in panel.items()})
    roles = {**dict(zip(ROLES, ROLES, strict=True)), "broad": "audit"}
    analyses = tuple(
        analyze(
            group,
            roles=roles,
            draws=how.draws,
            seed=how.seed,
            permutations=0,
            estimand=estimand,
        )
        for group in groups
        if group
    )
    streams = {key: found for analysis in analyses for key, found in analysis.streams().items()}
    return AnalysedParts(
        layers={layer: found for (layer, _), found in streams.items() if layer is not None},
        panel={name: found for (layer, name), found in streams.items() if layer is None},
        analyses=analyses,
        how=how,
        estimand=estimand,
    )


@dataclass(frozen=True, kw_only=True)
class StreamTimes:
    """How agreement of one acquired stream depends on rank gap and on time."""

    key: Key
    rank: Drift | None
    time: Drift | None
    span: float | None


@dataclass(frozen=True, kw_only=True, eq=False)
class PaperData:
    """What the tables and figures are made of.

    Attributes:
        parts: the calls by part.
        found: what `analyze` says of them.
        drift: of every stream that was acquired, in the sequence of the parts.
        configurations: fields of each judge's frozen configuration; empty for a table.
        integrity: checks with their results; empty for a table.
        prompts: the SHA-256 of every prompt's text, by id; empty for a table.
        simulated: items in each setting of the known-law simulation that goes with the tables.
    """

    parts: PaperParts
    found: AnalysedParts
    drift: Sequence[StreamTimes]
    configurations: Mapping[str, Mapping[str, Cell]] = field(default_factory=dict)
    integrity: Sequence[tuple[str, str]] = ()
    prompts: Mapping[str, str] = field(default_factory=dict)
    simulated: int = 0

    @property
    def depths(self) -> list[int]:
        """The depths of the panel, the same for every judge."""
        return sorted(next(iter(self.found.panel.values())).depths) if self.found.panel else []


def stream_name(of: PaperData, key: Key) -> str:
    """Name a stream as the paper does: judge, and what its calls are for."""
    part = next((part for part, other in of.parts.streams.items() if other == key), None)
    if part is not None:
        return f"{key[1]} {'null' if part == 'control' else NAMES[part].lower()}"
    depth = f" matched R={of.depths[-1]}" if key[0] == of.parts.panel_layer and of.depths else ""
    return f"{key[1]}{depth}"


def gather(
    tensors: Mapping[Key, VerdictTensor],
    *,
    how: Resampling,
    estimand: Estimand = CENSUS,
    roles: Mapping[str, str] | None = None,
    seconds: Mapping[Key, NDArray[np.float64]] | None = None,
    configurations: Mapping[str, Mapping[str, Cell]] | None = None,
    integrity: Sequence[tuple[str, str]] = (),
    prompts: Mapping[str, str] | None = None,
    simulated: int = 0,
) -> PaperData:
    """Find the parts of the paper in these calls and analyse them.

    `roles` says what a layer is for where its name does not, `seconds` when each call was made
    where that is known. What else is known goes to `PaperData` as it is.
    """
    # Judges in the sequence of the study, where there is one: a table sorts them by name.
    places = {judge: place for place, judge in enumerate(configurations or ())}
    ordered = sorted(tensors, key=lambda key: places.get(key[1], len(places)))
    parts = find_parts({key: tensors[key] for key in ordered}, roles)
    acquired = [*parts.streams.values()]
    acquired += [(parts.panel_layer, judge) for judge in parts.panel if judge != parts.reused]
    drift = []
    for key in dict.fromkeys(key for key in acquired if key in tensors):
        calls, times = tensors[key], (seconds or {}).get(key)
        if key[0] == parts.panel_layer and key[1] in parts.panel and calls.ranked is not None:
            # A panel has one depth: what a judge was asked beyond it stands in no table.
            depth = parts.panel[key[1]].depth[1]
            calls = calls.prefix(depth)
            times = None if times is None else times[..., :depth]
        drift.append(
            StreamTimes(
                key=key,
                rank=rank_drift(calls, how),
                time=None if times is None else time_drift(calls, times, how),
                span=None if times is None else time_span(times),
            )
        )
    return PaperData(
        parts=parts,
        found=analyse_parts(
            parts.layers, parts.panel, judge=parts.judge, how=how, estimand=estimand
        ),
        drift=drift,
        configurations=configurations or {},
        integrity=integrity,
        prompts=prompts or {},
        simulated=simulated,
    )
