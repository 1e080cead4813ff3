"""Items in clusters: what is drawn anew are clusters. Items alone in theirs change no digit."""

import numpy as np
import pytest

from judgelaw.analysis import analyze
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import clusters_of, infer, mean_bounds, signed_interval
from support.coverage import plausible


def tensor(laws, clusters, seed, gold=None):
    return VerdictTensor.from_laws(
        laws, repeats=4, seed=seed, clusters=clusters, orders=("AB", "BA"), gold=gold
    )


def test_items_with_a_cluster_each_change_no_digit():
    laws = np.broadcast_to((0.5, 0.3, 0.15, 0.05), (30, 3, 2, 4))
    gold = ["candidate_1"] * 30
    plain = tensor(laws, None, 1, gold)
    alone = tensor(laws, [f"d{i}" for i in range(30)], 1, gold)
    assert infer(plain).bounds("prompt", 0.975, "new") == infer(alone).bounds(
        "prompt", 0.975, "new"
    )
    one, other = (analyze({(None, "j"): t}, draws=50, permutations=0) for t in (plain, alone))
    assert one.to_json() == other.to_json()


def test_a_cluster_counts_once_however_many_items_it_holds():
    """Twenty clusters of five equal items tell as much as twenty items."""
    x = stream(3, "values").random(20)
    clusters = clusters_of([f"c{i // 5}" for i in range(100)])
    many = mean_bounds(np.repeat(x, 5), 0.975, clusters=clusters)
    few = mean_bounds(x, 0.975)
    assert (many.low, many.high) == pytest.approx((few.low, few.high), abs=1e-12)
    signed = signed_interval(np.repeat(x - 0.5, 5), clusters=clusters, strict=True)
    of_few = signed_interval(x - 0.5, strict=True)
    assert (signed.low, signed.high) == pytest.approx((of_few.low, of_few.high), abs=1e-12)


def test_one_cluster_says_nothing_about_others():
    laws = np.broadcast_to((0.5, 0.3, 0.15, 0.05), (12, 2, 1, 4))
    calls = VerdictTensor.from_laws(laws, repeats=4, seed=1, clusters=["a"] * 12)
    found = infer(calls)
    assert "one cluster" in found.refusal("prompt", "new")
    assert found.refusal("prompt", "fixed") is None
    assert np.isnan(mean_bounds(np.arange(12.0), 0.975, clusters=clusters_of(["a"] * 12)).low)


def test_the_items_asked_are_the_items_asked():
    """Asked again, the same items lie in the same clusters: nothing about them is random."""
    laws = np.broadcast_to((0.6, 0.3, 0.05, 0.05), (20, 3, 2, 4))
    plain, five = tensor(laws, None, 4), tensor(laws, [f"c{i // 5}" for i in range(20)], 4)
    plain, five = infer(plain), infer(five)
    assert plain.calls.bounds("prompt", 0.975) == five.calls.bounds("prompt", 0.975)
    # What may be asked next lies in other clusters, and bounds the items asked from outside.
    low, high = five.bounds("prompt", 0.975, "fixed")
    wide_low, wide_high = five.bounds("prompt", 0.975, "new")
    assert wide_low <= low < high <= wide_high


def world(clusters, rng, *, unequal):
    """Answers to one question: right together, wrong together; size tied to difficulty."""
    x, of = [], []
    for c in range(clusters):
        n = int(rng.integers(1, 11)) if unequal else 5
        p = rng.beta(3, 1) if not unequal else (0.9 if n < 6 else 0.6)
        x += list(rng.binomial(4, p, size=n) / 4)
        of += [f"c{c}"] * n
    return np.array(x), of


@pytest.mark.parametrize("unequal", [False, True])
@pytest.mark.parametrize("clusters", [10, 40])
def test_bounds_hold_for_items_of_other_clusters(clusters, unequal):
    rng = stream(7, "clusters", clusters, str(unequal))
    x, _ = world(20_000, rng, unequal=unequal)
    truth, held, without = float(x.mean()), 0, 0
    for _ in range(120):
        x, of = world(clusters, rng, unequal=unequal)
        found, plain = mean_bounds(x, 0.975, clusters=clusters_of(of)), mean_bounds(x, 0.975)
        held += found.low <= truth <= found.high
        without += plain.low <= truth <= plain.high
    assert plausible(held, 120, 0.93, 1.0)
    assert without < held or unequal


def test_classes_share_the_weights_of_their_clusters():
    """Half of the weight to each right verdict, clusters as units: as in worlds drawn anew."""
    rng = stream(9, "classes")
    held = 0
    for _ in range(120):
        p = rng.beta(4, 1, size=20)
        of = np.repeat(np.arange(20), 5)
        fails = rng.random(100) < 0.3
        x = rng.binomial(4, p[of]) / 4
        found = mean_bounds(
            x,
            0.975,
            classes=["fail" if f else "pass" for f in fails],
            weights={"fail": 0.5, "pass": 0.5},
            clusters=clusters_of([f"c{c}" for c in of]),
        )
        held += found.low <= 0.8 <= found.high
    assert plausible(held, 120, 0.93, 1.0)
