from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

from judgelaw.errors import InputError, NotIdentifiedError
from judgelaw.estimate import decompose, numeric
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import Shuffler, call_errors, permutation, permutation_test
from judgelaw.worlds import World

NULL = World.from_effects()


def table(seed=0, **shape):
    return NULL.tensor(**{"items": 6, "prompts": 4, "orders": 2, "repeats": 4, **shape}, seed=seed)


def uneven(seed=0):
    """Ranked verdicts with calls missing at the end of some cells and inside others."""
    ranked = table(seed).ranked.copy()
    ranked[0, 1, 0, 3] = ranked[2, 0, 1, 1] = ranked[3, 3, 1, 0] = -1
    ranked[4, 2, :, 2:] = -1
    return VerdictTensor.from_ranked(ranked)


@pytest.mark.parametrize("tensor", [table(), uneven()], ids=["even", "uneven"])
@pytest.mark.parametrize("facet", ["prompt", "order"])
@pytest.mark.parametrize("by_rank", [True, False], ids=["rank", "block"])
def test_shuffles_keep_cell_sizes_and_block_totals(tensor, facet, by_rank):
    shuffler = Shuffler.of(tensor.counts, tensor.ranked if by_rank else None, facet)
    drawn = shuffler.draw(np.random.default_rng(1), 20)
    axis = 2 if facet == "prompt" else 3
    assert drawn.shape == (20, *tensor.counts.shape)
    assert (drawn.sum(axis=-1) == tensor.repeats).all()
    assert (drawn.sum(axis=axis) == tensor.counts.sum(axis=axis - 1)).all()
    assert (drawn != tensor.counts).any()


def test_rank_shuffles_keep_every_rank():
    """One item, one order: the prompts of each rank hold the same verdicts in another order."""
    ranked = np.array([[[[0, 1]], [[2, 1]], [[0, 3]]]])
    shuffler = Shuffler.of(VerdictTensor.from_ranked(ranked).counts, ranked, "prompt")
    drawn = shuffler._shuffled(shuffler.codes, np.random.default_rng(2), 50)
    assert (np.sort(drawn[:, 0, 0, 0]) == [0, 0, 2]).all()
    assert (np.sort(drawn[:, 1, 0, 0]) == [1, 1, 3]).all()


@pytest.mark.parametrize("absent", [False, True], ids=["complete", "absent"])
def test_all_arrangements_are_equally_likely(absent):
    codes = np.array([[[[0]], [[1]], [[2]], [[-1 if absent else 3]]]])
    counts = VerdictTensor.from_ranked(codes).counts
    shuffler = Shuffler.of(counts, codes, "prompt")
    drawn = shuffler._shuffled(shuffler.codes, np.random.default_rng(3), 12_000)[:, 0, 0, 0]
    _, seen = np.unique(drawn, axis=0, return_counts=True)
    ways = 6 if absent else 24
    assert len(seen) == ways
    assert ((seen - 12_000 / ways) ** 2 / (12_000 / ways)).sum() < 60


@pytest.mark.parametrize("verdicts", [2, 3, 4, 7, 11])
@pytest.mark.parametrize("facet", ["prompt", "order"])
@pytest.mark.parametrize("by_rank", [True, False], ids=["rank", "block"])
def test_draws_are_those_of_a_plain_loop(verdicts, facet, by_rank):
    """One row permuted after the other by the same stream, then counted call by call."""
    ranked = np.random.default_rng(5).integers(0, verdicts, size=(3, 4, 2, 5))
    tensor = VerdictTensor.from_ranked(ranked, verdicts=[f"v{c}" for c in range(verdicts)])
    shuffler = Shuffler.of(tensor.counts, tensor.ranked if by_rank else None, facet)
    drawn = shuffler.draw(np.random.default_rng(6), 7)
    rng = np.random.default_rng(6)
    levels, others = (4, 2) if facet == "prompt" else (2, 4)
    plain = np.zeros_like(drawn, dtype=np.int64)
    for draw, rank, i, o in product(range(7), range(5 if by_rank else 1), range(3), range(others)):
        row = rng.permuted(shuffler.codes[rank, i, o] if by_rank else shuffler.codes[i, o])
        for level, part in enumerate(row.reshape(levels, -1)):
            k, order = (level, o) if facet == "prompt" else (o, level)
            for code in part:
                plain[draw, i, k, order, code] += 1
    assert (drawn == plain).all()


