"""Information ordering and the finite-repeat boundary."""

import numpy as np
import pytest

import judgelaw as jl
from judgelaw.estimate import convex_chain, jensen_gap, population, same_count_law

LAWS = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.2, 0.2, 0.6]])


def test_the_quadratic_gap_is_the_prompt_component():
    assert jensen_gap(LAWS) == pytest.approx(population(LAWS[:, None]).prompt, abs=1e-15)


def test_the_entropy_gap_is_the_mutual_information():
    joint = LAWS / 4
    outer = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    assert jensen_gap(LAWS, functional="entropy") == pytest.approx(
        (joint * np.log(joint / outer)).sum(), abs=1e-14
    )


@pytest.mark.parametrize("functional", ["quadratic", "entropy"])
def test_gaps_grow_along_the_chain_from_blind_to_certain(functional):
    chain = convex_chain(LAWS, [[(0, 1), (2, 3)], [(0,), (1,), (2, 3)]], functional=functional)
    assert chain.gaps[0] == pytest.approx(0, abs=1e-15)
    assert all(a < b for a, b in zip(chain.gaps, chain.gaps[1:], strict=False))
    assert chain.barycentre == pytest.approx(LAWS.mean(axis=0))


def test_a_chain_that_is_not_nested_is_refused():
    with pytest.raises(jl.InputError, match="split by the coarser"):
        convex_chain(LAWS, [[(0, 1), (2, 3)], [(0, 2), (1, 3)]])
    with pytest.raises(jl.InputError, match="each of the 4 signals once"):
        convex_chain(LAWS, [[(0, 1), (2,)]])


@pytest.mark.parametrize("repeats", [1, 2, 5, 8])
def test_two_mixing_laws_share_their_counts_up_to_r_and_differ_beyond(repeats):
    first, second = same_count_law(repeats)
    for r in range(1, repeats + 1):
        assert first.count_law(r) == pytest.approx(second.count_law(r), abs=1e-13)
    beyond = repeats + 1
    difference = np.abs(first.count_law(beyond) - second.count_law(beyond)).max()
    assert difference > 1e-6
    assert sum(first.masses) == pytest.approx(1)
    assert set(first.points).isdisjoint(second.points)


def test_unknown_functional_and_shapes_are_refused():
    with pytest.raises(jl.InputError, match="'cubic'"):
        jensen_gap(LAWS, functional="cubic")
    with pytest.raises(jl.InputError, match="signals, verdicts"):
        jensen_gap(LAWS[0])
    with pytest.raises(jl.InputError, match="one call"):
        same_count_law(0)
