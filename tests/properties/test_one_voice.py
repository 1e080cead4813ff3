"""An answer is decided once: no line of any view denies another, and every number is the same.

Random tables of random judges go to the terminal, the page, the JSON and the notebook.
"""

import html
import re
from dataclasses import replace

import numpy as np
import pytest

import judgelaw as jl
from judgelaw.analysis import screen_of_analysis
from judgelaw.cli.answer_screen import _lines
from judgelaw.page.html import Page, render
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor

PAIRS = ("candidate_1", "candidate_2", "tie", "invalid")
NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?")
ADVICE = {"repair", "drop_prompts", "keep_prompt", "both_orders", "vote"}


def table(number):
    """Draw a judge: settled, open, leaning, silent; of pairs, labels or scores."""
    rng = stream(20261119, "one voice", number)
    kind = ("pairs", "pairs", "labels", "scores")[number % 4]
    N, K, R = int(rng.integers(5, 70)), int(rng.integers(1, 5)), int(rng.integers(1, 7))
    O = int(rng.integers(1, 3)) if kind == "pairs" else 1
    C = {"pairs": 4, "labels": 3, "scores": 6}[kind]
    valid = {"pairs": 2, "labels": 2, "scores": 5}[kind]
    gold = rng.integers(0, valid, size=N)
    laws = rng.dirichlet(np.full(valid, 0.15), size=(N, K, O))
    sure = rng.random() * (rng.random(K) ** 0.3)[None, :, None, None]
    sure = np.where(rng.random((N, 1, 1, 1)) < 0.9, sure, 0)
    laws = (1 - sure) * laws + sure * np.eye(valid)[gold][:, None, None]
    whole = np.zeros((N, K, O, C))
    whole[..., :valid] = laws
    if rng.random() < 0.3:
        rate = rng.random((1, K, 1, 1)) * 0.6
        whole = (1 - rate) * whole + rate * np.eye(C)[-1]
    if O == 2 and rng.random() < 0.5:
        lean = rng.random(N) < rng.random()
        whole[lean] = 0
        whole[lean, :, 0, 0] = whole[lean, :, 1, 1] = 1
    names = {
        "pairs": PAIRS,
        "labels": ("pass", "fail", "invalid"),
        "scores": ("1", "2", "3", "4", "5", "invalid"),
    }[kind]
    tensor = VerdictTensor.from_laws(
        whole,
        repeats=R,
        seed=number,
        verdicts=names,
        orders=("AB", "BA")[:O] if kind == "pairs" else ("single",),
        gold=[names[g] for g in gold] if rng.random() < 0.75 else None,
        clusters=[f"c{i // 3}" for i in range(N)] if rng.random() < 0.2 else None,
    )
    tensor = replace(tensor, judge="judge")
    return tensor.on_scale((1, 2, 3, 4, 5)) if kind == "scores" else tensor


@pytest.fixture(scope="module", params=range(60))
def found(request):
    bar = None if request.param % 5 else 0.8
    analysis = jl.analyze(table(request.param), permutations=0, draws=50, at_least=bar)
    return analysis, screen_of_analysis(analysis, "table")


def terminal(screen):
    return " ".join(" ".join(_lines(screen, "", "", plain=False, width=80)).split())


