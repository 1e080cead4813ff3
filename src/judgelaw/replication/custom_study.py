"""The columns of the point simulation for any world and design."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import Floats, check_at_least, count_ranked
from judgelaw.errors import InputError, NotIdentifiedError
from judgelaw.estimate import COMPONENTS, decompose, population
from judgelaw.replication.point_study import ErrorMoments, ErrorRow, exact_errors
from judgelaw.steps import Advance, unheard
from judgelaw.streams import stream
from judgelaw.worlds import World, draw_ranked

ITEMS = 20_000
_CALLS_AT_ONCE = 1 << 20
_NEGATIVE = 1e-12
"""Estimates are ratios of whole numbers far coarser than this: below it, they are zero."""


@dataclass(frozen=True, kw_only=True)
class CustomRow(ErrorRow):
    """The columns of the point simulation, for one component of one world.

    `truth` and the analytic columns are means over the items of the world, once each; errors are
    those of each drawn item against its own truth. The analytic columns hold for independent
    repeats; with copying the difference is the finding.
    """

    component: str
    orders: int


@dataclass(frozen=True, kw_only=True)
class CustomStudy:
    """The whole simulation."""

    items: int
    seed: int
    rows: tuple[CustomRow, ...]


def simulate_custom(
    world: World,
    *,
    prompts: int,
    orders: int = 2,
    repeats: Sequence[int] = (2, 4, 8),
    items: int = ITEMS,
    component: str = "prompt",
    seed: int = 0,
    progress: Advance = unheard,
) -> CustomStudy:
    """Simulate items of any world at the given depths, all prefixes of the deepest."""
    depths = _check(prompts, orders, repeats, items, component)
    # A world of written items has no others: its draws go round them, each equally often up to one.
    own = (world.written_items or tuple(f"i{i + 1}" for i in range(items)))[:items]
    names = [own[i % len(own)] for i in range(items)]
    rng = stream(seed, "custom")
    batch = max(1, _CALLS_AT_ONCE // (prompts * orders * depths[-1]))
    moments = ErrorMoments(truth=0.0)
    for start in range(0, items, batch):
        laws = world.laws(items=names[start : start + batch], prompts=prompts, orders=orders)
        ranked = draw_ranked(laws, depths[-1], rng, copying=world.copying)
        truth = np.asarray(population(laws)[component])
        plugin, complete = _estimates(ranked, depths, component, laws.shape[-1])
        moments.add(plugin - truth, complete - truth, complete < -_NEGATIVE)
        progress(len(laws))
    sample = world.laws(
        items=own[:1] if world.identical_items else own, prompts=prompts, orders=orders
    )
    truth = np.asarray(population(sample)[component])
    exact = exact_errors(sample, depths, component=component)
    rows = tuple(
        CustomRow(
            component=component,
            prompts=prompts,
            orders=orders,
            truth=float(truth.mean()),
            repeats=depth,
            **moments.columns(j, exact[j]),
        )
        for j, depth in enumerate(depths)
    )
    return CustomStudy(items=items, seed=seed, rows=rows)


def _check(
    prompts: int, orders: int, repeats: Sequence[int], items: int, component: str
) -> list[int]:
    if component not in COMPONENTS:
        raise InputError(f"component {component!r}: it is one of {', '.join(COMPONENTS)}")
    check_at_least("items", items, 2, "a Monte Carlo error needs two items")
    needs = {"prompt": (2, 1), "order": (1, 2), "interaction": (2, 2)}.get(component, (1, 1))
    why = f"the {component} component needs two levels of its facet"
    check_at_least("prompts", prompts, needs[0], why)
    check_at_least("orders", orders, needs[1], why)
    depths = sorted(set(repeats))
    if not depths or depths[0] < 2:  # noqa: PLR2004 - a pair of distinct calls
        raise NotIdentifiedError(
            f"repeats = {list(repeats)}: one call a cell cannot tell its dice from the prompt; "
            "use 2 or more"
        )
    return depths


def _estimates(
    ranked: NDArray[np.int16], depths: list[int], component: str, verdicts: int
) -> tuple[Floats, Floats]:
    found = [decompose(count_ranked(ranked[..., :depth], verdicts)) for depth in depths]
    return (
        np.stack([d.plugin[component] for d in found]),
        np.stack([d[component] for d in found]),
    )
