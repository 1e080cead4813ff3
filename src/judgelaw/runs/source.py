"""The calls of a run or of a table, as they were asked for."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from judgelaw.errors import InputError
from judgelaw.processes import quieten_blas
from judgelaw.runs.question_options import Which, check_which
from judgelaw.tables import Said, Wishes, wishes
from judgelaw.words import candidate_names, judge_of, listed, stream_name

if TYPE_CHECKING:
    from judgelaw.analysis import Key
    from judgelaw.estimate import Design
    from judgelaw.runs.folder import RunFolder
    from judgelaw.study import Study
    from judgelaw.tables import TableReading
    from judgelaw.tensor import VerdictTensor


Scale = Sequence[float] | Mapping[str, float]
"""Scores from low to high, or their ends where they are continuous."""
_ROUNDING = 1e-9
IN_MEMORY = "calls in memory"
"""The name of calls that no file holds."""
UNNAMED = "judge"
"""The judge of a table without a judge column."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Which calls of a run or table to read, and how: the options that several commands share."""

    judges: tuple[str, ...] = ()
    layer: str | None = None
    repeats: int | None = None
    design: "Design | None" = None
    incomplete: Literal["error", "drop"] = "error"
    said: Wishes = field(default_factory=Wishes)
    scale: Scale = ()
    date: str | None = None
    criteria: tuple[str, ...] = ()
    vectors: bool = True


@dataclass(frozen=True, kw_only=True)
class Source:
    """The calls of a run or of a table, with what a run declares about them.

    Attributes:
        tensors: by (layer or None, judge).
        name: of the study, or of the table; empty where nothing was read.
        design: "census" or "sampled", as asked, else as the run declares it.
        roles: role of each layer, None for a table.
        order_weights: by order, None where orders weigh the same.
        folder: the run folder, None for a table.
        threshold: prompt component above which a judge is flagged, None for the usual one.
        gate: limits that the study declares, by quantity.
        coverage: share of planned calls that are there, by judge; empty for a table.
        reused: streams that are calls of another stream, with that stream.
        table: how a table was read; None for a run, and for what was read before.
    """

    tensors: "Mapping[Key, VerdictTensor]"
    design: "Design"
    name: str = ""
    roles: Mapping[str, str] | None = None
    order_weights: Mapping[str, float] | None = None
    folder: "RunFolder | None" = None
    threshold: float | None = None
    gate: Mapping[str, float] = field(default_factory=dict)
    coverage: Mapping[str, float] = field(default_factory=dict)
    reused: "Mapping[Key, Key]" = field(default_factory=dict)
    table: "TableReading | None" = None

    def only_prompts(self, prompts: Sequence[str]) -> "Source":
        """Return the calls of some prompts."""
        chosen = {key: t.select(prompts=prompts) for key, t in self.tensors.items()}
        return replace(self, tensors=chosen)

    @property
    def run(self) -> Path | None:
        """Where the run folder is, None for a table."""
        return None if self.folder is None else self.folder.path

    @property
    def at_least(self) -> float | None:
        """The user's own bar, where the study declares one."""
        declared = self.folder and self.folder.frozen.study.answer
        return declared.at_least if declared else None

    @property
    def count(self) -> int:
        """How many calls there are."""
        return sum(int(tensor.counts.sum()) for tensor in self.tensors.values())

    @property
    def unit(self) -> float:
        """The largest that a component can be: 1 but for numeric scores."""
        scales = [tensor.scale for tensor in self.tensors.values()]
        return max((scale.unit for scale in scales if scale is not None), default=1.0)

    @property
    def main_layer(self) -> str | None:
        """The layer that answers, None where the calls have no layers."""
        from judgelaw.analysis import infer_roles, main_layer

        named = [layer for layer in dict.fromkeys(key[0] for key in self.tensors) if layer]
        return main_layer(infer_roles(named, self.roles)) if named else None

    def main(self) -> "dict[str, VerdictTensor]":
        """Return the judges of the main layer."""
        at = self.main_layer
        return {judge: t for (layer, judge), t in self.tensors.items() if layer == at}


