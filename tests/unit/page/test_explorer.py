import base64
import gzip
import json
import random
import string

import pytest

from judgelaw.page import explorer
from support.reports import analysed, completions, judge_part, tensor


def unpack(text: str):
    return json.loads(gzip.decompress(base64.b64decode(text)))


def explored(calls, replies=None):
    analysis = analysed({(None, "j"): calls})
    judges = {"j": judge_part(analysis)}
    return explorer.explorer(judges, {"j": calls}, replies), analysis


def test_the_plain_list_has_every_count_of_every_cell():
    calls = tensor(items=5)
    view, _ = explored(calls)
    by_name = {item.item: item for item in view.items}
    for i, name in enumerate(calls.items):
        grid = [[list(cell) for cell in row.cells] for row in by_name[name].grid]
        assert grid == calls.counts[i].tolist()


def test_the_plain_list_is_ranked_by_the_prompt_component():
    view, analysis = explored(tensor(items=8))
    prompt = [name for name, _ in view.components].index("prompt")
    shown = [item.values[prompt].value for item in view.items]
    assert shown == sorted(analysis.judges["j"].item_values.of("prompt"), reverse=True)


def test_a_long_plain_list_is_cut_and_says_how_many_there_are(monkeypatch):
    monkeypatch.setattr(explorer, "LISTED", 3)
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
    assert (len(text), cut) == (explorer.COMPLETION_CUT, 1)
    assert code is not None
    assert view.cut == explorer.COMPLETION_CUT


def test_replies_are_cut_further_where_the_page_would_grow_too_large(monkeypatch):
    monkeypatch.setattr(explorer, "BUDGET", 20_000)
    calls = tensor(items=3)
    rng = random.Random(0)
    replies = {
        place: "".join(rng.choices(string.ascii_letters, k=1000))
        for place in completions(calls, "")
    }
    view, _ = explored(calls, {"j": replies})
    size = sum(len(data) for name, data in view.payloads if name.startswith("text"))
    assert size <= 20_000
    assert view.cut < explorer.COMPLETION_CUT


@pytest.mark.parametrize(
    ("estimate", "variance", "has_errors", "words"),
    [
        (0.1, 0.0001, True, "clear of call noise"),
        (-0.1, 0.0001, True, "within call noise"),
        (0.01, 0.0001, True, "within call noise"),
        (0.01, -0.0001, True, "error not known"),
        (None, 0.1, True, "error not known"),
        (0.1, None, False, "no error below four repeats"),
    ],
)
def test_how_far_an_item_is_believed(estimate, variance, has_errors, words):
    assert explorer.belief(estimate, variance, has_errors=has_errors) == words
