"""The complete analysis: what it holds, against the estimators and by hand."""

import json
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from judgelaw.analysis import analyze, position_choices
from judgelaw.analysis.outcomes import prompt_leans
from judgelaw.errors import InputError
from judgelaw.estimate import COMPONENTS, Estimand, decompose, prompt_distances
from judgelaw.uncertainty import (
    call_errors,
    infer,
    item_bands,
    item_interval,
    permutation_test,
    prompt_projection,
    signed_interval,
)
from judgelaw.worlds import World
from support import judges
from support.coverage import plausible
from support.streams import drawn, of_codes, unanimous

WORLD = World.from_effects(prompt=0.01, order=0.02, interaction=0.005)


def one(tensor, **options):
    return analyze({(None, "a"): tensor}, **{"draws": 300, "permutations": 0, **options}).judges[
        "a"
    ]


def test_components_are_those_of_the_estimators():
    tensor = drawn(world=WORLD)
    found = one(tensor)
    macro = decompose(tensor).macro()
    for name in COMPONENTS:
        c = found.components[name]
        assert c.estimate == pytest.approx(float(macro[name]), abs=1e-12)
        assert c.plugin == pytest.approx(float(macro.plugin[name]), abs=1e-12)
        assert c.share == pytest.approx(float(macro[name] / macro.total))
    assert sum(found.components[c].share for c in COMPONENTS[:-1]) == pytest.approx(1)


def test_bands_are_stratified_item_bands_of_the_same_draws():
    tensor = drawn(world=WORLD)
    values = np.stack([decompose(tensor)[name] for name in COMPONENTS], axis=-1)
    bands = item_bands(values, strata=tensor.strata, draws=300, seed=5)
    found = one(tensor, seed=5)
    for c, name in enumerate(COMPONENTS):
        assert found.components[name].band == pytest.approx((bands.low[c], bands.high[c]))


def test_call_errors_are_exact_ones_from_four_repeats_on():
    tensor = drawn(world=WORLD, repeats=4)
    exact = call_errors(tensor).interval("order")
    c = one(tensor).components["order"]
    assert c.call_se == pytest.approx(exact.se)
    # What holds for items like these holds for these: the ends are cut there.
    low, high = infer(tensor).bounds("order", 0.975, "new")
    assert c.call_interval == pytest.approx((max(exact.low, low), min(exact.high, high)))


def test_below_four_repeats_there_are_call_intervals_no_split_and_a_warning():
    found = one(drawn(repeats=3))
    assert all(c.call_interval is not None for c in found.components.values())
    assert all(c.interval is not None for c in found.components.values())
    assert not found.split
    assert any("below 4" in w and "91%" in w for w in found.warnings)


def test_intervals_are_those_of_the_one_inference():
    tensor = drawn(world=WORLD)
    found, exact = one(tensor), infer(tensor)
    for name, c in found.components.items():
        assert c.interval == exact.bounds(name, 0.975, "new")
        assert c.call_interval == exact.bounds(name, 0.975, "fixed")
        if name != "total":
            assert c.share_interval == exact.share(name, 0.975, "fixed")
            assert c.share_item_interval == exact.share(name, 0.975, "new")


def test_one_item_has_no_interval_for_others_and_says_so():
    found = one(drawn(world=WORLD, items=1))
    assert all(c.interval is None for c in found.components.values())
    assert all(c.call_interval is not None for c in found.components.values())
    assert any("one item says nothing about other items" in w for w in found.warnings)
    assert found.answer.changes["ask_again"].low is None


@pytest.mark.parametrize(
    ("repeats", "depths"), [(2, [2]), (3, [2, 3]), (8, [2, 4, 8]), (10, [2, 4, 8, 10])]
)
def test_depths_are_nested_prefixes_and_the_full_depth(repeats, depths):
    tensor = drawn(repeats=repeats, items=6)
    found = one(tensor)
    assert list(found.depths) == depths
    for depth in depths:
        expected = decompose(tensor.prefix(depth)).macro()
        assert found.depths[depth]["prompt"].estimate == pytest.approx(float(expected.prompt))
        assert found.depths[depth]["prompt"].plugin == pytest.approx(
            float(expected.plugin["prompt"])
        )
    assert found.depths[repeats] == found.components


def test_missing_ranks_drop_items_from_a_depth_and_say_so():
    tensor = drawn(items=8, repeats=4)
    codes = tensor.ranked.copy()
    codes[0, 0, 0, 1] = -1  # two of three left: complete, but not below rank 2
    found = one(of_codes(codes, strata=2))
    assert found.repeats == (3, 4)
    assert list(found.depths) == [2, 4]
    expected = decompose(tensor.prefix(2).select(items=tensor.items[1:])).macro()
    assert found.depths[2]["call"].estimate == pytest.approx(float(expected.call))
    assert any("depth 2 rests on 7 of 8 items" in w for w in found.warnings)


