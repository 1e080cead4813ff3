"""A part of the table of error rates, in short; `make calibrate` measures all of it."""

import pytest

from calibration import error_rates
from calibration.error_rates import Setting, measure
from judgelaw.analysis import compare
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import infer
from support import judges
from support.coverage import plausible

SURE = 1e-4
HARD = [
    # What t intervals over items, percentile bands and unbiased variances fail in.
    Setting(world="95% settled", prompts=6, orders=2, items=20, repeats=4),
    Setting(world="95% settled", prompts=6, orders=2, items=50, repeats=8),
    Setting(world="flips by prompt", prompts=6, orders=2, items=20, repeats=2),
    Setting(world="noise in one prompt", prompts=6, orders=1, items=20, repeats=4),
    Setting(world="flips by order", prompts=2, orders=2, items=50, repeats=4),
    Setting(world="heavy tails", prompts=6, orders=2, items=20, repeats=4),
    Setting(world="open, effects", prompts=2, orders=2, items=10, repeats=2),
]


@pytest.mark.parametrize("setting", HARD, ids=str)
def test_bounds_hold_where_most_cells_are_settled(setting):
    assert measure(setting, trials=120, seed=1).misses(SURE) == []


def test_the_table_tells_a_miss():
    """A world whose bounds are made too narrow on purpose is named."""
    found = measure(HARD[0], trials=60, seed=1)
    worse = error_rates.Rates(
        setting=found.setting,
        trials=found.trials,
        covered=found.covered - 20,
        passed=found.passed + 20,
        failed=found.failed,
    )
    assert any("covers" in miss for miss in worse.misses(SURE))
    assert any("passes falsely" in miss for miss in worse.misses(SURE))
    drawn = error_rates.Drawn(family="shared", prompts=5, items=20, trials=60, covered=(40, 60))
    text, misses = error_rates.table([worse], [drawn])
    assert "miss: new" in text
    assert any("shared prompts, K = 5, new" in miss for miss in misses)


@pytest.mark.parametrize("family", ["shared", "skewed"])
def test_sampled_prompts_are_covered(family):
    """Prompts of a generator move all items alike: bands over items covered .38 to .77."""
    found = error_rates.measure_drawn(family, 5, 20, trials=60, seed=20)
    assert all(plausible(covered, 60, 0.93, 1.0) for covered in found.covered)


def test_printed_intervals_of_identical_judges_hold_zero_together():
    """Of three judges of one law, some printed interval left out zero in .29 to .88."""
    pool = judges.pool("95% settled", 3, 2, seed=21)
    rng = stream(22, "compare")
    wrong = 0
    for _ in range(25):
        laws = pool.laws[pool.draw(20, rng)]
        tensors = {name: judges.tensor(laws, 4, rng) for name in "abc"}
        found = compare(tensors, draws=50).differences
        wrong += any(d.settled or d.settled_here for d in found)
    assert plausible(wrong, 25, 0.0, 0.1)


def test_a_gate_needs_ranks_or_counts_alike():
    """Counts and ranked verdicts of the same calls give the same bounds."""
    pool = judges.pool("heavy tails", 3, 2, seed=23)
    ranked = judges.tensor(pool.laws[:12], 4, stream(24, "ranks"))
    counts = VerdictTensor.from_counts(ranked.counts)
    assert infer(ranked).bounds("prompt", 0.95, "new") == infer(counts).bounds(
        "prompt", 0.95, "new"
    )
