"""Whole-number sums give the estimators of `judgelaw.estimate`, item by item."""

import numpy as np
import pytest

from judgelaw.errors import InputError
from judgelaw.estimate import decompose
from judgelaw.replication.draws import ROW_DEPTHS, Design
from judgelaw.replication.panel_study import prompt_variance
from judgelaw.streams import stream
from judgelaw.uncertainty import call_covariance, form_of
from judgelaw.worlds import World


@pytest.mark.parametrize(("prompts", "orders"), [(2, 1), (5, 2), (6, 2), (4, 3)])
def test_numerators_over_scales_are_the_components(prompts, orders):
    world = World.from_effects(prompt=0.03, order=0.01 if orders > 1 else 0.0)
    design = Design.of(world, prompts=prompts, orders=orders)
    (block,) = design.blocks(stream(1, "sums"), 301, keep_cells=True)
    for row, depth in enumerate(ROW_DEPTHS):
        counts = block.counts(row).transpose(3, 0, 1, 2).astype(int)
        assert set(np.unique(counts.sum(axis=-1))) == {depth}
        found = decompose(counts)
        plugin, complete = (
            numerator[row] / scale[row]
            for numerator, scale in zip((block.plugin, block.complete), design.scales, strict=True)
        )
        np.testing.assert_allclose(plugin, found.plugin["prompt"], atol=1e-14)
        np.testing.assert_allclose(complete, found.prompt, atol=1e-14)


def test_depths_are_prefixes():
    design = Design.of(World.from_effects(), prompts=3)
    (block,) = design.blocks(stream(2, "sums"), 50, keep_cells=True)
    two = [block.counts(j) for j in range(4)]
    np.testing.assert_array_equal(block.counts(4), two[0] + two[1])
    np.testing.assert_array_equal(block.counts(5), sum(two))


def test_largest_design_does_not_overflow():
    world = World.from_laws(np.eye(4)[np.zeros((15, 2), dtype=int)])
    (block,) = Design.of(world, prompts=15).blocks(stream(0, "sums"), 3)
    assert not block.plugin.any()
    assert not block.complete.any()


@pytest.mark.parametrize("law", [(0.4, 0.3, 0.2, 0.1), (0.9, 0.05, 0.03, 0.02)])
@pytest.mark.parametrize(("prompts", "orders"), [(6, 2), (3, 1), (2, 4)])
@pytest.mark.parametrize("repeats", [4, 8])
def test_balanced_variance_is_the_general_one(law, prompts, orders, repeats):
    counts = np.random.default_rng(5).multinomial(repeats, law, size=(200, prompts, orders))
    form = form_of("prompt", np.full(prompts, 1 / prompts), np.full(orders, 1 / orders))
    general = call_covariance(counts.reshape(200, -1, 4), form[None])[:, 0, 0]
    fast = prompt_variance(counts.transpose(1, 2, 3, 0).astype(np.float32))
    np.testing.assert_allclose(fast, general, atol=1e-15)


@pytest.mark.parametrize(
    ("world", "prompts", "message"),
    [
        (World.from_effects(), 1, "prompts = 1"),
        (World.from_effects(), 16, "at most 15 prompts"),
        (World.from_effects(item_spread=0.1), 6, "one law for all items"),
        (World.from_effects().with_copying(0.1), 6, "independent calls"),
        (World.from_effects(base=[0.2] * 5), 6, "5 verdicts do not fit"),
    ],
)
def test_designs_that_do_not_fit_are_refused(world, prompts, message):
    with pytest.raises(InputError, match=message):
        Design.of(world, prompts=prompts)


def test_counts_that_were_not_kept_are_not_made_up():
    (block,) = Design.of(World.from_effects(), prompts=2).blocks(stream(0, "s"), 2)
    with pytest.raises(InputError, match="keep_cells"):
        block.counts(0)
