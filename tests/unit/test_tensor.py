"""The waist: what it can be made from, and what can be done with it."""

from dataclasses import replace

import numpy as np
import pytest

from judgelaw.errors import IncompleteDesignError, InputError, NotIdentifiedError
from judgelaw.tensor import DEFAULT_VERDICTS, VerdictTensor

RANKED = np.array(  # 3 items x 2 prompts x 1 order x 3 repeats; one call of item 1 is absent
    [
        [[[0, 1, 0]], [[2, 2, 3]]],
        [[[1, 1, -1]], [[3, 0, 1]]],
        [[[0, 0, 0]], [[1, 2, 3]]],
    ]
)


def ranked(**labels) -> VerdictTensor:
    names = {"items": ("a", "b", "c"), "prompts": ("p", "q"), "orders": ("AB",)}
    return VerdictTensor.from_ranked(RANKED, **names | labels)


class TestFromCounts:
    def test_axes_are_labelled_by_number_where_no_names_are_given(self):
        tensor = VerdictTensor.from_counts(np.ones((2, 3, 2, 5), dtype=int))
        assert tensor.items == ("i1", "i2")
        assert tensor.prompts == ("p1", "p2", "p3")
        assert tensor.orders == ("o1", "o2")
        assert tensor.verdicts == ("v1", "v2", "v3", "v4", "v5")
        assert tensor.ranked is None

    def test_four_verdicts_are_the_usual_ones(self):
        assert VerdictTensor.from_counts(np.ones((1, 1, 1, 4), int)).verdicts == DEFAULT_VERDICTS

    def test_names_may_come_as_any_iterable(self):
        counts = np.ones((2, 1, 1, 2), dtype=int)
        tensor = VerdictTensor.from_counts(
            counts,
            items=iter("ab"),
            verdicts=np.array(["no", "yes"]),
            strata=["s", "s"],
            gold=("no", None),
        )
        assert tensor.items == ("a", "b")
        assert tensor.verdicts == ("no", "yes")
        assert tensor.strata == ("s", "s")
        assert tensor.gold == ("no", None)

    @pytest.mark.parametrize(
        ("counts", "labels", "words"),
        [
            (np.ones((2, 2, 4), int), {}, "3 axes"),
            (np.full((1, 1, 1, 2), 0.5), {}, "0.5"),
            (np.full((1, 1, 1, 2), -1), {}, "never negative"),
            (np.full((1, 1, 1, 2), np.nan), {}, "nan"),
            (np.full((1, 1, 1, 2), "x"), {}, "not numbers"),
            (np.ones((2, 1, 1, 2), int), {"items": ("a",)}, "items has 1 labels for 2"),
            (np.ones((2, 1, 1, 2), int), {"items": ("a", "a")}, "'a' more than once"),
            (np.ones((2, 1, 1, 2), int), {"strata": ("a",)}, "strata has 1 labels for 2"),
            (np.ones((2, 1, 1, 2), int), {"gold": ("a",) * 3}, "gold has 3 labels for 2"),
        ],
    )
    def test_what_is_no_tensor_is_refused(self, counts, labels, words):
        with pytest.raises(InputError, match=words):
            VerdictTensor.from_counts(counts, **labels)

    def test_whole_floats_are_counts(self):
        tensor = VerdictTensor.from_counts(np.full((1, 1, 1, 2), 3.0))
        assert tensor.counts.dtype == np.int64


class TestFromRanked:
    def test_counts_leave_absent_calls_out(self):
        tensor = ranked()
        assert tensor.counts[0, 0, 0].tolist() == [2, 1, 0, 0]
        assert tensor.counts[1, 0, 0].tolist() == [0, 2, 0, 0]
        assert tensor.repeats[..., 0].tolist() == [[3, 3], [2, 3], [3, 3]]
        assert tensor.depth == (2, 3)
        assert tensor.ranked.dtype == np.int16

    @pytest.mark.parametrize(
        ("codes", "words"),
        [
            (RANKED[0], "four axes"),
            (RANKED.astype(float), "integer codes"),
            (RANKED + 1, "codes 0 to 4"),
            (RANKED - 1, "codes -2 to 2"),
        ],
    )
    def test_what_is_no_code_is_refused(self, codes, words):
        with pytest.raises(InputError, match=words):
            VerdictTensor.from_ranked(codes)


