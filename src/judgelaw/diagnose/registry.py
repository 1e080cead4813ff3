"""What a diagnostic is. Each module of this room lists its own in `DIAGNOSTICS`, and is found.

A diagnostic counts a fact, or tests a hypothesis; tests of all streams share one error rate
(`family`). It says its name, where it stands among the others, what it makes of a stream, and what
anybody may read where it makes the answer worthless.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from judgelaw import diagnose
from judgelaw.diagnose.evidence import Key, ReplyFacts
from judgelaw.diagnose.family import Bundle, Test
from judgelaw.diagnose.finding import Finding
from judgelaw.diagnose.shuffles import MixedCells, Statistic, mixed_cells
from judgelaw.estimate import Estimand
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import Resampling

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, eq=False)
class Stream:
    """The calls of one judge in one layer, with what is known of them.

    Attributes:
        key: which they are.
        tensor: their verdicts.
        how: how to resample, and the seed.
        estimand: what is estimated.
        seconds: when each call was made, like the ranks of the tensor; None where unknown.
        latency: how long each took, in the same shape.
        replies: what a run knows of the replies; None where unknown.
        adjacent: whether repeats of a cell were made one after the other.
        control: whether byte-identical calls stand under several labels.
    """

    key: Key
    tensor: VerdictTensor
    how: Resampling
    estimand: Estimand
    seconds: NDArray[np.float64] | None = None
    latency: NDArray[np.float64] | None = None
    replies: ReplyFacts | None = None
    adjacent: bool = False
    control: bool = False
    _known: dict[Hashable, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The stream for people."""
        layer, judge = self.key
        return judge if layer is None else f"{judge} / {layer}"

    @cached_property
    def mixed(self) -> MixedCells | None:
        """The cells whose repeats can be shuffled; None without ranks."""
        return mixed_cells(self.tensor)

    def once(self, make: Callable[["Stream"], T]) -> T:
        """Return what a test and a finding both need, worked out once."""
        if make not in self._known:
            self._known[make] = make(self)
        found: T = self._known[make]
        return found


@dataclass(frozen=True, kw_only=True)
class ShuffleTest:
    """A test that shuffles the repeats of every cell; all of them share their draws.

    Attributes:
        least: the smallest p value that these calls allow; inf where they cannot be tested.
        statistic: from arrangements to one number each; large ones speak against independence.
    """

    least: Callable[[Stream, MixedCells], float]
    statistic: Callable[[Stream, MixedCells], Statistic]


@dataclass(frozen=True, kw_only=True)
class Diagnostic:
    """One diagnostic of a stream.

    Attributes:
        name: of its test and its finding.
        place: findings of a stream stand in this order.
        find: from a stream and the tests of this diagnostic, by name, to what was found.
        shuffle: its test, where it shuffles repeats.
        test: its tests with draws of their own; None where a stream has nothing to test.
        worthless: what anybody may read where a problem leaves nothing to be told about the judge;
            empty where the answer stands.
    """

    name: str
    place: int
    find: Callable[[Stream, Mapping[str, Test]], Iterable[Finding]]
    shuffle: ShuffleTest | None = None
    test: Callable[[Stream], Bundle | None] | None = None
    worthless: str = ""


@cache
def diagnostics() -> tuple[Diagnostic, ...]:
    """Return every diagnostic of a stream, in the order of their findings."""
    modules = (
        import_module(f"{diagnose.__name__}.{m.name}") for m in iter_modules(diagnose.__path__)
    )
    listed = [each for module in modules for each in getattr(module, "DIAGNOSTICS", ())]
    return tuple(sorted(listed, key=lambda each: each.place))
