"""Studies: their rows are what the estimators and intervals of the package give."""

from dataclasses import asdict

import numpy as np
import pytest
from scipy import stats

from judgelaw.errors import InputError, NotIdentifiedError
from judgelaw.estimate import decompose
from judgelaw.replication import (
    PanelLaw,
    exact_errors,
    simulate_custom,
    simulate_decision,
    simulate_panel,
    simulate_point,
    simulate_sampled,
)
from judgelaw.replication.draws import DEPTH_ROWS, Design
from judgelaw.replication.open_studies import _projections
from judgelaw.replication.panel_study import _complete, _Estimates, _panel, _row
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import call_interval, panel_interval, prompt_projection
from judgelaw.worlds import PAPER_BASE, PromptGenerator, World

EXACT = {
    (5, 0.0): (4.271, 5.354, 5.783),
    (5, 0.03): (3.271, 3.184, 2.561),
    (6, 0.0): (5.125, 6.457, 6.985),
    (6, 0.03): (3.934, 3.825, 3.031),
}


@pytest.mark.parametrize("setting", EXACT)
def test_closed_form_ratios(setting):
    prompts, truth = setting
    laws = World.from_effects(prompt=truth).laws(items=1, prompts=prompts, orders=2)
    found = exact_errors(laws, (2, 4, 8))
    assert [round(errors.mse_ratio, 3) for errors in found] == list(EXACT[setting])
    call = 0.7 - truth
    for depth, errors in zip((2, 4, 8), found, strict=True):
        assert errors.plugin_bias == pytest.approx((prompts - 1) / (2 * prompts * depth) * call)


@pytest.mark.parametrize("component", ["call", "prompt", "order", "interaction", "total"])
def test_closed_form_errors_are_those_of_simulated_items(component):
    laws = np.random.default_rng(1).dirichlet([2, 2, 1], size=(1, 3, 2))
    counts = np.random.default_rng(2).multinomial(3, np.repeat(laws, 40_000, axis=0))
    found = decompose(counts)
    truth = decompose_truth(laws, component)
    (exact,) = exact_errors(laws, [3], component=component)
    for values, mse in (
        (found.plugin[component], exact.plugin_mse),
        (found[component], exact.complete_mse),
    ):
        squares = (values - truth) ** 2
        assert abs(squares.mean() - mse) < 4 * squares.std() / 200
    bias = found.plugin[component] - truth
    assert abs(bias.mean() - exact.plugin_bias) < 4 * bias.std() / 200


def decompose_truth(laws, component):
    components = World.from_laws(laws[0]).components(prompts=laws.shape[1], orders=laws.shape[2])
    return asdict(components)[component]


def test_point_rows_repeat_with_their_seed_and_settings_do_not_disturb_each_other():
    both = simulate_point(items=500, seed=3)
    alone = simulate_point(items=500, seed=3, prompts=[6], truths=[0.03])
    assert both.rows[-3:] == alone.rows
    assert simulate_point(items=500, seed=4, prompts=[6], truths=[0.03]).rows != alone.rows


def test_point_row_comes_from_its_items():
    study = simulate_point(items=400, seed=1, prompts=[5], truths=[0.0])
    design = Design.of(World.from_effects(), prompts=5)
    (block,) = design.blocks(stream(1, "point", 5, "0"), 400, keep_cells=True)
    for row in study.rows:
        counts = block.counts(DEPTH_ROWS[row.repeats]).transpose(3, 0, 1, 2).astype(int)
        found = decompose(counts)
        plugin, complete = found.plugin["prompt"], found.prompt
        assert row.plugin_bias == pytest.approx(plugin.mean())
        assert row.plugin_se == pytest.approx(plugin.std(ddof=1) / 20)
        assert row.debiased_bias == pytest.approx(complete.mean())
        assert row.debiased_se == pytest.approx(complete.std(ddof=1) / 20)
        assert row.mse_ratio == pytest.approx((plugin**2).mean() / (complete**2).mean())
        assert row.negative_share == pytest.approx((complete < -1e-12).mean())
    first = study.rows[0]
    assert first.panel_bias == first.debiased_bias
    assert first.panel_mse_ratio == pytest.approx(1)


def test_zero_estimates_are_not_counted_as_negative():
    design = Design.of(World.from_effects(), prompts=6)
    (block,) = design.blocks(stream(7, "zeros"), 4096)
    zeros = np.mean(block.complete[0] == 0)
    assert 0.01 < zeros < 0.035


def test_decision_counts_data_sets_above_tau():
    study = simulate_decision(datasets=60, items=20, prompts=3, truths=[0.02], seed=5)
    design = Design.of(World.from_effects(prompt=0.02), prompts=3)
    values = [
        block.complete[0] / design.scales[1][0]
        for block in design.blocks(stream(5, "decision", 3, "0.02"), 1200, block=4080)
    ]
    means = np.concatenate(values).reshape(60, 20).mean(axis=1)
    assert study.rows[0].rule_rate_debiased == pytest.approx(np.mean(means > 0.02 + 1e-12))


