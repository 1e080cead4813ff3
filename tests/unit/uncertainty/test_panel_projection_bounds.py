import numpy as np
import pytest

from judgelaw.errors import NotIdentifiedError
from judgelaw.estimate import decompose, numeric, panels
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import (
    call_interval,
    deviation_bound,
    item_projections,
    panel_interval,
    prompt_projection,
    welch,
)
from judgelaw.worlds import World

WORLD = World.from_effects(prompt=0.02, order=0.01)


def table(repeats, *, prompts=6, items=20):
    return WORLD.tensor(items=items, prompts=prompts, orders=2, repeats=repeats, seed=4)


def test_panel_interval_is_the_formula_of_the_paper():
    tensor = table(8)
    U = panels(tensor).prompt
    N, J = U.shape
    s2 = U.var(axis=1, ddof=1)
    V = (s2 / J).sum() / N**2
    found = panel_interval(tensor)
    assert (N, J) == (20, 4)
    assert found.estimate == pytest.approx(U.mean())
    assert found.se == pytest.approx(V**0.5)
    assert found.df == pytest.approx(V**2 / (((s2 / (N**2 * J)) ** 2).sum() / (J - 1)))


def test_panel_interval_needs_four_repeats():
    with pytest.raises(NotIdentifiedError, match="four repeats"):
        panel_interval(table(3))


def test_panels_that_agree_give_a_reason():
    ranked = np.zeros((3, 2, 1, 4), dtype=int)
    assert (
        "all panels of every item agree" in panel_interval(VerdictTensor.from_ranked(ranked)).reason
    )


@pytest.mark.parametrize("items", range(2, 61))
def test_rounding_of_equal_panels_does_not_pass_for_variance(items):
    """A judge without dice: six panels of the same value, whatever their mean rounds to."""
    ranked = np.broadcast_to(np.array([0, 1, 1])[None, :, None, None], (items, 3, 1, 12))
    tensor = VerdictTensor.from_ranked(ranked, verdicts=("a", "b"))
    for weights in ([0.7, 0.2, 0.1], [1 / 3, 1 / 3, 1 / 3]):
        found = panel_interval(tensor, prompt_weights=weights)
        assert np.isnan(found.se)
        assert "all panels of every item agree" in found.reason


def test_panels_that_differ_by_rounding_have_no_degrees_of_freedom():
    U = np.array([[0.7, 0.7 + 1e-16, 0.7 - 1e-16], [0.1, 0.1, 0.1 + 2e-17]])
    _, V, nu = welch(U)
    assert V == 0
    assert np.isnan(nu)


def test_panel_of_an_absent_facet_has_a_reason():
    found = panel_interval(table(4).select(orders=["o1"]), "order")
    assert "needs two levels of order" in found.reason


def test_projection_estimate_is_the_sampled_prompt_component():
    tensor = table(4)
    sampled = decompose(tensor, design="sampled", order_weights=[0.7, 0.3])
    found = prompt_projection(tensor, order_weights=[0.7, 0.3])
    assert found.estimate == pytest.approx(sampled.macro().prompt)
    each = item_projections(tensor, order_weights=[0.7, 0.3])
    assert [p.estimate for p in each] == pytest.approx(sampled.prompt)


def test_projection_variance_by_the_definition():
    """hbar_k by pair loops over calls, for one item and one order."""
    ranked = np.random.default_rng(6).integers(0, 3, size=(1, 5, 1, 3))
    h = np.zeros((5, 5))
    for k in range(5):
        for m in range(5):
            h[k, m] = (own(ranked[0, k, 0]) + own(ranked[0, m, 0])) / 2 - np.mean(
                ranked[0, k, 0][:, None] == ranked[0, m, 0]
            )
    hbar = (h.sum(axis=1) - np.diag(h)) / 4
    tensor = VerdictTensor.from_ranked(ranked, verdicts=("a", "b", "c"))
    found = prompt_projection(tensor)
    assert found.variance == pytest.approx(hbar.var(ddof=1))
    assert found.paper_se == pytest.approx(2 * (hbar.var(ddof=1) / 5) ** 0.5)
    assert found.se == pytest.approx(found.paper_se * 4 / 3)
    assert found.interval().df == 4
    assert found.paper_interval().df == np.inf


