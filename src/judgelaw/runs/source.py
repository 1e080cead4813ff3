"""The calls of a run or of a table, as they were asked for."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from judgelaw.errors import InputError
from judgelaw.processes import quieten_blas
from judgelaw.runs.reading_options import Reading, Streams, names_of, selected
from judgelaw.tables import Said, Wishes, wishes
from judgelaw.words import candidate_names, listed, plain_number, stream_name

if TYPE_CHECKING:
    from judgelaw.analysis import Key
    from judgelaw.estimate import Design, Estimand
    from judgelaw.page import Questions
    from judgelaw.runs.folder import RunFolder
    from judgelaw.study import Study
    from judgelaw.tables import TableReading
    from judgelaw.tensor import VerdictTensor


_ROUNDING = 1e-9
IN_MEMORY = "calls in memory"
"""The name of calls that no file holds."""
UNNAMED = "judge"
"""The judge of a table without a judge column."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """The calls of a run or of a table, with what a run declares about them.

    Attributes:
        tensors: by (layer or None, judge).
        name: of the study, or of the table; empty where nothing was read.
        estimand: the design, and weights by order, None where orders weigh the same; as asked, else
            as the run declares them.
        roles: role of each layer, None for a table.
        folder: the run folder, None for a table.
        threshold: prompt component above which a judge is flagged, None for the usual one.
        gate: limits that the study declares, by quantity.
        coverage: share of planned calls that are there, by judge; empty for a table.
        reused: streams that are calls of another stream, with that stream.
        table: how a table was read; None for a run, and for what was read before.
    """

    tensors: "Mapping[Key, VerdictTensor]"
    estimand: "Estimand"
    name: str = ""
    roles: Mapping[str, str] | None = None
    folder: "RunFolder | None" = None
    threshold: float | None = None
    gate: Mapping[str, float] = field(default_factory=dict)
    coverage: Mapping[str, float] = field(default_factory=dict)
    reused: "Mapping[Key, Key]" = field(default_factory=dict)
    table: "TableReading | None" = None

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

    def texts(self) -> Mapping[str, Mapping[str, str]]:
        """Return what is known of every item beside its verdicts, by item and name."""
        if self.table is not None:
            return self.table.texts
        if self.folder is None:
            return {}
        return {
            item: {"instruction": asked.instruction, **dict(asked.answers)}
            for item, asked in self.folder.questions().items()
        }

    def questions(self) -> "Questions":
        """Return the texts of a table's items as the page shows them."""
        from judgelaw.page import Question

        return {
            item: Question(instruction=next(iter(texts.values())), answers=tuple(texts.items())[1:])
            for item, texts in self.texts().items()
            if texts
        }

    def main(self) -> "dict[str, VerdictTensor]":
        """Return the judges of the main layer."""
        at = self.main_layer
        return {judge: t for (layer, judge), t in self.tensors.items() if layer == at}


def read_source(x: Any, reading: Reading | None = None, *, vectors: bool = True) -> Source:
    """Read the calls behind anything that holds calls.

    Args:
        x: a tensor, a run, the path of a run or table, a frame, a list of dicts, a Hugging Face
            dataset, or tensors by judge or by (layer, judge).
        reading: which of its calls, and how to read them.
        vectors: whether to read token probabilities, where a table has some.
    """
    reading = {} if reading is None else reading
    held = _held(x)
    found = _read(x, reading, vectors=vectors) if held is None else _of_tensors(held, reading)
    weights = reading.get("order_weights")
    if weights is None:
        return found
    by_order = _weights_by_order(weights, found.tensors)
    return replace(found, estimand=replace(found.estimand, order_weights=by_order))


def _read(x: Any, reading: Reading, *, vectors: bool) -> Source:
    quieten_blas()
    from judgelaw.tables import read_all

    run = _run_folder(x)
    folder = None if run is None else _folder(run, reading)
    if folder is not None and reading.get("scale"):
        raise InputError("scale is about a table: the study of a run declares its own")
    said = said_in(reading)
    if said.verdicts is None and (alphabet := _alphabet(folder)) is not None:
        said = replace(said, verdicts=alphabet)
    tensors, table = read_all(
        x,
        said,
        repeats=reading.get("repeats"),
        incomplete=reading.get("incomplete") or "error",
        judges=names_of(reading.get("judge")) or None,
        date=reading.get("date"),
        criteria=names_of(reading.get("criterion")) or None,
        vectors=vectors,
    )
    named = {(at, judge or UNNAMED): t for (at, judge), t in tensors.items()}
    if folder is None:
        chosen = _on_scale(_selected(named, reading), reading)
        return Source(
            tensors=chosen, estimand=_estimand(reading.get("design")), name=_named(x), table=table
        )
    return _declared(named, folder, reading)


def _estimand(
    design: "Design | None", order_weights: Mapping[str, float] | None = None
) -> "Estimand":
    from judgelaw.estimate import Estimand

    return Estimand(design=design or "census", order_weights=order_weights)


def said_in(reading: Mapping[str, Any]) -> Wishes:
    """Return what a reading says about a table."""
    return wishes(**{name: v for name, v in reading.items() if name in Said.__annotations__})


def _selected(
    tensors: "Mapping[Key, VerdictTensor]", reading: Reading
) -> "Mapping[Key, VerdictTensor]":
    """Keep what is selected of calls that were read by judge and criterion already."""
    return selected(Streams(tensors), reading, but=("judge", "criterion")).tensors


def _named(x: Any) -> str:
    """Name a source by its file, or the first of several."""
    first = x[0] if isinstance(x, list | tuple) and x else x
    return Path(first).name if isinstance(first, str | os.PathLike) else IN_MEMORY


