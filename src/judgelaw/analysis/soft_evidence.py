"""Whether token probabilities may stand in for sampled verdicts, and what they say.

They are used where they are there for (nearly) all of the mass, and where the verdicts that were
sampled look as if drawn from them. Either way both answers are kept, side by side.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from judgelaw.blocks import Place, Run
from judgelaw.diagnose import check_vectors
from judgelaw.errors import InputError
from judgelaw.estimate import COMPONENTS
from judgelaw.quantities import Components, Pair, Quantity, soft as on_soft
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import (
    DepthEstimates,
    Estimand,
    SoftErrors,
    calls_without_vector,
    moving_cells,
)

SoftMode = Literal["auto", "never", "only"]
SOFT_MODES: tuple[SoftMode, ...] = ("auto", "never", "only")
MOST_MISSING: Final = 0.02
"""Mean mass that vectors may lack: it moves a component by twice as much at most."""
LEVEL: Final = 0.05
"""At which verdicts that do not look drawn from their vectors turn these off."""


@dataclass(frozen=True, kw_only=True)
class Reconciliation:
    """The test of "the sampled verdicts were drawn from these vectors".

    Attributes:
        p: its p value, two-sided.
        level: at which the vectors are turned off.
    """

    p: float
    level: float = LEVEL


@dataclass(frozen=True, kw_only=True)
class SoftEvidence:
    """What the token probabilities of a judge say, beside its sampled verdicts.

    Attributes:
        used: whether the components of the judge rest on them.
        reason: why they do not, None where they do.
        missing, largest_missing: mass that no verdict got, mean over calls and the most in a cell.
        moving_cells: share of cells whose vectors move between repeats by more than .01.
        reconciliation: whether the sampled verdicts look drawn from these vectors.
        components: by name, at the full depth; intervals hold the missing mass.
        depths: at nested prefixes of the repeat ranks, the full depth included.
        bounds: between which each estimate lies wherever the missing mass belongs.
        sampled: the components from sampled verdicts, at the full depth.
        worth: how many sampled calls a call with its probabilities is worth, by the squared errors
            for the items asked; None where one of them is not known.
    """

    used: bool
    reason: str | None
    missing: float
    largest_missing: float
    moving_cells: float
    reconciliation: Reconciliation
    components: Components
    depths: Mapping[int, Components]
    bounds: Mapping[str, Pair | None]
    sampled: Components
    worth: Mapping[str, float | None]

    @property
    def half(self) -> int:
        """The depth with half the calls or fewer, the full one where there is none."""
        full = max(self.depths)
        return max((depth for depth in self.depths if 2 * depth <= full), default=full)


def check_soft_mode(soft: str) -> None:
    """Refuse a word that is none of the three."""
    if soft not in SOFT_MODES:
        raise InputError(f"soft = {soft!r}: say {', '.join(map(repr, SOFT_MODES))}")


def may_estimate(tensor: VerdictTensor, estimand: Estimand, soft: SoftMode) -> bool:
    """Whether vectors are there and asked for, and the design is one that they have errors for.

    Raises:
        InputError: only they were asked for, and they cannot answer.
    """
    if soft == "never":
        return False
    who = tensor.judge or "the judge"
    if tensor.soft is None:
        if soft == "only":
            raise InputError(
                f"{who} has no token probabilities, and soft = 'only' asks for nothing else: ask "
                "with logprobs: 20, add columns p_VERDICT, or use sampled verdicts (--soft never)"
            )
        return False
    if estimand.design == "sampled" or tensor.scale is not None:
        if soft == "only":
            raise InputError(
                f"{who}: where prompts were drawn, or verdicts are scores, token probabilities "
                "have no errors yet: use sampled verdicts (--soft never)"
            )
        return False
    return True


def soft_evidence(
    tensor: VerdictTensor,
    full: DepthEstimates,
    depths: Mapping[int, Components],
    sampled: Components,
    *,
    seed: int,
    soft: SoftMode,
) -> SoftEvidence:
    """Hold the vectors of a judge against its verdicts, and decide whether they are used.

    Raises:
        InputError: only they were asked for, and they do not hold.
    """
    assert isinstance(full.errors, SoftErrors)  # noqa: S101 - as `soft_at_depth` makes them
    missing = full.errors.missing
    components = depths[full.depth]
    p = check_vectors(tensor, seed=seed)
    reason = _reason(tensor, float(missing.mean()), p)
    if reason is not None and soft == "only":
        raise InputError(f"{tensor.judge or 'the judge'}: {reason}; use --soft never")
    return SoftEvidence(
        used=reason is None,
        reason=reason,
        missing=float(missing.mean()),
        largest_missing=float(missing.max()),
        moving_cells=moving_cells(tensor),
        reconciliation=Reconciliation(p=p),
        components=components,
        depths=depths,
        bounds={name: components[name].bounds for name in COMPONENTS},
        sampled=sampled,
        worth={name: _worth(sampled[name], components[name]) for name in COMPONENTS},
    )


def _reason(tensor: VerdictTensor, missing: float, p: float) -> str | None:
    without, calls = calls_without_vector(tensor)
    if without > MOST_MISSING * calls:
        return (
            f"{without:,} of {calls:,} calls have no vector that can be used: none came back, or "
            "it sums to more than 1, or it was listed before a grammar, or it gives the sampled "
            "verdict no chance (`judgelaw check --probe` says which)"
        )
    if missing > MOST_MISSING:
        return (
            f"the vectors lack {100 * missing:.1f}% of their mass, more than "
            f"{100 * MOST_MISSING:g}%: ask for more tokens (logprobs: 20) or shorter verdicts"
        )
    if p <= LEVEL:
        return (
            f"the sampled verdicts do not look drawn from the returned probabilities (p = {p:.3g})"
            ": another temperature, a trimmed law or reasoning that was not returned may be behind "
            "it"
        )
    return None


def as_soft(components: Components, at: DepthEstimates) -> Components:
    """Say of components that they rest on token probabilities, with the bounds of missing mass."""
    return {
        name: on_soft(component, _bounds(at, name, component))
        for name, component in components.items()
    }


def _bounds(at: DepthEstimates, name: str, component: Quantity) -> Pair | None:
    if component.absent:
        return None
    down, up = at.errors.slack(name)
    return component.estimate + down, component.estimate + up


def _worth(sampled: Quantity, soft: Quantity) -> float | None:
    if not sampled.call_se or not soft.call_se:
        return None
    return (sampled.call_se / soft.call_se) ** 2


def soft_sentence(found: SoftEvidence, place: Place) -> Run:
    """Say in one sentence what the components rest on, and why.

    `place` is where the document holds the evidence.
    """
    if found.reason is not None:
        return (f"The components rest on sampled verdicts: {found.reason}.",)
    return (
        "The components rest on token probabilities: sampled verdicts look drawn from them (p = ",
        place.value("reconciliation", "p", form=".2g"),
        "), they lack ",
        place.at("missing").said(f"{100 * found.missing:.2g}%"),
        " of their mass, and in ",
        place.value("moving_cells", form=".0%"),
        " of cells they move between repeats.",
    )


def encode_soft(
    found: SoftEvidence, components: Callable[[Components], dict[str, Any]]
) -> dict[str, Any]:
    """Return the evidence as plain values; `components` encodes components by name."""
    return {
        "used": found.used,
        "reason": found.reason,
        "missing": found.missing,
        "largest_missing": found.largest_missing,
        "moving_cells": found.moving_cells,
        "reconciliation": asdict(found.reconciliation),
        "components": components(found.components),
        "depths": {str(depth): components(c) for depth, c in found.depths.items()},
        "bounds": dict(found.bounds),
        "sampled": components(found.sampled),
        "worth": dict(found.worth),
    }
