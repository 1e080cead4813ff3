"""Protocols and prompts by full enumeration, in fractions, with no tolerance."""

from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

from judgelaw.decide.prompt_choice import (
    SOURCES,
    call_noise,
    distances,
    lean_of,
    wrong_by_source,
)
from judgelaw.decide.protocols import redrawn
from judgelaw.decide.votes import consistent_vote, pooled_vote, vote
from judgelaw.estimate import decompose, population
from support.enumeration import expectation, fractions, outcomes

F = Fraction
LAWS = fractions([["1/2", "1/3", "1/6"], ["1/5", "3/5", "1/5"]])
CROSSED = fractions([[["1/2", "1/2"], ["1/3", "2/3"]], [["1/5", "4/5"], ["3/4", "1/4"]]])


def of_prompts(counts, m, rule="random"):
    """Return the law of every prompt's vote, and its chance of coming out the same."""
    voted = [vote(counts[:, k], m, rule, 1) for k in range(counts.shape[1])]
    return np.stack([v.law for v in voted], axis=1), np.stack([v.same for v in voted], axis=1)


@pytest.mark.parametrize("rule", ["random", "tie", "priority"])
@pytest.mark.parametrize(("laws", "m", "R"), [(LAWS, 1, [2, 3]), (CROSSED[:, 0], 2, [4, 5])])
def test_a_prompt_that_is_drawn_again_is_unbiased(laws, m, R, rule):
    n, chances = outcomes(laws, R)
    pi, same = of_prompts(n, m, rule)
    true = expectation(pi, chances)
    mean = true.sum(axis=0) / F(len(true))
    assert expectation(redrawn(pi, same), chances) == (mean**2).sum()


def test_a_prompt_of_a_generator_is_another_each_time():
    n, chances = outcomes(LAWS, 2)
    pi, _ = of_prompts(n, 1)
    assert expectation(redrawn(pi, None, "sampled"), chances) == (LAWS[0] * LAWS[1]).sum()


def test_one_vote_of_a_drawn_prompt_is_the_total_component():
    n, _ = outcomes(LAWS, 2)
    pi, same = of_prompts(n, 1)
    assert list(redrawn(pi, same)) == list(1 - decompose(n[:, :, None]).total)


@pytest.mark.parametrize(
    "way",
    [lambda a, b: pooled_vote(a, b, 1, "random"), lambda a, b: consistent_vote(a, b, 1, "tie", 1)],
)
def test_both_orders_of_a_drawn_prompt_are_unbiased(way):
    n, chances = outcomes(CROSSED, 2)
    voted = [way(n[:, k, 0], n[:, k, 1]) for k in range(2)]
    pi, same = (np.stack([getattr(v, x) for v in voted], axis=1) for x in ("law", "same"))
    mean = expectation(pi, chances).sum(axis=0) / F(2)
    assert expectation(redrawn(pi, same), chances) == (mean**2).sum()


def test_calls_in_random_order_estimate_the_pooled_vote_without_bias():
    """All orders of the calls of three cells: the mean over them is what a vote of three does."""
    laws = fractions([["1/2", "1/2"], ["1/3", "2/3"], ["1/5", "4/5"]])
    n, chances = outcomes(laws, 2)

    def wins(votes):
        return F(sum(votes) > 1)  # of three verdicts 0 or 1

    truth = F(0)
    for votes in product((0, 1), repeat=3):
        chance = np.prod([law[v] for law, v in zip(laws, votes, strict=True)])
        truth += chance * wins(votes)
    found = []
    for outcome in n:
        cells = [[0] * int(row[0]) + [1] * int(row[1]) for row in outcome]
        runs = list(product(*(permutations(cell) for cell in cells)))
        agree = [F(wins([c[0] for c in run]) == wins([c[1] for c in run])) for run in runs]
        found.append(sum(agree) / F(len(agree)))
    assert expectation(np.array(found), chances) == truth**2 + (1 - truth) ** 2


@pytest.mark.parametrize("R", [2, [[2, 3], [3, 2]]])
def test_noise_and_distance_of_prompts_are_unbiased(R):
    n, chances = outcomes(CROSSED, R)
    q = fractions(["1/4", "3/4"])
    noise = expectation(call_noise(n, q), chances)
    apart = expectation(distances(n, q), chances)
    P = np.tensordot(CROSSED, q, axes=(1, 0))
    mean = P.sum(axis=0) / F(2)
    for k in range(2):
        assert noise[k] == sum(q[o] * (1 - (CROSSED[k, o] ** 2).sum()) for o in range(2))
        assert apart[k] == ((P[k] - mean) ** 2).sum()


def test_distances_average_to_the_prompt_component_in_every_sample():
    n, _ = outcomes(CROSSED, 2)
    q = fractions(["1/2", "1/2"])
    assert list(distances(n, q).sum(axis=1) / F(2)) == list(decompose(n).prompt)
    assert population(CROSSED).prompt > 0


SHOWN = fractions(
    [
        [["1/2", "1/3", "1/6"], ["1/5", "3/5", "1/5"]],
        [["1/4", "1/4", "1/2"], ["2/3", "1/6", "1/6"]],
    ]
)


@pytest.mark.parametrize("R", [2, [[2, 3], [1, 2]]])
@pytest.mark.parametrize("orders", [(0, 1), (1, 0)])
def test_the_lean_of_prompts_is_unbiased(R, orders):
    """Above 0 to the answer shown first: AB shows candidate 1 first, wherever AB stands."""
    n, chances = outcomes(SHOWN, R)
    ab, ba = orders
    found = expectation(lean_of(n, orders, (0, 1)), chances)
    toward = SHOWN[..., 0] - SHOWN[..., 1]
    assert list(found) == list((toward[:, ab] - toward[:, ba]) / 2)
    (first,) = lean_of(fractions([[[[2, 0, 0], [0, 2, 0]]]]), (0, 1), (0, 1)).flat
    assert first == 1


@pytest.mark.parametrize("gold", [0, 1])
@pytest.mark.parametrize("R", [2, [[2, 3], [3, 2]]])
def test_what_makes_verdicts_wrong_is_unbiased_and_adds_up(R, gold):
    """2 (1 - accuracy) is call, prompt, order, interaction and |e_gold - Pbar|^2 together."""
    n, chances = outcomes(CROSSED, R)
    found = wrong_by_source(n, np.full(len(n), gold))
    assert list(sum(found[name] for name in SOURCES)) == list(found["wrong"])
    mean = {name: expectation(x, chances) for name, x in found.items()}
    Pbar = CROSSED.sum(axis=(0, 1)) / F(4)
    right = fractions([1 - gold, gold])
    truth = population(CROSSED)
    assert mean["wrong"] == 1 - Pbar[gold]
    assert mean["systematic"] == ((right - Pbar) ** 2).sum() / 2
    for name in SOURCES[:-1]:
        assert mean[name] == getattr(truth, name) / 2


def test_a_gold_verdict_that_no_call_may_give_is_never_met():
    n, _ = outcomes(CROSSED, 2)
    assert set(wrong_by_source(n, np.full(len(n), -1))["wrong"]) == {1}