def read_source(x: Any, reading: Reading | None = None) -> Source:
    """Read the calls of a run folder or of a calls table, by its path or in memory."""
    quieten_blas()
    from judgelaw.tables import read_all

    reading, run = reading or Reading(), _run_folder(x)
    folder = None if run is None else _folder(run, reading)
    if folder is not None and reading.scale:
        raise InputError("scale is about a table: the study of a run declares its own")
    said = reading.said
    if said.verdicts is None and (alphabet := _alphabet(folder)) is not None:
        said = replace(said, verdicts=alphabet)
    tensors, table = read_all(
        x,
        said,
        repeats=reading.repeats,
        incomplete=reading.incomplete,
        judges=reading.judges or None,
        date=reading.date,
        criteria=reading.criteria or None,
        vectors=reading.vectors,
    )
    named = {(at, judge or UNNAMED): t for (at, judge), t in tensors.items()}
    if folder is None:
        design = reading.design or "census"
        chosen = _on_scale(_of_layer(named, reading.layer), reading.scale)
        return Source(tensors=chosen, design=design, name=_named(x), table=table)
    return _declared(named, folder, reading)


def _named(x: Any) -> str:
    """Name a source by its file, or the first of several."""
    first = x[0] if isinstance(x, list | tuple) and x else x
    return Path(first).name if isinstance(first, str | os.PathLike) else IN_MEMORY


def _folder(run: Path, reading: Reading) -> "RunFolder":
    from judgelaw.runs.folder import RunFolder

    folder = RunFolder(run, reading.date)
    if (shard := folder.frozen.shard) is not None:
        raise InputError(
            f"{run} is shard {shard} of a run: `judgelaw merge RUN... --out RUN` joins all "
            f"{shard.of}, and that folder answers"
        )
    return folder


def _alphabet(folder: "RunFolder | None") -> tuple[str, ...] | None:
    """Return the verdicts of a study that chooses among several: all, chosen or not."""
    study = None if folder is None else folder.frozen.study
    if study is None or study.task != "choose":
        return None
    from judgelaw.tensor import DEFAULT_VERDICTS

    return (*candidate_names(study.candidates), *DEFAULT_VERDICTS[2:])


def _run_folder(x: Any) -> Path | None:
    """Return the folder of a run that was frozen there, None for anything else."""
    if not isinstance(x, str | os.PathLike):
        return None
    folder = Path(x)
    return folder if folder.is_dir() and (folder / "study.yaml").is_file() else None


def source_of(x: Any, *, vectors: bool = True, **which: Unpack[Which]) -> Source:
    """Return the calls behind anything that holds calls.

    Args:
        x: a tensor, a run, the path of a run or table, a frame, a list of dicts, a Hugging Face
            dataset, or tensors by judge or by (layer, judge).
        vectors: whether to read token probabilities, where a table has some.
        which: which of its calls, and how to read them.
    """
    check_which(which)
    judge, weights = which.pop("judge", None), which.pop("order_weights", None)
    criteria = _names(which.pop("criterion", None))
    said = wishes(**{name: which.pop(name, None) for name in Said.__annotations__})  # type: ignore[misc]  # names of both
    given = {name: value for name, value in which.items() if value is not None}
    names = {"judges": _names(judge), "criteria": criteria, "vectors": vectors, "said": said}
    reading = Reading(**names, **given)  # type: ignore[arg-type]  # checked above
    held = _held(x)
    found = read_source(x, reading) if held is None else of_tensors(held, reading)
    if weights is None:
        return found
    return replace(found, order_weights=_weights_by_order(weights, found.tensors))


def _weights_by_order(
    given: Mapping[str, float] | Sequence[float], tensors: "Mapping[Key, VerdictTensor]"
) -> Mapping[str, float]:
    """Return weights by the name of their order, as an analysis writes them down."""
    if isinstance(given, Mapping):
        return given
    orders = {tensor.orders for tensor in tensors.values()}
    if {len(names) for names in orders} != {len(given)} or len(orders) > 1:
        listed = "; ".join(", ".join(names) for names in sorted(orders))
        raise InputError(
            f"order_weights = {list(given)}: the orders are {listed}: weigh each by name"
        )
    return dict(zip(*orders, given, strict=True))