def test_a_mean_at_the_threshold_does_not_fire():
    """K = 2, one item: the plug-in takes values that are multiples of 1/64."""
    at = simulate_decision(datasets=4000, items=1, prompts=2, truths=[0.0], tau=0.0625, seed=1)
    below = simulate_decision(datasets=4000, items=1, prompts=2, truths=[0.0], tau=0.0624, seed=1)
    assert at.rows[0].rule_rate_plugin < below.rows[0].rule_rate_plugin


@pytest.mark.parametrize("depth", [4, 8])
def test_panel_and_complete_intervals_are_those_of_the_package(depth):
    design = Design.of(World.from_effects(prompt=0.01), prompts=6)
    (block,) = design.blocks(stream(8, "panel"), 100, keep_cells=True)
    panel = _panel(design, block, depth, 50)
    complete = _complete(design, block, depth, 50)
    for e in range(2):
        rows = slice(50 * e, 50 * (e + 1))
        counts = block.counts(DEPTH_ROWS[depth]).transpose(3, 0, 1, 2)[rows].astype(int)
        expected = call_interval(counts, "prompt")
        assert complete.mean[e] == pytest.approx(expected.estimate)
        assert np.sqrt(complete.variance[e]) == pytest.approx(expected.se)
        assert complete.df[e] == pytest.approx(expected.df)
        ranked = np.concatenate(
            [ranks_of(block.counts(j).transpose(3, 0, 1, 2)[rows]) for j in range(depth // 2)], -1
        )
        expected = panel_interval(VerdictTensor.from_ranked(ranked), "prompt")
        assert panel.mean[e] == pytest.approx(expected.estimate)
        assert np.sqrt(panel.variance[e]) == pytest.approx(expected.se)
        assert panel.df[e] == pytest.approx(expected.df)


def ranks_of(block):
    """Two ranked calls with these counts."""
    cells = block.astype(int).reshape(-1, 4)
    codes = np.stack([np.repeat(np.arange(4), cell) for cell in cells])
    return codes.reshape(*block.shape[:-1], 2)


def test_panel_study_tallies_every_law_depth_and_method():
    law = PanelLaw(name="flat", base=(0.25, 0.25, 0.25, 0.25), truth=0.0)
    study = simulate_panel(experiments=200, items=10, laws=[law], seed=2)
    assert [(row.repeats, row.method) for row in study.rows] == [
        (4, "panel"),
        (4, "complete"),
        (8, "panel"),
        (8, "complete"),
    ]
    assert all(0.85 < row.coverage <= 1 for row in study.rows)
    assert study.rows[3].width < study.rows[2].width


def test_without_noise_no_interval_exists_and_none_is_made_up():
    law = PanelLaw(name="certain", base=(1.0, 0.0, 0.0, 0.0), truth=0.0)
    for row in simulate_panel(experiments=4, items=3, laws=[law]).rows:
        assert row.without_interval == 1
        assert np.isnan(row.coverage)
        assert np.isnan(row.width)


def test_projections_are_those_of_the_package():
    generator = PromptGenerator.declare(prompt=0.03)
    codes = generator.draw(stream(1, "s"), datasets=1, items=7, prompts=6, repeats=4)
    counts = np.stack([(codes == c).sum(axis=-1) for c in range(4)], axis=-1)
    _, h = _projections(counts, 4)
    projection = prompt_projection(counts[0][:, :, None, :])
    assert h.mean() == pytest.approx(projection.estimate)
    assert 2 * np.sqrt(h[0].var(ddof=1) / 6) == pytest.approx(projection.paper_se)


def test_small_sample_form_is_wider_and_covers_more():
    generator = PromptGenerator.declare(prompt=0.03)
    study = simulate_sampled(generator=generator, prompts=[5], items=10, datasets=600, seed=1)
    paper, small = study.rows
    assert (paper.method, small.method) == ("paper", "small-K")
    assert paper.coverage < small.coverage
    assert 0.92 <= small.coverage <= 0.98
    assert abs(small.bias) < 4 * small.bias_se


def test_custom_world_has_the_columns_of_the_point_simulation():
    world = World.from_effects(prompt=0.03, order=0.01, item_spread=0.1)
    study = simulate_custom(world, prompts=4, orders=2, repeats=[2, 3], items=4000, seed=1)
    assert [row.repeats for row in study.rows] == [2, 3]
    for row in study.rows:
        assert row.truth == pytest.approx(0.03)
        assert abs(row.plugin_bias - row.analytic_bias) < 4 * row.plugin_se
        assert abs(row.debiased_bias) < 4 * row.debiased_se
        assert abs(row.mse_ratio - row.exact_mse_ratio) < 4 * row.mse_ratio_se


def test_dependent_repeats_show_as_bias_of_the_corrected_estimate():
    world = World.from_effects().with_copying(0.3)
    (row,) = simulate_custom(world, prompts=6, repeats=[2], items=4000, seed=1).rows
    assert row.debiased_bias > 10 * row.debiased_se


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"prompts": 1}, InputError, "prompts = 1"),
        ({"prompts": 3, "orders": 1, "component": "order"}, InputError, "orders = 1"),
        ({"prompts": 3, "repeats": [1, 2]}, NotIdentifiedError, "use 2 or more"),
        ({"prompts": 3, "repeats": []}, NotIdentifiedError, "use 2 or more"),
        ({"prompts": 3, "items": 1}, InputError, "items = 1"),
        ({"prompts": 3, "component": "luck"}, InputError, "'luck'"),
    ],
)
def test_custom_designs_that_identify_nothing_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        simulate_custom(World.from_effects(), **options)


