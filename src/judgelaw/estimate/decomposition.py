"""The answer: disagreement split into call, prompt, order and interaction."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from judgelaw.estimate.cells import Array
from judgelaw.frames import Library, bars_svg, frame_of, table_html

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

    def to_frame(self, library: Library = "pandas") -> Any:
        """Return one row for each item and component, in a frame of the library named."""
        n = np.atleast_1d(self.total).size
        return frame_of(
            {
                "item": np.tile(np.arange(n), len(COMPONENTS)),
                "component": np.repeat(COMPONENTS, n),
                "estimate": np.concatenate([np.ravel(self[name]) for name in COMPONENTS]),
                "plugin": np.concatenate([np.ravel(self.plugin[name]) for name in COMPONENTS]),
            },
            library,
        )

    def _repr_html_(self) -> str:
        mean = self.macro()
        rows = [[name, f"{mean[name]:.5f}", f"{mean.plugin[name]:.5f}"] for name in COMPONENTS]
        items = np.atleast_1d(self.total).size
        caption = f"{self.design}, mean of {items} items; ring: plug-in, biased by finite repeats"
        table = table_html(caption, ("component", "estimate", "plug-in"), rows)
        values = {name: float(mean[name]) for name in COMPONENTS}
        return table + bars_svg(values, {name: float(mean.plugin[name]) for name in COMPONENTS})

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
