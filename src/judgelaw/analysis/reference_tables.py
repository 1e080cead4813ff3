"""Against an independent reference: how close low depths come, and how noisy it is itself."""

from collections.abc import Iterator

import numpy as np

from judgelaw.analysis.component_tables import (
    Context,
    Row,
    TableOrReason,
    ends,
    known,
    layer_name,
    with_band,
)
from judgelaw.analysis.values import Key, Table
from judgelaw.arrays import PAIR, Floats
from judgelaw.estimate import panels
from judgelaw.quantities import Pair
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import depths_of, item_bands, panel_interval

_FOUR = 4


_NO_REFERENCE = "no judge has calls in a layer of role reference on items of another layer"


def matched_reference(context: Context) -> TableOrReason:
    """Return itemwise absolute discrepancies from the reference, and the paired reduction.

    The reference is its complete corrected estimate; reduction is plug-in minus corrected MAE.
    """
    rows: list[Row] = []
    for judge, calls, reference in _with_reference(context):
        target = context.decompose(reference).prompt
        found = {
            depth: context.decompose(prefix)
            for depth, prefix in depths_of(calls)
            if prefix.items == calls.items
        }
        plugin = np.stack([np.abs(d.plugin["prompt"] - target) for d in found.values()], axis=-1)
        corrected = np.stack([np.abs(d.prompt - target) for d in found.values()], axis=-1)
        bands = _bands(context, plugin - corrected, calls)
        for depth, far, near, band in zip(
            found, plugin.mean(axis=0), corrected.mean(axis=0), bands, strict=True
        ):
            rows.append((judge, depth, float(far), float(near), float(far - near), *ends(band)))
    if not rows:
        return _NO_REFERENCE
    return Table(
        name="matched_reference",
        title="Mean absolute itemwise discrepancy of the prompt component from the reference",
        columns=("judge", "R", "plug_in", "debiased", *with_band("reduction")),
        rows=tuple(rows),
    )


def reference_split_half(context: Context) -> TableOrReason:
    """Return how far two halves of the deepest stream agree, contiguous and interleaved."""
    streams: list[Key] = list(context.of_role("reference"))
    if not streams:
        streams = [key for key in context.found if key[0] == context.main]
    rows = []
    for key in streams:
        tensor = context.tensors[key]
        if tensor.ranked is None or len(tensor.prompts) == 1 or tensor.depth[0] < _FOUR:
            continue
        half = tensor.depth[0] // 2
        for name, a, b in (
            ("contiguous", slice(0, half), slice(half, 2 * half)),
            ("interleaved", slice(0, 2 * half, 2), slice(1, 2 * half, 2)),
        ):
            first, second = tensor.ranks(a), tensor.ranks(b)
            if min(first.depth[0], second.depth[0]) < PAIR:
                continue  # missing ranks leave a cell of a half without a pair of calls
            rows.append(_halves(context, key, name, first, second))
    if not rows:
        return "no stream with two prompts has four ranked repeats in every cell"
    return Table(
        name="reference_split_half",
        title="Split-half reproducibility of the prompt component",
        columns=(
            "layer",
            "judge",
            "split",
            "half_a",
            "half_b",
            *with_band("half_to_half_mae"),
            "rmse",
            "item_correlation",
        ),
        rows=tuple(rows),
    )


def panel_sensitivity(context: Context) -> TableOrReason:
    """Return discrepancies of plug-in and panel estimates from the reference's panel estimate.

    MAE is itemwise; the aggregate squared discrepancy is that of the macroaverages. Reductions
    are plug-in minus panel, so a positive one favours the panel correction.
    """
    rows = []
    for judge, calls, reference in _with_reference(context):
        if not _panelled(calls) or not _panelled(reference):
            continue
        target = _panel_means(context, reference)
        depth = PAIR
        while depth <= calls.depth[0]:
            prefix = calls.prefix(depth)
            plugin = context.decompose(prefix).plugin["prompt"]
            rows.append(
                (
                    judge,
                    depth,
                    *_panel_row(context, calls, plugin, _panel_means(context, prefix), target),
                )
            )
            depth *= 2
    if not rows:
        return f"{_NO_REFERENCE}, with complete ranks"
    return Table(
        name="panel_sensitivity",
        title="Two-repeat panel sensitivity against the reference's own panel estimate",
        columns=(
            "judge",
            "R",
            "plug_in_mae",
            "panel_mae",
            *with_band("mae_reduction"),
            *with_band("aggregate_squared_reduction"),
        ),
        rows=tuple(rows),
    )


