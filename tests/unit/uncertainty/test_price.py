"""What an undecided limit costs: margins that are kept, and numbers where they can be told."""

import numpy as np
import pytest

from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import Baseline, Limit, check_limits, infer, price_of_items
from judgelaw.uncertainty.price import price_of_repeats
from support import judges


def table(world, items, repeats=4, seed=3):
    rng = stream(seed, "price test", world, items)
    pool = judges.pool(world, 6, 1, seed=seed, size=400)
    return VerdictTensor.from_counts(judges.counts(pool.laws[pool.draw(items, rng)], repeats, rng))


def decided(tensor, limit, **how):
    (found,) = check_limits({"j": tensor}, [Limit.named("prompt", "max", limit)], **how).limits
    return found


def test_an_inconclusive_limit_has_its_price():
    found = decided(table("noise in one prompt", 60), 0.03, scope="new")
    assert found.verdict == "inconclusive"
    price = found.price
    assert price.now == found.upper
    assert [o.size for o in price.offers] == [60, 120, 240]
    limits = [o.limit for o in price.offers]
    assert limits == sorted(limits, reverse=True)
    assert "asked afresh" in found.reason
    assert f"{price.needed:,}" in found.reason


def test_calls_are_the_price_on_the_items_asked():
    found = decided(table("noise in one prompt", 60), 0.02)
    assert found.price.of == "repeats"
    assert [o.size for o in found.price.offers] == [4, 8, 16]
    assert found.price.now == found.upper


def test_from_few_items_no_number_is_told():
    price = decided(table("noise in one prompt", 16), 0.02, scope="new").price
    assert price.needed is None
    assert "can be told from 50 items on" in price.in_words(0.02)


def test_a_number_decides_either_way():
    rng = np.random.default_rng(1)
    x = rng.normal(0.2, 0.1, size=100)
    how = {"now": 0.22, "top": 1.0, "careful": False, "level": 0.95}
    for limit in (0.25, 0.15):
        assert price_of_items(x, limit=limit, **how).needed is not None
    assert price_of_items(x, limit=float(x.mean()), **how).needed is None
    calls = price_of_repeats(0.2, (0.15, 0.25), 0.0006, limit=0.245, repeats=4, items=100)
    assert calls.needed > 4


def test_least_values_are_priced_from_what_is_missing():
    counts = np.zeros((60, 2, 1, 2), dtype=int)
    counts[:54, ..., 0], counts[54:, ..., 1] = 4, 4
    tensor = VerdictTensor.from_counts(counts, verdicts=("yes", "no"), gold=["yes"] * 60)
    (found,) = check_limits({"j": tensor}, [Limit.named("gold", "min", 0.88)], scope="new").limits
    assert found.verdict == "inconclusive"
    assert found.price.now == pytest.approx(found.lower)
    limits = [o.limit for o in found.price.offers]
    assert limits == sorted(limits)
    assert "shown above" in found.reason


def test_a_baseline_gate_tells_its_price():
    now, before = table("noise in one prompt", 60), table("noise in one prompt", 60, seed=4)
    for scope in ("fixed", "new"):
        gate = check_limits(
            {"j": now}, [], scope=scope, baseline=Baseline(tensors={"j": before}, margins=0.001)
        )
        for limit in gate.limits:
            assert limit.verdict == "pass" or limit.price is not None
    assert all("price" in row for row in gate.to_json()["limits"])


@pytest.mark.parametrize("items", [16, 50])
@pytest.mark.parametrize("world", ["95% settled", "noise in one prompt"])
def test_promised_margins_are_kept(world, items):
    """Seeded: 40 pilots each; a fresh audit of twice the items passes what was promised."""
    pool, rng, kept = judges.pool(world, 6, 1, seed=5), stream(6, "kept", world, items), 0
    for _ in range(40):
        pilot = infer(judges.counts(pool.laws[pool.draw(items, rng)], 4, rng), draws=2_000)
        price = price_of_items(
            pilot.items.of("prompt"),
            limit=0.02,
            now=pilot.bounds("prompt", 0.95, "new")[1],
            top=pilot.items.top["prompt"],
            careful=False,
            level=0.95,
        )
        offer = price.offers[1]
        fresh = infer(judges.counts(pool.laws[pool.draw(offer.size, rng)], 4, rng), draws=2_000)
        kept += fresh.bounds("prompt", 0.95, "new")[1] <= offer.limit
    assert kept >= 0.75 * 40