class TestFromLaws:
    LAWS = np.broadcast_to([0.5, 0.25, 0.25, 0.0], (40, 3, 2, 4))

    def test_draws_follow_the_laws(self):
        tensor = VerdictTensor.from_laws(self.LAWS, repeats=50, seed=1)
        share = tensor.counts.sum(axis=(0, 1, 2)) / tensor.counts.sum()
        # 12,000 draws: five standard errors are .023.
        assert share == pytest.approx([0.5, 0.25, 0.25, 0.0], abs=0.023)
        assert tensor.verdicts == DEFAULT_VERDICTS

    def test_draws_are_repeatable_and_named_by_the_seed(self):
        one, same, other = (
            VerdictTensor.from_laws(self.LAWS, repeats=5, seed=seed) for seed in (1, 1, 2)
        )
        assert np.array_equal(one.ranked, same.ranked)
        assert not np.array_equal(one.ranked, other.ranked)

    def test_a_verdict_of_probability_zero_never_comes(self):
        """Even where the sum of the others falls short of 1 by rounding."""
        law = np.array([0.7 - 5e-10, 0.1, 0.2, 0.0])
        assert law.sum() < 1
        tensor = VerdictTensor.from_laws(np.broadcast_to(law, (1, 1, 1, 4)), repeats=10**6, seed=3)
        assert tensor.counts[..., 3].sum() == 0

    def test_labels_are_kept(self):
        tensor = VerdictTensor.from_laws(
            [[[[0.5, 0.5]]]], repeats=2, seed=0, items=["x"], verdicts=["no", "yes"]
        )
        assert (tensor.items, tensor.verdicts) == (("x",), ("no", "yes"))
        assert VerdictTensor.from_laws([[[[1.0, 0.0]]]], repeats=1, seed=0).verdicts == ("v1", "v2")

    @pytest.mark.parametrize(
        ("laws", "repeats", "words"),
        [
            ([[[[0.5, 0.4]]]], 2, "sums to 0.9"),
            ([[[[1.5, -0.5]]]], 2, "between 0 and 1"),
            ([[[[np.nan, 1.0]]]], 2, "between 0 and 1"),
            (0.5, 2, "vector"),
            ([[[[0.5, 0.5]]]], 0, "at least one call"),
            ([[0.5, 0.5]], 2, "four axes"),
        ],
    )
    def test_what_is_no_law_is_refused(self, laws, repeats, words):
        with pytest.raises(InputError, match=words):
            VerdictTensor.from_laws(laws, repeats=repeats, seed=0)


class TestRanks:
    def test_a_prefix_is_the_study_stopped_there(self):
        prefix = ranked().prefix(2)
        assert np.array_equal(prefix.ranked, RANKED[..., :2])
        assert prefix.depth == (2, 2)
        assert prefix.counts.sum() == 12
        assert np.array_equal(ranked().prefix(3).counts, ranked().counts)

    @pytest.mark.parametrize(("repeats", "words"), [(0, "at least one"), (4, "ask for 3 at most")])
    def test_a_prefix_that_is_not_there_is_refused(self, repeats, words):
        with pytest.raises(InputError, match=words):
            ranked().prefix(repeats)

    def test_ranks_split_the_calls(self):
        tensor = ranked()
        first, rest = tensor.ranks([0]), tensor.ranks(slice(1, None))
        assert np.array_equal(first.counts + rest.counts, tensor.counts)
        assert np.array_equal(tensor.ranks([2, 0]).ranked, RANKED[..., [2, 0]])

    @pytest.mark.parametrize("which", [[0, 0], [3], [-1]])
    def test_ranks_are_distinct_and_there(self, which):
        with pytest.raises(InputError, match="choose distinct ones of 0 to 2"):
            ranked().ranks(which)

    def test_counts_alone_have_no_ranks(self):
        tensor = VerdictTensor.from_counts(ranked().counts)
        for act in (lambda: tensor.prefix(1), lambda: tensor.ranks([0])):
            with pytest.raises(InputError, match="made from counts alone"):
                act()


class TestSelect:
    def test_names_are_kept_in_the_order_given(self):
        tensor = ranked(strata=("s", "t", "s"), gold=("tie", None, "invalid"))
        chosen = tensor.select(items=["c", "a"], prompts=["q"])
        assert chosen.items == ("c", "a")
        assert chosen.prompts == ("q",)
        assert chosen.strata == ("s", "s")
        assert chosen.gold == ("invalid", "tie")
        assert np.array_equal(chosen.ranked, RANKED[[2, 0]][:, [1]])
        assert np.array_equal(chosen.counts, tensor.counts[[2, 0]][:, [1]])

    def test_strata(self):
        tensor = ranked(strata=("s", "t", "s"))
        assert tensor.select(strata=["s"]).items == ("a", "c")
        assert tensor.select(strata=["s"], items=["b", "c"]).items == ("c",)

    def test_orders(self):
        tensor = VerdictTensor.from_counts(np.ones((1, 1, 2, 2), int), orders=("AB", "BA"))
        assert tensor.select(orders=["BA"]).orders == ("BA",)

    @pytest.mark.parametrize(
        ("choice", "words"),
        [
            ({"items": ["z"]}, "no item is called 'z'; there are 'a', 'b', 'c'"),
            ({"prompts": ["z"]}, "no prompt is called 'z'"),
            ({"orders": ["z"]}, "no order is called 'z'"),
            ({"items": ["a", "a"]}, "'a' is named more than once"),
            ({"strata": ["z"]}, "no item has stratum 'z'; there are 's', 't'"),
        ],
    )
    def test_unknown_names_are_refused(self, choice, words):
        with pytest.raises(InputError, match=words):
            ranked(strata=("s", "t", "s")).select(**choice)

    def test_strata_that_are_not_there(self):
        with pytest.raises(InputError, match="no strata"):
            ranked().select(strata=["s"])


