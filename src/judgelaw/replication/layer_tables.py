"""Tables of the Qwen layers, each a small function of the corpus.

Definitions that the paper leaves open are stated in the function that makes them.
"""

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import ABSENT, Floats
from judgelaw.estimate import COMPONENTS, decompose, panels
from judgelaw.replication.corpus import QWEN, Corpus, Values, band_of, outcomes, prefix
from judgelaw.tensor import INVALID, VerdictTensor
from judgelaw.uncertainty import Resampling, item_bands, panel_interval


def layer_outcomes(corpus: Corpus, _: Resampling) -> Values:
    """Rows and outcome counts of the Qwen layers."""
    for layer, tensor in corpus.layers.items():
        yield {"layer": layer}, {"rows": str(int(tensor.counts.sum())), **outcomes(tensor)}


def prompt_estimates(corpus: Corpus, by: Resampling) -> Values:
    """Plug-in and debiased prompt means with whole-item bands, by layer and prefix."""
    depths = {"control": (2, 4, 8), "evaluation": (2, 4, 8), "broad": (4,)}
    for layer, repeats in depths.items():
        for R in repeats:
            found = prefix(corpus.layers.get(layer), R)
            key = {"layer": layer, "repeats": str(R)}
            if found is None:
                yield key, dict.fromkeys(("plugin", "plugin_band", "debiased", "debiased_band"))
                continue
            d = decompose(found)
            plugin, debiased = d.plugin["prompt"], d.prompt
            yield (
                key,
                {
                    "plugin": float(plugin.mean()),
                    "plugin_band": band_of(by, plugin, found),
                    "debiased": float(debiased.mean()),
                    "debiased_band": band_of(by, debiased, found),
                },
            )


def matched_components(corpus: Corpus, by: Resampling) -> Values:
    """Complete decompositions of evaluation and reference."""
    yield from _components(corpus, by, (("evaluation", 8), ("reference", 16)))


def broad_components(corpus: Corpus, by: Resampling) -> Values:
    """Complete decompositions of the broad audit at two depths."""
    yield from _components(corpus, by, (("broad", 2), ("broad", 4)))


def matched_reference(corpus: Corpus, by: Resampling) -> Values:
    """Mean absolute discrepancy from the reference, item by item, complete estimators."""
    reference = prefix(corpus.layers.get("reference"), 16)
    for R in (2, 4, 8):
        found = prefix(corpus.layers.get("evaluation"), R)
        key = {"repeats": str(R)}
        if found is None or reference is None:
            yield key, dict.fromkeys(("plugin", "debiased", "reduction", "reduction_band"))
            continue
        target = decompose(_same_items(reference, found)).prompt
        d = decompose(found)
        plugin, debiased = np.abs(d.plugin["prompt"] - target), np.abs(d.prompt - target)
        yield (
            key,
            {
                "plugin": float(plugin.mean()),
                "debiased": float(debiased.mean()),
                "reduction": float((plugin - debiased).mean()),
                "reduction_band": band_of(by, plugin - debiased, found),
            },
        )


def split_halves(corpus: Corpus, by: Resampling) -> Values:
    """Two halves of the sixteen reference repeats: contiguous, and even against odd."""
    reference = prefix(corpus.layers.get("reference"), 16)
    columns = ("half_a", "half_b", "mae", "mae_band", "rmse", "correlation")
    halves = {
        "contiguous": (slice(0, 8), slice(8, 16)),
        "interleaved": (slice(0, 16, 2), slice(1, 16, 2)),
    }
    for split, (first, second) in halves.items():
        if reference is None:
            yield {"split": split}, dict.fromkeys(columns)
            continue
        a, b = (decompose(reference.ranks(half)).prompt for half in (first, second))
        gap = np.abs(a - b)
        yield (
            {"split": split},
            {
                "half_a": float(a.mean()),
                "half_b": float(b.mean()),
                "mae": float(gap.mean()),
                "mae_band": band_of(by, gap, reference),
                "rmse": float(np.sqrt((gap**2).mean())),
                "correlation": _correlation(a, b),
            },
        )


def panel_sensitivity(corpus: Corpus, by: Resampling) -> Values:
    """Two-repeat panels against the panel estimate of the reference.

    The aggregate squared discrepancy is read as that of the benchmark means:
    (plug-in - reference)^2 - (panel - reference)^2 of the three means over items.
    """
    reference = prefix(corpus.layers.get("reference"), 16)
    for R in (2, 4, 8):
        found = prefix(corpus.layers.get("evaluation"), R)
        key = {"repeats": str(R)}
        if found is None or reference is None:
            names = ("plugin", "panel", "reduction", "squared_reduction")
            yield key, dict.fromkeys((*names, "reduction_band", "squared_reduction_band"))
            continue
        target = panels(_same_items(reference, found)).prompt.mean(axis=-1)
        plugin = decompose(found).plugin["prompt"]
        panel = panels(found).prompt.mean(axis=-1)
        off, on = np.abs(plugin - target), np.abs(panel - target)
        bands = item_bands(
            np.stack([plugin, panel, target], axis=-1),
            strata=found.strata,
            statistic=_aggregate,
            draws=by.draws,
            seed=by.seed,
        )
        yield (
            key,
            {
                "plugin": float(off.mean()),
                "panel": float(on.mean()),
                "reduction": float((off - on).mean()),
                "reduction_band": band_of(by, off - on, found),
                "squared_reduction": float(bands.estimate[0]),
                "squared_reduction_band": (float(bands.low[0]), float(bands.high[0])),
            },
        )


