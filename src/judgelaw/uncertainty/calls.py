"""Call-sampling error of the complete estimator: intervals, their split, item reliability.

Items, prompts and orders are fixed; only the judge's dice are random. For N items,

    variance of the macroaverage = sum_i V_i / N^2,     interval with a t quantile of
    nu = 2 (sum_i V_i)^2 / sum_i V_i^2 degrees,         V_i unbiased (module `call_variance`)

Resampling items already contains this noise: E[s^2 / N] = V_call + S_U^2 / N, with s^2 the variance
of item estimates and S_U^2 that of the true item values. Show the split, never add the two.
"""

from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgelaw.estimate import COMPONENTS, Design
from judgelaw.estimate.weights import Weights
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty.call_variance import call_covariance
from judgelaw.uncertainty.declared import declare, require_four
from judgelaw.uncertainty.forms import (
    Contrast,
    absent_component,
    absent_reason,
    component_map,
    concentration_forms,
    contrast_name,
    contrast_row,
    contrast_vector,
)
from judgelaw.uncertainty.results import Interval, check_level, is_constant, no_interval, t_interval

Floats = NDArray[np.float64]

_COVERS: dict[Design, str] = {
    "census": "call sampling, with the items and the prompt census fixed",
    "sampled": "call sampling, with the items and the drawn prompts fixed; "
    "not the drawing of prompts (see prompt_projection)",
}

_CANCELLED = (
    "the items' unbiased variances nearly cancel, so the error has less than one degree of "
    "freedom: acquire more items or repeats, or use the item error"
)


@dataclass(frozen=True, kw_only=True)
class ErrorSplit:
    """Where the error of a macroaverage comes from.

    Attributes:
        call: variance by call sampling, V.
        item: variance by the choice of items, s^2/N - V; raw, so it may be negative.
        total: s^2/N, what resampling items sees.
        reliability: 1 - mean V_i / s^2, the share of true differences in the variance of item
            estimates. It predicts split-half correlation; near 0 an item ranking is noise.
        reason: why parts are nan, or None.
    """

    call: float
    item: float
    total: float
    reliability: float
    reason: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class CallErrors:
    """Item estimates with their exact call-sampling covariance.

    Attributes:
        estimates: (items, components), in the order of COMPONENTS.
        covariance: unbiased covariance of H_XO, H_X, H_O and H_0, (items, 4, 4).
        components: the components in terms of the four H, (5, 4); nan where a facet has one level.
        unanimous: whether all calls of an item agree within every cell, (items,).
        design: "census" or "sampled".
        items: labels of the items, or None.
    """

    estimates: Floats
    covariance: Floats
    components: Floats
    unanimous: NDArray[np.bool_]
    design: Design
    items: tuple[str, ...] | None = None

    @property
    def covers(self) -> str:
        """Which randomness these errors cover, in words."""
        return _COVERS[self.design]

    def values(self, contrast: Contrast = "prompt") -> Floats:
        """Return the contrast of every item, nan where its component does not exist."""
        ell = contrast_vector(contrast)
        used = ell != 0
        return np.asarray(self.estimates[:, used] @ ell[used])

    def variances(self, contrast: Contrast = "prompt") -> Floats:
        """Return the unbiased call-sampling variance V_i of every item; it may be negative."""
        if absent_component(contrast, self.components) is not None:
            return np.full(len(self.estimates), np.nan)
        row = contrast_row(contrast, self.components)
        return np.asarray(np.einsum("a,nab,b->n", row, self.covariance, row))

    def interval(self, contrast: Contrast = "prompt", *, level: float = 0.95) -> Interval:
        """Return the macroaverage with its call-sampling t interval."""
        check_level(level)
        reason = self.refusal(contrast)
        return interval_of_sums(
            estimate=float(self.values(contrast).mean()),
            variances=self.variances(contrast) / len(self.estimates) ** 2,
            level=level,
            covers=self.covers,
            name=contrast_name(contrast),
            reason=reason,
        )

    def split(self, contrast: Contrast = "prompt") -> ErrorSplit:
        """Return the call part, the item part and the total of the macroaverage's variance."""
        values, V = self.values(contrast), self.variances(contrast)
        N = len(values)
        reason = self.refusal(contrast)
        call = float(V.sum()) / N**2 if reason is None else nan
        if N < 2:  # noqa: PLR2004 - a variance over items
            reason = reason or "one item has no variance over items: the split needs two or more"
            return ErrorSplit(call=call, item=nan, total=nan, reliability=nan, reason=reason)
        s2 = 0.0 if is_constant(values) else float(values.var(ddof=1))
        if reason is None and s2 == 0:
            reason = "all items have the same estimate: their variance is zero, nothing to split"
        if reason is not None:
            return ErrorSplit(call=nan, item=nan, total=s2 / N, reliability=nan, reason=reason)
        return ErrorSplit(
            call=call,
            item=s2 / N - call,
            total=s2 / N,
            reliability=1 - float(V.mean()) / s2,
        )

    def refusal(self, contrast: Contrast = "prompt") -> str | None:
        """Say why these calls give no error for the contrast, or None."""
        if (absent := absent_component(contrast, self.components)) is not None:
            return absent_reason(absent)
        if self.unanimous.all():
            return (
                "every cell is unanimous, so these calls say nothing about call noise: it may be "
                "small, and it is not known to be zero; acquire more repeats, or use the item error"
            )
        return None


