"""A preference for a displayed slot, apart from a preference for a candidate."""

import numpy as np
import pytest

from judgelaw.analysis import analyze
from judgelaw.analysis.facet_sentences import factor_sentence, slot_sentence
from judgelaw.analysis.outcomes import slot_choices, slot_preferences
from judgelaw.blocks import Place, text_of
from judgelaw.tensor import VerdictTensor
from judgelaw.words import candidate_names

CYCLIC = ("ABC", "BCA", "CAB")
VERDICTS = (*candidate_names(3), "tie", "invalid")


def tensor_of(laws, orders=CYCLIC, *, items=6, repeats=8, seed=1):
    """Calls from laws by order, (orders, verdicts), the same on every item and two prompts."""
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(repeats, np.asarray(laws)[None, None], size=(items, 2, len(orders)))
    return VerdictTensor.from_counts(counts, orders=orders, verdicts=VERDICTS)


def said_of(slots):
    return text_of(slot_sentence(slots, 6, Place(None)))


def always(slot, orders=CYCLIC):
    """A judge that takes whatever stands in one slot."""
    laws = np.zeros((len(orders), len(VERDICTS)))
    for o, order in enumerate(orders):
        laws[o, "ABC".index(order[slot])] = 1
    return laws


def test_a_judge_of_one_slot_is_found_out():
    found = slot_preferences(tensor_of(always(2)), 0.95)
    assert [x.slot for x in found] == ["A", "B", "C"]
    assert [x.share for x in found] == pytest.approx([0, 0, 1])
    assert [x.lean for x in found] == pytest.approx([-1 / 3, -1 / 3, 2 / 3])
    assert [x.shown for x in found] == [True, True, True]
    assert said_of(found).startswith("On these 6 items, slot C is chosen in 100 of 100")


def test_a_judge_of_one_candidate_favours_no_slot():
    laws = np.tile([0, 1, 0, 0, 0], (3, 1))
    found = slot_preferences(tensor_of(laws), 0.95)
    assert [x.share for x in found] == pytest.approx([1 / 3] * 3)
    assert not any(x.shown for x in found)
    assert all(x.call_interval[1] > 0 for x in found)  # settled calls prove nothing
    assert said_of(found).startswith("No slot is shown to be favoured on these 6 items")


def test_ties_and_invalid_outputs_favour_no_slot():
    laws = np.tile([0.2, 0.2, 0.2, 0.3, 0.1], (3, 1))
    found = slot_choices(tensor_of(laws, repeats=2_000))
    assert found.mean(axis=0) == pytest.approx([0.2] * 3, abs=0.01)


def test_only_whole_circles_of_orders_count():
    """A part of a circle shows one candidate more often in a slot than the others."""
    orders = (*CYCLIC, "ACB")
    laws = np.tile([1, 0, 0, 0, 0], (4, 1))
    assert slot_choices(tensor_of(laws, orders)).mean(axis=0) == pytest.approx([1 / 3] * 3)
    few = tensor_of(laws[:2], ("ABC", "BAC"))
    assert slot_preferences(few, 0.95) == ()
    (said,) = (
        warning
        for warning in analyze({(None, "j"): few}, permutations=0, draws=50).judges["j"].warnings
        if "slot" in warning
    )
    assert "these 2 orders do not show all 3 candidates equally often" in said


@pytest.mark.parametrize("orders", [("only", "other", "third"), ("AB", "BA", "ABC")])
def test_orders_that_are_no_permutations_have_no_slots(orders):
    assert slot_preferences(tensor_of(always(0), orders), 0.95) == ()


def test_a_pair_has_two_slots():
    counts = np.zeros((3, 1, 2, 4), dtype=int)
    counts[:, :, 0, 0] = counts[:, :, 1, 1] = 4  # always the one shown first
    tensor = VerdictTensor.from_counts(counts, orders=("AB", "BA"))
    assert [x.share for x in slot_preferences(tensor, 0.95)] == pytest.approx([1, 0])


def test_the_factors_that_are_told_from_zero_come_first():
    prompts = [f"tone={t},language={x}" for t in ("kind", "strict") for x in ("en", "de")]
    laws = np.array([[0.8, 0.2, 0, 0, 0]] * 2 + [[0.2, 0.8, 0, 0, 0]] * 2)
    counts = np.random.default_rng(2).multinomial(8, laws[None, :, None], size=(10, 4, 3))
    tensor = VerdictTensor.from_counts(counts, prompts=prompts, orders=CYCLIC, verdicts=VERDICTS)
    analysis = analyze({(None, "j"): tensor}, draws=50, permutations=0)
    place = Place(analysis.to_json()).at("judges", "j", "factors")
    said = text_of(factor_sentence(analysis.judges["j"], place))
    assert said.startswith("On these 10 items, tone moves verdicts (0.1")
    assert "language and tone x language are not distinguishable from zero" in said
