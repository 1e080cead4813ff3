"""The crossed prompt-by-order decomposition, for a census of prompts or a sample of them.

Estimand, for prompts X with weights w and orders O with weights q (paper, Proposition 3):

    call = 1 - H_XO,     prompt = H_X - H_0,     order = H_O - H_0
    interaction = H_XO - H_X - H_O + H_0,        total = 1 - H_0

with H_XO = E|P_XO|^2, H_X = E|P_X|^2, H_O = E|P_O|^2 and H_0 = |E P|^2. The estimates pair distinct
calls only (paper S3.2), so they are unbiased for two repeats or more in every cell, equal or not.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from judgelaw.arrays import PAIR, is_exact
from judgelaw.errors import InputError
from judgelaw.estimate.estimand import (
    Array,
    CellNames,
    Design,
    Estimand,
    Weights,
    check_depth,
    check_design,
    check_size,
    counts_of,
    dissimilarity_of,
    facets_first,
    of_counts,
    of_laws,
    similarity_of,
    weights_of,
)
from judgelaw.estimate.facets import (
    Concentrations,
    balanced_concentrations,
    concentrations,
    moebius,
)
from judgelaw.frames import Library, bars_svg, frame_of, plain, table_html
from judgelaw.tensor import VerdictTensor

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    T = TypeVar("T", default=Array)
    """What a component is: an array over items, or one number."""
else:
    from typing import TypeVar

    T = TypeVar("T")
S = TypeVar("S")

COMPONENTS = ("call", "prompt", "order", "interaction", "total")


@dataclass(frozen=True, kw_only=True, eq=False)
class Decomposition(Mapping[str, T]):
    """Components of disagreement, each an array of the leading shape of the counts, or a number.

    call + prompt + order + interaction = total in every sample. Estimates are raw: a negative
    value says that the component is too small for these calls to see. The component of a facet
    with one level is nan, and so is the interaction: the design says nothing about it.

    A decomposition is also a mapping: `d["prompt"]`, `dict(d)`.
    """

    call: T
    prompt: T
    order: T
    interaction: T
    total: T
    plugin: Mapping[str, T]
    design: Design = "census"

    def __getitem__(self, component: str) -> T:
        """Return one of the five components by name."""
        if component not in COMPONENTS:
            raise KeyError(component)
        value: T = getattr(self, component)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(COMPONENTS)

    def __len__(self) -> int:
        return len(COMPONENTS)

    @property
    def excess(self) -> dict[str, T]:
        """Plug-in minus corrected: what finite repeats add to (or take from) each component."""
        plugin, found = dict[str, Any](self.plugin), dict[str, Any](self)
        return {name: plugin[name] - found[name] for name in COMPONENTS}

    def macro(self) -> "Decomposition[float]":
        """Average over items, each with equal weight."""
        return self.map(_mean)

    def map(self, function: Callable[[T], S]) -> "Decomposition[S]":
        """Apply a function to every component and its plug-in."""
        return decomposition(
            {name: function(self[name]) for name in COMPONENTS},
            {name: function(self.plugin[name]) for name in COMPONENTS},
            self.design,
        )

    def to_frame(self, library: Library = "pandas") -> Any:
        """Return one row for each item and component, in a frame of the library named."""
        estimates, plugins = (
            np.stack([np.ravel(_array(values[name])) for name in COMPONENTS])
            for values in (self, self.plugin)
        )
        n = estimates.shape[1]
        return frame_of(
            {
                "item": np.tile(np.arange(n), len(COMPONENTS)),
                "component": np.repeat(COMPONENTS, n),
                "estimate": np.ravel(estimates),
                "plugin": np.ravel(plugins),
            },
            library,
        )

    def to_json(self) -> dict[str, Any]:
        """Return a document of plain values, None for what is nan."""
        return {"schema": "judgelaw.decomposition/1", **plain(self)}

    def _repr_html_(self) -> str:
        mean = self.macro()
        rows = [[name, f"{mean[name]:.5f}", f"{mean.plugin[name]:.5f}"] for name in COMPONENTS]
        items = _array(self.total).size
        caption = f"{self.design}, mean of {items} items; ring: plug-in, biased by finite repeats"
        table = table_html(caption, ("component", "estimate", "plug-in"), rows)
        plugin = {name: float(mean.plugin[name]) for name in COMPONENTS}
        return table + bars_svg({name: float(mean[name]) for name in COMPONENTS}, plugin)

    def __repr__(self) -> str:
        shape = _array(self.total).shape
        which = f"mean of {shape}" if shape else "macro"
        values = ", ".join(f"{name} {_mean(self[name]):+.5f}" for name in COMPONENTS)
        return f"Decomposition({self.design}, {which}: {values})"


def _array(values: Any) -> Array:
    return np.asarray(values)


def _mean(values: Any) -> float:
    """Return the mean of an array or of one number; exact ones stay exact."""
    mean: float = _array(_array(values).mean()).item()
    return mean


def decomposition(
    corrected: Mapping[str, S], plugin: Mapping[str, S], design: Design = "census"
) -> Decomposition[S]:
    """Build a decomposition from the five components by name."""
    return Decomposition(
        **{name: corrected[name] for name in COMPONENTS}, plugin=dict(plugin), design=design
    )


_FACETS = 2
_AXES = 3


# One block of (6, 2, 4) counts in single precision fills half of a common second-level cache.
_BLOCK_BYTES = 1 << 19
_EXACT_SINGLE = 1 << 24
_COMPONENT_BY_MASK = ("call", "prompt", "order", "interaction")


def decompose(
    x: VerdictTensor | ArrayLike,
    *,
    design: Design = "census",
    order_weights: Weights = None,
    prompt_weights: Weights = None,
    dissimilarity: ArrayLike | str | None = None,
) -> Decomposition:
    """Split disagreement into call, prompt, order and interaction, without bias and unclipped.

    Args:
        x: a VerdictTensor, or counts shaped (..., prompts, orders, verdicts). Counts given as
            Fractions give exact rational estimates, slowly.
        design: "census" if the prompts are all that matter, "sampled" if a generator drew them.
        order_weights: how often each order is used; equal by default. By name for a tensor.
        prompt_weights: how often each prompt is used; equal by default; census only.
        dissimilarity: "ordinal", "nominal", or a matrix of distances between verdicts; by default
            that of a tensor's scale, else equality.

    Raises:
        NotIdentifiedError: a cell has a single call.

    >>> import numpy as np
    >>> counts = np.array([[[[2, 0]], [[0, 2]]]])  # two prompts, certain and opposite
    >>> print(decompose(counts).macro().prompt)
    0.5
    """
    estimand = Estimand(
        design=design,
        order_weights=order_weights,
        prompt_weights=prompt_weights,
        dissimilarity=dissimilarity,
    )
    return decompose_as(x, estimand)


def decompose_as(x: VerdictTensor | ArrayLike, estimand: Estimand) -> Decomposition:
    """Do what `decompose` does, with what is estimated as one value."""
    n, names, weights, M = _checked(x, estimand)
    K, O, C = n.shape[-3:]
    design = estimand.design
    uniform = estimand.prompt_weights is None and estimand.order_weights is None and M is None
    if is_exact(n):
        check_depth(n, n.sum(axis=-1), minimum=PAIR, names=names)
        H = concentrations(of_counts(facets_first(n, _AXES), _FACETS, M), weights)
        return as_decomposition(crossed_components(H), design, K, O)
    flat = n.reshape(-1, K, O, C)
    values = np.empty((2, len(COMPONENTS), len(flat)))
    block = max(1, _BLOCK_BYTES // (4 * K * O * C))
    for start in range(0, len(flat), block):
        part = slice(start, start + block)
        items_last, R = _block_of(flat[part])
        if R.min() < PAIR:
            # All cells, in their own shape: a block alone would miscount and misname them.
            check_depth(n, n.sum(axis=-1), minimum=PAIR, names=names)
        level = np.all(R[0, 0] == R, axis=(0, 1)) & np.full(R.shape[-1], uniform)
        values[:, :, part] = _components_of(items_last, R, level, weights, M)
    estimates = values.reshape(2, len(COMPONENTS), *n.shape[:-3])
    return as_decomposition(estimates, design, K, O)


def plugin(
    x: VerdictTensor | ArrayLike,
    *,
    design: Design = "census",
    order_weights: Weights = None,
    prompt_weights: Weights = None,
    dissimilarity: ArrayLike | str | None = None,
) -> dict[str, Array]:
    """Return the components of empirical laws taken at face value, from one call per cell on.

    Biased by finite repeats (`expected_plugin` says by how much): call and total too low, prompt
    and interaction too high. What `decompose(x).plugin` holds where cells have two calls or more.
    At R = 1 the call component is 0 whatever the judge does. Arguments as for `decompose`.
    """
    estimand = Estimand(
        design=design,
        order_weights=order_weights,
        prompt_weights=prompt_weights,
        dissimilarity=dissimilarity,
    )
    n, names, weights, M = _checked(x, estimand)
    R = n.sum(axis=-1)
    check_depth(n, R, minimum=1, names=names)
    laws = of_laws(facets_first(n / R[..., None], _AXES), _FACETS, M)
    found = as_decomposition(
        crossed_components(concentrations(laws, weights)), design, *n.shape[-3:-1]
    )
    return dict(found.plugin)


def _block_of(counts: Array) -> tuple[Array, Array]:
    """Return counts with items last, and the repeats of their cells, as exact floats.

    Sums of squares of counts are whole: single precision holds them exactly below 2^24.
    """
    items_last = np.moveaxis(counts, 0, -1)
    n = items_last.astype(np.float32, order="C")
    R = n.sum(axis=2)
    if (float(R.max(initial=0)) * n.shape[0] * n.shape[1]) ** 2 >= _EXACT_SINGLE:
        n = items_last.astype(np.float64, order="C")
        R = n.sum(axis=2)
    return n, R.astype(np.float64)


def _components_of(
    n: Array, R: Array, level: Array, weights: tuple[Array, Array], M: Array | None
) -> Array:
    """Return corrected and plug-in components (2, 5, items) of one block of items.

    The path is chosen for each item by its own repeats, so its neighbours never change its value.
    """
    if level.all():
        return crossed_components(balanced_concentrations(n, _FACETS, R[0, 0]))
    if not level.any():
        cells = of_counts(n.astype(np.float64, copy=False), _FACETS, M)
        return crossed_components(concentrations(cells, weights))
    out = np.empty((2, len(COMPONENTS), n.shape[-1]))
    for which in (level, ~level):
        out[..., which] = _components_of(n[..., which], R[..., which], level[which], weights, M)
    return out


def crossed_components(H: Concentrations) -> Array:
    """Return corrected and plug-in components (2, 5, ...) of prompt and order."""
    return np.stack([np.stack([*moebius(h), 1 - h[0]]) for h in (H.distinct, H.inclusive)])


def as_decomposition(values: Array, design: Design, K: int, O: int) -> Decomposition:
    """Name components (2, 5, ...), for the design; a facet with one level has none."""
    names = (*_COMPONENT_BY_MASK, "total")
    corrected, plugin = (dict(zip(names, half, strict=True)) for half in values)
    if design == "sampled":
        corrected, plugin = _for_sampled(corrected, K), _for_sampled(plugin, K)
    for part in (corrected, plugin):
        for facet, levels in (("prompt", K), ("order", O)):
            if levels == 1:
                part[facet] = np.full_like(part[facet], np.nan)
                part["interaction"] = np.full_like(part["interaction"], np.nan)
    return decomposition(corrected, plugin, design)


def _for_sampled(census: dict[str, Array], K: int) -> dict[str, Array]:
    """Turn census values into those of prompts drawn from a generator.

    Squared means over the prompt population use distinct prompts only, which is

        prompt K/(K-1),   interaction K/(K-1),   order - interaction/(K-1),   total + prompt/(K-1)
    """
    return {
        "call": census["call"],
        "prompt": census["prompt"] * K / (K - 1),
        "order": census["order"] - census["interaction"] / (K - 1),
        "interaction": census["interaction"] * K / (K - 1),
        "total": census["total"] + census["prompt"] / (K - 1),
    }


def _checked(
    x: VerdictTensor | ArrayLike, estimand: Estimand
) -> tuple[Array, CellNames | None, tuple[Array, Array], Array | None]:
    """Return counts, names of cells, weights and similarity, all checked but for the repeats."""
    n, names = counts_of(x)
    if n.ndim < _AXES:
        raise InputError(
            f"counts have shape {n.shape}; they need the axes (..., prompts, orders, verdicts): "
            "a single order is an axis of length one"
        )
    check_size(n)
    K, O, C = n.shape[-3:]
    check_design(estimand.design, estimand.prompt_weights, K)
    exact = is_exact(n)
    w = weights_of("prompt", estimand.prompt_weights, K, names[1] if names else None, exact=exact)
    q = weights_of("order", estimand.order_weights, O, names[2] if names else None, exact=exact)
    verdicts = x.verdicts if isinstance(x, VerdictTensor) else None
    r = dissimilarity_of(x, estimand.dissimilarity)
    return n, names, (w, q), similarity_of(r, C, verdicts)
