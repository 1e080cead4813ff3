"""Why verdicts are wrong: each counted once, under the first reason that explains it."""

import numpy as np
import pytest

from judgelaw.analysis import analyze
from judgelaw.analysis.wrong_verdicts import right_by_prompt, wrong_verdicts
from judgelaw.estimate import CENSUS
from judgelaw.scale import ScoreScale
from judgelaw.tensor import VerdictTensor
from support.small_worlds import worlds

ONE, TWO, TIE, NONE = range(4)


def judged(cells, gold=("candidate_1", "candidate_2"), **labels):
    """Count calls by cell, (items, prompts, orders, verdicts), right answers of both kinds."""
    return VerdictTensor.from_counts(np.array(cells), gold=gold, **labels)


def found(tensor):
    return {k: v.estimate for k, v in wrong_verdicts(tensor, CENSUS).items()}


def cell(*verdicts):
    return np.bincount(verdicts, minlength=4).tolist()


RIGHT_1, RIGHT_2 = cell(ONE, ONE, ONE, ONE), cell(TWO, TWO, TWO, TWO)


def test_one_slip_in_a_cell_that_is_usually_right_is_chance():
    slip = cell(ONE, ONE, ONE, TWO)
    tensor = judged([[[slip, RIGHT_1]], [[RIGHT_2, RIGHT_2]]], orders=("AB", "BA"))
    said = found(tensor)
    assert said["wrong"] == said["chance"] == pytest.approx(1 / 16)
    assert said["judge"] == said["order"] == 0
    assert np.isnan(said["prompt"])


def test_a_wrong_order_that_the_other_outweighs_is_the_order():
    three = ("AB", "BA", "AB2")
    item = [[RIGHT_1, RIGHT_2, RIGHT_1]]
    said = found(judged([item, [[RIGHT_2] * 3]], orders=three))
    assert said["order"] == said["wrong"] == pytest.approx(1 / 6)


def test_a_wrong_prompt_among_right_ones_is_the_prompt():
    item = [[RIGHT_1], [RIGHT_1], [RIGHT_2]]
    said = found(judged([item, [[RIGHT_2]] * 3], orders=("only",)))
    assert said["prompt"] == said["wrong"] == pytest.approx(1 / 6)


def test_what_is_wrong_in_every_way_is_the_judge():
    said = found(judged([[[RIGHT_2]] * 2, [[RIGHT_2]] * 2], orders=("only",)))
    assert said["judge"] == said["wrong"] == pytest.approx(1 / 2)


def test_a_tie_is_half_wrong():
    """A pair judged a tie in one call of four: half a verdict of chance."""
    slip = cell(ONE, ONE, ONE, TIE)
    said = found(judged([[[slip]], [[RIGHT_2]]], orders=("only",)))
    assert said["chance"] == said["wrong"] == pytest.approx(1 / 2 / 8)


def test_scores_count_by_how_far_they_are_off():
    scale = ScoreScale(values=(1.0, 2.0, 3.0))
    counts = np.array([[[[0, 3, 1]]], [[[0, 0, 4]]]])
    tensor = VerdictTensor.from_counts(counts, verdicts=scale.names, gold=("2", "2"))
    from dataclasses import replace

    said = found(replace(tensor, scale=scale))
    assert said["wrong"] == pytest.approx((1 / 4 + 1) / 2 / 2)
    assert said["chance"] == pytest.approx(1 / 4 / 2 / 2)
    assert said["judge"] == pytest.approx(1 / 2 / 2)


@pytest.mark.parametrize("name", ["pairs", "scores", "choose", "one call", "many invalid"])
def test_the_parts_add_up_to_what_the_answer_calls_wrong(name):
    judge = analyze(**worlds()[name], draws=50, permutations=0).judges["j"]
    parts = [x.estimate for k, x in judge.errors.items() if k != "wrong" and not x.absent]
    assert judge.errors["wrong"].estimate == pytest.approx(sum(parts))
    assert 1 - judge.errors["wrong"].estimate == pytest.approx(judge.answer.right.estimate)
    assert all(part >= 0 for part in parts)
    by_prompt = [x.estimate for x in judge.right_by_prompt.values()]
    assert np.mean(by_prompt) == pytest.approx(judge.answer.right.estimate)


def test_one_prompt_is_right_as_the_answer_says_with_the_same_interval():
    tensors = worlds()["pairs"]["tensors"]
    alone = {key: t.select(prompts=["xml"]) for key, t in tensors.items()}
    answer = analyze(alone, draws=50, permutations=0).judges["j"].answer
    (tensor,) = tensors.values()
    right = right_by_prompt(tensor, CENSUS, 0.95)["xml"]
    assert right.estimate == pytest.approx(answer.right.estimate)
    assert right.interval == pytest.approx((answer.right.low, answer.right.high))


def test_without_right_answers_nothing_is_wrong():
    (tensor,) = worlds()["no gold, three calls"]["tensors"].values()
    assert wrong_verdicts(tensor, CENSUS) == {}
    assert right_by_prompt(tensor, CENSUS, 0.95) == {}
