"""Parts of the prompt component of crossed factors: unbiased in fractions, with no tolerance."""

from fractions import Fraction
from itertools import combinations

import numpy as np

from judgelaw.estimate import decompose, decompose_facets
from judgelaw.uncertainty.prompt_parts import part_form
from support.enumeration import expectation, fractions, outcomes

F = Fraction
LEVELS = {"wrapper": ("plain", "xml"), "rubric": ("short", "strict", "kind")}
NAMES = ("wrapper", "rubric", "order")
PARTS = [part for size in (1, 2) for part in combinations(LEVELS, size)]
# First verdicts of six, (wrapper, rubric, order); certain cells keep the enumeration short.
HEADS = np.array([[[1, 6], [0, 3], [6, 0]], [[4, 0], [2, 6], [0, 5]]])
LAWS = fractions(np.stack([HEADS, 6 - HEADS], axis=-1)) / F(6)
Q = fractions(["1/3", "2/3"])


def truth(part):
    """The squared effect of a part, by projections of the laws that share no estimator code."""
    effect = np.tensordot(LAWS, Q, axes=(2, 0))
    for axis, name in enumerate(LEVELS):
        mean = effect.sum(axis=axis, keepdims=True) / F(effect.shape[axis]) + 0 * effect
        effect = effect - mean if name in part else mean
    return (effect**2).sum(axis=-1).sum() / F(6)


def test_the_parts_are_unbiased_and_add_up_to_the_prompt_component_in_every_sample():
    counts, chances = outcomes(LAWS, 2)
    split = decompose_facets(counts, NAMES, weights={"order": Q})
    for part in PARTS:
        assert expectation(split.components[part], chances) == truth(part), part
    whole = decompose(counts.reshape(-1, 6, 2, 2), order_weights=Q)
    assert (sum(split.components[part] for part in PARTS) == whole.prompt).all()
    plugin = sum(split.plugin[part] for part in PARTS)
    assert (plugin == whole.plugin["prompt"]).all()


def test_a_part_is_the_quadratic_form_that_its_error_is_taken_of():
    counts, _ = outcomes(LAWS, 3)
    counts = counts[:: max(1, len(counts) // 50)]
    split = decompose_facets(counts, NAMES, weights={"order": Q})
    cells = counts.reshape(len(counts), -1, 2)
    p = cells / F(3)
    together = np.einsum("nuc,nvc->nuv", p, p)
    diagonal = np.arange(cells.shape[1])
    together[:, diagonal, diagonal] = (cells * (cells - 1)).sum(axis=-1) / F(6)
    for part in PARTS:
        form = (part_form(part, LEVELS, Q) * together).sum(axis=(1, 2))
        assert (form == split.components[part]).all(), part
