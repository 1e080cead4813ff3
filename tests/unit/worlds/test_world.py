"""Worlds: their laws, exact components and draws."""

import numpy as np
import pytest

from judgelaw.errors import InputError
from judgelaw.streams import stream
from judgelaw.worlds import PAPER_BASE, World, components_of, spaced_score


@pytest.mark.parametrize("levels", [2, 3, 5, 6, 17])
def test_spaced_score_is_centred_with_mean_square_one(levels):
    score = spaced_score(levels)
    assert score.mean() == pytest.approx(0, abs=1e-15)
    assert np.mean(score**2) == pytest.approx(1)
    assert np.ptp(np.diff(score)) == pytest.approx(0, abs=1e-12)


def test_declared_effects_are_the_components():
    world = World.from_effects(prompt=0.02, order=0.01, interaction=0.004, item_spread=0.1, seed=3)
    truth = world.components(items=40, prompts=6, orders=2)
    assert truth.prompt == pytest.approx(0.02)
    assert truth.order == pytest.approx(0.01)
    assert truth.interaction == pytest.approx(0.004)
    assert truth.total == pytest.approx(
        truth.call + truth.prompt + truth.order + truth.interaction, abs=1e-15
    )


def test_published_null_world_has_call_disagreement_point_seven():
    truth = World.from_effects().components(prompts=6, orders=2)
    assert truth.call == pytest.approx(0.7)
    assert (truth.prompt, truth.order, truth.interaction) == pytest.approx((0, 0, 0), abs=1e-30)


def test_items_differ_by_name_only_and_keep_their_law():
    world = World.from_effects(item_spread=0.3, seed=1, prompt=0.01)
    alone = world.cell_law("llmbar-7", 2, 1, prompts=4, orders=2)
    among = world.laws(items=["a", "llmbar-7", "b"], prompts=4, orders=2)
    np.testing.assert_array_equal(alone, among[1, 2, 1])
    assert not np.allclose(among[0], among[1])
    assert not World.from_effects(item_spread=0.3).identical_items
    assert World.from_effects().identical_items


def test_item_bases_average_to_the_base():
    world = World.from_effects(item_spread=0.5, seed=2)
    mean = world.laws(items=4000, prompts=1, orders=1).mean(axis=(0, 1, 2))
    np.testing.assert_allclose(mean, PAPER_BASE, atol=0.01)


def test_a_verdict_without_probability_never_appears():
    world = World.from_effects(base=[0.5, 0.5, 0, 0], item_spread=0.4)
    codes = world.draw(stream(1, "t"), items=300, prompts=2, orders=2, repeats=8)
    assert codes.max() == 1


def test_draws_follow_the_laws():
    world = World.from_effects(prompt=0.03, order=0.01)
    laws = world.laws(items=1, prompts=3, orders=2)[0]
    codes = world.draw(stream(5, "t"), items=40_000, prompts=3, orders=2, repeats=2)
    seen = np.stack([(codes == c).mean(axis=(0, 3)) for c in range(4)], axis=-1)
    error = np.sqrt(laws * (1 - laws) / 80_000)
    assert np.max(np.abs(seen - laws) / error) < 4.5


def test_copying_keeps_single_calls_and_ties_neighbours():
    world = World.from_effects().with_copying(0.4)
    codes = world.draw(stream(9, "t"), items=60_000, prompts=1, orders=1, repeats=4)[:, 0, 0]
    base = np.array(PAPER_BASE)
    for r in range(4):
        seen = np.bincount(codes[:, r], minlength=4) / len(codes)
        assert np.max(np.abs(seen - base)) < 0.01
    for gap in (1, 2, 3):
        agreement = np.mean(codes[:, 0] == codes[:, gap])
        expected = np.sum(base**2) + 0.4**gap * (1 - np.sum(base**2))
        assert agreement == pytest.approx(expected, abs=0.01)


