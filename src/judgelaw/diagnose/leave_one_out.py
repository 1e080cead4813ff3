"""What drives the result: leave out one prompt, one item, one stratum at a time.

Something is left out last or first in every table, so what is said of prompts and strata is tested:
that one prompt stands out over all items, by exchanging the prompts within every item; that one
stratum stands out, by exchanging items between strata. A judge that is settled on most items owes
its component to a few of them: single items are listed, and raise no notice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, isnan, lgamma

import numpy as np

from judgelaw.arrays import Floats
from judgelaw.diagnose.family import NOTICE, UNTESTABLE, Bundle, Test, permutation_p, rate
from judgelaw.diagnose.finding import Finding, Severity, untestable
from judgelaw.diagnose.registry import Diagnostic, Stream
from judgelaw.estimate import CENSUS, Estimand, decompose_as
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import item_interval

_HALF = 0.5
_SHOWN = 10
_THREE = 3
_SURE = 0.99
_EQUAL = 1e-12
_ITEMS_AT_MOST = 1 << 14
"""Of more items an even sample is exchanged: that is exact too, and enough."""
_VALUES_AT_ONCE = 1 << 21


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


@dataclass(frozen=True, kw_only=True, eq=False)
class Drivers:
    """A component with what each prompt, item and stratum adds to it, the largest first.

    Attributes:
        component: which one.
        estimate: of all.
        real: whether its item interval (99%) is above zero.
        prompts, items, strata: leave-one-out values, by size of the change.
        by_prompt: what each prompt adds to each item, (items, prompts).
        by_stratum: the value of each item, and the number of its stratum; (items, 2).
    """

    component: str
    estimate: float
    real: bool
    prompts: tuple[LeftOut, ...]
    items: tuple[LeftOut, ...]
    strata: tuple[LeftOut, ...]
    by_prompt: Floats
    by_stratum: Floats


def drivers(
    tensor: VerdictTensor, component: str = "prompt", *, estimand: Estimand = CENSUS
) -> Drivers | None:
    """Leave out one prompt, item and stratum at a time; None where the component is absent."""

    def values(t: VerdictTensor) -> Floats:
        return np.asarray(decompose_as(t, estimand)[component])

    everything = values(tensor)
    if np.isnan(everything).any():
        return None
    error = item_interval(everything, strata=tensor.strata, level=_SURE)
    rest = {
        prompt: values(tensor.select(prompts=[k for k in tensor.prompts if k != prompt]))
        for prompt in (tensor.prompts if len(tensor.prompts) >= _THREE else ())
    }
    labels = np.unique(np.asarray(tensor.strata or ("",) * len(everything)), return_inverse=True)[1]
    return Drivers(
        component=component,
        estimate=float(everything.mean()),
        real=error.low > 0,
        prompts=_ranked("prompt", {k: x.mean() for k, x in rest.items()}, everything),
        items=_items(tensor.items, everything),
        strata=_strata(tensor.strata, everything),
        by_prompt=everything[:, None]
        - np.array(list(rest.values())).reshape(-1, len(everything)).T,
        by_stratum=np.stack([everything, labels], axis=1),
    )


def driver_tests(found: Drivers | None, rng: np.random.Generator) -> Bundle:
    """Return the tests of "no prompt stands out" and "no stratum does"."""
    least = {"prompt": inf, "stratum": inf}
    if found is None:
        return Bundle(least=least, run=lambda *_: ())
    if found.prompts:
        x = _spaced(found.by_prompt)
        items = int((np.ptp(x, axis=1) > _EQUAL).sum())
        # The prompts of one item may stand as they stand: those of the others have to follow.
        least["prompt"] = exp(-max(0, items - 1) * lgamma(x.shape[1] + 1))
    if found.strata and np.ptp(found.by_stratum[:, 0]) > _EQUAL:
        sizes = np.bincount(_spaced(found.by_stratum)[:, 1].astype(int))
        least["stratum"] = exp(sum(lgamma(n + 1) for n in sizes) - lgamma(sizes.sum() + 1))

    def run(wanted: Sequence[str], most: int) -> list[float]:
        by = {"prompt": _prompt_p, "stratum": _stratum_p}
        return [by[name](found, rng, most) for name in wanted]

    return Bundle(least=least, run=run)


def _prompt_p(found: Drivers, rng: np.random.Generator, most: int) -> float:
    """Return the p value of "no prompt adds more than another over all items"."""
    x = _spaced(found.by_prompt)

    def draw(size: int) -> Floats:
        shuffled = rng.permuted(np.broadcast_to(x, (size, *x.shape)), axis=-1)
        return np.asarray(shuffled.mean(axis=1).max(axis=-1))

    observed = float(x.mean(axis=0).max())
    return permutation_p(observed, draw, most, numbers=x.size, at_once=_VALUES_AT_ONCE)


def _stratum_p(found: Drivers, rng: np.random.Generator, most: int) -> float:
    """Return the p value of "no stratum adds more than another"."""
    values, labels = _spaced(found.by_stratum).T
    inside = labels == np.unique(labels)[:, None]
    outside = (~inside / (~inside).sum(axis=1, keepdims=True)).T

    def most_added(x: Floats) -> Floats:
        return np.asarray(x.mean(axis=-1) - (x @ outside).min(axis=-1))

    def draw(size: int) -> Floats:
        return most_added(rng.permuted(np.broadcast_to(values, (size, values.size)), axis=-1))

    observed = float(most_added(values[None])[0])
    return permutation_p(observed, draw, most, numbers=values.size, at_once=_VALUES_AT_ONCE)


def _spaced(x: Floats) -> Floats:
    return x[:: -(-len(x) // _ITEMS_AT_MOST)]


def _ranked(kind: str, rest: Mapping[str, float], values: Floats) -> tuple[LeftOut, ...]:
    """Rank levels by how far the mean of all items is from that of the rest, without each."""
    estimate = float(values.mean())
    found = [
        LeftOut(kind=kind, name=name, without=float(x), change=estimate - float(x))
        for name, x in rest.items()
    ]
    return tuple(sorted(found, key=lambda x: -abs(x.change)))


def _items(names: Sequence[str], values: Floats) -> tuple[LeftOut, ...]:
    N = len(values)
    if N == 1:
        return ()
    rest = (values.sum() - values) / (N - 1)
    largest = np.argsort(-np.abs(values.mean() - rest), kind="stable")[:_SHOWN]
    return _ranked("item", {names[i]: rest[i] for i in largest}, values)


def _strata(strata: Sequence[str] | None, values: Floats) -> tuple[LeftOut, ...]:
    names = sorted(set(strata or ()))
    if len(names) < 2:  # noqa: PLR2004 - one stratum is everything
        return ()
    of_item = np.asarray(strata)
    return _ranked("stratum", {n: values[of_item != n].mean() for n in names}, values)


def drivers_finding(
    found: Drivers | None, prompts: Test = UNTESTABLE, strata: Test = UNTESTABLE, *, subject: str
) -> Finding:
    """Say whether one prompt or stratum makes the component what it is."""
    if found is None or not (found.prompts or found.items or found.strata):
        said = "Nothing can be left out: the component needs two levels to remain."
        return untestable("drivers", said, "It takes three prompts, or two items.", subject)
    driving = [
        (part[0], test)
        for part, test in ((found.prompts, prompts), (found.strata, strata))
        if part and test.together <= NOTICE and part[0].change > _HALF * found.estimate > 0
    ]
    untested = isnan(prompts.together) and isnan(strata.together)
    verdict: Severity = "notice" if driving else "unknown" if untested else "ok"
    return Finding(
        name="drivers",
        verdict=verdict,
        headline=_headline(found, driving),
        advice=_ADVICE[verdict],
        subject=subject,
        figures={
            "estimate": found.estimate,
            "p_prompt": prompts.p,
            "p_stratum": strata.p,
            "p_prompt_adjusted": prompts.together,
            "p_stratum_adjusted": strata.together,
        },
        columns=("kind", "left_out", "without", "change"),
        rows=tuple(
            (x.kind, x.name, x.without, x.change)
            for part in (found.prompts, found.strata, found.items)
            for x in part
        ),
    )


_ADVICE: dict[Severity, str] = {
    "ok": "Nothing to do.",
    "notice": "Read that prompt or stratum before generalising; report the component with and "
    "without it.",
    "unknown": "It takes three prompts or two strata, and items that tell them apart.",
}


def _headline(found: Drivers, driving: Sequence[tuple[LeftOut, Test]]) -> str:
    if not driving:
        told = "" if found.real else "is not told from 0, and "
        return (
            f"The {found.component} component {told}is not seen to hang on one prompt or stratum."
        )
    said = "; ".join(
        f"without {x.kind} {x.name} it is {x.without:.4f} instead of {found.estimate:.4f}"
        for x, _ in driving
    )
    chance = rate(max((test for _, test in driving), key=lambda test: test.together))
    return f"More than half of the {found.component} component hangs on one level: {said}.{chance}"


def _drivers(of: Stream) -> Drivers | None:
    return drivers(of.tensor, estimand=of.estimand)


DIAGNOSTICS = (
    Diagnostic(
        name="drivers",
        place=90,
        test=lambda of: driver_tests(of.once(_drivers), stream(of.how.seed, "drivers", of.name)),
        find=lambda of, tests: [
            drivers_finding(of.once(_drivers), tests["prompt"], tests["stratum"], subject=of.name)
        ],
    ),
)
