"""The constants of the deviation bound are reached by some table, and never exceeded."""

from itertools import pairwise, product

import numpy as np
import pytest

from judgelaw.estimate import decompose
from judgelaw.uncertainty import Estimand, declare, form_of
from judgelaw.uncertainty.call_bounds import call_constants


def largest_change(cell, *, repeats, verdicts, component, dissimilarity):
    """Try every table of verdicts, and every change of one call of one cell."""
    starts = np.cumsum([0, *repeats])
    tables = np.array(list(product(range(verdicts), repeat=int(starts[-1]))))
    counts = np.stack(
        [
            np.stack([(tables[:, a:b] == v).sum(axis=1) for v in range(verdicts)], axis=-1)
            for a, b in pairwise(starts)
        ],
        axis=1,
    )[:, :, None, :]
    values = decompose(counts, dissimilarity=dissimilarity)[component]
    by_table = values.reshape([verdicts] * int(starts[-1]))
    call = starts[cell]
    return float((by_table.max(axis=call) - by_table.min(axis=call)).max())


@pytest.mark.parametrize("component", ["call", "prompt", "total"])
@pytest.mark.parametrize("dissimilarity", [None, "ordinal"])
@pytest.mark.parametrize("verdicts", [2, 3])
def test_the_constant_is_the_largest_change_by_one_call(component, dissimilarity, verdicts):
    repeats = (2, 3)
    counts = np.zeros((1, 2, 1, verdicts), dtype=int)
    counts[0, :, 0, 0] = repeats
    known = declare(counts, Estimand(dissimilarity=dissimilarity))
    constants = call_constants(known, form_of(component, known.w, known.q))[0]
    reached = [
        largest_change(
            cell,
            repeats=repeats,
            verdicts=verdicts,
            component=component,
            dissimilarity=dissimilarity,
        )
        for cell in (0, 1)
    ]
    assert constants == pytest.approx(reached, rel=1e-12)