def test_one_prompt_is_absent_not_zero():
    analysis = analyze({(None, "a"): drawn(prompts=1)}, draws=100, permutations=19)
    found = analysis.judges["a"]
    assert np.isnan(found.components["prompt"].estimate)
    assert found.components["order"].estimate == pytest.approx(
        float(decompose(drawn(prompts=1)).macro().order)
    )
    document = analysis.to_json()["judges"]["a"]
    for part in (document["components"], document["depths"]["2"]):
        assert part["prompt"] is None
        assert part["interaction"] is None
        assert part["order"]["estimate"] is not None
    assert document["permutation"]["prompt"] is None
    assert 0 < document["permutation"]["order"]["p"] <= 1
    assert any("prompt facet is absent" in w for w in found.warnings)
    assert found.answer.changes["reword"] is None


def test_one_order_is_absent_not_zero():
    document = analyze({(None, "a"): drawn(orders=1)}, draws=100, permutations=0).to_json()
    components = document["judges"]["a"]["components"]
    assert components["order"] is None
    assert components["interaction"] is None
    assert components["prompt"]["band"] is not None


def test_a_near_deterministic_judge_is_reported_as_such():
    found = one(unanimous())
    call = found.components["call"]
    assert found.near_deterministic
    assert call.estimate == 0
    assert call.excess == 0
    assert call.band is None
    assert call.call_interval[0] <= 0 < call.call_interval[1]
    assert all(c.excess == pytest.approx(0, abs=1e-15) for c in found.components.values())
    assert found.components["order"].band is not None  # items differ, so items can be resampled
    assert any("near-deterministic" in w for w in found.warnings)
    assert all(i.scaled_excess == 0 for i in found.identity)


def test_a_judge_that_never_varies_has_no_interval_of_width_zero():
    found = one(unanimous(vary_order=False))
    assert found.answer.contested.changed == 0
    for c in found.components.values():
        assert c.estimate == 0
        assert c.band is None
        assert c.call_interval[0] <= 0 < c.call_interval[1]
        assert c.interval[1] > 0
        assert np.isnan(c.share)


def test_no_calls_are_refused():
    with pytest.raises(InputError, match="no calls"):
        analyze({})


def test_the_identity_holds_at_every_depth():
    found = one(drawn(world=WORLD, prompts=6, repeats=8))
    assert [i.depth for i in found.identity] == [2, 4, 8]
    for i in found.identity:
        assert i.factor == pytest.approx(5 / 12)
        assert i.scaled_excess == pytest.approx(i.rescaled_call)
        assert i.largest_gap < 1e-12


def test_sampled_prompts_have_their_own_identity_and_interval():
    tensor = drawn(world=WORLD, prompts=5)
    found = one(tensor, estimand=Estimand(design="sampled"))
    assert found.identity[-1].factor == pytest.approx(1 / 2)
    assert found.identity[-1].largest_gap < 1e-12
    expected = prompt_projection(tensor).interval()
    assert found.projection.low == pytest.approx(expected.low)
    assert any("drawn prompts fixed" in w for w in found.warnings)


def test_permutations_are_those_of_the_full_depth():
    tensor = drawn(items=10)
    bars = []

    @contextmanager
    def progress(what, total):
        bars.append((what, total, told := []))
        yield told.append

    analysis = analyze(
        {(None, "a"): tensor},
        draws=100,
        permutations=49,
        seed=3,
        progress=progress,
    )
    expected = permutation_test(tensor, "prompt", draws=49, seed=3)
    assert analysis.judges["a"].permutation["prompt"] == expected
    ((what, total, told),) = bars
    assert what == "analysing"
    assert sum(told) == total
    assert len(told) > 5, "three stages, and the draws of two tests"
    assert one(tensor).permutation == {"prompt": None, "order": None}


def test_outcomes_and_gold():
    tensor = drawn(gold="candidate_2")
    found = one(tensor)
    sums = tensor.counts.sum(axis=(0, 1, 2))
    assert found.outcomes == dict(zip(tensor.verdicts, map(int, sums), strict=True))
    assert found.gold_match == pytest.approx(sums[1] / sums.sum())
    assert one(drawn()).gold_match is None


