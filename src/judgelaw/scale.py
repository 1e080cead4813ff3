"""What scores are: their order, how far two of them are apart, and what that means in words.

Components of scores are mean dissimilarities r of two calls. With scores s_1 < ... < s_S:

    ordinal   |i - j| / (S - 1): steps on the scale, as a share of all of them
    numeric   (s - t)^2 / 2: components are variances, in squared points, as in an ANOVA
    nominal   the same score or not

A reply without a score is as far from the two ends of the scale as they are from each other; steps
away from every score, and for squared points in the third corner of a triangle with equal sides. So
-r stays conditionally positive semidefinite, and no true component is negative.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from judgelaw.arrays import Floats
from judgelaw.errors import InputError
from judgelaw.words import plain_number

Dissimilarity = Literal["ordinal", "numeric", "nominal"]
_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class ScoreScale:
    """Scores from low to high, and how far two of them are apart.

    Attributes:
        values: the scores, rising.
        dissimilarity: "ordinal", "numeric" or "nominal".
    """

    values: tuple[float, ...]
    dissimilarity: Dissimilarity = "ordinal"

    def __post_init__(self) -> None:
        """Refuse what is no scale."""
        if len(self.values) < 2 or not np.isfinite(self.values).all():  # noqa: PLR2004 - two ends
            raise InputError(f"scale {list(self.values)}: a scale has two finite numbers or more")
        for low, high in zip(self.values, self.values[1:], strict=False):
            if high <= low:
                why = "repeats" if high == low else f"comes after {plain_number(low)}"
                raise InputError(
                    f"scale value {plain_number(high)} {why}: write every score once, from low to "
                    "high"
                )
        if self.dissimilarity not in {"ordinal", "numeric", "nominal"}:
            raise InputError(
                f"dissimilarity {self.dissimilarity!r}: it is 'ordinal', 'numeric' or 'nominal'"
            )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The scores as verdicts, in plain digits."""
        return tuple(map(plain_number, self.values))

    @property
    def span(self) -> float:
        """From the lowest to the highest score, in points."""
        return self.values[-1] - self.values[0]

    @property
    def unit(self) -> float:
        """The dissimilarity of the two ends, which no other exceeds."""
        return self.span**2 / 2 if self.dissimilarity == "numeric" else 1.0

    @property
    def even(self) -> bool:
        """Whether all steps are of the same size, so that steps are points."""
        steps = np.diff(self.values)
        return bool(np.ptp(steps) <= _ROUNDING * self.span)

    def holds(self, verdicts: Sequence[str], others: Sequence[str]) -> bool:
        """Whether verdicts are scores of this scale, or among the others named."""
        return {*verdicts} <= {*self.names, *others}

    def scores(self, verdicts: Sequence[str]) -> Floats:
        """Return the score of every verdict, nan for a reply without one."""
        known = dict(zip(self.names, self.values, strict=True))
        return np.array([known.get(name, np.nan) for name in verdicts], dtype=float)

    def distances(self, verdicts: Sequence[str]) -> Floats | None:
        """Return the dissimilarity of verdicts as declared; None where it is equality."""
        if self.dissimilarity == "nominal":
            return None
        if self.dissimilarity == "numeric":
            return self._squared(verdicts) / 2
        place = {name: float(i) for i, name in enumerate(self.names)}
        at = np.array([place.get(name, np.nan) for name in verdicts], dtype=float)
        steps = len(self.names) - 1
        return _between(at, steps) / steps

    def _squared(self, verdicts: Sequence[str]) -> Floats:
        """Return squared distances in the plane, scores on a line and what is none off it."""
        at = self.scores(verdicts)
        missing = np.isnan(at)
        x = np.where(missing, (self.values[0] + self.values[-1]) / 2, at)
        height = 0.75 * self.span**2
        return np.asarray((x[:, None] - x) ** 2 + height * (missing[:, None] != missing))

    def points(self, verdicts: Sequence[str]) -> Floats:
        """Return how many points lie between verdicts, whatever dissimilarity is declared."""
        return _between(self.scores(verdicts), self.span)

    @property
    def meaning(self) -> str:
        """What the number of a component means, in a sentence."""
        ends = f"{self.names[0]} and {self.names[-1]}"
        if self.dissimilarity == "nominal":
            return (
                "A component is a share of pairs of calls that give different scores; how far "
                "apart the scores are does not count."
            )
        if self.dissimilarity == "numeric":
            return (
                "A component is a variance in squared points, as in an analysis of variance: its "
                "square root is a standard deviation in points. A reply without a score counts as "
                f"far from {ends} as they are apart."
            )
        far = f"{plain_number(round(self.span, 6))} points" if self.even else "the whole scale"
        return (
            "A component is a mean distance of two calls as a share of the scale: 0 is the same "
            f"score, 1 is {ends}, {far} apart. A reply without a score counts as 1."
        )


def _between(at: Floats, far: float) -> Floats:
    """Return |x - y|; what has no place is far from everything but itself."""
    apart = np.abs(at[:, None] - at)
    missing = np.isnan(at)
    apart[missing[:, None] | missing[None, :]] = far
    apart[np.ix_(missing, missing)] = 0.0
    return np.asarray(apart)
