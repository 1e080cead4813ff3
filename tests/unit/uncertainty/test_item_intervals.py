import numpy as np
import pytest

from judgelaw.errors import InputError, NotIdentifiedError
from judgelaw.uncertainty import band_of_draws, item_bands, item_intervals, resampled_means

STRATA = ["a"] * 12 + ["b"] * 8 + ["c"] * 20


@pytest.fixture
def values():
    return np.random.default_rng(3).normal(size=(40, 3)) + np.array([0.0, 1.0, 5.0])


def test_band_agrees_with_the_stratified_normal_theory(values):
    """Means of resamples have the stratified variance sum (n_s/N)^2 s_s^2 / n_s, s_s^2 over n_s."""
    means = resampled_means(values, strata=STRATA, draws=40_000)
    of = np.array(STRATA)
    variance = sum(
        (sum(of == s) / 40) ** 2 * values[of == s].var(axis=0) / sum(of == s) for s in "abc"
    )
    off = means.mean(axis=0) - values.mean(axis=0)
    assert (np.abs(off) < 5 * (variance / 40_000) ** 0.5).all()
    assert means.var(axis=0) == pytest.approx(variance, rel=0.04)


def test_every_draw_takes_as_many_items_as_each_stratum_holds():
    indicators = np.array([[s == name for name in "abc"] for s in STRATA], dtype=float)
    means = resampled_means(indicators, strata=STRATA, draws=50)
    assert means == pytest.approx(np.tile([0.3, 0.2, 0.5], (50, 1)))


def test_draws_do_not_depend_on_the_block(values, monkeypatch):
    whole = resampled_means(values, strata=STRATA, draws=500)
    monkeypatch.setattr(item_intervals, "_KEPT", 0)  # what is kept is what is drawn
    for block in (1, 37, 1 << 20):
        monkeypatch.setattr(item_intervals, "_BLOCK", block)
        again = resampled_means(values, strata=STRATA, draws=500)
        assert again == pytest.approx(whole, rel=1e-13, abs=1e-13)


def test_draws_do_not_depend_on_other_quantities_or_strata(values):
    together = resampled_means(values, strata=STRATA, draws=200)
    alone = resampled_means(values[:, 1], strata=STRATA, draws=200)
    assert alone[:, 0] == pytest.approx(together[:, 1], rel=1e-13)
    quiet = values.copy()
    quiet[12:] = 0.0
    first = resampled_means(quiet, strata=STRATA, draws=200)
    other = resampled_means(quiet[:20], strata=STRATA[:20], draws=200)
    assert other / 2 == pytest.approx(first, rel=1e-12, abs=1e-14)


def test_more_draws_extend_the_ones_before(values):
    few = resampled_means(values, strata=STRATA, draws=100)
    more = resampled_means(values, strata=STRATA, draws=300)
    assert more[:100] == pytest.approx(few, rel=1e-13)


def test_seed_and_level_matter(values):
    one, other = (item_bands(values, draws=500, seed=s) for s in (1, 2))
    assert (one.low != other.low).all()
    narrow = item_bands(values, draws=500, seed=1, level=0.5)
    assert (narrow.low > one.low).all()
    assert (narrow.high < one.high).all()


def test_statistics_of_means_are_paired(values):
    shifted = np.column_stack([values[:, 0], values[:, 0] + 2.0 + 1e-3 * values[:, 1]])
    found = item_bands(shifted, draws=500, statistic=lambda m: m[..., 1] - m[..., 0])
    alone = item_bands(2.0 + 1e-3 * values[:, 1], draws=500)
    assert found.estimate == pytest.approx(alone.estimate)
    assert found.low == pytest.approx(alone.low)
    assert found.high == pytest.approx(alone.high)


