"""How often a cell is asked: so many times, until looks decide, or as an earlier run says."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from judgelaw.wire import Fault, Model, PositiveFloat, Share

Depth = Annotated[int, Field(ge=1, le=2**31 - 1)]
"""Repeats of a cell: no more than there are distinct seeds."""
Component = Literal["call", "prompt", "order", "interaction", "total"]
FIRST_LOOK = 4
"""Repeats below which the errors of calls have no unbiased estimate."""
_FEWEST = 2


class Stop(Model):
    """When enough is known: every judge is asked depth by depth, and stops for itself.

    Attributes:
        component: what is looked at.
        limit: stop once the component is shown to be below it, or above it.
        half_width: stop once the interval of the component is as narrow as this.
        looks: repeats of a cell at each look, growing, four or more; the last is the most.
    """

    component: Component
    limit: Share | None = None
    half_width: PositiveFloat | None = None
    looks: Annotated[tuple[Depth, ...], Field(min_length=1)]

    def problems(self) -> Iterator[Fault]:
        """Yield what keeps looks from being taken in a sequence."""
        if (self.limit is None) == (self.half_width is None):
            yield (), "must name limit or half_width, one of them; choose"
        for place, depth in enumerate(self.looks):
            if depth < FIRST_LOOK:
                text = (
                    f"{depth}, a look needs {FIRST_LOOK} repeats or more, since errors of calls "
                    f"cannot be estimated below; begin at {FIRST_LOOK}"
                )
                yield ("looks", place), text
            if place and depth <= self.looks[place - 1]:
                text = (
                    f"{depth} after {self.looks[place - 1]}, looks go to ever more repeats; write "
                    "them growing, such as [4, 8, 16]"
                )
                yield ("looks", place), text


class RepeatsFrom(Model):
    """Repeats by item, from how noisy each item was in an earlier run.

    Attributes:
        run: the folder of that run, `from` in the study; its calls are no part of this run.
        least, most: repeats of a cell, `min` and `max` in the study.
        mean: repeats of a cell on average; absent, between the two.
        component: whose error is to be small.
    """

    run: str = Field(alias="from", min_length=1)
    least: Depth = Field(default=4, alias="min")
    most: Depth = Field(default=16, alias="max")
    mean: Depth | None = None
    component: Component = "prompt"

    def problems(self) -> Iterator[Fault]:
        """Yield bounds between which no number of repeats lies."""
        if self.least < _FEWEST:
            text = f"{self.least}, a cell needs two calls to be corrected at all; write 2 or more"
            yield ("min",), text
        if self.most <= self.least:
            text = f"{self.most}, must be above min ({self.least}); raise it, or write repeats: "
            yield ("max",), f"{text}{self.least}"
        elif not self.least <= self.average <= self.most:
            yield ("mean",), f"{self.mean}, must lie between min and max; choose another"

    @property
    def average(self) -> int:
        """Repeats of a cell on average."""
        return self.mean or round((self.least * self.most) ** 0.5)


def _repeats_form(value: Any) -> str:
    return "by-item" if isinstance(value, dict | RepeatsFrom) else "equal"


Repeats = Annotated[
    Annotated[Depth, Tag("equal")] | Annotated[RepeatsFrom, Tag("by-item")],
    Discriminator(_repeats_form),
]
