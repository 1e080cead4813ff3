"""Components with their bands: every depth of a judge from the same resampled items."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import Final

import numpy as np

from judgelaw.analysis.facet_values import LargestComponent, pair_of
from judgelaw.arrays import Floats
from judgelaw.estimate import COMPONENTS
from judgelaw.quantities import Components, Estimate, Pair, Quantity, estimate_of
from judgelaw.uncertainty import (
    Bands,
    DepthEstimates,
    FactorParts,
    Inference,
    NewItems,
    Resampling,
    Scope,
    clusters_of,
    item_bands,
    item_interval,
    new_item_bounds,
    stratum_rows,
)

_PARTS = COMPONENTS[:-1]
_TOTAL = COMPONENTS.index("total")
CLAIM = 0.95
"""Level of each one-sided bound behind a claim in words."""
SCOPES: tuple[Scope, Scope] = ("fixed", "new")
BY: Final = " x "
"""Between the factors of an interaction."""
_NO_WIDTH = 1e-12
"""Items that all have one value give a band of rounding width: no band, and none invented."""


@dataclass(frozen=True, kw_only=True)
class ComponentsByDepth:
    """Components of one set of items at several depths, and the lead of the largest.

    Attributes:
        depths: components by depth, in the order given.
        lead: of the last depth given; None where the design has one component.
        reason: why there is no band at all, or None.
        inference: the bounds of the last depth given.
    """

    depths: tuple[Components, ...]
    lead: LargestComponent | None
    reason: str | None
    inference: Inference


def banded(
    slices: Sequence[DepthEstimates], strata: Sequence[str] | None, how: Resampling
) -> ComponentsByDepth:
    """Return the components of depths that share their items, from the same draws.

    The columns of a depth are its five corrected components and its five plug-in ones. Shares and
    the lead, of the last depth alone, are computed draw by draw, so they are paired.
    """
    values = np.concatenate([columns_of(s) for s in slices], axis=1)
    leading = _leading(slices[-1])

    def statistic(means: Floats) -> Floats:
        last = means[..., -2 * len(COMPONENTS) :][..., : len(COMPONENTS)]
        return np.concatenate([means, _shares(last), _lead_of(last, leading)], axis=-1)

    bands = item_bands(
        values,
        strata=strata,
        statistic=statistic,
        draws=how.draws,
        seed=how.seed,
        level=how.level,
    )
    return _assembled(slices, bands, leading, how.level)


def columns_of(s: DepthEstimates) -> Floats:
    """Return corrected, then plug-in components of every item, (items, 10)."""
    corrected = [s.found[name] for name in COMPONENTS]
    return np.stack([*corrected, *(s.found.plugin[name] for name in COMPONENTS)], axis=-1)


def of_stratum(s: DepthEstimates, name: str, level: float) -> dict[str, Quantity]:
    """Return the components of one stratum, with intervals from its own items."""
    rows = stratum_rows(s.strata, len(s.items))[name]
    values = columns_of(s)[rows]
    width = len(COMPONENTS)
    macro = values.mean(axis=0)
    shares = _shares(macro[:width])
    errors = s.errors.rows(rows)
    clusters = s.clusters and [s.clusters[i] for i in rows]
    items = _new_items([s], [values[:, :width]], clusters)[0]
    found = {}
    for c, component in enumerate(COMPONENTS):
        new = items.interval(component, level=level)
        asked = errors.interval(component, level=level)
        plugin_band = pair_of(item_interval(values[:, width + c], level=level))
        found[component] = Quantity(
            {
                "estimate": estimate_of(float(macro[c]), new=new, asked=asked, band=pair_of(new)),
                "plugin": Estimate(estimate=float(macro[width + c]), band=plugin_band),
                "share": Estimate(estimate=float(shares[c])),
            }
        )
    return found


def of_factors(parts: FactorParts, full: DepthEstimates, how: Resampling) -> dict[str, Quantity]:
    """Return the parts of the prompt component, by the factors that they are about."""
    values = np.concatenate([parts.estimates, parts.plugin], axis=1)
    bands = item_bands(values, strata=full.strata, draws=how.draws, seed=how.seed, level=how.level)
    total = float(full.found["total"].mean())
    found = {}
    for at, part in enumerate(parts.parts):
        estimate, plugin = (float(bands.estimate[i]) for i in (at, len(parts.parts) + at))
        found[BY.join(part)] = Quantity(
            {
                "estimate": estimate_of(
                    estimate,
                    new=parts.interval(part, level=how.level),
                    asked=parts.interval(part, level=how.level, scope="fixed"),
                    band=_pair(bands, at),
                ),
                "plugin": Estimate(estimate=plugin, band=_pair(bands, len(parts.parts) + at)),
                "share": Estimate(estimate=estimate / total if abs(total) > _NO_WIDTH else nan),
            }
        )
    return found


def inferences(slices: Sequence[DepthEstimates]) -> list[Inference]:
    """Return the bounds of depths that share their items, from the same draws."""
    items = _new_items(slices, [s.errors.estimates for s in slices], slices[0].clusters)
    return [
        Inference(calls=s.errors, items=bounds, drawn=s.drawn, looks=s.looks)
        for s, bounds in zip(slices, items, strict=True)
    ]


def _new_items(
    slices: Sequence[DepthEstimates],
    values: Sequence[Floats],
    clusters: Sequence[str] | None,
) -> list[NewItems]:
    return new_item_bounds(values, top=slices[0].top, clusters=clusters_of(clusters))


def _shares(components: Floats) -> Floats:
    total = components[..., _TOTAL:]
    return np.divide(
        components, total, out=np.full_like(components, np.nan), where=np.abs(total) > _NO_WIDTH
    )


def _leading(s: DepthEstimates) -> tuple[int, int] | None:
    """Return the positions of the largest and the second component, None if there is one."""
    macro = np.array([float(s.found[name].mean()) for name in _PARTS])
    ranked = [int(i) for i in np.argsort(-macro, kind="stable") if not np.isnan(macro[i])]
    return (ranked[0], ranked[1]) if len(ranked) > 1 else None


def _lead_of(components: Floats, leading: tuple[int, int] | None) -> Floats:
    if leading is None:
        return np.full((*components.shape[:-1], 1), np.nan)
    first, second = leading
    return components[..., first : first + 1] - components[..., second : second + 1]


def _assembled(
    slices: Sequence[DepthEstimates], bands: Bands, leading: tuple[int, int] | None, level: float
) -> ComponentsByDepth:
    width = len(COMPONENTS)
    known = inferences(slices)
    depths = []
    for d, inference in enumerate(known):
        start = 2 * width * d
        shares = _shares(bands.estimate[start : start + width])
        last = d == len(slices) - 1
        depths.append(
            {
                name: _component(
                    bands,
                    Columns(
                        estimate=start + c,
                        plugin=start + width + c,
                        share=2 * width * len(slices) + c if last and name != "total" else None,
                    ),
                    inference=inference,
                    name=name,
                    share=float(shares[c]),
                    level=level,
                )
                for c, name in enumerate(COMPONENTS)
            }
        )
    call = COMPONENTS.index("call")  # present in every design
    return ComponentsByDepth(
        depths=tuple(depths),
        lead=None if leading is None else _lead(bands, leading, known[-1], level),
        reason=bands.reasons[call],
        inference=known[-1],
    )


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Where the bands of one component are; shares are banded at the last depth alone."""

    estimate: int
    plugin: int
    share: int | None


