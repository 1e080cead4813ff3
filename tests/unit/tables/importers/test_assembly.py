"""From calls to a table: candidates, ranks, and what the table can tell."""

import itertools

import pytest

from judgelaw.errors import DuplicateCallsError, TableError
from judgelaw.tables import read_tensor, write_calls
from judgelaw.tables.importers import ImportedCall, assemble
from judgelaw.tables.importers.assembly import Advice

ADVICE = Advice(fresh="switch the cache off", repeat="--epochs 4")
COUNTER = itertools.count()


def call(item="i", prompt="p", order=None, verdict="A", *, displayed=True, **given):
    return ImportedCall(
        place=f"log:{next(COUNTER)}",
        judge="j",
        item=item,
        prompt=prompt,
        order=order,
        verdict=verdict,
        displayed=displayed,
        **given,
    )


def grid(items="ik", prompts="pq", orders=("AB", "BA"), repeats=2, verdict="A"):
    return [
        call(i, p, o, verdict)
        for i, p, o, _ in itertools.product(items, prompts, orders, range(repeats))
    ]


def imported(calls, **given):
    return assemble(calls, advice=ADVICE, **given)


def judge_of(calls):
    return imported(calls).survey.judges[0]


def test_displayed_letters_become_candidates_where_the_order_is_known():
    calls = [call(order=o, verdict=v) for o, v in zip(("AB", "BA", "BA"), "Abt", strict=True)]
    calls[2] = call(order="BA", verdict="tie", gold="A")
    columns = imported(calls).columns
    assert columns["verdict"] == ["candidate_1", "candidate_1", "tie"]
    assert columns["gold"] == [None, None, "candidate_2"]


def test_letters_without_an_order_stay_letters():
    assert imported([call(), call(verdict="B")]).columns["verdict"] == ["A", "B"]


def test_other_verdicts_are_kept_with_a_note():
    found = imported([call(order="AB", verdict=v) for v in ("C", "I")])
    assert found.columns["verdict"] == ["C", "I"]
    assert "(C, I) name no displayed position" in found.survey.notes[0]
    named = imported([call(order="AB", verdict=v) for v in ("candidate_1", "tie")])
    assert named.survey.notes == ()


def test_a_letter_that_is_no_position_must_be_explained():
    with pytest.raises(TableError, match=r"verdict 'C' stands beside A and B.*--label C=tie"):
        imported([call(order="AB"), call(order="BA", verdict="C")])


def test_letters_need_a_display_order_that_is_known():
    with pytest.raises(TableError, match="order 'swapped' is neither AB nor BA"):
        imported([call(order="swapped")])


def test_some_calls_without_an_order_are_refused():
    with pytest.raises(TableError, match="has no order"):
        imported([call(order="AB", displayed=False), call(displayed=False)])


def test_ranks_follow_the_log_or_what_it_states():
    by_log = imported([call("i"), call("k"), call("i")]).columns
    assert by_log["repeat"] == [0, 0, 1]
    stated = imported([call(repeat=7), call(repeat=3), call()]).columns
    assert stated["repeat"] == [1, 0, 2]


def test_the_same_stated_call_twice_is_refused_with_both_places():
    calls = [call(repeat=1), call(repeat=1)]
    with pytest.raises(DuplicateCallsError) as error:
        imported(calls)
    assert all(c.place in str(error.value) for c in calls)
    assert "item 'i', prompt 'p', repeat 1" in str(error.value)


def test_copies_are_refused_by_name_with_a_remedy_or_left_out_on_demand():
    calls = [call(response_id=i, said="x") for i in "aabbbbbbb"]
    with pytest.raises(DuplicateCallsError) as error:
        imported(calls)
    text = str(error.value)
    assert text.startswith("7 of 9 calls are copies of other responses, not repeats")
    assert f"{calls[1].place}: response 'a' of {calls[0].place}" in text
    assert "and 2 more" in text
    assert text.endswith(
        "To get repeats, switch the cache off. To keep one of each, add --drop-copies."
    )
    kept = imported(calls, drop_copies=True)
    assert kept.columns["repeat"] == [0, 1]
    assert kept.survey.copies == 7


def test_a_log_of_errors_only_says_the_first():
    with pytest.raises(TableError, match=r"no completion.*log:1: overloaded"):
        imported([], left_out=["log:1: overloaded"])


def test_optional_columns_are_there_only_with_values():
    assert set(imported([call()]).columns) == {"judge", "item", "prompt", "repeat", "verdict"}
    full = imported([call(order="AB", gold="A", stratum="s")]).columns
    assert {"order", "gold", "stratum"} <= set(full)


def test_a_full_crossed_design_identifies_everything():
    found = judge_of(grid(repeats=4))
    assert found.sentence == (
        "j: 2 items x 2 prompts x 2 orders, 4 repeats in each cell, 32 calls."
    )
    assert found.identified == ("call", "prompt", "order", "interaction", "total")
    assert found.missing == ()


def test_one_repeat_identifies_nothing():
    found = judge_of(grid(repeats=1))
    assert found.identified == ()
    assert "no component is identified" in found.missing[0]
    assert "(--epochs 4)" in found.missing[0]


def test_absent_facets_are_named():
    found = judge_of(grid(orders=(None,), prompts="p", repeats=2))
    assert found.identified == ("call", "total")
    assert found.missing == (
        "an exact error of the calls: it needs 4 repeats (--epochs 4)",
        "the order facet (the log has no orders): order and interaction cannot be estimated",
        "the prompt facet (one prompt): prompt and interaction cannot be estimated",
    )
    assert "only AB" in judge_of(grid(orders=("AB",))).missing[1]


def test_unequal_cells_are_counted():
    calls = grid(repeats=2)[:-3]
    found = judge_of(calls)
    assert (found.repeats, found.complete) == ((0, 2), 1)
    assert found.missing == (
        (
            "calls: 1 cell of 8 without a call, 1 with one; 1 of 2 items complete, which "
            "`judgelaw analyze --incomplete drop` keeps"
        ),
    )


def test_sentences_tell_everything():
    calls = [*grid(), call("i", "p", "AB", "invalid", displayed=False, reason="truncated")]
    survey = imported(calls, left_out=[f"log:{n}: overloaded" for n in range(5)]).survey
    assert survey.sentences() == [
        "j: 2 items x 2 prompts x 2 orders, 2 to 3 repeats in each cell, 17 calls.",
        "  identified: call, prompt, order, interaction, total",
        "  missing: an exact error of the calls: it needs 4 repeats (--epochs 4)",
        "  invalid: 1 of 17 (1 truncated)",
        (
            "left out: 5 entries without a completion (log:0: overloaded; log:1: overloaded; "
            "log:2: overloaded, and 2 more)"
        ),
    ]


def test_the_table_reads_back_as_the_survey_says(tmp_path):
    found = imported(grid(repeats=3))
    write_calls(tmp_path / "calls.parquet", found.columns)
    tensor = read_tensor(tmp_path / "calls.parquet")
    assert tensor.counts.shape == (2, 2, 2, 4)
    assert tensor.depth == (3, 3)
    assert tensor.counts[:, :, 0, 0].min() == 3, "A shown first is candidate 1 under AB"
    assert tensor.counts[:, :, 1, 1].min() == 3, "and candidate 2 under BA"
