"""Every outcome of a small design with its probability, in exact fractions.

A design is an object array of cell laws (facets..., verdicts). Its outcomes are all combinations of
count vectors of its cells, so an expectation is a finite sum and needs no tolerance.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import factorial, prod

import numpy as np


def fractions(rows) -> np.ndarray:
    """Turn nested sequences of "1/3"-like strings or integers into an object array of Fractions."""
    array = np.array(rows, dtype=object)
    return np.vectorize(Fraction, otypes=[object])(array)


def count_vectors(calls: int, verdicts: int) -> list[tuple[int, ...]]:
    if verdicts == 1:
        return [(calls,)]
    return [
        (first, *rest)
        for first in range(calls + 1)
        for rest in count_vectors(calls - first, verdicts - 1)
    ]


def multinomial(counts: Sequence[int], law: Sequence[Fraction]) -> Fraction:
    ways = factorial(sum(counts)) // prod(factorial(c) for c in counts)
    return ways * prod((p**c for p, c in zip(law, counts, strict=True)), start=Fraction(1))


def outcomes(laws: np.ndarray, repeats) -> tuple[np.ndarray, np.ndarray]:
    """Return all possible counts (outcomes, facets..., verdicts) and their probabilities.

    `repeats` is one number, or an array of the shape of the facets.
    """
    shape, verdicts = laws.shape[:-1], laws.shape[-1]
    R = np.broadcast_to(repeats, shape).reshape(-1)
    cells = laws.reshape(-1, verdicts)
    choices = [
        [(c, p) for c in count_vectors(int(r), verdicts) if (p := multinomial(c, law))]
        for law, r in zip(cells, R, strict=True)
    ]
    combined = list(product(*choices))
    counts = np.array([[c for c, _ in outcome] for outcome in combined], dtype=object)
    exact = np.vectorize(Fraction, otypes=[object])(counts)
    chances = np.array([prod(p for _, p in outcome) for outcome in combined], dtype=object)
    return exact.reshape(-1, *shape, verdicts), chances


def expectation(values: np.ndarray, chances: np.ndarray):
    """Return the exact mean of values whose first axis runs over outcomes."""
    return np.tensordot(chances, values, axes=(0, 0))[()]