def test_deterministic_world_has_no_call_disagreement():
    world = World.deterministic([[0, 1], [0, 0], [1, 1]])
    truth = world.components(prompts=3, orders=2)
    assert truth.call == 0
    assert truth.prompt > 0
    codes = world.draw(stream(0, "t"), items=5, prompts=3, orders=2, repeats=3)
    assert np.array_equal(codes, np.broadcast_to([[[0], [1]], [[0], [0]], [[1], [1]]], codes.shape))


def test_invalid_outputs_take_their_share():
    plain = World.from_effects(prompt=0.02)
    world = plain.with_invalid([0.0, 0.1, 0.2])
    laws, before = (w.laws(items=2, prompts=3, orders=2) for w in (world, plain))
    np.testing.assert_allclose(laws.sum(axis=-1), 1)
    np.testing.assert_allclose(laws[:, 0], before[:, 0])
    np.testing.assert_allclose(laws[:, 2, :, 3], 0.8 * before[:, 2, :, 3] + 0.2)


def test_written_laws_serve_their_items():
    rows = np.array([[[[1.0, 0.0]]], [[[0.25, 0.75]]]])
    world = World.from_laws(rows, items=["x", "y"])
    np.testing.assert_array_equal(world.cell_law("y", 0, 0, 1, 1), [0.25, 0.75])
    with pytest.raises(InputError, match="no law is written for item 'z'"):
        world.cell_law("z", 0, 0, 1, 1)
    with pytest.raises(InputError, match="1 prompts x 1 orders"):
        world.cell_law("x", 0, 0, 2, 1)


def test_tensor_is_the_named_stream_of_its_seed():
    world = World.from_effects(prompt=0.01)
    first = world.tensor(items=10, prompts=2, orders=2, repeats=3, seed=4)
    again = world.tensor(items=10, prompts=2, orders=2, repeats=3, seed=4)
    other = world.tensor(items=10, prompts=2, orders=2, repeats=3, seed=5)
    np.testing.assert_array_equal(first.counts, again.counts)
    assert not np.array_equal(first.counts, other.counts)


def test_components_agree_with_the_estimators_own_population():
    from judgelaw.estimate import population

    laws = np.random.default_rng(3).dirichlet([1, 2, 3, 1], size=(7, 5, 2))
    mine, theirs = components_of(laws), population(laws).macro()
    for name in ("call", "prompt", "order", "interaction", "total"):
        assert getattr(mine, name) == pytest.approx(float(theirs[name]), abs=1e-14)


def test_item_bases_spread_as_a_dirichlet_of_concentration_c():
    """Var of a Dirichlet(C base) share is base (1 - base) / (C + 1)."""
    base = np.array(PAPER_BASE)
    laws = World.from_effects(item_spread=0.5).laws(items=4000, prompts=1, orders=1)[:, 0, 0]
    squares = (laws - base) ** 2
    expected = 0.25 * base * (1 - base) / 5
    assert np.all(np.abs(squares.mean(axis=0) - expected) < 4 * squares.std(axis=0) / 4000**0.5)


def test_item_laws_follow_the_seed_of_the_world():
    one, same, other = (
        World.from_effects(item_spread=0.2, seed=seed).laws(items=3, prompts=1, orders=1)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, same)
    assert not np.any(np.isclose(one, other).all(axis=-1))


@pytest.mark.parametrize(
    ("given", "direction"),
    [(None, [0, 1, -1, 0]), ([1, 0, 0, -1], [1, 0, 0, -1]), ([-2, 0, 2, 0], [-1, 0, 1, 0])],
)
def test_interaction_moves_mass_along_its_direction(given, direction):
    world = World.from_effects(interaction=0.004, interaction_direction=given)
    shift = world.laws(items=1, prompts=2, orders=2)[0] - np.array(PAPER_BASE)
    signs = np.array([[1, -1], [-1, 1]])[..., None]
    unit = np.array(direction) / np.sqrt(2)
    np.testing.assert_allclose(shift, np.sqrt(0.004) * signs * unit, atol=1e-12)