@pytest.mark.parametrize("facet", ["prompt", "order"])
def test_ties_are_counted_as_fractions_count_them(facet):
    """Few calls make many ties; exact rational components of the same draws decide them."""
    tensor = table(7, items=2, prompts=3, repeats=2)
    test = permutation_test(tensor, facet, draws=60, seed=5)
    shuffler = Shuffler.of(tensor.counts, tensor.ranked, facet)
    drawn = shuffler.draw(stream(5, "permutation", facet, "rank"), 60)

    def exact(counts):
        fractions = np.frompyfunc(Fraction, 1, 1)(counts.astype(int))
        return [sum(values) for values in getattr(decompose(fractions), facet)]

    (least,) = exact(tensor.counts[None])
    values = exact(drawn)
    assert sum(value == least for value in values) > 1
    assert test.at_least == sum(value >= least for value in values)


def test_large_alphabets_take_several_words():
    rng = np.random.default_rng(4)
    ranked = rng.integers(0, 40, size=(3, 5, 1, 6))
    tensor = VerdictTensor.from_ranked(ranked, verdicts=[f"v{c}" for c in range(40)])
    drawn = Shuffler.of(tensor.counts, tensor.ranked, "prompt").draw(rng, 4)
    assert (drawn.sum(axis=2) == tensor.counts.sum(axis=1)).all()


def test_p_value_agrees_with_all_rearrangements():
    """Two items, three prompts, two ranks: 6^4 rearrangements, all tried."""
    ranked = np.array([[[[0, 0]], [[1, 1]], [[0, 2]]], [[[3, 0]], [[1, 0]], [[1, 2]]]])
    tensor = VerdictTensor.from_ranked(ranked)
    observed = decompose(tensor).prompt.mean()
    orders = list(permutations(range(3)))
    values = []
    for a, b, c, d in product(orders, repeat=4):
        moved = ranked.copy()
        moved[0, :, 0, 0] = ranked[0, a, 0, 0]
        moved[0, :, 0, 1] = ranked[0, b, 0, 1]
        moved[1, :, 0, 0] = ranked[1, c, 0, 0]
        moved[1, :, 0, 1] = ranked[1, d, 0, 1]
        values.append(moved)
    stacked = np.concatenate(values).reshape(len(values), 2, 3, 1, 2)
    counts = np.stack([(stacked == v).sum(axis=-1) for v in range(4)], axis=-1)
    exact = np.mean(decompose(counts).prompt.mean(axis=1) >= observed - 1e-12)
    found = permutation_test(tensor, draws=9_999)
    assert found.p == pytest.approx(exact, abs=5 * (exact * (1 - exact) / 9_999) ** 0.5)


@pytest.mark.parametrize("options", [{}, {"within": "block"}, {"studentised": True}], ids=str)
def test_chunks_do_not_change_the_result(options, monkeypatch):
    whole = permutation_test(table(), draws=120, **options)
    for chunk in (1, 1_000):
        monkeypatch.setattr(permutation, "_CHUNK", chunk)
        assert permutation_test(table(), draws=120, **options) == whole


def test_identical_prompts_have_p_one():
    """Every rank has the same verdict under all prompts: every shuffle ties."""
    ranked = np.broadcast_to([0, 1, 2, 0], (3, 4, 1, 4))
    tensor = VerdictTensor.from_ranked(ranked)
    assert "nothing to test" in permutation_test(tensor).reason
    assert permutation_test(tensor, within="block", draws=99).p > 0.9


def test_it_says_what_it_did():
    ranked = permutation_test(table(), draws=19)
    assert (ranked.within, ranked.facet, ranked.studentised) == ("rank", "prompt", False)
    assert "within repeat ranks" in ranked.hypothesis
    counted = permutation_test(table().counts, "order", draws=19)
    assert counted.within == "block"
    assert "item-prompt block" in counted.hypothesis
    assert ranked.p == (1 + ranked.at_least) / 20


