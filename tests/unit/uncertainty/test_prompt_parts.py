"""The prompt component by factor: which tensors have factors, how parts add up, what bounds say."""

import numpy as np
import pytest

from judgelaw.estimate import Estimand, decompose
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import call_interval, factor_parts, infer

CENSUS = Estimand()
PROMPTS = [f"wrapper={w},rubric={r}" for w in ("plain", "xml") for r in ("a", "b", "c")]


def drawn(effect=0.0, *, items=12, repeats=4, prompts=PROMPTS, seed=1, orders=2):
    """Calls whose first verdict is likelier under `xml`."""
    rng = np.random.default_rng(seed)
    first = [0.5 + effect * ("xml" in prompt) for prompt in prompts]
    laws = np.array([[p, 0.9 - p, 0.1] for p in first])
    counts = rng.multinomial(repeats, laws[None, :, None], size=(items, len(prompts), orders))
    return VerdictTensor.from_counts(counts, prompts=prompts, verdicts=("x", "y", "z"))


def test_parts_add_up_to_the_prompt_component_of_every_item():
    tensor = drawn(0.3)
    found = factor_parts(tensor, CENSUS)
    assert found.parts == (("wrapper",), ("rubric",), ("wrapper", "rubric"))
    assert found.estimates.sum(axis=1) == pytest.approx(decompose(tensor).prompt)
    assert found.plugin.sum(axis=1) == pytest.approx(decompose(tensor).plugin["prompt"])


def test_the_sequence_of_prompts_does_not_matter():
    tensor = drawn(0.3)
    other = tensor.select(prompts=sorted(PROMPTS, key=lambda p: p[::-1]))
    ours, theirs = (factor_parts(t, CENSUS) for t in (tensor, other))
    assert theirs.values(("wrapper",)) == pytest.approx(ours.values(("wrapper",)))
    assert theirs.interval(("rubric",)).high == pytest.approx(ours.interval(("rubric",)).high)


def test_the_factor_that_matters_is_told_and_the_other_is_not():
    found = factor_parts(drawn(0.3, items=30), CENSUS)
    assert found.interval(("wrapper",), scope="fixed").low > 0
    assert found.interval(("rubric",), scope="fixed").low < 0


@pytest.mark.parametrize("repeats", [2, 4])
@pytest.mark.parametrize("effect", [0.0, 0.3])
def test_one_factor_alone_has_the_bounds_of_the_prompt_component(effect, repeats):
    tensor = drawn(effect, prompts=["wrapper=plain", "wrapper=xml"], repeats=repeats)
    found = factor_parts(tensor, CENSUS)
    ours, theirs = found.interval(("wrapper",), scope="fixed"), call_interval(tensor)
    assert (ours.estimate, ours.low, ours.high) == pytest.approx(
        (theirs.estimate, theirs.low, theirs.high)
    )
    new = found.interval(("wrapper",))
    assert (new.low, new.high) == pytest.approx(infer(tensor).bounds("prompt", 0.975, "new"))


def test_settled_calls_still_have_room_for_an_effect():
    counts = np.zeros((5, 6, 2, 3), dtype=int)
    counts[..., 0] = 4
    tensor = VerdictTensor.from_counts(counts, prompts=PROMPTS, verdicts=("x", "y", "z"))
    found = factor_parts(tensor, CENSUS)
    for part in found.parts:
        assert found.interval(part, scope="fixed").high > 0
        assert found.interval(part).high > 0


def test_one_item_has_no_interval_for_others():
    found = factor_parts(drawn(items=1), CENSUS)
    interval = found.interval(("wrapper",))
    assert np.isnan(interval.low)
    assert "one item" in interval.reason


@pytest.mark.parametrize(
    ("prompts", "estimand"),
    [
        (["p1", "p2"], CENSUS),
        (PROMPTS[:5], CENSUS),
        (PROMPTS, Estimand(design="sampled")),
        (PROMPTS, Estimand(prompt_weights=np.full(6, 1 / 6))),
    ],
)
def test_other_designs_have_no_factors(prompts, estimand):
    assert factor_parts(drawn(prompts=prompts), estimand) is None