@pytest.mark.parametrize("items", [2, 7, 8, 41])
@pytest.mark.parametrize("stratified", [True, False])
def test_equal_items_have_no_band_and_a_reason(items, stratified):
    column = np.full(2 * items, 0.7)
    table = np.column_stack([column, np.arange(2 * items), 1e-17 * np.arange(2 * items)])
    strata = ["a", "b"] * items if stratified else None
    found = item_bands(table, strata=strata, draws=200)
    assert found.estimate == pytest.approx(table.mean(axis=0))
    assert np.isnan(found.low).tolist() == np.isnan(found.high).tolist() == [True, False, True]
    assert found.reasons[1] is None
    assert "the same value" in found.reasons[0]
    assert found.reasons[2] == found.reasons[0]


def test_a_statistic_that_no_draw_changes_made_elsewhere_keeps_its_value():
    found = band_of_draws([3.0], np.full(50, 3.0))
    assert (found.low[0], found.high[0], found.reasons) == (3.0, 3.0, (None,))


def test_strata_are_told_apart_exactly():
    rows = item_intervals.stratum_rows(["a", None, "a\0", None, "a", "a\0", ""], 7)
    found = {name: of.tolist() for name, of in rows.items()}
    assert found == {None: [1, 3], "": [6], "a": [0, 4], "a\0": [2, 5]}
    lone = item_bands(np.arange(3.0), strata=["a", "a", None], draws=50)
    assert "stratum None holds one item" in lone.reasons[0]


def test_every_stratum_draws_from_its_own_stream():
    """With one stream for all, strata of equal items would rise and fall together."""
    column = np.arange(10.0)
    table = np.zeros((20, 2))
    table[:10, 0] = table[10:, 1] = column
    means = resampled_means(table, strata=["a"] * 10 + ["b"] * 10, draws=4_000)
    assert abs(np.corrcoef(means.T)[0, 1]) < 0.08


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_tails_share_what_the_level_leaves_out(level):
    drawn = np.linspace(0.0, 1.0, 1_001)
    found = band_of_draws([0.5], drawn, level=level)
    assert (found.low[0], found.high[0]) == pytest.approx(((1 - level) / 2, (1 + level) / 2))


def test_ratio_over_a_mean_near_zero_has_no_band(values):
    around_zero = values - values.mean(axis=0)
    around_zero[:, 1] = np.where(np.arange(40) % 2 == 0, 1.0, -1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = item_bands(around_zero, draws=2_000, statistic=lambda m: m[..., :1] / m[..., 1:2])
    assert np.isnan(found.low).all()
    assert "not finite in" in found.reasons[0]


def test_nan_quantity_has_a_reason_and_spares_the_others(values):
    values[3, 1] = np.nan
    found = item_bands(values, strata=STRATA, draws=100)
    assert np.isnan([found.estimate[1], found.low[1], found.high[1]]).all()
    assert "nan for at least one item" in found.reasons[1]
    assert found.reasons[0] is found.reasons[2] is None
    assert np.isfinite(found.low[[0, 2]]).all()


def test_one_item_in_a_stratum_is_refused_in_words(values):
    strata = ["lonely", *STRATA[1:]]
    found = item_bands(values, strata=strata, draws=100)
    assert found.estimate == pytest.approx(values.mean(axis=0))
    assert np.isnan(found.low).all()
    assert all("'lonely' holds one item" in reason for reason in found.reasons)
    with pytest.raises(NotIdentifiedError, match="merge it with another stratum"):
        resampled_means(values, strata=strata)
    assert "1 item" in item_bands(values[:1]).reasons[0]


def test_draws_made_elsewhere_are_banded_alike(values):
    means = resampled_means(values, draws=300, seed=4)
    assert (
        band_of_draws(values.mean(axis=0), means).low == item_bands(values, draws=300, seed=4).low
    ).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"values": np.empty((0, 2))}, "one row for each item"),
        ({"values": np.ones((3, 2)), "strata": ["a"]}, "1 strata for 3 items"),
        ({"values": np.ones((3, 2)), "draws": 1}, "two draws or more"),
        ({"values": np.ones((3, 2)), "level": 95}, "between 0 and 1"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        item_bands(**arguments)
