"""Token probabilities: what a call is worth, how often intervals hold, whether verdicts agree."""

import numpy as np
import pytest

from judgelaw.estimate import COMPONENTS, Estimand, decompose, decompose_soft, population
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import reconcile, soft_at_depth
from support.calls import real
from support.coverage import plausible
from support.vectors import drawn_again, mean_laws, moved, moving_world, with_verdicts

TABLE = "yesno_contexts_k5_r10_logprobs.csv.gz"
PRESENT = ("call", "prompt", "total")
CENSUS = Estimand()
DATA_SETS = 400


def table() -> VerdictTensor:
    found = VerdictTensor.from_table(real(TABLE))
    whole = found.soft / found.soft.sum(axis=-1, keepdims=True)
    return VerdictTensor(**{**vars(found), "soft": whole})


def test_two_calls_with_probabilities_are_worth_three_sampled_ones_or_more():
    """Errors of drawing calls again from the real table, R = 2 soft against R = 3 sampled."""
    calls, rng = table(), stream(21, "worth")
    truth = population(mean_laws(calls)).macro()
    soft, sampled = {name: [] for name in PRESENT}, {name: [] for name in PRESENT}
    for _ in range(DATA_SETS):
        three = drawn_again(calls, 3, rng)
        one, other = decompose_soft(three.prefix(2).soft).macro(), decompose(three).macro()
        for name in PRESENT:
            soft[name].append(float(one[name] - truth[name]) ** 2)
            sampled[name].append(float(other[name] - truth[name]) ** 2)
    for name in PRESENT:
        mine, theirs = np.mean(soft[name]), np.mean(sampled[name])
        print(f"{name}: soft R = 2 mse {mine:.2e}, sampled R = 3 mse {theirs:.2e}")
        assert mine < theirs, name


def test_one_vector_taken_for_the_law_is_biased():
    first = table().soft[..., :1, :]
    found = population(first[..., 0, :]).macro()
    assert float(found.prompt) == pytest.approx(0.113, abs=0.003)
    soft = decompose_soft(table().soft).macro()
    assert float(soft.prompt) == pytest.approx(0.0855, abs=1e-3)


def covered(draw, truth, names, data_sets=DATA_SETS) -> dict[str, int]:
    hits = dict.fromkeys(names, 0)
    for _ in range(data_sets):
        errors = soft_at_depth(draw(), CENSUS).errors
        for name in names:
            low, high = errors.bounds(name, 0.975)
            hits[name] += low <= truth[name] <= high
    return hits


@pytest.mark.parametrize("repeats", [2, 4])
def test_intervals_hold_on_calls_drawn_again_from_the_real_table(repeats):
    calls, rng = table(), stream(21, "coverage", repeats)
    truth = population(mean_laws(calls)).macro()
    hits = covered(lambda: drawn_again(calls, repeats, rng), truth, PRESENT)
    for name, count in hits.items():
        print(f"R = {repeats}, {name}: {count / DATA_SETS:.3f}")
        assert plausible(count, DATA_SETS, 0.93, 0.98), name


def test_intervals_hold_where_most_items_are_settled():
    rng = stream(21, "settled")
    world = moving_world(rng, items=40, prompts=4, orders=2)
    laws = sum(moved(world, 1_000, rng).mean(axis=-2) for _ in range(10)) / 10
    truth = population(laws).macro()
    verdicts = ("a", "b", "c")

    def draw() -> VerdictTensor:
        return with_verdicts(moved(world, 2, rng), verdicts, rng)

    hits = covered(draw, truth, COMPONENTS, data_sets=200)
    for name, count in hits.items():
        print(f"{name}: {count / 200:.3f}")
        assert plausible(count, 200, 0.93, 1.0), name


def test_sound_probabilities_are_turned_off_in_one_of_twenty_audits_at_most():
    calls, rng = table(), stream(21, "size")
    refused = sum(reconcile(drawn_again(calls, 2, rng), rng, 199) <= 0.05 for _ in range(200))
    print(f"refused {refused / 200:.3f}")
    assert plausible(refused, 200, 0.0, 0.05)


def test_probabilities_of_another_temperature_are_found():
    calls, rng = table(), stream(21, "power")
    found = 0
    for _ in range(40):
        drawn = drawn_again(calls, 4, rng)
        sharp = drawn.soft**2
        sharp /= sharp.sum(axis=-1, keepdims=True)
        hot = with_verdicts(sharp, calls.verdicts, rng)
        found += reconcile(VerdictTensor(**{**vars(hot), "soft": drawn.soft}), rng, 199) <= 0.05
    print(f"found {found / 40:.2f}")
    assert plausible(found, 40, 0.6, 1.0)