def test_sampled_designs_that_identify_nothing_are_refused():
    generator = PromptGenerator.declare(prompt=0.01)
    with pytest.raises(NotIdentifiedError, match="repeats = 1"):
        simulate_sampled(generator=generator, repeats=1)
    with pytest.raises(InputError, match="prompts = 2"):
        simulate_sampled(generator=generator, prompts=[2], datasets=10)


def test_decision_threshold_is_checked():
    with pytest.raises(InputError, match=r"tau = 1\.5"):
        simulate_decision(datasets=1, tau=1.5)


def test_published_base_law_is_the_default():
    assert PAPER_BASE == (0.4, 0.3, 0.2, 0.1)


WRITTEN = np.random.default_rng(5).dirichlet([2, 2, 1], size=(3, 4, 2))


@pytest.mark.parametrize("names", [None, ["x", "y", "z"]])
def test_written_items_are_drawn_in_turn_and_known_exactly(names):
    world = World.from_laws(WRITTEN, items=names)
    (row,) = simulate_custom(world, prompts=4, repeats=[2], items=6000, seed=1).rows
    own = names or ["i1", "i2", "i3"]
    assert row.truth == pytest.approx(world.components(items=own, prompts=4, orders=2).prompt)
    (exact,) = exact_errors(WRITTEN, [2])
    assert row.analytic_bias == pytest.approx(exact.plugin_bias)
    assert abs(row.plugin_bias - row.analytic_bias) < 4 * row.plugin_se
    assert abs(row.debiased_bias) < 4 * row.debiased_se
    assert abs(row.mse_ratio - row.exact_mse_ratio) < 4 * row.mse_ratio_se


def test_written_items_keep_their_laws_when_calls_turn_invalid():
    world = World.from_laws(np.random.default_rng(5).dirichlet([2, 2, 1, 1], size=(3, 4, 2)))
    assert world.with_invalid(0.1).written_items == ("i1", "i2", "i3")
    assert World.from_effects(item_spread=0.1).written_items is None
    study = simulate_custom(world.with_invalid(0.1), prompts=4, repeats=[2], items=30)
    assert study.items == 30


def test_sampled_widths_are_their_factors_times_one_error():
    generator = PromptGenerator.declare(prompt=0.03)
    study = simulate_sampled(generator=generator, prompts=[5], items=3, datasets=40, seed=1)
    codes = generator.draw(
        stream(1, "sampled", "uniform", 5), datasets=40, items=3, prompts=5, repeats=4
    )
    counts = np.stack([(codes == c).sum(axis=-1) for c in range(4)], axis=-1)
    _, h = _projections(counts, 4)
    se = (2 * np.sqrt(h.var(axis=-1, ddof=1) / 5)).mean()
    paper, small = study.rows
    assert paper.width == pytest.approx(2 * 1.96 * se)
    assert small.width == pytest.approx(2 * 4 / 3 * stats.t.ppf(0.975, 4) * se)


def test_panel_width_is_that_of_both_sides():
    ones = np.ones(3)
    parts = [_Estimates(mean=np.array([0.0, 2.2, 2.3]), variance=ones, df=10 * ones)]
    law = PanelLaw(name="flat", base=PAPER_BASE, truth=0.0)
    row = _row(law, 4, "panel", parts)
    assert row.width == pytest.approx(2 * stats.t.ppf(0.975, 10))
    assert row.coverage == pytest.approx(2 / 3)


def test_negative_share_is_of_estimates_and_not_of_errors():
    (row,) = simulate_custom(
        World.from_effects(prompt=0.05), prompts=6, repeats=[8], items=400, seed=1
    ).rows
    assert row.negative_share < 0.1
    point = simulate_point(items=400, seed=1, prompts=[6], truths=[0.03])
    design = Design.of(World.from_effects(prompt=0.03), prompts=6)
    (block,) = design.blocks(stream(1, "point", 6, "0.03"), 400)
    for found in point.rows:
        share = np.mean(block.complete[DEPTH_ROWS[found.repeats]] < 0)
        assert found.negative_share == pytest.approx(share)