def _names(given: str | Iterable[str] | None) -> tuple[str, ...]:
    if given is None:
        return ()
    return (given,) if isinstance(given, str) else tuple(given)


def _held(x: Any) -> "dict[Key, VerdictTensor] | None":
    """Return tensors that are there already by (layer, judge), None where x has to be read."""
    from judgelaw.tensor import VerdictTensor

    if isinstance(x, VerdictTensor):
        return {(x.layer, stream_name(x.judge or UNNAMED, x.criterion)): x}
    if not isinstance(x, Mapping) or type(x).__module__.startswith("datasets"):
        return None
    found: dict[Key, VerdictTensor] = {}
    for name, tensor in x.items():
        if not isinstance(tensor, VerdictTensor):
            raise InputError(
                f"{name!r} maps to a {type(tensor).__name__}: a mapping holds tensors by judge, "
                "{'my-judge': tensor}; columns of values go into a frame or a list of dicts"
            )
        key = key_of(name)
        if key in found:
            raise InputError(f"judge {key[1]!r} is there twice: give each a name of its own")
        found[key] = tensor
    if len({layer is None for layer, _ in found}) > 1:
        raise InputError("some keys name a layer and some do not: write all as (layer, judge)")
    return found


def key_of(name: Any) -> "Key":
    """Read a judge's name, or a pair of layer and judge."""
    if isinstance(name, str):
        return None, name
    if isinstance(name, tuple) and len(name) == 2:  # noqa: PLR2004 - a pair
        layer, judge = name
        if isinstance(judge, str) and (layer is None or isinstance(layer, str)):
            return layer, judge
    raise InputError(f"key {name!r}: tensors go by judge, 'my-judge', or by (layer, judge)")


def of_tensors(tensors: "Mapping[Key, VerdictTensor]", reading: Reading) -> Source:
    """Return tensors that are there already as a source, as far as they are asked for."""
    if not tensors:
        raise InputError("no calls: give a tensor, or a mapping of tensors by judge")
    if named := list(reading.said.said()):
        raise InputError(
            f"{listed(named)}: columns, verdicts, positions, blank and the like are about reading "
            "a table, and a tensor was read already: pass them to VerdictTensor.from_table"
        )
    chosen = _on_scale(_of_layer(tensors, reading.layer), reading.scale)
    there = sorted({judge for _, judge in chosen})
    asked = {*there, *map(judge_of, there)}
    if unknown := [judge for judge in reading.judges if judge not in asked]:
        raise InputError(f"no judge is called {unknown[0]!r}: there are {', '.join(there)}")
    kept = {
        key: (t if reading.repeats is None else t.prefix(reading.repeats))
        for key, t in _of_criteria(chosen, reading.criteria).items()
        if not reading.judges or {key[1], judge_of(key[1])} & set(reading.judges)
    }
    for tensor in kept.values():
        tensor.depth  # noqa: B018 - refuses a tensor without items
    complete = {key: t.complete(reading.incomplete) for key, t in kept.items()}
    return Source(tensors=complete, design=reading.design or "census", name=IN_MEMORY)


def _of_criteria(
    tensors: "Mapping[Key, VerdictTensor]", criteria: Sequence[str]
) -> "Mapping[Key, VerdictTensor]":
    there = sorted({t.criterion for t in tensors.values() if t.criterion is not None})
    for name in criteria:
        if name not in there:
            listed = f"there are {', '.join(there)}" if there else "the calls have no criteria"
            raise InputError(f"no criterion is called {name!r}: {listed}")
    return {key: t for key, t in tensors.items() if not criteria or t.criterion in criteria}


def _of_layer(
    tensors: "Mapping[Key, VerdictTensor]", layer: str | None
) -> "Mapping[Key, VerdictTensor]":
    if layer is None:
        return tensors
    chosen = {key: tensor for key, tensor in tensors.items() if key[0] == layer}
    if not chosen:
        there = sorted({str(key[0]) for key in tensors if key[0] is not None})
        listed = f"there are {', '.join(there)}" if there else "the table has no layers"
        raise InputError(f"no layer is called {layer!r}: {listed}")
    return chosen