class TestRecode:
    def test_verdicts_merge(self):
        tensor = ranked(gold=("invalid", None, "tie")).recode({"invalid": "tie"})
        assert tensor.verdicts == ("candidate_1", "candidate_2", "tie")
        assert tensor.counts[0, 1, 0].tolist() == [0, 0, 3]
        assert tensor.ranked[1, 0, 0].tolist() == [1, 1, -1]
        assert tensor.ranked[1, 1, 0].tolist() == [2, 0, 1]
        assert tensor.gold == ("tie", None, "tie")

    def test_verdicts_are_renamed(self):
        tensor = ranked().recode({"candidate_1": "A", "candidate_2": "B"})
        assert tensor.verdicts == ("A", "B", "tie", "invalid")
        assert np.array_equal(tensor.counts, ranked().counts)

    def test_counts_alone_are_recoded_too(self):
        tensor = VerdictTensor.from_counts(ranked().counts).recode({"invalid": "tie"})
        assert tensor.ranked is None
        assert tensor.counts.sum() == ranked().counts.sum()

    def test_unknown_verdicts_are_refused(self):
        with pytest.raises(InputError, match="unknown verdict 'draw'"):
            ranked().recode({"draw": "tie"})


class TestCoarsenPrompts:
    def test_calls_of_a_group_become_those_of_one_prompt(self):
        tensor = ranked().coarsen_prompts({"all": ["q", "p"]})
        assert tensor.prompts == ("all",)
        assert tensor.ranked[0, 0, 0].tolist() == [2, 2, 3, 0, 1, 0]
        assert np.array_equal(tensor.counts[:, 0], ranked().counts.sum(axis=1))

    def test_the_result_says_that_it_is_pooled_and_keeps_earlier_notes(self):
        tensor = replace(ranked(), notes=("dropped 1 of 4 items",))
        coarse = tensor.coarsen_prompts({"all": ["q", "p"]})
        assert coarse.pooled
        assert coarse.notes == ("dropped 1 of 4 items", "pooled 2 prompts into 1 groups")

    def test_ranks_of_each_order_stay_its_own(self):
        codes = np.arange(8).reshape(1, 2, 2, 2)
        tensor = VerdictTensor.from_ranked(codes, verdicts=[f"v{i}" for i in range(8)])
        coarse = tensor.coarsen_prompts({"all": ["p1", "p2"]})
        assert coarse.ranked[0, 0].tolist() == [[0, 1, 4, 5], [2, 3, 6, 7]]

    def test_groups_of_unequal_size_are_padded_with_absent_calls(self):
        codes = np.zeros((1, 3, 1, 2), dtype=int)
        tensor = VerdictTensor.from_ranked(codes).coarsen_prompts({"x": ["p1", "p2"], "y": ["p3"]})
        assert tensor.ranked[0, :, 0].tolist() == [[0, 0, 0, 0], [0, 0, -1, -1]]
        assert tensor.repeats[0, :, 0].tolist() == [4, 2]

    @pytest.mark.parametrize(
        "groups", [{"x": ["p"]}, {"x": ["p", "q"], "y": ["q"]}, {"x": ["p", "q", "r"]}, {}]
    )
    def test_groups_hold_each_prompt_once(self, groups):
        with pytest.raises(InputError, match="each prompt once"):
            ranked().coarsen_prompts(groups)


