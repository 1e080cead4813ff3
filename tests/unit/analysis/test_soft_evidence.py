"""Which evidence answers, what stands beside it, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

import judgelaw as jl
from judgelaw.diagnose import check_document
from judgelaw.estimate import COMPONENTS
from judgelaw.tensor import VerdictTensor
from support.vectors import moved, moving_world, with_verdicts

VERDICTS = ("a", "b", "c")


def calls(*, repeats=4, items=12, seed=4) -> VerdictTensor:
    rng = np.random.default_rng(seed)
    world = moving_world(rng, items=items, prompts=3, orders=2)
    world["logits"] = world["logits"] / 2
    return with_verdicts(moved(world, repeats, rng), VERDICTS, rng)


def analyzed(x, **options):
    return jl.analyze(x, draws=200, permutations=0, **options)


def document(x, **options):
    return analyzed(x, **options).to_json()


def test_token_probabilities_answer_where_they_hold():
    tensor = calls()
    found = document(tensor)
    judge = found["judges"]["judge"]
    assert judge["evidence"] == "soft"
    for name in COMPONENTS:
        shown = judge["components"][name]
        assert shown["evidence"] == "soft"
        assert shown == judge["soft"]["components"][name]
        assert shown["bounds"] == judge["soft"]["bounds"][name]
        low, high = shown["call_interval"]
        assert low < shown["estimate"] < high
    sampled = document(tensor, soft="never")["judges"]["judge"]
    assert sampled["evidence"] == "sampled"
    assert "soft" not in sampled
    assert judge["soft"]["sampled"] == sampled["components"]
    assert found["settings"]["soft"] == "auto"
    assert (tensor.soft is None, check_document(found, {(None, "judge"): tensor}).ok) == (
        False,
        True,
    )


def test_two_repeats_have_intervals_and_half_the_calls_stand_beside_all():
    two = document(calls(repeats=2))["judges"]["judge"]
    assert all(two["components"][name]["call_interval"] for name in COMPONENTS)
    assert not any("below 4" in warning for warning in two["warnings"])
    four = analyzed(calls(repeats=4)).judges["judge"].soft
    assert four.half == 2
    assert set(four.depths) == {2, 4}


def test_verdicts_that_contradict_the_vectors_turn_them_off():
    tensor = calls(items=30)
    wrong = replace(tensor, soft=tensor.soft[..., [1, 2, 0]])
    analysis = analyzed(wrong)
    judge = analysis.judges["judge"]
    assert judge.evidence == "sampled"
    assert "do not look drawn" in judge.soft.reason
    assert any("were not used" in warning for warning in judge.warnings)
    (finding,) = [f for f in analysis.diagnostics if f.name == "token_probabilities"]
    assert finding.verdict == "problem"
    with pytest.raises(jl.InputError, match="--soft never"):
        analyzed(wrong, soft="only")


def test_missing_mass_turns_them_off_and_widens_intervals_before():
    tensor = calls()
    some = analyzed(replace(tensor, soft=0.99 * tensor.soft)).judges["judge"]
    assert some.evidence == "soft"
    assert some.soft.missing == pytest.approx(0.01)
    for name in COMPONENTS:
        low, high = some.soft.bounds[name]
        below, above = some.components[name].call_interval
        assert below < low < high < above
    much = analyzed(replace(tensor, soft=0.9 * tensor.soft)).judges["judge"]
    assert much.evidence == "sampled"
    assert "lack 10.0% of their mass" in much.soft.reason


def test_calls_that_brought_no_vector_are_counted_as_such():
    tensor = calls()
    vectors = tensor.soft.copy()
    vectors[:2] = 0
    judge = analyzed(replace(tensor, soft=vectors)).judges["judge"]
    assert judge.evidence == "sampled"
    lost, every = vectors[:2, ..., 0].size, vectors[..., 0].size
    assert judge.soft.reason.startswith(f"{lost} of {every} calls have no vector")


def test_only_refuses_calls_without():
    with pytest.raises(jl.InputError, match="no token probabilities"):
        analyzed(replace(calls(), soft=None), soft="only")
    with pytest.raises(jl.InputError, match="soft 'perhaps'"):
        analyzed(calls(), soft="perhaps")


def test_drawn_prompts_are_left_to_sampled_verdicts():
    judge = analyzed(calls(), design="sampled").judges["judge"]
    assert (judge.evidence, judge.soft) == ("sampled", None)


def rows(**changes) -> list[dict]:
    found = [
        {
            "judge": "j",
            "item": f"i{i}",
            "prompt": f"p{k}",
            "repeat": r,
            "verdict": "yes",
            "p_yes": 0.7,
            "p_no": 0.2,
            "missing": 0.1,
            "p_value": "not of a verdict",
        }
        for i in range(2)
        for k in range(2)
        for r in range(2)
    ]
    found[3] |= changes
    return found


def test_a_table_brings_its_own_vectors():
    tensor = VerdictTensor.from_table(rows())
    assert tensor.verdicts == ("no", "yes")
    assert tensor.soft[1, 0, 0, 1] == pytest.approx([0.2, 0.7])
    without = VerdictTensor.from_table(rows(), columns={"p_yes": None, "p_no": None})
    assert without.soft is None


def test_a_call_without_a_vector_lacks_all_of_its_mass():
    tensor = VerdictTensor.from_table(rows(p_yes=None, p_no=None, missing=None))
    assert tensor.soft[0, 1, 0, 1].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"p_yes": 0.9, "p_no": 0.6, "missing": -0.5}, "sum to 1.5"),
        ({"missing": 0.3}, "sum to 1.2, not to 1"),
        ({"p_yes": 0.0, "p_no": 1.0, "missing": 0.0}, "probability 0 in its own vector"),
        ({"p_no": None}, "p_no is empty beside"),
        ({"p_no": "a lot"}, "no number"),
    ],
)
def test_vectors_that_cannot_be_are_refused_with_their_row(changes, words):
    with pytest.raises(jl.TableError, match=words) as caught:
        VerdictTensor.from_table(rows(**changes))
    assert "the list, row 3" in str(caught.value)
    # Whoever wants the verdicts alone is not kept from them.
    judge = analyzed(rows(**changes), soft="never").judges["j"]
    assert judge.evidence == "sampled"
