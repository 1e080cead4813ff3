"""Scores as values: how far apart, refused where they are no scale, carried by a tensor."""

import numpy as np
import pytest

from judgelaw.errors import InputError
from judgelaw.estimate import decompose, prompt_distances, similarity_of
from judgelaw.scale import ScoreScale
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import infer

VERDICTS = ("1", "2", "4", "invalid")


def scale(kind="ordinal", values=(1.0, 2.0, 4.0)):
    return ScoreScale(values=values, dissimilarity=kind)


def test_steps_points_and_squares():
    far = scale().distances(VERDICTS)
    assert far.tolist() == [[0, 0.5, 1, 1], [0.5, 0, 0.5, 1], [1, 0.5, 0, 1], [1, 1, 1, 0]]
    points = scale().points(VERDICTS)
    assert points.tolist() == [[0, 1, 3, 3], [1, 0, 2, 3], [3, 2, 0, 3], [3, 3, 3, 0]]
    squares = scale("numeric").distances(VERDICTS)
    assert squares[0, 1] == 0.5
    assert squares[0, 2] == squares[0, 3] == squares[2, 3] == 4.5
    assert scale("nominal").distances(VERDICTS) is None


@pytest.mark.parametrize("kind", ["ordinal", "numeric"])
@pytest.mark.parametrize("values", [(1.0, 2.0), (0.0, 0.5, 7.0), tuple(map(float, range(11)))])
def test_no_true_component_is_negative(kind, values):
    """`similarity_of` refuses a dissimilarity that could make one so."""
    found = scale(kind, values)
    verdicts = (*found.names, "invalid")
    for r in (found.distances(verdicts), found.points(verdicts)):
        assert similarity_of(r, len(verdicts)) is not None


@pytest.mark.parametrize(
    ("values", "said"),
    [((1.0, 2.0, 2.0), "2 repeats"), ((2.0, 1.0), "1 comes after 2"), ((1.0,), "two finite")],
)
def test_what_is_no_scale_is_refused(values, said):
    with pytest.raises(InputError, match=said):
        scale(values=values)


def tensor(kind="ordinal", *, items=12, seed=3):
    n = np.random.default_rng(seed).multinomial(4, [0.1, 0.5, 0.3, 0.1], size=(items, 3, 1))
    drawn = VerdictTensor.from_counts(n, verdicts=VERDICTS)
    return drawn.on_scale([1, 2, 4], kind)


def by_pairs(cell, far):
    calls = [c for c, n in enumerate(cell) for _ in range(n)]
    pairs = [(a, b) for i, a in enumerate(calls) for j, b in enumerate(calls) if i != j]
    return np.mean([far[a][b] for a, b in pairs])


@pytest.mark.parametrize("kind", ["ordinal", "numeric", "nominal"])
def test_estimators_take_the_dissimilarity_from_the_tensor(kind):
    x = tensor(kind)
    far = x.scale.distances(x.verdicts)
    far = 1 - np.eye(4) if far is None else far
    found = decompose(x)
    assert found.call[0] == pytest.approx(np.mean([by_pairs(c[0], far) for c in x.counts[0]]))
    assert found.call + found.prompt == pytest.approx(found.total)
    D = prompt_distances(x)
    assert D.sum(axis=(-1, -2)) / 18 == pytest.approx(found.prompt)
    assert decompose(x, dissimilarity="nominal").call[0] == pytest.approx(
        np.mean([by_pairs(c[0], 1 - np.eye(4)) for c in x.counts[0]])
    )


def test_ranges_are_those_of_the_dissimilarity():
    """Half the calls at either end, or a third each with the replies that hold no score."""
    top = infer(tensor()).items.top
    assert top["call"] == top["prompt"] == pytest.approx(2 / 3)
    assert infer(tensor("numeric")).items.top["total"] == pytest.approx(2 / 3 * 4.5)
    two = tensor().select(prompts=["p1", "p2"])
    assert infer(two).items.top["prompt"] == pytest.approx(1 / 2)


@pytest.mark.parametrize("scope", ["fixed", "new"])
def test_intervals_do_not_depend_on_the_unit(scope):
    """Scores ten times as large have components a hundred times as large, and bounds alike."""
    x = tensor("numeric")
    big = x.recode({"1": "10", "2": "20", "4": "40"})
    big = big.on_scale([10, 20, 40], "numeric")
    for part in ("call", "prompt", "total"):
        one, other = (infer(t).interval(part, scope=scope) for t in (x, big))
        assert other.low == pytest.approx(100 * one.low)
        assert other.high == pytest.approx(100 * one.high)


def test_verdicts_off_the_scale_are_refused_and_those_never_given_are_there():
    drawn = VerdictTensor.from_counts(np.full((2, 2, 1, 2), 2), verdicts=["4", "2"])
    x = drawn.on_scale([1, 2, 3, 4])
    assert x.verdicts == ("1", "2", "3", "4", "invalid")
    assert x.counts[0, 0, 0].tolist() == [0, 2, 0, 2, 0]
    with pytest.raises(InputError, match="verdict '4' is not on the scale 1, 2, 3"):
        drawn.on_scale([1, 2, 3])


def test_a_scale_survives_what_leaves_scores():
    x = tensor()
    assert x.recode({"invalid": "1"}).scale == x.scale
    assert x.recode({"invalid": "tie"}).scale is None
