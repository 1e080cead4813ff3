"""What recomputed tables share: values, bands, counts of outcomes."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgelaw.simulate._corpus import Corpus
from judgelaw.tensor import INVALID, VerdictTensor
from judgelaw.uncertainty import item_bands

Floats = NDArray[np.float64]
Band = tuple[float, float]
Value = float | str | Band | None
Values = Iterator[tuple[Mapping[str, str], Mapping[str, Value]]]
"""Key of a published row, and values by its columns; None where the corpus lacks what it needs."""

VERDICTS = ("candidate_1", "candidate_2", "tie", INVALID)


@dataclass(frozen=True, kw_only=True)
class Resampling:
    """How bands are drawn."""

    draws: int = 20_000
    seed: int = 0

    def band(self, values: Floats, tensor: VerdictTensor) -> Band:
        """Return the band of the mean of per-item values, within the strata of the items."""
        bands = item_bands(values, strata=tensor.strata, draws=self.draws, seed=self.seed)
        return float(bands.low[0]), float(bands.high[0])


Recompute = Callable[[Corpus, Resampling], Values]


def outcomes(tensor: VerdictTensor) -> dict[str, Value]:
    """Count calls by verdict."""
    totals = tensor.counts.sum(axis=(0, 1, 2))
    found = dict(zip(tensor.verdicts, totals, strict=True))
    return {name: str(int(found.get(name, 0))) for name in VERDICTS}
