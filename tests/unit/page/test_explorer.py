import base64
import gzip
import json
import random
import string

import numpy as np
import pytest

from judgelaw.page import Question
from judgelaw.page.sections import item_list
from judgelaw.tensor import VerdictTensor
from support.reports import completions, judge_of, report, tensor, words


def unpack(text: str):
    return json.loads(gzip.decompress(base64.b64decode(text)))


def explored(calls, replies=None, **more):
    source = report({(None, "j"): calls}, completions=replies, **more)
    return item_list.explorer(source), source.analysis


def test_the_plain_list_has_every_count_of_every_cell():
    calls = tensor(items=5)
    view, _ = explored(calls)
    by_name = {item.item: item for item in view.items}
    for i, name in enumerate(calls.items):
        grid = [[list(cell) for cell in cells] for _, cells in by_name[name].grid]
        assert grid == calls.counts[i].tolist()


def test_wrong_items_come_first_then_contested_ones_then_those_that_change():
    """Items by law: wrong always, right by a hair, right and steady, right but for one call."""
    right, wrong = [1.0, 0, 0, 0], [0, 1.0, 0, 0]
    counts = np.array([[[right] * 2] * 3, [[wrong] * 2] * 3, [[right] * 2] * 3], dtype=int) * 4
    counts[2, 0, 0] = [3, 1, 0, 0]
    calls = VerdictTensor.from_counts(counts, gold=["candidate_1"] * 3)
    judge = judge_of(calls)
    assert item_list.ranking(judge).tolist() == [1, 2, 0]
    tags = {card.item: card.tags for card in item_list.explorer(judge.report).items}
    first, second, third = calls.items
    assert tags == {first: ("never changed",), second: ("mostly wrong", "never changed"), third: ()}


def test_an_item_reads_with_its_question_and_what_came_out():
    calls = tensor(items=3)
    asked = {
        calls.items[1]: Question(
            instruction="What?\n" + "x" * 400,
            answers=(("candidate_1", "No."), ("candidate_2", "Yes.")),
        )
    }
    view, _ = explored(calls, questions=asked)
    (card,) = (card for card in view.items if card.item == calls.items[1])
    assert card.question.startswith("What?")
    assert len(card.question) < 310
    assert card.answers == (("candidate_1", "No.", False), ("candidate_2", "Yes.", True))
    hits = int(calls.counts[1, ..., 1].sum())
    assert card.told.startswith(f"right in {hits} of 24 calls: ")
    assert unpack(dict(view.payloads)["questions"])[calls.items[1]][0].endswith("x" * 400)


def test_items_and_calls_that_change_are_bridged():
    calls = tensor(items=8)
    source = report({(None, "j"): calls})
    changed = int(((calls.counts.sum(axis=(1, 2)) > 0).sum(axis=-1) > 1).sum())
    said = words(item_list.items(source))[1]
    assert f"{changed} of 8 items changed at least once in their 24 calls" in said
    rate = source.analysis.judges["j"].changes["ask_again"].estimate
    assert f"of 100 verdicts {100 * rate:.0f} change when just asked again" in said


def test_a_long_plain_list_is_cut_and_says_how_many_there_are(monkeypatch):
    monkeypatch.setattr(item_list, "LISTED", 3)
    view, _ = explored(tensor(items=8))
    assert (len(view.items), view.total) == (3, 8)


def test_replies_travel_with_the_verdict_they_got():
    calls = tensor(items=30)
    view, _ = explored(calls, {"j": completions(calls, "reply")})
    payloads = dict(view.payloads)
    grid = unpack(payloads["grid-0"])
    item, k, o, repeat = 27, 1, 1, 2
    chunk = unpack(payloads[f"text-0-{item // grid['chunk']}"])
    code, text, cut = chunk[item % grid["chunk"]][k * len(calls.orders) + o][repeat]
    assert code == calls.ranked[item, k, o, repeat]
    assert text == f"{calls.items[item]}|{calls.prompts[k]}|{calls.orders[o]}|{repeat}: reply"
    assert cut == 0


def test_long_replies_are_cut_and_marked():
    calls = tensor(items=2)
    view, _ = explored(calls, {"j": completions(calls, "x" * 5000)})
    code, text, cut = unpack(dict(view.payloads)["text-0-0"])[0][0][0]
    assert (len(text), cut) == (item_list.COMPLETION_CUT, 1)
    assert code is not None
    assert view.cut == item_list.COMPLETION_CUT


def test_replies_are_cut_further_where_the_page_would_grow_too_large(monkeypatch):
    monkeypatch.setattr(item_list, "BUDGET", 20_000)
    calls = tensor(items=3)
    rng = random.Random(0)
    replies = {
        place: "".join(rng.choices(string.ascii_letters, k=1000))
        for place in completions(calls, "")
    }
    view, _ = explored(calls, {"j": replies})
    size = sum(len(data) for name, data in view.payloads if name.startswith("text"))
    assert size <= 20_000
    assert view.cut < item_list.COMPLETION_CUT


@pytest.mark.parametrize(
    ("estimate", "variance", "has_errors", "words"),
    [
        (0.1, 0.0001, True, "clear of chance"),
        (-0.1, 0.0001, True, "within chance"),
        (0.01, 0.0001, True, "within chance"),
        (0.01, -0.0001, True, "error not known"),
        (float("nan"), 0.1, True, "error not known"),
        (0.1, None, False, "no error below four repeats"),
    ],
)
def test_how_far_an_item_is_believed(estimate, variance, has_errors, words):
    assert item_list.belief(estimate, variance, has_errors=has_errors) == words
