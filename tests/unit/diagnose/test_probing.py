"""What probes show: planted shifts are found, dice alone are not called a bias."""

import numpy as np
import pytest

from judgelaw.diagnose import Changed, probe_effects
from judgelaw.diagnose.paired_calls import Pair, item_p_values
from judgelaw.diagnose.probing import _at_least
from judgelaw.errors import InputError, NotIdentifiedError
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from support.judges import WORLDS
from support.probed import FIRST, SECOND, calls, pulled, study


@pytest.mark.parametrize("world", ["open, effects", "95% settled", "flips by order"])
def test_a_planted_shift_is_found_and_covered(world):
    baseline, probed, truth = study(world, by=0.2)
    (effect,) = probe_effects(baseline, probed, draws=199)
    assert effect.real
    assert effect.shift_asked.low <= truth <= effect.shift_asked.high
    assert effect.shift.low <= truth <= effect.shift.high
    assert effect.shift.estimate == pytest.approx(truth, abs=0.06)
    assert effect.change.estimate > 0


def test_items_that_move_are_counted_from_below():
    """Half of the items win always once they are changed; the other half does not care."""
    rng = stream(3, "half")
    laws = np.tile([0.3, 0.7, 0.0, 0.0], (40, 2, 2, 1))
    after = laws.copy()
    after[:20] = [1.0, 0.0, 0.0, 0.0]
    side = Changed(side="candidate_1", calls=calls(after, 4, rng), scores=FIRST)
    (effect,) = probe_effects(calls(laws, 4, rng), {"half": [side]})
    assert 12 <= effect.moved <= 20


@pytest.mark.parametrize("R", [2, 4])
def test_dice_alone_move_no_item(R):
    """Scores of one prompt with few calls, where normal p values found items in 3 of 4 audits."""
    rng = stream(5, "dice", R)
    false = 0
    for _ in range(40):
        P = rng.beta(0.5, 0.5, size=(20, 1, 1))
        laws = np.stack([P, 1 - P, 0 * P, 0 * P], axis=-1)
        before, after = (calls(laws, R, rng).counts.reshape(20, 1, 4) for _ in range(2))
        pair = Pair(
            items=tuple(map(str, range(20))), before=before, after=after, scores=FIRST, shape=(1, 1)
        )
        false += _at_least(item_p_values([pair], 199, rng)) > 0
    assert false <= 6  # P(more | rate .05) = .003


def test_any_probe_is_called_real_in_few_audits_without_effects():
    """Five probes that do nothing, forty audits: two false calls are expected at most, of any."""
    false = 0
    for seed in range(40):
        baseline, probed, _ = study("open, effects", N=12, R=2, seed=seed, probes=5)
        false += any(effect.real for effect in probe_effects(baseline, probed, draws=199))
    assert false <= 6  # P(more | rate .05) = .003


def test_shift_and_change_are_what_counting_by_hand_says():
    before = np.array([[[[2, 0, 0, 0]]], [[[1, 1, 0, 0]]]])
    after = np.array([[[[1, 1, 0, 0]]], [[[2, 0, 0, 0]]]])
    names = {"items": ["x", "y"]}
    base = VerdictTensor.from_counts(before, **names)
    side = Changed(
        side="candidate_1", calls=VerdictTensor.from_counts(after, **names), scores=FIRST
    )
    (effect,) = probe_effects(base, {"p": [side]}, draws=9)
    assert effect.shift.estimate == pytest.approx((-0.5 + 0.5) / 2)
    # Each: agreements 1 and 0, product of laws 1/2.
    assert effect.change.estimate == pytest.approx(0.0)
    assert {part.name: part.shift for part in effect.by_item} == {"x": -0.5, "y": 0.5}


def test_an_item_that_one_side_leaves_out_counts_with_the_other_side():
    baseline, probed, _ = study("open, effects", by=0.2, N=10)
    first, second = probed["probe-0"]
    part = Changed(
        side=second.side, calls=second.calls.select(items=second.calls.items[:4]), scores=SECOND
    )
    (effect,) = probe_effects(baseline, {"p": [first, part]}, draws=99)
    assert effect.items == 10


def test_where_a_shift_is_largest_is_said():
    rng = stream(3, "where")
    laws = WORLDS["open, effects"](rng, 30, 2, 2)
    moved = laws.copy()
    moved[:, 1] = pulled(laws[:, 1], 0, 0.4)
    labels = {"prompts": ["calm", "pulled"], "strata": ["s"] * 30}
    base, probe = calls(laws, 6, rng, **labels), calls(moved, 6, rng, **labels)
    side = Changed(side="candidate_1", calls=probe, scores=FIRST)
    (effect,) = probe_effects(base, {"p": [side]}, draws=99)
    assert effect.by_prompt[0].name == "pulled"
    assert effect.by_prompt[0].shift > 0.2 > abs(effect.by_prompt[1].shift)
    assert [part.name for part in effect.by_stratum] == ["s"]


def test_one_call_in_a_cell_is_refused():
    baseline, probed, _ = study("open, effects", N=4, R=2)
    one = VerdictTensor.from_counts(np.minimum(baseline.counts, 1)[:, :, :, :] * 0 + [1, 0, 0, 0])
    (first, *_) = probed["probe-0"]
    alone = Changed(side=first.side, calls=one, scores=FIRST)
    with pytest.raises(NotIdentifiedError, match="two repeats"):
        probe_effects(one, {"p": [alone]})


def test_other_prompts_than_the_baseline_are_refused():
    baseline, probed, _ = study("open, effects", N=4)
    (first, *_) = probed["probe-0"]
    other = Changed(
        side=first.side, calls=first.calls.select(prompts=first.calls.prompts[:1]), scores=FIRST
    )
    with pytest.raises(InputError, match="one answer and nothing else"):
        probe_effects(baseline, {"p": [other]})


def test_a_judge_that_never_wavers_shows_no_effect():
    n = np.zeros((6, 2, 2, 4), dtype=int)
    n[..., 0] = 4
    same = VerdictTensor.from_counts(n)
    (effect,) = probe_effects(same, {"p": [Changed(side="x", calls=same, scores=FIRST)]})
    assert not effect.real
    assert effect.p == 1
    assert effect.moved == 0
