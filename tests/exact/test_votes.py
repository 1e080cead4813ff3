"""Votes by full enumeration, in fractions: what the estimators expect is what a vote does."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from judgelaw.decide.votes import consistent_vote, final_verdict, pooled_vote, simplest, vote
from support.enumeration import count_vectors, expectation, fractions, multinomial, outcomes

F = Fraction
TWO = fractions(["1/3", "2/3"])
THREE = fractions(["1/2", "1/3", "1/6"])
OTHER = fractions(["1/5", "1/5", "3/5"])
TIE = 1
RULES = ("random", "tie", "priority")


def true_law(laws, m, rule):
    """Return the law of the vote of m calls of each law, pooled, by going through all of them."""
    C = len(laws[0])
    found = [F(0)] * C
    for votes in product(*(count_vectors(m, C) for _ in laws)):
        chance = np.prod([multinomial(x, law) for x, law in zip(votes, laws, strict=True)])
        x = np.array(votes).sum(axis=0)
        g = final_verdict(x, rule, TIE, exact=True)
        found = [a + chance * b for a, b in zip(found, g, strict=True)]
    assert sum(found) == 1
    return found


def same(law):
    return sum(p * p for p in law)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("law", "m", "R"), [(TWO, 1, 2), (TWO, 3, 6), (THREE, 2, 4), (THREE, 2, 5)]
)
def test_a_vote_is_unbiased(law, m, R, rule):
    n, chances = outcomes(law[None], R)
    found = vote(n[:, 0], m, rule, TIE)
    truth = true_law([law], m, rule)
    assert list(expectation(found.law, chances)) == truth
    assert expectation(found.same, chances) == same(truth)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("R", [[2, 2], [2, 3]])
def test_votes_of_two_cells_are_unbiased(R, rule):
    laws = np.stack([THREE, OTHER])
    n, chances = outcomes(laws, R)
    found = pooled_vote(n[:, 0], n[:, 1], 1, rule, TIE)
    truth = true_law(laws, 1, rule)
    assert list(expectation(found.law, chances)) == truth
    assert expectation(found.same, chances) == same(truth)


@pytest.mark.parametrize(("m", "R"), [(1, [2, 2]), (1, [3, 2]), (2, [4, 4])])
@pytest.mark.parametrize("rule", ["random", "tie"])
def test_verdicts_that_must_agree_in_both_orders_are_unbiased(m, R, rule):
    laws = np.stack([THREE, OTHER]) if m == 1 else np.stack([TWO, fractions(["1/4", "3/4"])])
    n, chances = outcomes(laws, R)
    found = consistent_vote(n[:, 0], n[:, 1], m, rule, TIE)
    one, other = (true_law([law], m, rule) for law in laws)
    truth = [a * b if c != TIE else F(0) for c, (a, b) in enumerate(zip(one, other, strict=True))]
    truth[TIE] = 1 - sum(truth)
    assert list(expectation(found.law, chances)) == truth
    assert expectation(found.same, chances) == same(truth)


@pytest.mark.parametrize(("law", "m"), [(THREE, 2), (TWO, 2), (TWO, 4)])
def test_random_ties_make_the_last_vote_worth_nothing(law, m):
    assert simplest(m, "random", len(law)) == m - 1
    assert true_law([law], m, "random") == true_law([law], m - 1, "random")
    assert simplest(m, "tie", len(law)) == m
    assert true_law([law], m, "tie") != true_law([law], m - 1, "tie")


def test_a_third_verdict_makes_the_fourth_vote_worth_something():
    assert simplest(4, "random", 3) == 4
    assert true_law([THREE], 4, "random") != true_law([THREE], 3, "random")


def test_too_few_calls_give_a_law_but_no_second_vote():
    n = np.array([[2, 1], [0, 3]])
    found = vote(n, 3, "random")
    assert found.same is None
    assert found.law.tolist() == [[1.0, 0.0], [0.0, 1.0]]