def test_projection_of_scores_by_the_definition():
    """h(k, l) is half the mean squared score gap across, less those of distinct calls within."""
    rng = np.random.default_rng(7)
    ranked = rng.integers(0, 3, size=(1, 6, 1, 4))
    scores = np.array([0.0, 1.0, 5.0])
    r = numeric(scores)
    y = ranked[0, :, 0]
    within = np.array([r[a[:, None], a].sum() / (4 * 3) for a in y])
    h = np.array(
        [
            [r[a[:, None], b].mean() - (within[k] + within[m]) / 2 for m, b in enumerate(y)]
            for k, a in enumerate(y)
        ]
    )
    hbar = (h.sum(axis=1) - np.diag(h)) / 5
    tensor = VerdictTensor.from_ranked(ranked, verdicts=("a", "b", "c"))
    found = prompt_projection(tensor, dissimilarity=r)
    assert found.estimate == pytest.approx(hbar.mean())
    assert found.variance == pytest.approx(hbar.var(ddof=1))
    assert found.variance != pytest.approx(prompt_projection(tensor).variance)
    assert item_projections(tensor, dissimilarity=r)[0].variance == pytest.approx(found.variance)


def own(calls):
    equal = calls[:, None] == calls
    return (equal.sum() - len(calls)) / (len(calls) * (len(calls) - 1))


def test_projection_needs_three_prompts():
    with pytest.raises(NotIdentifiedError, match="2 prompts were drawn"):
        prompt_projection(table(4, prompts=2))


def certain(verdicts_by_prompt):
    """Counts of a judge without dice, whose verdict depends on the prompt alone."""
    return 3 * np.eye(2, dtype=int)[list(verdicts_by_prompt)][None, :, None, :]


def test_projection_at_zero_warns():
    """Prompts of two kinds, equally likely: every prompt differs from half of the others.

    E[h | W_1] is constant, the textbook case of a degenerate U-statistic.
    """
    found = prompt_projection(certain([0, 0, 0, 1, 1]))
    assert found.variance > 0
    assert found.signal < 0
    assert found.at_zero
    assert "at zero" in found.interval().warning
    assert prompt_projection(certain([0, 0, 0, 0, 0, 0, 0, 0, 1])).interval().warning is None


def test_constant_kernels_have_no_interval():
    interval = prompt_projection(certain([0, 0, 1, 1])).interval()
    assert np.isnan(interval.se)
    assert "projection variance is zero" in interval.reason


def test_three_prompts_leave_the_signal_unknown():
    found = prompt_projection(table(4, prompts=3))
    assert np.isnan(found.signal)
    assert np.isfinite(found.interval().se)
    assert not found.at_zero


def test_deviation_bound_of_a_balanced_design_in_closed_form():
    """Census prompt component: sum_v |c_uv| = 2 (1/KO - 1/K^2 O), O equal orders."""
    tensor = table(4)
    K, O, R, N = 6, 2, 4, 20
    c = 2 / R * 2 * (1 / (K * O) - 1 / (K**2 * O)) / N
    found = deviation_bound(tensor)
    assert found.squares == pytest.approx(N * K * O * R * c**2)
    half = (np.log(2 / 0.05) * found.squares / 2) ** 0.5
    assert found.high - found.estimate == pytest.approx(half)
    assert found.probability(half) == pytest.approx(0.05)
    assert found.probability(0.0) == 1.0
    assert found.high - found.low > 5 * call_interval(tensor).width


def test_deviation_bound_of_sampled_prompts_is_that_of_their_estimator():
    """Sampled prompt = K/(K-1) census prompt, call for call; the total gains prompt/(K-1)."""
    tensor, K = table(4), 6
    census, sampled = (deviation_bound(tensor, design=d) for d in ("census", "sampled"))
    assert sampled.squares == pytest.approx(census.squares * (K / (K - 1)) ** 2)
    assert sampled.estimate == pytest.approx(census.estimate * K / (K - 1))
    total = deviation_bound(tensor, "total", design="sampled")
    same = deviation_bound(tensor, {"total": 1.0, "prompt": 1 / (K - 1)})
    assert (total.estimate, total.squares) == pytest.approx((same.estimate, same.squares))


def test_deviation_bound_of_an_absent_facet_is_refused():
    with pytest.raises(NotIdentifiedError, match="two levels of order"):
        deviation_bound(table(4).select(orders=["o1"]), "order")
