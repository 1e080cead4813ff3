"""What every table is made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from judgelaw.analysis.components import Resampling
from judgelaw.analysis.depths import AtDepth, Declaration, at_depth
from judgelaw.analysis.values import JudgeAnalysis, Key, Pair, Table
from judgelaw.diagnose.finding import Cell, Finding
from judgelaw.diagnose.streams import StreamDrift
from judgelaw.estimate import Decomposition, decompose
from judgelaw.tensor import VerdictTensor

Row = tuple[Cell, ...]
Made = Table | str
"""A table, or why these calls do not give it."""


@dataclass(frozen=True, kw_only=True)
class Context:
    """The calls of a table, what they say, and what a run adds.

    Attributes:
        tensors, found, drift: by stream.
        roles: role of each layer.
        main: the main layer, None where the data has none.
        declared, how: estimand and resampling.
        findings: of the diagnostics.
        spans: seconds between the first and the last call, by stream.
        configurations: fields of each judge's frozen configuration, by judge.
        integrity: checks that were made on the way here, with their results.
    """

    tensors: Mapping[Key, VerdictTensor]
    found: Mapping[Key, JudgeAnalysis]
    drift: Mapping[Key, StreamDrift]
    roles: Mapping[str, str]
    main: str | None
    declared: Declaration
    how: Resampling
    findings: tuple[Finding, ...] = ()
    spans: Mapping[Key, float] = field(default_factory=dict)
    configurations: Mapping[str, Mapping[str, Cell]] = field(default_factory=dict)
    integrity: Sequence[tuple[str, str]] = ()

    def of_role(self, *roles: str) -> dict[Key, JudgeAnalysis]:
        """Return the streams of layers with one of these roles."""
        return {
            key: found
            for key, found in self.found.items()
            if key[0] is not None and self.roles.get(key[0]) in roles
        }

    def judges(self) -> dict[str, VerdictTensor]:
        """Return the calls of the judges of the main layer."""
        return {judge: t for (layer, judge), t in self.tensors.items() if layer == self.main}

    def reference_of(self, judge: str) -> Key | None:
        """Return the reference stream of a judge, None where there is none."""
        return next((key for key in self.of_role("reference") if key[1] == judge), None)

    def at(self, tensor: VerdictTensor) -> AtDepth:
        """Estimate what this analysis estimates, on other calls, with call errors."""
        return at_depth(tensor, self.declared)

    def decompose(self, tensor: VerdictTensor) -> Decomposition:
        """Estimate what this analysis estimates, on other calls."""
        declared = self.declared
        return decompose(tensor, design=declared.design, order_weights=declared.order_weights)


def layer_name(layer: str | None) -> str:
    """Name a layer in a table."""
    return layer or ""


def ends(pair: Pair | None) -> tuple[Cell, Cell]:
    """Return the ends of a band, None twice where there is none."""
    return pair or (None, None)


def with_band(name: str) -> tuple[str, str, str]:
    """Return the columns of an estimate with its band."""
    return name, f"{name}_low", f"{name}_high"


def known(value: float) -> Cell:
    """Return a figure, None where it is nan."""
    return None if value != value else value  # noqa: PLR0124 - nan is the one value unlike itself
