"""Does the ranking of judges survive: correction, and other items?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgelaw.diagnose.finding import Cell, Finding
from judgelaw.diagnose.matching import Matched
from judgelaw.errors import NotIdentifiedError
from judgelaw.estimate import Design, decompose
from judgelaw.estimate.weights import Weights
from judgelaw.uncertainty.bands import resampled_means

Floats = NDArray[np.float64]
TAU = 0.02
"""The paper's descriptive threshold on the prompt component."""
_NOTICEABLE = 0.05


@dataclass(frozen=True, kw_only=True)
class RankStability:
    """How judges rank on one component, from the largest down.

    Attributes:
        component: what they are ranked by.
        depth: repeats behind it.
        estimates, plugins: macroaverages by judge.
        corrected, plugin: names from the largest down.
        flagged, plugin_flagged: judges above the threshold.
        threshold: tau.
        top_differs: share of item resamples in which plug-in and corrected name different top
            judges; nan where items cannot be resampled.
        top_changes: share of resamples in which the corrected top judge is not the observed one.
        same_order: share of resamples with the observed corrected ranking from top to bottom.
    """

    component: str
    depth: int
    estimates: Mapping[str, float]
    plugins: Mapping[str, float]
    corrected: tuple[str, ...]
    plugin: tuple[str, ...]
    flagged: tuple[str, ...]
    plugin_flagged: tuple[str, ...]
    threshold: float
    top_differs: float
    top_changes: float
    same_order: float


def rank_stability(
    matched: Matched,
    component: str = "prompt",
    *,
    draws: int,
    seed: int,
    threshold: float = TAU,
    design: Design = "census",
    order_weights: Weights = None,
) -> RankStability:
    """Rank judges on one component, corrected and plug-in, and resample the items."""
    names = tuple(matched.tensors)
    found = [
        decompose(t, design=design, order_weights=order_weights) for t in matched.tensors.values()
    ]
    corrected = np.stack([d[component] for d in found], axis=-1)
    plugin = np.stack([d.plugin[component] for d in found], axis=-1)
    means, plugs = corrected.mean(axis=0), plugin.mean(axis=0)
    differs, changes, same = _resampled(corrected, plugin, matched.strata, draws, seed)
    return RankStability(
        component=component,
        depth=matched.depth,
        estimates=dict(zip(names, map(float, means), strict=True)),
        plugins=dict(zip(names, map(float, plugs), strict=True)),
        corrected=_ranked(names, means),
        plugin=_ranked(names, plugs),
        flagged=tuple(n for n, x in zip(names, means, strict=True) if x > threshold),
        plugin_flagged=tuple(n for n, x in zip(names, plugs, strict=True) if x > threshold),
        threshold=threshold,
        top_differs=differs,
        top_changes=changes,
        same_order=same,
    )


def _resampled(
    corrected: Floats, plugin: Floats, strata: Sequence[str] | None, draws: int, seed: int
) -> tuple[float, float, float]:
    if np.isnan(corrected).any():
        return np.nan, np.nan, np.nan
    J = corrected.shape[1]
    try:
        means = resampled_means(
            np.concatenate([corrected, plugin], axis=1), strata=strata, draws=draws, seed=seed
        )
    except NotIdentifiedError:  # a stratum of one item: nothing to resample, and nan says so
        return np.nan, np.nan, np.nan
    ours, theirs = means[:, :J], means[:, J:]
    top = ours.argmax(axis=1)
    observed = np.argsort(-corrected.mean(axis=0), kind="stable")
    same = (np.argsort(-ours, axis=1, kind="stable") == observed).all(axis=1)
    return (
        float((top != theirs.argmax(axis=1)).mean()),
        float((top != observed[0]).mean()),
        float(same.mean()),
    )


def _ranked(names: tuple[str, ...], values: Floats) -> tuple[str, ...]:
    return tuple(names[i] for i in np.argsort(-values, kind="stable"))


def ordering_finding(found: RankStability) -> Finding:
    """Say whether correction changes who is flagged, or how judges rank."""
    said = _changes(found)
    where = f"by {found.component} at R = {found.depth}"
    return Finding(
        name="ordering",
        verdict="notice" if said else "ok",
        headline=(
            f"Correction changes the picture {where}: {'; '.join(said)}."
            if said
            else f"Correction changes neither flags nor the ranking {where}."
        ),
        advice=(
            "Quote the corrected values: the plug-in ranks judges by call noise as well."
            if said
            else "Either may be quoted; the corrected one does not depend on the depth."
        ),
        figures={"depth": float(found.depth), "threshold": found.threshold},
        columns=("judge", "plugin", "corrected", "plugin_flagged", "flagged"),
        rows=tuple(_row(found, name) for name in found.corrected),
    )


def _changes(found: RankStability) -> list[str]:
    said = []
    if set(found.flagged) != set(found.plugin_flagged):
        said.append(
            f"above {found.threshold:g} the plug-in flags {_list(found.plugin_flagged)}, the "
            f"corrected estimate {_list(found.flagged)}"
        )
    if found.corrected != found.plugin:
        said.append(
            f"the plug-in ranks {' > '.join(found.plugin)}, the corrected estimate "
            f"{' > '.join(found.corrected)}"
        )
    return said


def _row(found: RankStability, name: str) -> tuple[Cell, ...]:
    flags = name in found.plugin_flagged, name in found.flagged
    return (name, found.plugins[name], found.estimates[name], *flags)


def top_judge_finding(found: RankStability) -> Finding:
    """Say how far the top judge depends on the items at hand."""
    figures = {
        "top_changes": found.top_changes,
        "top_differs": found.top_differs,
        "same_order": found.same_order,
    }
    if np.isnan(found.top_changes):
        return Finding(
            name="top_judge",
            verdict="unknown",
            headline="Items cannot be resampled (a stratum of one item, or no such component).",
            advice="Merge small strata to learn whether the ranking would survive other items.",
            figures=figures,
        )
    top = found.corrected[0]
    unstable = found.top_changes > _NOTICEABLE
    return Finding(
        name="top_judge",
        verdict="notice" if unstable else "ok",
        headline=(
            f"{top} has the largest {found.component} component; in "
            f"{100 * found.top_changes:.1f}% of item resamples another judge has, and in "
            f"{100 * found.top_differs:.1f}% plug-in and corrected name different ones."
        ),
        advice=(
            "Do not name a worst judge from these items: show the differences with their bands."
            if unstable
            else "The top place does not hang on the choice of items."
        ),
        figures=figures,
    )


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(names) if names else "none"