def _component(
    bands: Bands,
    at: Columns,
    *,
    inference: Inference,
    name: str,
    share: float,
    level: float,
) -> Quantity:
    new, asked = (inference.interval(name, level=level, scope=scope) for scope in ("new", "fixed"))
    own = Estimate(estimate=share)
    if at.share is not None:
        low, high = _share(inference, name, level, "new") or (nan, nan)
        own = Estimate(
            estimate=share,
            low=low,
            high=high,
            call_interval=_share(inference, name, level, "fixed"),
            band=_pair(bands, at.share),
        )
    return Quantity(
        {
            "estimate": estimate_of(
                float(bands.estimate[at.estimate]),
                new=new,
                asked=asked,
                band=_pair(bands, at.estimate),
            ),
            "plugin": Estimate(
                estimate=float(bands.estimate[at.plugin]), band=_pair(bands, at.plugin)
            ),
            "share": own,
        }
    )


def _share(inference: Inference, name: str, level: float, scope: Scope) -> Pair | None:
    low, high = inference.share(name, (1 + level) / 2, scope)
    return (low, high) if low < high else None


def _lead(
    bands: Bands, leading: tuple[int, int], inference: Inference, level: float
) -> LargestComponent:
    largest, second = (_PARTS[i] for i in leading)
    others = [name for name in _PARTS if name != largest and _present(inference, name)]
    here, new = (
        all(inference.leads(largest, other, CLAIM, scope) for other in others) for scope in SCOPES
    )
    return LargestComponent(
        largest=largest,
        second=second,
        by=float(bands.estimate[-1]),
        interval=pair_of(inference.items.lead(largest, second, level=level)),
        band=_pair(bands, -1),
        call_interval=pair_of(inference.calls.interval({largest: 1.0, second: -1.0}, level=level)),
        settled=new,
        settled_here=here,
    )


def _present(inference: Inference, name: str) -> bool:
    return inference.calls.refusal(name) is None


def _pair(bands: Bands, at: int) -> Pair | None:
    low, high = float(bands.low[at]), float(bands.high[at])
    return None if np.isnan(low) or high - low <= _NO_WIDTH else (low, high)