def test_unequal_repeats_are_tested_with_the_calls_there_are():
    for options in ({}, {"within": "block"}, {"facet": "order"}):
        found = permutation_test(uneven(), draws=49, **options)
        assert 0 < found.p <= 1
        assert found.reason is None


def test_progress_reports_every_chunk(monkeypatch):
    monkeypatch.setattr(permutation, "_CHUNK", 40 * 192)
    seen = []
    permutation_test(table(), draws=100, progress=seen.append)
    assert seen == [40, 40, 20]


def test_studentised_needs_four_repeats_and_a_positive_variance():
    with pytest.raises(NotIdentifiedError, match="use the plain test"):
        permutation_test(table(repeats=3), studentised=True)
    counts = np.array([[[[2, 2]], [[2, 2]]]])
    assert "cannot be studentised" in permutation_test(counts, studentised=True).reason


def test_weights_and_scales_enter_the_statistic():
    plain = permutation_test(table(), draws=19)
    weighted = permutation_test(table(), draws=19, prompt_weights=[0.7, 0.1, 0.1, 0.1])
    ordinal = permutation_test(table(), draws=19, dissimilarity="ordinal")
    assert len({plain.statistic, weighted.statistic, ordinal.statistic}) == 3


@pytest.mark.parametrize("unit", [1e-7, 1e-3, 3.0, 1e6])
@pytest.mark.parametrize("studentised", [False, True])
def test_p_does_not_depend_on_the_unit_of_scores(unit, studentised):
    """Few calls, so many ties: a tolerance in the unit of the scores would miscount them."""
    scores = np.array([0.0, 0.1, 0.3, 0.7])
    few = table(8, items=2, prompts=2, orders=1)
    options = {"draws": 199, "studentised": studentised}
    plain = permutation_test(few, dissimilarity=numeric(scores), **options)
    found = permutation_test(few, dissimilarity=numeric(unit * scores), **options)
    assert 10 < plain.at_least < 190
    assert found.at_least == plain.at_least
    power = 1.0 if studentised else unit**2
    assert found.statistic == pytest.approx(plain.statistic * power, rel=1e-9)


def test_dissimilarities_that_are_none_are_refused():
    for r in (np.full((4, 4), np.inf), np.full((3, 3), 1.0)):
        with pytest.raises(InputError, match="dissimilarity"):
            permutation_test(table(), dissimilarity=r)


@pytest.mark.parametrize("facet", ["prompt", "order"])
def test_statistic_is_the_component_of_the_facet_over_its_own_error(facet):
    tensor = World.from_effects(prompt=0.05, order=0.01).tensor(
        items=8, prompts=4, orders=3, repeats=6, seed=1
    )
    component = float(decompose(tensor)[facet].mean())
    unbiased = call_errors(tensor).variances(facet).sum() ** 0.5 / len(tensor.items)
    assert permutation_test(tensor, facet, draws=9).statistic == pytest.approx(component)
    studentised = permutation_test(tensor, facet, draws=9, studentised=True)
    assert studentised.statistic == pytest.approx(component / unbiased)


def test_draws_of_a_facet_are_judged_by_the_component_of_that_facet():
    """Orders that decide the verdict and prompts that do nothing, and the other way around."""
    by_order = np.tile(np.array([[4, 1], [1, 4]]), (6, 3, 1, 1))
    for counts, low, high in (
        (by_order, "order", "prompt"),
        (by_order.swapaxes(1, 2), "prompt", "order"),
    ):
        assert permutation_test(counts, low, draws=199).p < 0.05
        assert permutation_test(counts, high, draws=199).p > 0.9


def test_seed_names_the_draws():
    found = [permutation_test(table(), draws=199, seed=s).at_least for s in (0, 1, 2, 3, 0)]
    assert found[0] == found[-1]
    assert len(set(found)) > 1


def test_one_level_has_nothing_to_exchange():
    found = permutation_test(table().select(prompts=["p1"]), "prompt")
    assert np.isnan(found.p)
    assert "needs two levels of prompt" in found.reason


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"facet": "repeat"}, "facet 'repeat'"),
        ({"within": "item"}, "within 'item'"),
        ({"draws": 0}, "one draw or more"),
        ({"within": "rank"}, "only counts are known"),
    ],
)
def test_requests_that_cannot_be_met_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        permutation_test(table().counts, **options)