def test_items_without_gold_do_not_count():
    tensor = drawn(items=4)
    some = replace(tensor, gold=("candidate_1", None, "candidate_2", None))
    n = tensor.counts.sum(axis=(1, 2))
    expected = (n[0, 0] + n[2, 1]) / (n[0].sum() + n[2].sum())
    assert one(some).gold_match == pytest.approx(expected)


def test_the_favoured_position_is_found():
    """A judge that always picks the first answer shown: candidate_1 under AB, 2 under BA."""
    codes = np.zeros((10, 2, 2, 4), dtype=int)
    codes[:, :, 1] = 1
    codes[0, 0, 0, 0] = 1
    direction = one(of_codes(codes)).order_direction
    assert direction.favoured == "first"
    assert direction.first == pytest.approx(1 - 1 / 160)
    assert direction.lean == pytest.approx(1 - 2 / 160)
    assert one(drawn(orders=1)).order_direction is None


def test_strata_hold_the_components_of_their_items():
    tensor = drawn(world=WORLD)
    found = one(tensor)
    for name, c in found.strata.items():
        expected = decompose(tensor.select(strata=[name])).macro()
        assert c["order"].estimate == pytest.approx(float(expected.order))
        # Cells of a stratum borrow the profile of the whole benchmark, so the errors are near.
        exact = call_errors(tensor.select(strata=[name])).interval("order")
        assert c["order"].call_se == pytest.approx(exact.se, rel=0.2)


def test_a_lone_item_in_a_stratum_leaves_no_band_and_says_so():
    tensor = drawn(items=5)
    found = one(replace(tensor, strata=("x", "y", "y", "y", "y")))
    assert found.components["call"].band is None
    assert any("holds one item" in w for w in found.warnings)


def test_item_values_distances_and_splits():
    tensor = drawn(world=WORLD)
    found = one(tensor)
    errors = call_errors(tensor)
    assert np.allclose(found.item_values.of("prompt"), decompose(tensor).prompt)
    assert np.allclose(found.item_values.call_variance[:, 1], errors.variances("prompt"))
    assert np.allclose(found.prompt_distances.squared, prompt_distances(tensor.counts).mean(axis=0))
    assert found.split["order"] == errors.split("order")


def test_the_lead_is_paired_by_item():
    tensor = drawn(world=WORLD)
    d = decompose(tensor)
    bands = item_bands(d.call - d.order, strata=tensor.strata, draws=300, seed=0)
    lead = one(tensor).lead
    assert (lead.largest, lead.second) == ("call", "order")
    assert lead.band == pytest.approx((bands.low[0], bands.high[0]))
    assert lead.settled


def test_layers_are_told_apart_and_the_main_one_is_shown():
    tensors = {
        (layer, "a"): drawn(layer=layer, seed=i)
        for i, layer in enumerate(("reference", "evaluation", "control"))
    }
    analysis = analyze(tensors, draws=100, permutations=0)
    assert analysis.main_layer == "evaluation"
    assert analysis.judges is analysis.layers["evaluation"]
    assert set(analysis.to_json()["layers"]) == {"reference", "evaluation", "control"}
    renamed = analyze(tensors, draws=100, permutations=0, roles={"control": "audit"})
    assert renamed.main_layer == "control"


def test_the_first_listed_layer_of_its_role_is_the_main_one():
    tensors = {(layer, "a"): drawn(layer=layer) for layer in ("a", "b")}
    roles = {"b": "audit", "a": "audit"}
    assert analyze(tensors, draws=100, permutations=0, roles=roles).main_layer == "b"


def test_layers_without_a_role_are_shown_with_a_warning():
    tensors = {(layer, "a"): drawn(layer=layer) for layer in ("x", "y")}
    analysis = analyze(tensors, draws=100, permutations=0)
    assert analysis.main_layer == "x"
    assert "--layer" in analysis.warnings[0]
    with pytest.raises(InputError, match="role"):
        analyze(tensors, draws=100, permutations=0, roles={"x": "main"})


def test_order_weights_reach_every_estimate():
    tensor = drawn(world=WORLD)
    weights = {"AB": 0.8, "BA": 0.2}
    found = one(tensor, estimand=Estimand(order_weights=weights))
    expected = decompose(tensor, order_weights=weights).macro()
    assert found.components["prompt"].estimate == pytest.approx(float(expected.prompt))
    assert found.depths[2]["total"].estimate == pytest.approx(
        float(decompose(tensor.prefix(2), order_weights=weights).macro().total)
    )
    assert not found.identity