def _folder(run: Path, reading: Reading) -> "RunFolder":
    from judgelaw.runs.folder import RunFolder

    folder = RunFolder(run, reading.get("date"))
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


def _of_tensors(tensors: "Mapping[Key, VerdictTensor]", reading: Reading) -> Source:
    """Return tensors that are there already as a source, as far as they are asked for."""
    if not tensors:
        raise InputError("no calls: give a tensor, or a mapping of tensors by judge")
    if named := list(said_in(reading).said()):
        raise InputError(
            f"{listed(named)}: columns, verdicts, positions, blank and the like are about reading "
            "a table, and a tensor was read already: pass them to VerdictTensor.from_table"
        )
    chosen = _on_scale(selected(Streams(tensors), reading).tensors, reading)
    repeats, incomplete = reading.get("repeats"), reading.get("incomplete") or "error"
    kept = {key: t if repeats is None else t.prefix(repeats) for key, t in chosen.items()}
    for tensor in kept.values():
        tensor.depth  # noqa: B018 - refuses a tensor without items
    complete = {key: t.complete(incomplete) for key, t in kept.items()}
    return Source(tensors=complete, estimand=_estimand(reading.get("design")), name=IN_MEMORY)


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
    incomplete, repeats = reading.get("incomplete") or "error", reading.get("repeats")
    tensors = _selected(_with_reused(tensors, folder, incomplete), reading)
    drawn = drawn_count(study.prompts) is not None
    asked = reading.get("design") or (study.analysis and study.analysis.estimator)
    if study.analysis and study.analysis.depth and repeats is None:
        depth = study.analysis.depth
        # Calls beyond the depth do not make up for those that are missing within it.
        tensors = {k: _cut(t, depth).complete(incomplete) for k, t in tensors.items()}
    tensors = looked_at(tensors, folder.frozen)
    main, wording = study.main.name, wording_note(folder.frozen)
    wording = (*wording, *_changed_functions(folder))
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
        estimand=_estimand(
            asked or ("sampled" if drawn else "census"),
            weights if unequal and study.task != "pointwise" else None,
        ),
        roles={layer.name: layer.role for layer in study.streams},
        folder=folder,
        threshold=study.analysis.thresholds.get("prompt") if study.analysis else None,
        gate=study.gate.named({t.criterion for t in tensors.values()}) if study.gate else {},
        coverage=folder.coverage(),
        reused={key: source for key, source in folder.reused.items() if key in tensors},
    )


def _on_scale(
    tensors: "Mapping[Key, VerdictTensor]", reading: Reading
) -> "Mapping[Key, VerdictTensor]":
    """Read the verdicts of a table as scores, where a scale is named.

    Raises:
        InputError: the verdicts are many numbers, and nothing says that they are scores.
    """
    scale = reading.get("scale")
    if not scale:
        for tensor in () if reading.get("verdicts") else tensors.values():
            _refuse_numbers(tensor)
        return tensors
    if isinstance(scale, Mapping):
        from judgelaw.tables import on_continuous

        return {key: on_continuous(t, scale) for key, t in tensors.items()}
    return {key: t.on_scale(scale) for key, t in tensors.items()}


_MOST_NUMBERS, _MOST_FRACTIONS = 20, 10
"""Verdicts that are numbers, and that are no whole ones, which may pass for labels."""


def _refuse_numbers(tensor: "VerdictTensor") -> None:
    """Refuse scores that nobody called scores: as labels, nearly every two of them differ."""
    if tensor.scale is not None:
        return
    said = tensor.counts.sum(axis=(0, 1, 2)) > 0
    numbers = []
    for verdict, n in zip(tensor.verdicts, said, strict=True):
        if n and verdict not in candidate_names(2):
            try:
                numbers.append(float(verdict))
            except ValueError:
                continue
    whole = all(number.is_integer() for number in numbers)
    if len(numbers) <= (_MOST_NUMBERS if whole else _MOST_FRACTIONS):
        return
    low, high = min(numbers), max(numbers)
    top = next((end for end in (1, 5, 10, 100) if high <= end), high)
    bottom = min(0, low)
    some = ", ".join(map(plain_number, sorted(numbers)[:3]))
    raise InputError(
        f"the verdicts are {len(numbers)} different numbers ({some}, ...), and as labels nearly "
        f"every two of them differ: say between which ends they are scores, --scale "
        f"{bottom:g}..{top:g} (in Python scale={{'from': {bottom:g}, 'to': {top:g}}}, in a study "
        "scale: of the same), or list every score, --scale 1,2,3"
    )


def as_declared(tensor: "VerdictTensor", study: "Study") -> "VerdictTensor":
    """Give the verdicts of single answers the scale, or all the labels, that a study declares.

    What another reading found beside them is no verdict of this study.
    """
    from judgelaw.study import Continuous
    from judgelaw.tensor import INVALID

    if isinstance(study.scale, Continuous):
        from judgelaw.tables import on_continuous

        ends = {"from": study.scale.low, "to": study.scale.high}
        return on_continuous(tensor, ends, outside="invalid")
    verdicts = study.verdicts
    if verdicts is None:
        alone = study.task == "pointwise" and tensor.criterion is None
        return tensor.with_alphabet(tensor.verdicts) if alone else tensor
    others = [name for name in tensor.verdicts if name not in (*verdicts, INVALID)]
    known = tensor.recode(dict.fromkeys(others, INVALID)).with_alphabet(verdicts)
    if study.scale is None:
        return known
    return known.on_scale(study.scale, study.dissimilarity or "ordinal")


def _changed_functions(folder: "RunFolder") -> tuple[str, ...]:
    """Say from which call another function answered."""
    said = (line for change in folder.frozen.record.amendments for line in change["changes"])
    return tuple(line for line in said if "another function answers" in line)


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