def call_errors(
    x: VerdictTensor | ArrayLike,
    *,
    design: Design = "census",
    order_weights: Weights = None,
    prompt_weights: Weights = None,
    dissimilarity: ArrayLike | str | None = None,
) -> CallErrors:
    """Return item estimates with the exact unbiased covariance of their call-sampling error.

    Condition: independent calls, four or more in every cell. Arguments as in `decompose`.

    Raises:
        NotIdentifiedError: a cell holds fewer than four calls.
    """
    known = declare(
        x,
        design=design,
        order_weights=order_weights,
        prompt_weights=prompt_weights,
        dissimilarity=dissimilarity,
    )
    require_four(known)
    found = known.decompose()
    K, O = known.n.shape[1:3]
    return CallErrors(
        estimates=np.stack([found[name] for name in COMPONENTS], axis=-1),
        covariance=call_covariance(known.cells, concentration_forms(known.w, known.q), known.M),
        components=component_map(K, O, design),
        unanimous=(known.cells.max(axis=-1) == known.cells.sum(axis=-1)).all(axis=-1),
        design=design,
        items=known.items,
    )


def call_interval(
    x: VerdictTensor | ArrayLike,
    contrast: Contrast = "prompt",
    *,
    level: float = 0.95,
    design: Design = "census",
    order_weights: Weights = None,
    prompt_weights: Weights = None,
    dissimilarity: ArrayLike | str | None = None,
) -> Interval:
    """Return the macroaverage of a component or contrast with its call-sampling t interval.

    >>> import numpy as np
    >>> counts = np.random.default_rng(1).multinomial(8, [0.4, 0.3, 0.2, 0.1], size=(50, 6, 2))
    >>> found = call_interval(counts, "prompt")
    >>> found.low < 0 < found.high  # one law under every prompt
    True
    """
    errors = call_errors(
        x,
        design=design,
        order_weights=order_weights,
        prompt_weights=prompt_weights,
        dissimilarity=dissimilarity,
    )
    return errors.interval(contrast, level=level)


def interval_of_sums(
    *,
    estimate: float,
    variances: Floats,
    level: float,
    covers: str,
    name: str,
    reason: str | None = None,
    warning: str | None = None,
) -> Interval:
    """Return the interval of a sum of independent terms whose variances were estimated apart."""
    total = float(variances.sum())
    if reason is None and not total > 0:
        reason = (
            f"the unbiased call-sampling variance of {name} came out at {total:.3g}, and what is "
            "not positive gives no interval: call noise is too small for these repeats to see; "
            "acquire more repeats, or use the item error"
        )
    if reason is not None:
        return no_interval(estimate=estimate, level=level, covers=covers, reason=reason)
    nu = 2 * total**2 / float((variances**2).sum())
    if nu < 1:
        return no_interval(estimate=estimate, level=level, covers=covers, reason=_CANCELLED)
    return t_interval(
        estimate=estimate, variance=total, df=nu, level=level, covers=covers, warning=warning
    )