def panel_intervals(context: Context) -> TableOrReason:
    """Return the live panel interval of the prompt component at every even depth from four."""
    rows: list[Row] = []
    for (layer, judge), tensor in context.tensors.items():
        if len(tensor.prompts) == 1 or not _panelled(tensor):
            continue
        depth = _FOUR
        while depth <= tensor.depth[0]:
            found = panel_interval(
                tensor.prefix(depth),
                level=context.how.level,
                order_weights=context.estimand.order_weights,
            )
            low, high = known(found.low), known(found.high)
            rows.append(
                (
                    layer_name(layer),
                    judge,
                    depth,
                    found.estimate,
                    low,
                    high,
                    known(found.se),
                    known(found.df),
                )
            )
            depth *= 2
    if not rows:
        return "no stream with two prompts has four ranked repeats in every cell"
    return Table(
        name="panel_intervals",
        title="Panel estimates of the prompt component with Welch-Satterthwaite intervals",
        columns=("layer", "judge", "R", *with_band("estimate"), "standard_error", "df"),
        rows=tuple(rows),
    )


def _with_reference(context: Context) -> Iterator[tuple[str, VerdictTensor, VerdictTensor]]:
    """Yield the judges whose evaluation items are in a reference layer too, on those items."""
    for (layer, judge), tensor in context.tensors.items():
        key = context.reference_of(judge)
        if key is None or key[0] == layer or len(tensor.prompts) == 1:
            continue
        if layer is not None and context.roles.get(layer) == "control":
            continue
        reference = context.tensors[key]
        there = set(reference.items)
        items = [item for item in tensor.items if item in there]
        same = set(tensor.prompts) == set(reference.prompts)
        if items and same and set(tensor.orders) == set(reference.orders):
            calls = tensor.select(items=items)
            yield (
                judge,
                calls,
                reference.select(items=items, prompts=calls.prompts, orders=calls.orders),
            )


def _halves(
    context: Context, key: Key, split: str, first: VerdictTensor, second: VerdictTensor
) -> Row:
    a, b = context.decompose(first).prompt, context.decompose(second).prompt
    gap = np.abs(a - b)
    varies = len(a) > 1 and a.std() > 0 and b.std() > 0
    return (
        layer_name(key[0]),
        key[1],
        split,
        float(a.mean()),
        float(b.mean()),
        float(gap.mean()),
        *ends(_band(context, gap, first)),
        float(np.sqrt((gap**2).mean())),
        float(np.corrcoef(a, b)[0, 1]) if varies else None,
    )


def _panelled(tensor: VerdictTensor) -> bool:
    """Whether every cell has the same ranks, so that they can be paired into panels."""
    low, high = tensor.depth
    return tensor.ranked is not None and low == high == tensor.ranked.shape[-1]


def _panel_means(context: Context, tensor: VerdictTensor) -> Floats:
    found = panels(tensor, order_weights=context.estimand.order_weights)
    return np.asarray(found.prompt.mean(axis=-1))


def _panel_row(
    context: Context, calls: VerdictTensor, plugin: Floats, panel: Floats, target: Floats
) -> Row:
    far, near = np.abs(plugin - target), np.abs(panel - target)
    mae = _band(context, far - near, calls)

    def squared(m: Floats) -> Floats:
        return np.asarray((m[..., :1] - m[..., 2:]) ** 2 - (m[..., 1:2] - m[..., 2:]) ** 2)

    aggregate = item_bands(
        np.stack([plugin, panel, target], axis=-1),
        strata=calls.strata,
        statistic=squared,
        draws=context.how.draws,
        seed=context.how.seed,
        level=context.how.level,
    )
    return (
        float(far.mean()),
        float(near.mean()),
        float((far - near).mean()),
        *ends(mae),
        float(aggregate.estimate[0]),
        known(float(aggregate.low[0])),
        known(float(aggregate.high[0])),
    )


def _band(context: Context, values: Floats, calls: VerdictTensor) -> Pair | None:
    return _bands(context, values[:, None], calls)[0]


def _bands(context: Context, values: Floats, calls: VerdictTensor) -> list[Pair | None]:
    found = item_bands(
        values,
        strata=calls.strata,
        draws=context.how.draws,
        seed=context.how.seed,
        level=context.how.level,
    )
    ends_of = zip(found.low.tolist(), found.high.tolist(), strict=True)
    return [None if np.isnan(low) or low == high else (low, high) for low, high in ends_of]
