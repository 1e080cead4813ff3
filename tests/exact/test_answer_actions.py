"""What actions of an answer rest on is unbiased: every outcome enumerated in exact fractions."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from judgelaw.analysis.answer import _Decision, majority_law
from judgelaw.estimate import Estimand
from judgelaw.tensor import VerdictTensor

F = Fraction
VERDICTS = ("candidate_1", "candidate_2", "tie", "invalid")


def cells(law, repeats):
    """Every count vector of so many calls, with its probability."""
    seen = {}
    for calls in product(range(len(law)), repeat=repeats):
        n = tuple(calls.count(c) for c in range(len(law)))
        p = F(1)
        for c in calls:
            p *= law[c]
        seen[n] = seen.get(n, F(0)) + p
    return {n: p for n, p in seen.items() if p}


def vote_of_three(law):
    """The law of a majority of three calls; three different verdicts are drawn from."""
    found = [F(0)] * len(law)
    for calls in product(range(len(law)), repeat=3):
        p = law[calls[0]] * law[calls[1]] * law[calls[2]]
        most = max(set(calls), key=calls.count)
        if calls.count(most) > 1:
            found[most] += p
        else:
            for c in calls:
                found[c] += p / 3
    return found


@pytest.mark.parametrize("repeats", [3, 4])
def test_the_law_of_a_majority_is_unbiased(repeats):
    law = (F(1, 2), F(1, 4), F(1, 4))
    mean = np.zeros(3)
    for n, p in cells(law, repeats).items():
        mean += float(p) * majority_law(np.array(n, dtype=float))
    assert mean == pytest.approx([float(x) for x in vote_of_three(law)], abs=1e-12)


def decision(counts):
    tensor = VerdictTensor.from_counts(
        np.array(counts), verdicts=VERDICTS, orders=("AB", "BA")[: np.array(counts).shape[2]]
    )
    return _Decision(tensor=tensor, estimand=Estimand(), judges=1, seed=0, asked=None)


def test_the_squared_disagreement_behind_the_vote_is_unbiased():
    """E 2 (1 - a)^2 of four calls, where a is the agreement of the law."""
    law = (F(1, 2), F(1, 3), F(1, 6), F(0))
    found = F(0)
    for n, p in cells(law, 4).items():
        N = [F(x) for x in n]
        twice = [x * (x - 1) for x in N]
        four = sum(x * (x - 1) * (x - 2) * (x - 3) for x in N)
        a = sum(twice) / F(12)
        squared = (sum(twice) ** 2 - sum(x**2 for x in twice) + four) / F(24)
        found += p * 2 * (1 - 2 * a + squared)
    agreement = sum(x**2 for x in law)
    assert found == 2 * (1 - agreement) ** 2


def test_two_votes_of_three_never_differ_more_than_is_said():
    rng = np.random.default_rng(3)
    for _ in range(500):
        law = rng.dirichlet(rng.uniform(0.1, 2, size=4))
        vote = np.array([float(x) for x in vote_of_three([*map(float, law)])])
        assert 1 - (vote**2).sum() <= 2 * (1 - (law**2).sum()) ** 2 + 1e-12


def test_both_orders_else_a_tie_is_unbiased_in_law_and_in_change(monkeypatch):
    """Two applications of the rule, each with a call of its own in either order."""
    one, two = (F(1, 2), F(1, 4), F(1, 8), F(1, 8)), (F(1, 4), F(1, 2), F(1, 4), F(0))
    law = [one[c] * two[c] for c in range(4)]
    law[2] = 1 - sum(law[c] for c in (0, 1, 3))
    truth = 1 - sum(x**2 for x in law)
    seen = {}
    monkeypatch.setattr(_Decision, "shown", lambda *_, **__: True)
    found = ties = F(0)
    for (n1, p1), (n2, p2) in product(cells(one, 2).items(), cells(two, 2).items()):
        key = (n1, n2)
        if key not in seen:
            state = decision([[[n1, n2]], [[n1, n2]]]).both_orders()
            seen[key] = state.action
        found += p1 * p2 * F(seen[key].changes[1]).limit_denominator(10**6)
        ties += p1 * p2 * F(seen[key].ties).limit_denominator(10**6)
    assert found == truth
    assert ties == law[2]
