"""Copies of a response are found by what the log says of it, never by its verdict."""

import itertools

import pytest

from judgelaw.tables.importers import ImportedCall
from judgelaw.tables.importers.copies import find_copies

COUNTER = itertools.count()


def call(item="i", *, said="x", verdict="tie", **given):
    return ImportedCall(
        place=f"log:{next(COUNTER)}",
        judge="j",
        item=item,
        prompt="p",
        verdict=verdict,
        said=said,
        **given,
    )


def copied(calls):
    found = {copy.call.place for copy in find_copies(calls).found}
    return [c.place in found for c in calls]


def test_a_response_id_that_was_there_before_is_a_copy_in_whatever_cell():
    calls = [call(response_id=i) for i in "aab"] + [call("other", response_id="a")]
    assert copied(calls) == [False, True, False, True]
    assert find_copies(calls).found[0].why == f"response 'a' of {calls[0].place}"


def test_ids_that_stand_for_two_texts_name_no_response():
    calls = [call(response_id="a", said=text) for text in ("x", "x", "y")]
    assert not any(copied(calls))
    assert "ids do not name responses" in find_copies(calls).notes[0]


@pytest.mark.parametrize(
    ("cached", "copies"),
    [
        ((True, True, True), [False, True, True]),
        ((False, True, True), [False, True, True]),
        ((True, False, False), [True, False, False]),
        ((True,), [False]),
        ((False, False), [False, False]),
    ],
)
def test_cache_reads_without_an_id_are_copies_unless_the_cell_has_nothing_else(cached, copies):
    assert copied([call(cached=c) for c in cached]) == copies


def test_cache_reads_with_ids_of_their_own_are_draws_of_an_earlier_run():
    calls = [call(cached=True, response_id=i, said=i) for i in "ab"]
    assert not any(copied(calls))
    assert find_copies(calls).notes == (
        (
            "j: 2 calls were read from a cache, each with a response id: they are draws of an "
            "earlier run"
        ),
    )


def test_verdicts_do_not_decide_what_is_a_copy():
    """Leaving out calls because they agree would bias what is left."""
    for verdicts in itertools.product(("candidate_1", "tie"), repeat=3):
        calls = [call(cached=True, verdict=v, said=v) for v in verdicts]
        assert copied(calls) == [False, True, True]


def test_equal_texts_in_every_cell_are_a_note_and_no_proof():
    same = [call(item, said=item) for item in ("i", "i", "k", "k")]
    assert not any(copied(same))
    assert "deterministic" in find_copies(same).notes[0]
    assert find_copies([*same, call("i", said="other")]).notes == ()
    assert find_copies(same[:2]).notes == (), "one cell is no pattern"
