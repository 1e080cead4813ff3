"""One measured figure, and how to time things."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A measured figure beside its target; the detail says what was compared with what."""

    name: str
    value: float
    target: float
    direction: Literal["at most", "at least"]
    detail: str

    @property
    def measured(self) -> bool:
        """Whether there is a figure at all: a peer that is not installed leaves nan."""
        return not math.isnan(self.value)

    @property
    def holds(self) -> bool:
        if self.direction == "at most":
            return self.value <= self.target
        return self.value >= self.target


def best(function: Callable[[], Any], times: int = 5) -> float:
    """Return the shortest of several runs, in seconds: the one least disturbed by the machine."""
    shortest = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        function()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest
