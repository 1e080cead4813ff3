"""Panels of judges: every expectation by full enumeration, in fractions, with no tolerance.

The truth is counted from the definition: all ways in which the calls of a protocol can fall.
"""

from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np
import pytest

from judgelaw.decide import (
    Majority,
    across_judges,
    another_judge,
    call_law,
    call_pairs,
    calls_in_turn,
    judge_component,
    of_two,
    panel_changes,
    panel_law,
    spread_law,
    two_calls,
    wrong_together,
)
from judgelaw.estimate import decompose
from support.enumeration import expectation, fractions, outcomes

F = Fraction

ONE_CELL = [
    fractions([[["1/2", "1/3", "1/6"]]]),
    fractions([[["1/5", "1/5", "3/5"]]]),
    fractions([[["3/4", "0", "1/4"]]]),
]
"""Three judges with one cell each; the last verdict is a tie, or none, as the test has it."""
BOTH_ORDERS = [
    fractions([[["1/2", "1/2"], ["1/3", "2/3"]]]),
    fractions([[["1", "0"], ["1/4", "3/4"]]]),
    fractions([[["2/3", "1/3"], ["2/5", "3/5"]]]),
]
TWO_PROMPTS = fractions([[["1/2", "1/2"]], [["1/3", "2/3"]]])
CROSSED = fractions([[["1/2", "1/2"], ["1/3", "2/3"]], [["1/5", "4/5"], ["3/4", "1/4"]]])
CREDIT = fractions(["1", "1/2", "0"])

RULES = [
    Majority(verdicts=3),
    Majority(verdicts=3, ties="first"),
    Majority(verdicts=3, ties="tie", tie=2),
    Majority(verdicts=3, unread=2),
    Majority(verdicts=3, unread=2, invalid="count"),
    Majority(verdicts=3, ties="first", unread=2),
    Majority(verdicts=3, ties="tie", tie=1, unread=2),
]


def even(n):
    return np.array([F(1, n)] * n, dtype=object)


def weights_of(laws):
    return even(laws.shape[0]), even(laws.shape[1])


def of_judge(laws, repeats):
    """Return P and J of every outcome of one judge, with its chance."""
    counts, chances = outcomes(laws, repeats)
    return (
        call_law(counts, *weights_of(laws)),
        call_pairs(counts, *weights_of(laws)),
        chances,
        counts,
    )


def together(judges):
    """Return P and J of several judges over all joint outcomes, with their chances."""
    each = [range(len(chances)) for _, _, chances, _ in judges]
    rows = np.array(list(product(*each)))
    chances = np.array(
        [np.prod([judges[j][2][i] for j, i in enumerate(row)]) for row in rows], dtype=object
    )
    P = [judge[0][rows[:, j]] for j, judge in enumerate(judges)]
    J = [None if judge[1] is None else judge[1][rows[:, j]] for j, judge in enumerate(judges)]
    return P, J, chances


def mean_law(laws):
    return laws.reshape(-1, laws.shape[-1]).sum(axis=0) / (laws.shape[0] * laws.shape[1])


def pair_law(laws):
    """Return the law of two calls that differ in prompt and order, where there are several."""
    K, O, C = laws.shape
    pairs = [
        (laws[k, o], laws[l, p])
        for k, o, l, p in product(range(K), range(O), range(K), range(O))
        if (K == 1 or k != l) and (O == 1 or o != p)
    ]
    return sum((np.outer(a, b) for a, b in pairs), np.zeros((C, C), dtype=object)) / len(pairs)


def voted(z, rule):
    """Return the law of the verdict of votes z, from the rule in words."""
    counted = [c for c in z if c != rule.unread] if rule.invalid == "drop" else [*z]
    counted = counted or [*z]
    most = max(counted.count(c) for c in counted)
    tied = [c for c in dict.fromkeys(counted) if counted.count(c) == most]
    if len(tied) == 1 or rule.ties == "first":
        return {tied[0]: F(1)}
    if rule.ties == "tie":
        return {rule.tie: F(1)}
    return {c: F(1, len(tied)) for c in tied}


def true_law(laws, rule):
    found = np.array([F(0)] * rule.verdicts, dtype=object)
    for z in product(range(rule.verdicts), repeat=len(laws)):
        chance = np.prod([law[c] for law, c in zip(laws, z, strict=True)])
        for c, share in voted(z, rule).items():
            found[c] += chance * share
    return found