def _declared(
    tensors: "Mapping[Key, VerdictTensor]", folder: "RunFolder", reading: Reading
) -> Source:
    """Add what the frozen study declares: depth, roles, order weights, where prompts are from."""
    from judgelaw.runs.repeating import repeats_note
    from judgelaw.runs.reworded_prompts import wording_note
    from judgelaw.runs.stopping import looked_at
    from judgelaw.study import drawn_count

    study = folder.frozen.study
    tensors = {key: as_declared(t, study) for key, t in tensors.items()}
    tensors = _of_layer(_with_reused(tensors, folder, reading.incomplete), reading.layer)
    drawn = drawn_count(study.prompts) is not None
    asked = reading.design or (study.analysis and study.analysis.estimator)
    if study.analysis and study.analysis.depth and reading.repeats is None:
        depth = study.analysis.depth
        # Calls beyond the depth do not make up for those that are missing within it.
        tensors = {k: _cut(t, depth).complete(reading.incomplete) for k, t in tensors.items()}
    tensors = looked_at(tensors, folder.frozen)
    main, wording = study.main.name, wording_note(folder.frozen)
    tensors = {
        k: replace(t, notes=(*t.notes, *repeats_note(folder.frozen, k[1]), *wording))
        if k[0] == main
        else t
        for k, t in tensors.items()
    }
    total = sum(study.order_weights.values())
    weights = {order: q / total for order, q in study.order_weights.items()}
    unequal = max(weights.values()) - min(weights.values()) > _ROUNDING
    return Source(
        tensors=tensors,
        name=study.name,
        design=asked or ("sampled" if drawn else "census"),
        roles={layer.name: layer.role for layer in study.streams},
        order_weights=weights if unequal and study.task != "pointwise" else None,
        folder=folder,
        threshold=study.analysis.thresholds.get("prompt") if study.analysis else None,
        gate=study.gate.named({t.criterion for t in tensors.values()}) if study.gate else {},
        coverage=folder.coverage(),
        reused={key: source for key, source in folder.reused.items() if key in tensors},
    )


def _on_scale(
    tensors: "Mapping[Key, VerdictTensor]", scale: Scale
) -> "Mapping[Key, VerdictTensor]":
    """Read the verdicts of a table as scores, where a scale is named."""
    if not scale:
        return tensors
    if isinstance(scale, Mapping):
        from judgelaw.tables import on_continuous

        return {key: on_continuous(t, scale) for key, t in tensors.items()}
    return {key: t.on_scale(scale) for key, t in tensors.items()}


def as_declared(tensor: "VerdictTensor", study: "Study") -> "VerdictTensor":
    """Give the verdicts of single answers the scale, or all the labels, that a study declares.

    What another reading found beside them is no verdict of this study.
    """
    from judgelaw.tensor import INVALID

    verdicts = study.verdicts
    if verdicts is None:
        return tensor
    others = [name for name in tensor.verdicts if name not in (*verdicts, INVALID)]
    known = tensor.recode(dict.fromkeys(others, INVALID)).with_alphabet(verdicts)
    if study.scale is None:
        return known
    return known.on_scale(study.scale, study.dissimilarity or "ordinal")


def _with_reused(
    tensors: "Mapping[Key, VerdictTensor]",
    folder: "RunFolder",
    incomplete: Literal["error", "drop"],
) -> "dict[Key, VerdictTensor]":
    """Put the calls that a layer reuses beside its own, before its own judges."""
    found: dict[Key, VerdictTensor] = {}
    depths, members = folder.frozen.study.depth, folder.frozen.blueprint.members
    for key, source in folder.reused.items():
        if source in tensors:
            calls = tensors[source]
            here = set(members[str(key[0])])
            items = [item for item in calls.items if item in here]
            chosen = _cut(calls.select(items=items), depths[str(key[0])]).complete(incomplete)
            found[key] = replace(chosen, layer=key[0])
    layers = dict.fromkeys(layer for layer, _ in [*tensors, *found])
    both = {**found, **tensors}
    return {key: both[key] for layer in layers for key in both if key[0] == layer}


def _cut(tensor: "VerdictTensor", depth: int) -> "VerdictTensor":
    """Keep the ranks below the depth that a study analyses, where there are more."""
    return tensor.prefix(depth) if depth < tensor.depth[1] else tensor