class TestComplete:
    def holed(self, **labels):
        codes = RANKED.copy()
        codes[0, 1] = -1
        codes[2, 0, 0, 1:] = -1
        return VerdictTensor.from_ranked(codes, items=("a", "b", "c"), **labels)

    def test_empty_cells_are_counted_and_named(self):
        with pytest.raises(IncompleteDesignError, match=r"1 of 6 cells.*first a x p2 x o1.*drop"):
            self.holed().complete()

    def test_only_the_first_empty_cells_are_named(self):
        tensor = VerdictTensor.from_counts(np.zeros((9, 1, 1, 2), dtype=int))
        with pytest.raises(IncompleteDesignError) as caught:
            tensor.complete()
        assert "9 of 9 cells" in str(caught.value)
        assert str(caught.value).count(" x p1 x ") == 5

    def test_dropping_keeps_two_calls_in_every_cell_and_says_what_went(self):
        kept = self.holed(strata=("s", "s", "t")).complete("drop")
        assert kept.items == ("b",)
        assert kept.notes == ("dropped 2 of 3 items without two calls in every cell (s 1, t 1)",)

    def test_dropped_items_are_counted_over_every_step(self):
        codes = np.zeros((4, 2, 1, 2), dtype=int)
        codes[0, 0, 0] = -1
        first = VerdictTensor.from_ranked(codes).complete("drop")
        assert first.dropped == 1
        thinner = first.counts.copy()
        thinner[1, 0, 0] = 0
        again = replace(first, counts=thinner, ranked=None).complete("drop")
        assert again.items == ("i2", "i4")
        assert again.dropped == 2

    def test_a_complete_design_is_left_as_it_is(self):
        tensor = ranked()
        assert tensor.complete() is tensor
        assert tensor.complete("drop") is tensor

    def test_one_call_in_a_cell_is_complete_for_reading(self):
        tensor = ranked().prefix(1)
        assert tensor.complete() is tensor

    def test_where_no_cell_holds_two_calls_one_in_each_is_complete(self):
        tensor = ranked().prefix(1)
        assert tensor.complete("drop") is tensor

    def test_no_complete_item_is_not_identified(self):
        tensor = ranked()
        counts = tensor.counts.copy()
        counts[:, 0, 0] = 0
        with pytest.raises(NotIdentifiedError, match=r"none of the 3 items has two calls"):
            replace(tensor, counts=counts, ranked=None).complete("drop")


def test_no_item_has_no_depth():
    tensor = VerdictTensor.from_counts(np.zeros((0, 2, 1, 4), dtype=int))
    with pytest.raises(InputError, match="no item"):
        _ = tensor.depth
    assert "0 items" in repr(tensor)


def test_a_tensor_shows_its_shape():
    assert repr(ranked()) == "VerdictTensor(3 items x 2 prompts x 1 orders, R 2-3, 4 verdicts)"


def test_masked_ranks_are_absent_calls():
    codes = np.ma.array([[[[0, 1, 1]]]], mask=[[[[False, False, True]]]])
    tensor = VerdictTensor.from_ranked(codes)
    assert tensor.ranked.tolist() == [[[[0, 1, -1]]]]
    assert tensor.counts.tolist() == [[[[1, 1, 0, 0]]]]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: VerdictTensor.from_counts(np.ma.array([[[[3, 2]]]], mask=[[[[0, 1]]]])), "masked"),
        (lambda: VerdictTensor.from_counts([[[[1, 2], [3]]]]), "counts cannot be read"),
        (lambda: VerdictTensor.from_counts([[[[2.0**53 + 2, 1.0]]]]), "2\\^53"),
        (lambda: VerdictTensor.from_ranked([[[[0, 1], [1]]]]), "ranked verdicts cannot be read"),
        (lambda: VerdictTensor.from_laws([[[["a", "b"]]]], repeats=2, seed=1), "laws are <U1"),
        (lambda: VerdictTensor.from_laws([[[[0.5, 0.5]]]], repeats=2.0, seed=1), "whole number"),
        (lambda: VerdictTensor.from_laws([[[[0.5, 0.5 + 2e-9]]]], repeats=2, seed=1), "sums to"),
        (lambda: ranked().prefix(2.0), "repeats = 2.0: pass a whole number"),
        (lambda: ranked().ranks([0.0, 1.0]), "rank = 0.0: pass a whole number"),
        (lambda: ranked().complete("dropp"), "'dropp'"),
        (lambda: replace(ranked(), prompts=("p",)), "one label for each position"),
        (lambda: replace(ranked(), counts=-ranked().counts), "never negative"),
        (lambda: replace(ranked(), strata=("s",)), "strata has 1 labels"),
        (lambda: replace(ranked(), ranked=ranked().ranked[:1]), "ranked verdicts of shape"),
    ],
)
def test_what_is_no_tensor_is_refused_in_words(make, words):
    with pytest.raises(InputError, match=words):
        make()


def test_laws_may_be_rounded_decimals():
    VerdictTensor.from_laws([[[[0.5, 0.5 + 5e-10]]]], repeats=2, seed=1)
