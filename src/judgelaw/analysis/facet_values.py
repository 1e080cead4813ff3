"""What an analysis says of single items, prompts, displayed positions and other metrics."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from judgelaw.arrays import Floats
from judgelaw.estimate import COMPONENTS
from judgelaw.frames import Result
from judgelaw.quantities import Pair
from judgelaw.uncertainty import Interval, MovedItems


def pair_of(found: Interval) -> Pair | None:
    """Return the two ends of an interval, None if it has no ends."""
    return None if np.isnan(found.low) else (found.low, found.high)


@dataclass(frozen=True, kw_only=True)
class OrderDirection:
    """Which displayed position the judge favours, over all its calls.

    Attributes:
        first, second: share of calls that chose the answer displayed first, or second.
        lean: first minus second.
        band: interval of the lean for new items, None where none can be had.
        favoured: "first", "second" or "neither" (the band holds zero).
    """

    first: float
    second: float
    lean: float
    band: Pair | None
    favoured: str


@dataclass(frozen=True, kw_only=True)
class SlotPreference:
    """How often the answer in one displayed slot is chosen, whichever candidate stands there.

    Attributes:
        slot: the letter under which it is shown.
        share: of calls that chose it; candidates stand equally often in every slot.
        lean: the share less the mean share of all slots.
        interval: of the lean, for items like these; None where none can be had.
        call_interval: of the lean, for the items asked, together with those of all other slots.
    """

    slot: str
    share: float
    lean: float
    interval: Pair | None
    call_interval: Pair

    @property
    def shown(self) -> bool:
        """Whether the lean of the items asked is told from zero."""
        return not self.call_interval[0] <= 0 <= self.call_interval[1]


@dataclass(frozen=True, kw_only=True)
class Identity:
    """R (plug-in - corrected prompt) beside the rescaled call component, equal in every sample.

    Attributes:
        depth: R.
        scaled_excess: R times the prompt excess, macroaverage.
        factor: (K-1)/(K O), or 1/O for sampled prompts: 5/12 for six prompts and two orders.
        rescaled_call: factor times the call component.
        largest_gap: largest absolute difference of the two over items; rounding, if all is well.
    """

    depth: int
    scaled_excess: float
    factor: float
    rescaled_call: float
    largest_gap: float


@dataclass(frozen=True, kw_only=True)
class PromptLean:
    """How far one prompt leans to the answer shown first, on the items that were asked.

    Attributes:
        prompt: its name.
        lean: share of calls for the answer shown first, less that for the one shown second.
        interval: of the lean, together with those of all other prompts.
    """

    prompt: str
    lean: float
    interval: Pair

    @property
    def shown(self) -> bool:
        """Whether the lean is told from zero."""
        return not self.interval[0] <= 0 <= self.interval[1]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ItemValues(Result):
    """Estimates of single items, with how far to believe them.

    Attributes:
        items, strata: labels.
        estimates, plugin: (items, components) in the order of COMPONENTS.
        call_variance: unbiased call-sampling variance (items, components), None below four repeats.
        moved: by facet with several levels, which items it is shown to move.
    """

    items: tuple[str, ...]
    strata: tuple[str, ...] | None
    estimates: Floats
    plugin: Floats
    call_variance: Floats | None
    moved: Mapping[str, MovedItems] = field(default_factory=dict)

    schema = "judgelaw.items/1"

    def in_words(self) -> str:
        """Say how many items there are."""
        return f"estimates of {len(self.items):,} single items"

    def records(self) -> list[dict[str, Any]]:
        """Return one row for each item."""
        strata = self.strata or (None,) * len(self.items)
        return [
            {"item": item, "stratum": stratum, **dict(zip(COMPONENTS, values, strict=True))}
            | {f"moved_by_{name}": bool(found.shown[i]) for name, found in self.moved.items()}
            for i, (item, stratum, values) in enumerate(
                zip(self.items, strata, self.estimates.tolist(), strict=True)
            )
        ]

    def of(self, component: str) -> Floats:
        """Return one component of every item."""
        return np.asarray(self.estimates[:, COMPONENTS.index(component)])

    def variance_of(self, component: str) -> Floats | None:
        """Return the call-sampling variance of one component of every item."""
        if self.call_variance is None:
            return None
        return np.asarray(self.call_variance[:, COMPONENTS.index(component)])


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PromptDistances(Result):
    """How far the verdict laws of prompts lie apart.

    Attributes:
        prompts: labels.
        squared: mean unbiased squared distances between their laws, (prompts, prompts).
    """

    prompts: tuple[str, ...]
    squared: Floats

    schema = "judgelaw.distances/1"

    def in_words(self) -> str:
        """Say what is compared."""
        return f"squared distances between the verdict laws of {len(self.prompts)} prompts"

    def records(self) -> list[dict[str, Any]]:
        """Return one row for each pair of prompts."""
        return [
            {"a": a, "b": b, "squared": float(self.squared[i, j])}
            for i, a in enumerate(self.prompts)
            for j, b in enumerate(self.prompts[:i])
        ]


@dataclass(frozen=True, kw_only=True)
class LargestComponent:
    """The component that leads, and by how much.

    Attributes:
        largest, second: component names.
        by: largest minus second.
        interval: of the lead, for new items like these; None where none can be had.
        band: item band of the lead, None where none can be had.
        call_interval: interval of the lead with items fixed.
        settled: whether the largest is shown to be larger than every other, for new items.
        settled_here: the same for the items that were asked.
    """

    largest: str
    second: str
    by: float
    interval: Pair | None
    band: Pair | None
    call_interval: Pair | None
    settled: bool
    settled_here: bool


@dataclass(frozen=True, kw_only=True)
class OtherMetric:
    """What another metric says of the same calls, and how much of that is call noise.

    Attributes:
        name: `flip_rate_prompts`, `jss`, `fleiss_kappa`, `krippendorff_alpha`, ...
        label: for people.
        value: the metric; nan where undefined.
        call_noise: the part of the disagreement it counts that two calls of one cell would show
            anyway, as a share; nan where undefined.
        note: what it compares.
    """

    name: str
    label: str
    value: float
    call_noise: float
    note: str
