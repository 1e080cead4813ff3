"""How often decisions are wrong: prompts kept, targets claimed, scores covered, baselines passed.

Each campaign runs short in the fast suite, where only a gross failure shows, and long in the slow
one. A rate is judged by what a binomial count allows. The worlds are those of real judges: most
items settled, a few that flip, effects of prompts that all items share or that are their own.
"""

import pytest

from calibration.decision_rates import (
    DRAWN,
    best_is_kept,
    drawn_scores_covered,
    false_claims,
    fixed_prompt_scores_covered,
    little_or_rare,
    null_set_holds,
    settled_scores_covered,
    worse_judges_passed,
)
from support.coverage import plausible

SEED = 20261116
ALIKE, CLOSE, APART = (0.0, 0.0, 0.0, 0.0), (0.1, 0.08, 0.0, -0.3), (0.3, 0.0, 0.0, 0.0)


def at_least(rate, count, studies):
    assert plausible(count, studies, rate, 1.0), f"{count} of {studies}, at least {rate} wanted"


def at_most(rate, count, studies):
    assert plausible(count, studies, 0.0, rate), f"{count} of {studies}, at most {rate} wanted"


def covered(held, studies):
    """Hold the share itself to .92 and .98; of 2,000 studies its error is .006 and .003 there."""
    assert 0.92 <= held / studies <= 0.98, f"{held} of {studies}, .92 to .98 wanted"


def test_the_best_prompt_is_kept_in_a_short_campaign():
    for merit in ("accuracy", "noise"):
        kept = best_is_kept(effects=CLOSE, items=50, merit=merit, studies=30, seed=SEED)
        at_least(0.93, kept, 30)


def test_few_targets_are_claimed_falsely_in_a_short_campaign():
    at_most(0.06, false_claims(world="95% settled", items=50, studies=15, seed=SEED), 15)


def test_drawn_scores_are_covered_in_a_short_campaign():
    held = drawn_scores_covered(items=50, prompts=4, spread=0.5, studies=100, seed=SEED)
    assert plausible(held, 100, 0.92, 0.98)


@pytest.mark.parametrize("scope", ["fixed", "new"])
def test_few_worse_judges_pass_in_a_short_campaign(scope):
    how = {"world": "95% settled", "scope": scope, "quantity": "total", "items": 50}
    at_most(0.06, worse_judges_passed(**how, studies=15, seed=SEED), 15)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("items", [50, 200])
@pytest.mark.parametrize("merit", ["accuracy", "noise"])
@pytest.mark.parametrize("effects", [ALIKE, CLOSE, APART])
def test_the_best_prompt_is_kept(effects, merit, items):
    kept = best_is_kept(effects=effects, items=items, merit=merit, studies=600, seed=SEED)
    at_least(0.93, kept, 600)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("items", [50, 200])
def test_of_six_prompts_alike_each_is_kept(items):
    at_least(0.93, null_set_holds(items=items, studies=600, seed=SEED), 600)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("items", [20, 50, 100, 200])
def test_a_prompt_that_errs_a_little_is_kept_where_others_fail_on_few_items(items):
    at_least(0.93, little_or_rare(items=items, studies=600, seed=SEED), 600)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("items", [20, 50, 200])
@pytest.mark.parametrize("world", ["heavy tails", "95% settled", "rare noise", "open, effects"])
def test_few_targets_are_claimed_falsely(world, items):
    at_most(0.06, false_claims(world=world, items=items, studies=300, seed=SEED), 300)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("items", [50, 200])
@pytest.mark.parametrize("prompts", [3, 5, 8])
@pytest.mark.parametrize("spread", [0.0, 0.3, 1.0])
def test_scores_with_drawn_prompts_are_covered(spread, prompts, items):
    held = drawn_scores_covered(
        items=items, prompts=prompts, spread=spread, studies=2_000, seed=SEED
    )
    covered(held, 2_000)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("items", [50, 200])
@pytest.mark.parametrize("prompts", [3, 8])
def test_scores_of_settled_items_with_drawn_prompts_are_covered(prompts, items):
    how = {"items": items, "prompts": prompts, "spread": 0.5, "settled": 0.9}
    covered(drawn_scores_covered(**how, studies=2_000, seed=SEED), 2_000)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("items", [50, 200])
@pytest.mark.parametrize(("prompts", "repeats"), [(3, 2), (10, 8)])
@pytest.mark.parametrize("world", DRAWN)
def test_scores_of_settled_judges_with_drawn_prompts_are_covered(world, prompts, repeats, items):
    how = {"world": world, "items": items, "prompts": prompts, "repeats": repeats}
    covered(settled_scores_covered(**how, studies=2_000, seed=SEED), 2_000)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("items", [20, 50, 200])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.98])
def test_scores_with_fixed_prompts_are_covered(level, items):
    at_least(
        0.94, fixed_prompt_scores_covered(items=items, level=level, studies=400, seed=SEED), 400
    )


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("items", [30, 100])
@pytest.mark.parametrize("quantity", ["total", "gold"])
@pytest.mark.parametrize("scope", ["fixed", "new"])
@pytest.mark.parametrize("world", ["heavy tails", "95% settled", "rare noise", "open, effects"])
def test_few_worse_judges_pass(world, scope, quantity, items):
    how = {"world": world, "scope": scope, "quantity": quantity, "items": items}
    at_most(0.06, worse_judges_passed(**how, studies=300, seed=SEED), 300)
