"""Sampled prompts: estimate and projection signal are unbiased, by enumeration in fractions."""

from fractions import Fraction
from itertools import product
from math import prod

import numpy as np

from judgelaw.uncertainty.sampled_prompts import projection_moments
from support.enumeration import count_vectors, expectation, multinomial

F = Fraction
PROMPTS = 4
REPEATS = 2
GENERATOR = [(F(1, 3), (F(1, 2), F(1, 2))), (F(2, 3), (F(1, 5), F(4, 5)))]
"""Probability of a prompt, and its law."""


def kernel(m, n):
    def agreement(x):
        return F(sum(c * (c - 1) for c in x), REPEATS * (REPEATS - 1))

    across = F(sum(a * b for a, b in zip(m, n, strict=True)), REPEATS**2)
    return (agreement(m) + agreement(n)) / 2 - across


def clusters():
    """Counts of one sampled prompt with their probability, the prompt itself being unseen."""
    return [
        (counts, sum(weight * multinomial(counts, law) for weight, law in GENERATOR))
        for counts in count_vectors(REPEATS, 2)
    ]


def test_estimate_and_projection_signal_are_unbiased():
    seen = clusters()
    h, chances = [], []
    for outcome in product(seen, repeat=PROMPTS):
        tables = [counts for counts, _ in outcome]
        h.append([[kernel(m, n) for n in tables] for m in tables])
        chances.append(prod(p for _, p in outcome))
    U, _, signal = projection_moments(np.array(h, dtype=object))
    chances = np.array(chances, dtype=object)

    first = [sum(p * kernel(m, n) for n, p in seen) for m, _ in seen]
    weights = [p for _, p in seen]
    mean = sum(p * x for p, x in zip(weights, first, strict=True))
    variance = sum(p * (x - mean) ** 2 for p, x in zip(weights, first, strict=True))
    centre = [sum(w * law[c] for w, law in GENERATOR) for c in range(2)]
    truth = sum(w * sum((law[c] - centre[c]) ** 2 for c in range(2)) for w, law in GENERATOR)
    assert expectation(U, chances) == truth == mean
    assert expectation(signal, chances) == variance
