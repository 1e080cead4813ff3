"""Other metrics: published examples, brute force, and the share that is call noise."""

from itertools import combinations, product

import numpy as np
import pytest

from judgelaw.analysis import analyze
from judgelaw.analysis.outcomes import fleiss_kappa, flip_rate, krippendorff_alpha
from judgelaw.estimate import decompose
from judgelaw.worlds import World
from support.streams import drawn, unanimous

# Fourteen raters, ten subjects, five categories: the worked example of Fleiss (1971) in textbooks.
FLEISS = np.array(
    [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ],
    dtype=float,
)


def metrics(tensor):
    found = analyze({(None, "a"): tensor}, draws=50, permutations=0).judges["a"].other_metrics
    return {m.name: m for m in found}


def test_fleiss_kappa_of_the_worked_example():
    assert fleiss_kappa(FLEISS) == pytest.approx(0.2099, abs=5e-5)


def test_krippendorff_alpha_by_coincidences():
    """Unequal numbers of values, as in Krippendorff's own example: by explicit pairs."""
    n = np.array([[3, 0, 1], [0, 2, 0], [1, 1, 2], [0, 0, 3]], dtype=float)
    observed = expected = 0.0
    total = n.sum()
    for unit in n:
        values = np.repeat(np.arange(3), unit.astype(int))
        pairs = [a != b for a, b in combinations(values, 2)]
        observed += 2 * sum(pairs) / (len(values) - 1)
    everything = np.repeat(np.arange(3), n.sum(axis=0).astype(int))
    expected = 2 * sum(a != b for a, b in combinations(everything, 2)) / (total * (total - 1))
    assert krippendorff_alpha(n) == pytest.approx(1 - observed / total / expected)


def test_flip_rates_are_pairs_of_calls():
    tensor = drawn(items=3, prompts=3, repeats=3)
    flips = []
    for i, o in product(range(3), range(2)):
        for k, l in combinations(range(3), 2):
            a, b = tensor.ranked[i, k, o], tensor.ranked[i, l, o]
            flips.append(np.mean([x != y for x, y in product(a, b)]))
    assert flip_rate(tensor, 1) == pytest.approx(np.mean(flips))
    assert metrics(tensor)["jss"].value == pytest.approx(1 - np.mean(flips))


def test_without_any_effect_the_flip_rate_is_call_noise():
    """One law everywhere: two prompts differ as often as two calls of one prompt do."""
    found = metrics(drawn(items=400, prompts=4, repeats=6))
    assert found["flip_rate_prompt"].value == pytest.approx(0.7, abs=0.01)
    for name in ("flip_rate_prompt", "jss", "fleiss_kappa", "krippendorff_alpha"):
        assert found[name].call_noise == pytest.approx(1, abs=0.02)
    assert found["plugin_prompt"].call_noise == pytest.approx(1, abs=0.05)


def test_the_plugin_share_is_its_excess():
    tensor = drawn(world=World.from_effects(prompt=0.02), prompts=4)
    d = decompose(tensor).macro()
    share = metrics(tensor)["plugin_prompt"].call_noise
    assert share == pytest.approx(float(1 - d.prompt / d.plugin["prompt"]))


def test_a_unanimous_judge_has_no_call_noise_and_no_division_by_zero():
    assert metrics(unanimous())["flip_rate_order"].call_noise == 0
    still = metrics(unanimous(vary_order=False))
    assert np.isnan(still["fleiss_kappa"].value)
    assert np.isnan(still["krippendorff_alpha"].value)
    assert np.isnan(still["flip_rate_prompt"].call_noise)
