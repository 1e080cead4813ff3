"""Resampling by default is what the size of a table affords."""

import numpy as np
import pytest

from judgelaw.analysis import analyze, band_draws_for, complete_analysis
from judgelaw.analysis.complete_analysis import permutations_for
from judgelaw.tensor import VerdictTensor


def sized(items, calls):
    """A tensor of so many items whose first cell holds nearly all of so many calls."""
    counts = np.zeros((items, 1, 1, 2), dtype=np.int64)
    counts[0, 0, 0, 0] = calls
    return VerdictTensor.from_counts(counts, verdicts=("yes", "no"))


@pytest.mark.parametrize(
    ("items", "draws"), [(10, 20_000), (5_000, 20_000), (20_000, 5_000), (150_000, 1_000)]
)
def test_more_items_have_fewer_draws(items, draws):
    assert band_draws_for([sized(3, 9), sized(items, 9)]) == draws


@pytest.mark.parametrize(
    ("calls", "shuffles"), [(0, 999), (10**6, 999), (2 * 10**6, 500), (10**7, 100), (10**8, 0)]
)
def test_more_calls_have_fewer_shuffles(calls, shuffles):
    assert permutations_for([sized(3, 9), sized(3, calls)]) == shuffles


def test_tests_that_were_left_out_are_said_to_be(monkeypatch):
    laws = np.full((4, 2, 2, 2), 0.5)
    tensors = {(None, "j"): VerdictTensor.from_laws(laws, repeats=4, seed=1)}
    plain = analyze(tensors, draws=20)
    assert plain.settings.permutations == 999
    assert not any("left out" in words for words in plain.warnings)
    monkeypatch.setattr(complete_analysis, "permutations_for", lambda _: 0)
    found = analyze(tensors, draws=20)
    assert found.judges["j"].permutation == {"prompt": None, "order": None}
    assert any("permutation tests were left out" in words for words in found.warnings)
    # Who asked for none need not be told.
    assert not any("left out" in w for w in analyze(tensors, draws=20, permutations=0).warnings)