def test_the_document_is_json_with_the_keys_of_the_contract():
    analysis = analyze({(None, "a"): drawn(repeats=4, gold="tie")}, draws=100, permutations=9)
    document = json.loads(json.dumps(analysis.to_json(), allow_nan=False))
    assert document["schema"] == "judgelaw.analysis/1"
    judge = document["judges"]["a"]
    assert (judge["items"], judge["prompts"], judge["orders"], judge["repeats"]) == (40, 3, 2, 4)
    assert set(judge["components"]) == set(COMPONENTS)
    for part in (judge["components"], *judge["depths"].values()):
        for c in part.values():
            assert {"estimate", "plugin", "band", "call_se", "call_interval"} <= set(c)
            assert len(c["band"]) == 2
    assert set(judge["permutation"]) == {"prompt", "order"}
    assert judge["warnings"] == []
    assert "layers" not in document


def test_the_same_seed_gives_the_same_document_and_another_does_not():
    def document(seed):
        return analyze({(None, "a"): drawn()}, draws=100, permutations=9, seed=seed).to_json()

    assert document(1) == document(1)
    assert document(1)["judges"]["a"]["components"] != document(2)["judges"]["a"]["components"]


def test_the_lead_has_the_call_interval_of_a_difference():
    tensor = drawn(world=WORLD, repeats=4)
    lead = one(tensor).lead
    exact = call_errors(tensor).interval({lead.largest: 1.0, lead.second: -1.0})
    assert lead.call_interval == pytest.approx((exact.low, exact.high))
    assert lead.call_interval[0] < lead.by < lead.call_interval[1]


def test_bands_of_strata_and_shares_belong_to_their_component():
    tensor = drawn(world=WORLD)
    found = one(tensor, seed=5)
    d = decompose(tensor)
    stratum = tensor.strata[0]
    rows = np.array([s == stratum for s in tensor.strata])
    values = np.stack([d[name] for name in COMPONENTS], axis=-1)
    bands = item_bands(
        values,
        strata=tensor.strata,
        draws=300,
        seed=5,
        statistic=lambda m: m / m[..., -1:],
    )
    own = infer(tensor.select(strata=[stratum]))
    for c, name in enumerate(COMPONENTS[:-1]):
        shown = found.strata[stratum][name]
        assert shown.interval == shown.band == pytest.approx(own.bounds(name, 0.975, "new"))
        exact = item_interval(d.plugin[name][rows])
        assert shown.plugin_band == pytest.approx((exact.low, exact.high))
        share = found.components[name].share_band
        assert share == pytest.approx((bands.low[c], bands.high[c]))


def test_an_invalid_output_matches_no_gold():
    """Not even where the gold label says so."""
    tensor = of_codes(np.full((3, 2, 2, 2), 3))
    assert one(replace(tensor, gold=("invalid",) * 3)).gold_match == 0


def test_the_lean_has_the_interval_of_new_items():
    rng = np.random.default_rng(2)
    codes = np.zeros((20, 2, 2, 4), dtype=int)
    codes[:, :, 1] = np.where(np.arange(20) % 2, 1, 0)[:, None, None]
    codes = np.where(rng.random(codes.shape) < 0.1, 1 - codes, codes)
    tensor = replace(of_codes(codes, strata=2), orders=("AB", "BA"))
    found = one(tensor).order_direction
    choices = position_choices(tensor)
    exact = signed_interval(choices[:, 0] - choices[:, 1])
    assert found.band == (exact.low, exact.high)


def test_a_prompt_that_leans_is_named_and_the_others_are_not():
    """The second prompt takes the answer shown first by 27 points of 100, and is named."""
    rng = np.random.default_rng(6)
    laws = np.zeros((60, 3, 2, 4))
    laws[..., 0], laws[..., 1] = 0.5, 0.5
    laws[:, 1, 0, 0], laws[:, 1, 0, 1] = 0.635, 0.365
    laws[:, 1, 1, 0], laws[:, 1, 1, 1] = 0.365, 0.635
    codes = judges.tensor(laws, 8, rng).ranked
    found = one(replace(of_codes(codes), orders=("AB", "BA")))
    leans = {x.prompt: x for x in found.prompt_leans}
    names = list(leans)
    assert [leans[p].shown for p in names] == [False, True, False]
    low, high = leans[names[1]].interval
    assert low < 0.27 < high


def test_leans_of_prompts_hold_together():
    """Settled items and no lean: some prompt is said to lean in 5% of studies at most."""
    pool = judges.pool("rare noise", 6, 2, seed=30)
    rng = np.random.default_rng(31)
    wrong = 0
    for _ in range(150):
        tensor = judges.tensor(pool.laws[pool.draw(16, rng)], 4, rng)
        wrong += any(x.shown for x in prompt_leans(replace(tensor, orders=("AB", "BA")), 0.95))
    assert plausible(wrong, 150, 0.0, 0.05)