def true_changes(pairs, rule):
    same = F(0)
    votes = list(product(range(rule.verdicts), repeat=len(pairs)))
    for z, y in product(votes, votes):
        chance = np.prod([J[a, b] for J, a, b in zip(pairs, z, y, strict=True)])
        if chance:
            g, h = voted(z, rule), voted(y, rule)
            same += chance * sum(share * h.get(c, 0) for c, share in g.items())
    return 1 - same


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("repeats", [(1, 1, 1), (1, 2, 1)])
def test_law_of_a_panel_is_unbiased_from_one_call_on(rule, repeats):
    P, _, chances = together([of_judge(laws, R) for laws, R in zip(ONE_CELL, repeats, strict=True)])
    truth = true_law([mean_law(laws) for laws in ONE_CELL], rule)
    found = panel_law(P, rule)
    assert list(expectation(found, chances)) == list(truth)
    right = (found * CREDIT).sum(axis=1)
    assert expectation(right, chances) == truth @ CREDIT


@pytest.mark.parametrize("rule", RULES)
def test_changes_of_a_panel_are_unbiased_from_two_calls_on(rule):
    P, J, chances = together([of_judge(laws, 2) for laws in ONE_CELL])
    truth = true_changes([pair_law_of_one(laws) for laws in ONE_CELL], rule)
    assert expectation(panel_changes(P, J, rule), chances) == truth


def pair_law_of_one(laws):
    return np.outer(laws[0, 0], laws[0, 0])


@pytest.mark.parametrize("ties", ["random", "first"])
def test_both_orders_need_one_call_each(ties):
    rule = Majority(verdicts=2, ties=ties)
    P, J, chances = together([of_judge(laws, 1) for laws in BOTH_ORDERS])
    assert list(expectation(panel_law(P, rule), chances)) == list(
        true_law([mean_law(laws) for laws in BOTH_ORDERS], rule)
    )
    truth = true_changes([pair_law(laws) for laws in BOTH_ORDERS], rule)
    assert expectation(panel_changes(P, J, rule), chances) == truth


@pytest.mark.parametrize("laws", [TWO_PROMPTS, CROSSED])
@pytest.mark.parametrize("repeats", [1, 2])
def test_two_calls_of_cells_that_differ_are_unbiased(laws, repeats):
    _, J, chances, _ = of_judge(laws, repeats)
    assert (expectation(J, chances) == pair_law(laws)).all()


def test_one_call_of_one_cell_says_nothing_of_two():
    assert of_judge(ONE_CELL[0], 1)[1] is None


def test_one_cell_for_all_judges_is_the_mean_over_cells():
    rule = Majority(verdicts=2)
    judges = [outcomes(laws, 1) for laws in BOTH_ORDERS]
    rows = np.array(list(product(*[range(len(chances)) for _, chances in judges])))
    chances = np.array(
        [np.prod([judges[j][1][i] for j, i in enumerate(row)]) for row in rows], dtype=object
    )
    found = sum(
        panel_law([counts[rows[:, j], 0, o] for j, (counts, _) in enumerate(judges)], rule)
        for o in range(2)
    ) / F(2)
    truth = sum(true_law([laws[0, o] for laws in BOTH_ORDERS], rule) for o in range(2)) / F(2)
    assert list(expectation(found, chances)) == list(truth)


@pytest.mark.parametrize("rule", [RULES[0], RULES[1], RULES[3], RULES[5]])
def test_a_third_asked_in_turn_gives_the_verdict_of_all_three(rule):
    P, _, chances = together([of_judge(laws, 1) for laws in ONE_CELL])
    calls, laws = F(0), [mean_law(each) for each in ONE_CELL]
    verdict = np.array([F(0)] * 3, dtype=object)
    for z in product(range(3), repeat=3):
        chance = np.prod([law[c] for law, c in zip(laws, z, strict=True)])
        stands = z[0] == z[1] and z[0] != rule.unread
        calls += chance * (2 if stands else 3)
        for c, share in ({z[0]: F(1)} if stands else voted(z, rule)).items():
            verdict[c] += chance * share
    assert expectation(calls_in_turn(P[0], P[1], rule), chances) == calls
    assert list(expectation(panel_law(P, rule), chances)) == list(verdict)


