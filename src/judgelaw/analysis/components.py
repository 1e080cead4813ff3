"""Components with their bands: every depth of a judge from the same resampled items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from judgelaw.analysis.depths import AtDepth
from judgelaw.analysis.values import Component, Floats, LargestComponent, Pair, pair_of
from judgelaw.estimate import COMPONENTS
from judgelaw.uncertainty.bands import Bands, item_bands, stratum_rows
from judgelaw.uncertainty.calls import CallErrors
from judgelaw.uncertainty.contrasts import component_share
from judgelaw.uncertainty.items import item_interval
from judgelaw.uncertainty.results import Interval

_PARTS = COMPONENTS[:-1]
_TOTAL = COMPONENTS.index("total")
_NO_WIDTH = 1e-12
"""Items that all have one value give a band of rounding width: no band, and none invented."""


@dataclass(frozen=True, kw_only=True)
class Resampling:
    """How items are resampled."""

    draws: int
    seed: int
    level: float


@dataclass(frozen=True, kw_only=True)
class Banded:
    """Components of one set of items at several depths, and the lead of the largest.

    Attributes:
        depths: components by depth, in the order given.
        lead: of the last depth given; None where the design has one component.
        reason: why there is no band at all, or None.
    """

    depths: tuple[Mapping[str, Component], ...]
    lead: LargestComponent | None
    reason: str | None


def banded(slices: Sequence[AtDepth], strata: Sequence[str] | None, how: Resampling) -> Banded:
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


def columns_of(s: AtDepth) -> Floats:
    """Return corrected, then plug-in components of every item, (items, 10)."""
    corrected = [s.found[name] for name in COMPONENTS]
    return np.stack([*corrected, *(s.found.plugin[name] for name in COMPONENTS)], axis=-1)


def of_stratum(s: AtDepth, name: str, level: float) -> dict[str, Component]:
    """Return the components of one stratum.

    Its bands are t intervals over its items: percentile bands of a handful of items are too narrow.
    """
    rows = stratum_rows(s.strata, len(s.items))[name]
    values = columns_of(s)[rows]
    width = len(COMPONENTS)
    macro = values.mean(axis=0)
    shares = _shares(macro[:width])
    errors = None if s.errors is None else rows_of(s.errors, rows)
    found = {}
    for c, component in enumerate(COMPONENTS):
        call = None if errors is None else errors.interval(component, level=level)
        found[component] = Component(
            estimate=float(macro[c]),
            plugin=float(macro[width + c]),
            band=pair_of(item_interval(values[:, c], level=level)),
            plugin_band=pair_of(item_interval(values[:, width + c], level=level)),
            call_se=_se(call),
            call_interval=None if call is None else pair_of(call),
            share=float(shares[c]),
            share_band=None,
            share_interval=None,
        )
    return found


def rows_of(errors: CallErrors, rows: NDArray[np.intp]) -> CallErrors:
    """Keep the call errors of some items."""
    return replace(
        errors,
        estimates=errors.estimates[rows],
        covariance=errors.covariance[rows],
        unanimous=errors.unanimous[rows],
        items=None if errors.items is None else tuple(errors.items[i] for i in rows),
    )


def _shares(components: Floats) -> Floats:
    total = components[..., _TOTAL:]
    return np.divide(
        components, total, out=np.full_like(components, np.nan), where=np.abs(total) > _NO_WIDTH
    )


def _leading(s: AtDepth) -> tuple[int, int] | None:
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
    slices: Sequence[AtDepth], bands: Bands, leading: tuple[int, int] | None, level: float
) -> Banded:
    width = len(COMPONENTS)
    depths = []
    for d, s in enumerate(slices):
        last = d == len(slices) - 1
        start = 2 * width * d
        shares = _shares(bands.estimate[start : start + width])
        depths.append(
            {
                name: _component(
                    bands,
                    Columns(
                        estimate=start + c,
                        plugin=start + width + c,
                        share=2 * width * len(slices) + c if last and name != "total" else None,
                    ),
                    errors=s.errors,
                    name=name,
                    share=float(shares[c]),
                    level=level,
                )
                for c, name in enumerate(COMPONENTS)
            }
        )
    call = COMPONENTS.index("call")  # present in every design
    return Banded(
        depths=tuple(depths),
        lead=None if leading is None else _lead(bands, leading, slices[-1].errors, level),
        reason=bands.reasons[call],
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
    errors: CallErrors | None,
    name: str,
    share: float,
    level: float,
) -> Component:
    call = None if errors is None else errors.interval(name, level=level)
    part = None
    if errors is not None and at.share is not None:
        part = pair_of(component_share(errors, name, level=level))
    return Component(
        estimate=float(bands.estimate[at.estimate]),
        plugin=float(bands.estimate[at.plugin]),
        band=_pair(bands, at.estimate),
        plugin_band=_pair(bands, at.plugin),
        call_se=_se(call),
        call_interval=None if call is None else pair_of(call),
        share=share,
        share_band=None if at.share is None else _pair(bands, at.share),
        share_interval=part,
    )


def _se(found: Interval | None) -> float | None:
    return None if found is None or np.isnan(found.se) else found.se


def _lead(
    bands: Bands, leading: tuple[int, int], errors: CallErrors | None, level: float
) -> LargestComponent:
    largest, second = (_PARTS[i] for i in leading)
    call = None
    if errors is not None:
        call = pair_of(errors.interval({largest: 1.0, second: -1.0}, level=level))
    return LargestComponent(
        largest=largest,
        second=second,
        by=float(bands.estimate[-1]),
        band=_pair(bands, -1),
        call_interval=call,
    )


def _pair(bands: Bands, at: int) -> Pair | None:
    low, high = float(bands.low[at]), float(bands.high[at])
    return None if np.isnan(low) or high - low <= _NO_WIDTH else (low, high)
