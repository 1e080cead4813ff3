"""The calls of a run or of a table, as they were asked for."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from judgelaw.errors import IncompleteDesignError, InputError, TableError

if TYPE_CHECKING:
    from judgelaw.analysis import Key
    from judgelaw.estimate import Design
    from judgelaw.runs.folder import RunFolder
    from judgelaw.tables import Engine
    from judgelaw.tensor import VerdictTensor


_ROUNDING = 1e-9
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
    columns: Mapping[str, str | None] = field(default_factory=dict)
    verdicts: tuple[str, ...] = ()
    engine: "Engine" = "duckdb"


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

    @property
    def run(self) -> Path | None:
        """Where the run folder is, None for a table."""
        return None if self.folder is None else self.folder.path

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


def read_source(path: str, reading: Reading | None = None) -> Source:
    """Read the calls of a run folder or a calls table."""
    quieten_blas()
    from judgelaw.tables import read_tensors

    reading = reading or Reading()
    with _remedy():
        tensors = read_tensors(
            path,
            repeats=reading.repeats,
            incomplete=reading.incomplete,
            judges=reading.judges or None,
            columns=reading.columns or None,
            verdicts=reading.verdicts or None,
            engine=reading.engine,
        )
    named = {(at, judge or UNNAMED): t for (at, judge), t in tensors.items()}
    run = Path(path) if Path(path).is_dir() and (Path(path) / "study.yaml").is_file() else None
    if run is None:
        design = reading.design or "census"
        chosen = _of_layer(named, reading.layer)
        return Source(tensors=chosen, design=design, name=Path(path).name)
    return _declared(named, run, reading)


def of_tensors(
    tensors: "Mapping[Key, VerdictTensor]",
    *,
    judges: tuple[str, ...] = (),
    layer: str | None = None,
    design: "Design | None" = None,
) -> Source:
    """Return a source of tensors that are in memory already, all of them or some."""
    if not tensors:
        raise InputError("no calls: give a tensor, or a mapping of tensors by judge")
    chosen = _of_layer(tensors, layer)
    there = sorted({judge for _, judge in chosen})
    if unknown := [judge for judge in judges if judge not in there]:
        raise InputError(f"no judge is called {unknown[0]!r}: there are {', '.join(there)}")
    kept = {key: t for key, t in chosen.items() if not judges or key[1] in judges}
    return Source(tensors=kept, design=design or "census")


@contextmanager
def _remedy() -> Iterator[None]:
    """Add the option of the command line to a message that names an argument of Python."""
    try:
        yield
    except IncompleteDesignError as error:
        raise IncompleteDesignError(f"{error} (here: --incomplete drop)") from error
    except TableError as error:
        if "columns={" not in str(error):
            raise
        raise type(error)(f"{error} (here: --columns PART=NAME)") from error


def quieten_blas() -> None:
    """Keep matrix products in one thread: ours are small, and waiting for threads costs more.

    Has an effect only before NumPy is imported; what the user set stays.
    """
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


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


def _declared(tensors: "Mapping[Key, VerdictTensor]", run: Path, reading: Reading) -> Source:
    """Add what the frozen study declares: depth, roles, order weights, where prompts are from."""
    from judgelaw.runs.folder import RunFolder

    folder = RunFolder(run)
    study = folder.frozen.study
    with _remedy():
        tensors = _of_layer(_with_reused(tensors, folder, reading.incomplete), reading.layer)
    drawn = getattr(study.prompts, "policy", None) == "generator"
    asked = reading.design or (study.analysis and study.analysis.estimator)
    if study.analysis and study.analysis.depth and reading.repeats is None:
        depth = study.analysis.depth
        with _remedy():
            # Calls beyond the depth do not make up for those that are missing within it.
            tensors = {k: _cut(t, depth).complete(reading.incomplete) for k, t in tensors.items()}
    total = sum(study.orders.values())
    weights = {str(order): q / total for order, q in study.orders.items()}
    unequal = max(weights.values()) - min(weights.values()) > _ROUNDING
    return Source(
        tensors=tensors,
        name=study.name,
        design=asked or ("sampled" if drawn else "census"),
        roles={layer.name: layer.role for layer in study.streams},
        order_weights=weights if unequal and study.task == "pairwise" else None,
        folder=folder,
        threshold=study.analysis.thresholds.get("prompt") if study.analysis else None,
        gate=study.gate.model_dump(exclude_none=True) if study.gate else {},
        coverage=folder.coverage(),
        reused={key: source for key, source in folder.reused.items() if key in tensors},
    )


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
