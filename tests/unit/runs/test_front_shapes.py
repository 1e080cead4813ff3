"""What people have in hand goes in as it is, and what they want comes out by one name."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import judgelaw as jl
from judgelaw.errors import InputError

TABLE = Path(__file__).parents[3] / "examples" / "verdicts.csv"
ROWS = list(csv.DictReader(TABLE.read_text().splitlines()))


@pytest.fixture(scope="module")
def analysis():
    texts = {row["item"]: f"reply {row['item']}" for row in ROWS}
    rows = [{**row, "question": texts[row["item"]]} for row in ROWS]
    return jl.analyze(rows, draws=200, permutations=0)


def test_of_one_judge_everything_stands_on_the_analysis(analysis):
    judge = analysis.judges["judge"]
    assert analysis.answer is judge.answer
    assert dict(analysis.components) == dict(judge.components)
    assert analysis.changes == judge.changes
    assert judge.items == 80


def test_values_say_themselves_in_a_line(analysis):
    assert repr(analysis.answer).startswith("change: Change it first")
    assert repr(analysis.answer).splitlines()[1] == "1. Use prompt “plain” alone."
    again = analysis.changes["ask_again"]
    low, high = again.interval
    assert repr(again) == f"{again.estimate:.4f} ({low:.4f} to {high:.4f})"
    assert repr(analysis.components["order"]).startswith("not known: ")


def test_items_are_a_frame_with_texts_wrong_ones_first(analysis):
    frame = analysis.items.to_frame()
    truth = pd.DataFrame(ROWS).assign(hit=lambda d: d.verdict == d.gold).groupby("item")
    assert len(frame) == 80
    assert frame.set_index("item").right.to_dict() == pytest.approx(truth.hit.mean().to_dict())
    passes = truth.verdict.apply(lambda v: int((v == "pass").sum())).to_dict()
    assert frame.set_index("item").n_pass.to_dict() == passes
    assert set(frame.question) == {f"reply {item}" for item in frame["item"]}
    wrong = frame.right < 0.5
    assert wrong[: wrong.sum()].all()
    assert {*analysis.items.wrong.items} == {*frame["item"][frame.right < 1]}
    assert {*analysis.items.unstable.items} == {*frame["item"][frame.changed]}


def test_of_several_judges_it_says_where_each_is():
    rows = [
        {"judge": judge, "item": item, "repeat": r, "verdict": verdict}
        for judge in "xy"
        for item in "abc"
        for r, verdict in enumerate(("pass", "fail"))
    ]
    found = jl.analyze(rows, draws=100, permutations=0)
    with pytest.raises(AttributeError, match=r"several judges, 'x', 'y': take analysis.judges"):
        found.answer  # noqa: B018 - the error is what is tested
    assert not hasattr(found, "items")
    assert found.item_tables[None, "x"].items == ("a", "b", "c")


def test_a_figure_of_the_page_is_one_call(analysis, tmp_path):
    figure = analysis.plot()
    assert figure._repr_svg_().startswith("<svg")
    assert figure.save(tmp_path / "figure.svg").read_text().startswith("<svg")
    with pytest.raises(InputError, match=r"did you mean 'components'\?\): there are"):
        analysis.plot("component")


def test_the_command_writes_items_and_no_formula(tmp_path, monkeypatch):
    from judgelaw.cli import program

    monkeypatch.chdir(tmp_path)
    lines = ["item,question,prompt,verdict,gold"]
    for item, question, verdicts in (("a", "=1+1", "pf"), ("b", "why", "ff")):
        gold = {"p": "pass", "f": "fail"}
        lines += [f"{item},{question},{p},{gold[v]},pass" for p in ("x", "y") for v in verdicts]
    Path("t.csv").write_text("\n".join(lines) + "\n")
    program._run(["analyze", "t.csv", "--items", "items.csv", "--draws", "100"])
    found = list(csv.DictReader(Path("items.csv").read_text().splitlines()))
    assert [row["item"] for row in found] == ["b", "a"]
    assert [row["right"] for row in found] == ["0.0", "0.5"]
    assert [row["question"] for row in found] == ["why", "'=1+1"]


def test_two_frames_are_compared_under_the_names_they_are_given():
    frame = pd.DataFrame(ROWS)
    old, new = frame, frame.sample(frac=1, random_state=1)
    assert jl.compare({"old": old, "new": new}, draws=100).judges == ("old", "new")
    assert jl.compare([ROWS, ROWS], draws=100).judges == jl.compare(ROWS, ROWS, draws=100).judges


def test_a_watch_takes_the_same_shapes():
    one, two = jl.watch(ROWS, ROWS), jl.watch([ROWS, ROWS])
    assert one.to_json() == two.to_json()
    frame = pd.DataFrame(ROWS)
    assert jl.watch({"monday": frame, "friday": frame}).records()[0]["date"] == "friday"


@pytest.mark.parametrize("make", [list, np.array, pd.Series])
def test_verdicts_and_labels_are_enough_to_validate(make):
    said = ["pass"] * 30 + ["fail"] * 10
    labels = ["pass"] * 26 + ["fail"] * 12 + ["pass"] * 2
    found = jl.validate(make(said), make(labels), positive="fail")
    assert found.tpr.estimate == pytest.approx(8 / 12)
    partly = jl.validate(make(said), [*labels[:-1], None], positive="fail")
    assert partly.tpr.estimate == pytest.approx(8 / 12)


def test_lists_of_unequal_length_are_refused():
    with pytest.raises(InputError, match="1 verdicts and 2 labels"):
        jl.validate(["pass"], ["pass", "fail"])