@pytest.mark.parametrize("v", [even(3), fractions(["1/2", "1/3", "1/6"])])
@pytest.mark.parametrize("judges", [ONE_CELL, BOTH_ORDERS])
def test_judge_as_a_facet_is_unbiased(judges, v):
    found = [of_judge(laws, 2) for laws in judges]
    means = [mean_law(laws) for laws in judges]
    H = [1 - decompose(counts).total for *_, counts in found]
    each = [range(len(chances)) for _, _, chances, _ in found]
    rows = np.array(list(product(*each)))
    P, _, chances = together(found)
    same = [h[rows[:, j]] for j, h in enumerate(H)]
    centre = sum(w * p for w, p in zip(v, means, strict=True))
    spread = sum(w * ((p - centre) ** 2).sum() for w, p in zip(v, means, strict=True))
    assert expectation(judge_component(same, P, v), chances) == spread
    agree = sum(v[j] * v[l] * (means[j] @ means[l]) for j, l in permutations(range(3), 2))
    assert expectation(across_judges(P, v), chances) == agree
    others = 1 - (v**2).sum()
    assert expectation(another_judge(P, v), chances) == 1 - agree / others
    total = sum(w * (1 - h) for w, h in zip(v, same, strict=True)) + judge_component(same, P, v)
    drawn_twice = 1 - (centre @ centre)
    assert expectation(total, chances) == drawn_twice


def test_five_components_and_a_sixth_add_up_to_another_judge():
    """Balanced: mean total + judge J / (J - 1)."""
    found = [of_judge(laws, 2) for laws in BOTH_ORDERS]
    P, _, _ = together(found)
    rows = np.array(list(product(*[range(len(x)) for _, _, x, _ in found])))
    totals = [decompose(counts).total[rows[:, j]] for j, (*_, counts) in enumerate(found)]
    v = even(3)
    judge = judge_component([1 - t for t in totals], P, v)
    assert (another_judge(P, v) == sum(totals) / F(3) + judge * F(3, 2)).all()


@pytest.mark.parametrize("unread", [None, 2])
def test_two_calls_and_a_person_are_unbiased(unread):
    rule = Majority(verdicts=3, unread=unread)
    P, J, chances = together([of_judge(laws, 2) for laws in ONE_CELL])
    credit = np.array([CREDIT] * len(chances))
    laws = [mean_law(each) for each in ONE_CELL]
    ways = {
        "one judge twice": (J[0], pair_law_of_one(ONE_CELL[0])),
        "two judges": (of_two(P[0], P[1]), np.outer(laws[0], laws[1])),
    }
    for pairs, truth in ways.values():
        sent, right = two_calls(pairs, credit, rule)
        stands = [c for c in range(3) if c != unread]
        share = 1 - sum(truth[c, c] for c in stands)
        assert expectation(sent, chances) == share
        assert expectation(right, chances) == share + sum(truth[c, c] * CREDIT[c] for c in stands)


def test_wrong_together_is_unbiased():
    P, _, chances = together([of_judge(laws, 1) for laws in ONE_CELL])
    credit = np.array([CREDIT] * len(chances))
    truth = np.prod([mean_law(laws)[2] for laws in ONE_CELL])
    assert expectation(wrong_together(P, credit), chances) == truth


@pytest.mark.parametrize(
    ("laws", "repeats", "m"),
    [
        (ONE_CELL[0], 3, 3),
        (ONE_CELL[0], 4, 3),
        (BOTH_ORDERS[0], 2, 3),
        (CROSSED, 1, 3),
        (CROSSED, [[2, 3], [2, 2]], 5),
    ],
)
@pytest.mark.parametrize("ties", ["random", "tie"])
def test_many_calls_of_one_judge_are_unbiased(laws, repeats, m, ties):
    """Calls are spread evenly: m // U in each cell, one more in m % U of them."""
    C = laws.shape[-1]
    rule = Majority(verdicts=C, ties=ties, tie=C - 1 if ties == "tie" else None)
    cells = laws.reshape(-1, C)
    whole, more = divmod(m, len(cells))
    choices = list(combinations(range(len(cells)), more))
    truth = np.array([F(0)] * C, dtype=object)
    for chosen in choices:
        asked = [cells[u] for u in range(len(cells)) for _ in range(whole + (u in chosen))]
        truth = truth + true_law(asked, rule) / len(choices)
    counts, chances = outcomes(laws, repeats)
    flat = counts.reshape(len(counts), -1, C)
    assert list(expectation(spread_law(flat, m, rule), chances)) == list(truth)
