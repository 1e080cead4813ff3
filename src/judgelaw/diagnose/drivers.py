"""What drives the result: leave out one prompt, one item, one stratum at a time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from judgelaw.diagnose.finding import Finding
from judgelaw.diagnose.resampled import ALARM
from judgelaw.estimate import Design, decompose
from judgelaw.estimate.weights import Weights
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty.items import item_interval

_HALF = 0.5
_SHOWN = 10
_THREE = 3


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A component without one level of something.

    Attributes:
        kind: "prompt", "item" or "stratum".
        name: what was left out.
        without: the component of the rest.
        change: the component of all minus that of the rest: what this level adds.
    """

    kind: str
    name: str
    without: float
    change: float


@dataclass(frozen=True, kw_only=True)
class Drivers:
    """A component with what each prompt, item and stratum adds to it, the largest first.

    Attributes:
        component: which one.
        estimate: of all.
        real: whether its item interval (99%) is above zero; below that nothing drives anything.
        prompts, items, strata: leave-one-out values, by size of the change.
    """

    component: str
    estimate: float
    real: bool
    prompts: tuple[LeftOut, ...]
    items: tuple[LeftOut, ...]
    strata: tuple[LeftOut, ...]


def drivers(
    tensor: VerdictTensor,
    component: str = "prompt",
    *,
    design: Design = "census",
    order_weights: Weights = None,
) -> Drivers | None:
    """Leave out one prompt, item and stratum at a time; None where the component is absent."""

    def values(t: VerdictTensor) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.asarray(decompose(t, design=design, order_weights=order_weights)[component])

    everything = values(tensor)
    if np.isnan(everything).any():
        return None
    estimate = float(everything.mean())
    error = item_interval(everything, strata=tensor.strata, level=ALARM)

    def without(prompt: str) -> float:
        rest = [k for k in tensor.prompts if k != prompt]
        return float(values(tensor.select(prompts=rest)).mean())

    return Drivers(
        component=component,
        estimate=estimate,
        real=error.low > 0,
        prompts=_ranked(
            "prompt", tensor.prompts if len(tensor.prompts) >= _THREE else (), without, estimate
        ),
        items=_items(tensor.items, everything),
        strata=_strata(tensor.strata, everything),
    )  # fmt: skip - three alike


def _ranked(
    kind: str, names: Sequence[str], without: Callable[[str], float], estimate: float
) -> tuple[LeftOut, ...]:
    found = [
        LeftOut(kind=kind, name=n, without=rest, change=estimate - rest)
        for n, rest in ((n, without(n)) for n in names)
    ]
    return tuple(sorted(found, key=lambda x: -abs(x.change)))


def _items(
    names: Sequence[str], values: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> tuple[LeftOut, ...]:
    N = len(values)
    if N == 1:
        return ()
    rest = (values.sum() - values) / (N - 1)
    at = {name: i for i, name in enumerate(names)}
    largest = np.argsort(-np.abs(values.mean() - rest), kind="stable")[:_SHOWN]
    return _ranked(
        "item", [names[i] for i in largest], lambda n: float(rest[at[n]]), float(values.mean())
    )


def _strata(
    strata: Sequence[str] | None, values: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> tuple[LeftOut, ...]:
    names = sorted(set(strata or ()))
    if len(names) < 2:  # noqa: PLR2004 - one stratum is everything
        return ()
    of_item = np.asarray(strata)
    return _ranked(
        "stratum", names, lambda n: float(values[of_item != n].mean()), float(values.mean())
    )


def drivers_finding(found: Drivers | None, *, subject: str) -> Finding:
    """Say whether one prompt, item or stratum makes the component what it is."""
    if found is None or not (found.prompts or found.items or found.strata):
        return Finding(
            name="drivers",
            verdict="unknown",
            headline="Nothing can be left out: the component needs two levels to remain.",
            advice="It takes three prompts, or two items.",
            subject=subject,
        )
    parts = (found.prompts, found.strata, found.items)
    driving = [
        x for part in parts for x in part[:1] if found.real and x.change > _HALF * found.estimate
    ]
    return Finding(
        name="drivers",
        verdict="notice" if driving else "ok",
        headline=_headline(found, driving),
        advice=(
            "Read that prompt, item or stratum before generalising; report the component with and "
            "without it."
            if driving
            else "Nothing to do."
        ),
        subject=subject,
        figures={"estimate": found.estimate},
        columns=("kind", "left_out", "without", "change"),
        rows=tuple((x.kind, x.name, x.without, x.change) for part in parts for x in part),
    )


def _headline(found: Drivers, driving: Sequence[LeftOut]) -> str:
    if not found.real:
        return f"The {found.component} component is not told from 0."
    if not driving:
        return f"The {found.component} component is not driven by one prompt, item or stratum."
    said = "; ".join(
        f"without {x.kind} {x.name} it is {x.without:.4f} instead of {found.estimate:.4f}"
        for x in driving
    )
    return f"More than half of the {found.component} component hangs on one level: {said}."