def page(screen):
    body = render(Page(title="t", sections=(), version="0", first=screen)).split("<body", 1)[1]
    body = re.sub(r"<svg.*?</svg>", " ", body, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def said(screen):
    """Return every line of the screen."""
    for card in screen.cards:
        yield from (card.text, card.how, *card.effects, card.outlook)
    for panel in screen.panels:
        yield from (panel.question, panel.found, *panel.notes)
        for row in panel.rows:
            yield from (row.text, row.ends, row.unknown)
    yield from (screen.title, screen.says)


def renderings(value, span):
    """Return how a number may be written, by the rules of rounding."""
    found = set()
    for x in (value, None if span is None else span * (1 - value)):
        if x is None or not isinstance(x, int | float) or isinstance(x, bool):
            continue
        for digits in (0, 1, 2):
            for scaled in (100 * x, x):
                for way in (np.floor, np.ceil, np.round):
                    at = float(way(round(scaled * 10**digits, 6))) / 10**digits
                    found |= {f"{abs(at):.{digits}f}", f"{abs(at):,.{digits}f}"}
    return found


def numbers(value):
    """Yield every number of a JSON value."""
    if isinstance(value, dict):
        for each in value.values():
            yield from numbers(each)
    elif isinstance(value, list):
        for each in value:
            yield from numbers(each)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


def test_terminal_page_and_notebook_say_what_the_value_says(found):
    analysis, screen = found
    shown, there = terminal(screen), page(screen)
    (judge,) = analysis.judges.values()
    answer = judge.answer
    assert screen.title in shown
    assert screen.says in shown
    for line in filter(None, said(screen)):
        assert " ".join(line.split()) in there, line
    assert repr(analysis).startswith(answer.headline)
    assert html.escape(answer.headline.split(":")[0]) in analysis._repr_html_()
    document = analysis.to_json()["judges"]["judge"]
    assert document["answer"]["headline"] == document["sentence"] == answer.headline
    assert document["short"] == answer.says
    assert [x["do"] for x in document["to_do"]] == [a.text for a in answer.actions]


def test_every_number_on_the_screen_is_one_of_the_json(found):
    analysis, screen = found
    document = analysis.to_json()["judges"]["judge"]
    span = document["answer"]["span"]
    known = {"100", "95", "2", "3", "4", "10"}  # of 100, 95% sure, and words of the actions
    for value in numbers(document["answer"]):
        known |= renderings(value, span)
    items = document["items"]
    known |= {str(n) for n in range(items + 1)} | {f"{n:,}" for n in range(20, 2_000)}
    for line in said(screen):
        for number in NUMBER.findall(re.sub(r"“[^”]*”", "", line)):
            assert number in known, line


def judge_of(found):
    analysis, screen = found
    (judge,) = analysis.judges.values()
    return judge.answer, screen, {panel.name: panel for panel in screen.panels}


def row_of(panel, *key):
    return next(row for row in panel.rows if row.key[-len(key) :] == key)


def test_the_word_the_sentence_and_the_pictures_are_about_one_bar(found):
    a, _, panels = judge_of(found)
    if a.problem:
        assert a.word == "early"
        assert not panels
        return
    changes = panels["changes"].found
    assert changes.startswith("Steady") == (a.steady is True)
    assert changes.startswith("Unsteady") == (a.steady is False)
    if a.steady is False:
        named = row_of(panels["changes"], "changes", a.simplest)
        assert f": {named.text} " in f"{changes} "
    assert ("averages" in a.title) <= (a.steady is False)
    if a.right is None or a.right.low is None:
        return
    right = panels["right"].found
    enough = "enough to rely on" in right or "as often as you ask" in right
    assert enough == (a.right.enough is True)
    assert (a.word in {"weak", "avoid"}) <= (a.right.enough is False)
    assert (a.word == "use") <= enough
    assert ("not enough" in right and "perhaps" not in right) <= (a.right.enough is False)
    now = row_of(panels["right"], "answer", "right")
    assert right.startswith(f"{now.text} ")
    low, _, high = now.ends.partition(" to ")
    assert {*NUMBER.findall(a.says)} & {low, high} or a.span, a.says


def test_an_action_is_never_denied(found):
    a, screen, _ = judge_of(found)
    kinds = [action.kind for action in a.actions]
    assert len(kinds) == len(set(kinds)) <= 3
    for action, card in zip(a.actions, screen.cards, strict=False):
        if action.right is not None:
            assert action.right[0] == a.right.estimate, "before is what stands above"
        if action.after is not None and action.after.right is not None:
            assert action.right[1] == action.after.right.estimate
        if action.change is not None and action.changes is not None:
            assert action.changes[0] == pytest.approx(a.changes[action.change].estimate)
        if "you may" in card.outlook:
            assert action.after.enough is True
        assert "shown to help" not in f"{card.how} {card.outlook}"
    only = {"avoid": {"other_judge"}, "steady": {"repair", "label"}}.get(a.word)
    assert only is None or set(kinds) <= only
    if "repair" in kinds:
        assert not {"both_orders", "vote", "people"} & set(kinds)
    if a.word == "use":
        assert not {"other_judge", "more_items", "label"} & set(kinds)
    if a.word == "change":
        assert set(kinds) & ADVICE