def null_panel(corpus: Corpus, _: Resampling) -> Values:
    """The panel interval of the control layer."""
    for R in (4, 8):
        found = prefix(corpus.layers.get("control"), R)
        if found is None:
            yield {"repeats": str(R)}, dict.fromkeys(("estimate", "se", "interval"))
            continue
        interval = panel_interval(found, "prompt")
        yield (
            {"repeats": str(R)},
            {
                "estimate": interval.estimate,
                "se": interval.se,
                "interval": (interval.low, interval.high),
            },
        )


def complete_cases(corpus: Corpus, _: Resampling) -> Values:
    """Items with two valid calls in every cell at R = 2."""
    for layer in ("control", "evaluation", "broad"):
        found = prefix(corpus.layers.get(layer), 2)
        if found is None:
            yield {"layer": layer}, {"retained": None}
            continue
        valid = found.repeats - _invalid(found)
        kept = int((valid >= 2).all(axis=(1, 2)).sum())  # noqa: PLR2004 - two valid calls
        yield {"layer": layer}, {"retained": str(kept), "items": str(len(found.items))}


def rank_gaps(corpus: Corpus, by: Resampling) -> Values:
    """Slope of same-cell agreement on the distance of repeat ranks.

    Least squares over all pairs of calls of a cell that were made, each pair one observation; a
    mean over items, so bands resample items. Without pairs at two distances no slope is to be had.
    Slopes on elapsed time need times, which a calls table does not hold.
    """
    streams: dict[str, VerdictTensor] = dict(corpus.layers)
    streams |= {judge: tensor for judge, tensor in corpus.panel.items() if judge != QWEN}
    for stream, tensor in streams.items():
        slopes = _rank_slopes(tensor)
        if slopes is None:
            yield {"stream": stream}, dict.fromkeys(("rank_slope", "rank_slope_band"))
            continue
        yield (
            {"stream": stream},
            {
                "rank_slope": float(slopes.mean()),
                "rank_slope_band": band_of(by, slopes, tensor),
            },
        )


def _components(corpus: Corpus, by: Resampling, which: tuple[tuple[str, int], ...]) -> Values:
    for layer, R in which:
        found = prefix(corpus.layers.get(layer), R)
        d = None if found is None else decompose(found)
        for component in COMPONENTS:
            key = {"layer": layer, "repeats": str(R), "component": component}
            if found is None or d is None:
                yield key, {"estimate": None, "band": None}
            else:
                value = d[component]
                yield key, {"estimate": float(value.mean()), "band": band_of(by, value, found)}


def _aggregate(means: Floats) -> Floats:
    plugin, panel, target = means[..., 0], means[..., 1], means[..., 2]
    return np.asarray((plugin - target) ** 2 - (panel - target) ** 2)[..., None]


def _rank_slopes(tensor: VerdictTensor) -> Floats | None:
    """Slopes (items,), or None where an item has no pairs at two distances of ranks."""
    ranked = tensor.ranked
    if ranked is None:
        return None
    R = ranked.shape[-1]
    a, b = np.triu_indices(R, k=1)
    first, second = ranked[..., a], ranked[..., b]
    made = (first != ABSENT) & (second != ABSENT)
    n = made.sum(axis=(1, 2))
    same = ((first == second) & made).sum(axis=(1, 2))
    pairs, gaps = n.sum(axis=-1, keepdims=True), (b - a).astype(float)
    centred = gaps - (n @ gaps)[:, None] / np.maximum(pairs, 1)
    spread = (n * centred**2).sum(axis=-1)
    if not (spread > 0).all():
        return None
    return np.asarray((same * centred).sum(axis=-1) / spread)


def _same_items(tensor: VerdictTensor, like: VerdictTensor) -> VerdictTensor:
    return tensor.select(items=like.items)


def _invalid(tensor: VerdictTensor) -> NDArray[np.int64]:
    if INVALID not in tensor.verdicts:
        return np.zeros_like(tensor.repeats)
    return np.asarray(tensor.counts[..., tensor.verdicts.index(INVALID)])


def _correlation(a: Floats, b: Floats) -> float:
    return float(np.corrcoef(a, b)[0, 1])
