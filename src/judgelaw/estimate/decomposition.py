"""The answer: disagreement split into call, prompt, order and interaction."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from judgelaw.estimate.cells import Array

COMPONENTS = ("call", "prompt", "order", "interaction", "total")

Design = Literal["census", "sampled"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Decomposition(Mapping[str, Array]):
    """Components of disagreement, each an array of the leading shape of the counts.

    call + prompt + order + interaction = total in every sample. Estimates are raw: a negative
    value says that the component is too small for these calls to see. The component of a facet
    with one level is nan, and so is the interaction: the design says nothing about it.

    A decomposition is also a mapping: `d["prompt"]`, `dict(d)`.
    """

    call: Array
    prompt: Array
    order: Array
    interaction: Array
    total: Array
    plugin: Mapping[str, Array]
    design: Design = "census"

    def __getitem__(self, component: str) -> Array:
        """Return one of the five components by name."""
        if component not in COMPONENTS:
            raise KeyError(component)
        value: Array = getattr(self, component)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(COMPONENTS)

    def __len__(self) -> int:
        return len(COMPONENTS)

    @property
    def excess(self) -> dict[str, Array]:
        """Plug-in minus corrected: what finite repeats add to (or take from) each component."""
        return {name: self.plugin[name] - self[name] for name in COMPONENTS}

    def macro(self) -> "Decomposition":
        """Average over items, each with equal weight."""
        return self.map(lambda values: np.asarray(values.mean())[()])

    def map(self, function: Callable[[Array], Array]) -> "Decomposition":
        """Apply a function to every component and its plug-in."""
        return decomposition(
            {name: function(self[name]) for name in COMPONENTS},
            {name: function(self.plugin[name]) for name in COMPONENTS},
            self.design,
        )

    def __repr__(self) -> str:
        shape = np.shape(self.total)
        which = f"mean of {shape}" if shape else "macro"
        values = ", ".join(f"{name} {np.mean(self[name]):+.5f}" for name in COMPONENTS)
        return f"Decomposition({self.design}, {which}: {values})"


def decomposition(
    corrected: Mapping[str, Array], plugin: Mapping[str, Array], design: Design = "census"
) -> Decomposition:
    """Build a decomposition from the five components by name."""
    return Decomposition(
        call=corrected["call"],
        prompt=corrected["prompt"],
        order=corrected["order"],
        interaction=corrected["interaction"],
        total=corrected["total"],
        plugin=dict(plugin),
        design=design,
    )
