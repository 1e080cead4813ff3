"""What is promised, what was measured, and how to time things."""

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True)
class Target:
    """A figure that a benchmark promises to measure, known before anything runs."""

    name: str
    direction: Literal["at most", "at least", ""] = ""
    bound: float = math.nan

    def found(self, value: float, detail: str) -> "Figure":
        return Figure(target=self, value=value, detail=detail)

    def absent(self, reason: str) -> "Figure":
        """Say why there is nothing to show: absent is never counted as met."""
        return Figure(target=self, value=math.nan, detail=f"not measured: {reason}")

    def __str__(self) -> str:
        return f"{self.direction} {self.bound:g}" if self.direction else "-"


def at_most(name: str, bound: float) -> Target:
    return Target(name=name, direction="at most", bound=bound)


def at_least(name: str, bound: float) -> Target:
    return Target(name=name, direction="at least", bound=bound)


def shown(name: str) -> Target:
    """Promise a figure that stands for itself: another tool's, or how work grows."""
    return Target(name=name)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A measured figure; the detail says what was compared with what."""

    target: Target
    value: float
    detail: str

    @property
    def measured(self) -> bool:
        return not math.isnan(self.value)

    @property
    def mark(self) -> str:
        if not self.measured:
            return "not measured"
        if not self.target.direction:
            return ""
        return "holds" if self.holds else "MISSED"

    @property
    def holds(self) -> bool:
        if self.target.direction == "at most":
            return self.value <= self.target.bound
        return self.target.direction == "" or self.value >= self.target.bound


def best(function: Callable[[], Any], times: int = 5) -> float:
    """Return the shortest of several runs, in seconds: the one least disturbed by the machine."""
    return in_turn(function, times=times)[0]


def in_turn(*functions: Callable[[], Any], times: int) -> tuple[float, ...]:
    """Return the shortest of several runs of each, alternating: a busy moment falls on all."""
    shortest = [math.inf] * len(functions)
    for _ in range(times):
        for at, function in enumerate(functions):
            start = time.perf_counter()
            function()
            shortest[at] = min(shortest[at], time.perf_counter() - start)
    return tuple(shortest)


def progress(text: str) -> None:
    """Say on stderr what is under way: some benchmarks take minutes."""
    print(f"  {text}", file=sys.stderr, flush=True)


def peak_mb() -> float:
    """Return this process's peak memory; unlike ru_maxrss it does not begin with the parent's."""
    status = Path("/proc/self/status").read_text()
    (peak,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
    return int(peak) / 1024
