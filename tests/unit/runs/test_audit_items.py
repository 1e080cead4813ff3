"""`jl.audit(items, judge=f)`: no file and no YAML."""

import asyncio
import functools
import json
import random
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest

import judgelaw as jl
from judgelaw.errors import InputError, JudgeFunctionError, StudyChangedError
from judgelaw.runs import folder

ROWS = [
    {"question": f"Q{n}", "answer": f"a{n}", "context": ["x", "y"], "label": n % 2 == 0}
    for n in range(4)
]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def parity(call):
    return int(call.item["question"][1:]) % 2 == 0


def test_a_list_of_dicts_and_a_function_are_enough():
    run = jl.audit(ROWS, judge=parity)
    assert run.path.parent.name == "runs"
    assert run.path.name.startswith("parity-")
    assert run.status.completed == 16
    judge = run.analysis().judges["parity"]
    assert judge.outcomes["true"] == judge.outcomes["false"] == 8
    assert judge.answer.right.estimate == 1
    assert jl.audit(ROWS, judge=parity).path == run.path, "the same line finds its run"
    assert jl.audit(ROWS[:3], judge=parity).path != run.path


@pytest.mark.parametrize("kind", ["pandas", "polars", "jsonl", "csv", "json"])
def test_frames_and_files_are_items_too(tmp_path, kind):
    rows = [{"q": f"Q{n}", "reply": f"a{n}", "right": "true"} for n in range(4)]
    made = {
        "pandas": lambda: pd.DataFrame(rows),
        "polars": lambda: pl.DataFrame(rows),
        "jsonl": lambda: (tmp_path / "i.jsonl", "\n".join(map(json.dumps, rows))),
        "csv": lambda: (tmp_path / "i.csv", pd.DataFrame(rows).to_csv(index=False)),
        "json": lambda: (tmp_path / "i.json", json.dumps(rows)),
    }[kind]()
    if isinstance(made, tuple):
        path, text = made
        path.write_text(text)
        made = str(path)
    heard = []

    def remember(call):
        heard.append((call.item["instruction"], call.item["candidate"], call.item["q"]))
        return True

    columns = {"instruction": "q", "gold": "right"}
    run = jl.audit(made, judge=remember, columns=columns, repeats=1)
    assert sorted(heard) == [(f"Q{n}", f"a{n}", f"Q{n}") for n in range(4)]
    assert run.analysis().judges["remember"].items == 4


def test_prompts_name_fields_as_the_items_do():
    texts = []
    prompts = {"plain": "{question} / {answer}", "strict": "Be strict. {context}"}
    run = jl.audit(ROWS, judge=lambda call: texts.append(call.text) or "ok", prompts=prompts)
    assert "Q0 / a0" in texts
    assert sum(text.startswith("Be strict. x\n\ny\n\nUSER INSTRUCTION:") for text in texts) == 16
    assert jl.VerdictTensor.from_table(run.path).prompts == ("plain", "strict")


def test_pairs_are_shown_in_both_orders_and_restored():
    rows = [{"question": "Q", "answer_a": "good", "answer_b": "bad"} for _ in range(3)]

    def better(call):
        return "A" if call.item["candidate_a"] == "good" else "B"

    judge = jl.audit(rows, judge=better, repeats=2).analysis().judges["better"]
    assert judge.outcomes["candidate_1"] == 12
    assert jl.audit(rows, judge=better, orders="AB", repeats=2).status.planned == 6


def test_a_function_may_take_fields_by_name():
    def grade(question, answer, expected="none"):
        return f"{question} {answer} {expected}" == "Q1 a1 none"

    async def grade_later(answer, reference):
        await asyncio.sleep(0)
        return answer == reference

    run = jl.audit(ROWS, judge=grade, repeats=2)
    assert run.analysis().judges["grade"].outcomes == {"false": 6, "true": 2, "invalid": 0}
    rows = [{"answer": "x", "expected_output": y} for y in "xy"]
    assert jl.audit(rows, judge=grade_later, repeats=2).status.completed == 4
    with pytest.raises(JudgeFunctionError, match="takes 'reference', which the item does not have"):
        jl.audit(ROWS, judge=grade_later, repeats=2)


def test_scores_between_two_ends_are_continuous():
    def score(call):
        return random.Random(call.seed).random()

    run = jl.audit(ROWS, judge=score, scale={"from": 0, "to": 1}, repeats=4)
    tensor = jl.VerdictTensor.from_table(run.path / "calls.parquet")
    component = run.analysis().judges["score"].components["call"]
    values = np.array([*map(float, tensor.verdicts)])
    counts = tensor.counts.reshape(4, -1)
    spread = [np.var(np.repeat(values, n), ddof=1) for n in counts]
    assert component.estimate == pytest.approx(np.mean(spread), rel=1e-12)


def test_a_score_outside_the_scale_is_invalid():
    run = jl.audit(ROWS, judge=lambda _: 7.5, scale={"from": 0, "to": 1}, repeats=2)
    assert run.status.invalid == 8


def test_another_function_does_not_go_on_in_silence():
    refuses = True

    def f(call):
        if call.repeat and refuses:
            raise ConnectionError("down")
        return "ok"

    with pytest.raises(jl.errors.IncompleteRunError):
        jl.audit(ROWS, judge=f, out="run", seed=1)
    answered = jl.Run("run").status.completed
    assert answered == 4

    def other(call):
        return "fine" if call.repeat else "ok"

    other.__name__ = "f"
    with pytest.raises(StudyChangedError, match=r'answered 4 of its 16 .*changed="go on"'):
        jl.audit(ROWS, judge=other, out="run", seed=1)
    with pytest.raises(InputError, match="it is 'go on', or left out"):
        jl.audit(ROWS, judge=other, out="run", seed=1, changed="yes")
    run = jl.audit(ROWS, judge=other, out="run", seed=1, changed="go on")
    assert run.status.completed == 16
    said = "judge f: another function answers from call 5 of 16 on"
    assert said in run.analysis().judges["f"].warnings
    assert said in str(folder.RunFolder(run.path).frozen.record.amendments)


def test_a_coin_behind_a_cache_is_said_first_and_not_read_as_an_effect_of_prompts():
    """No two prompts differ, and the replies of a cell are one reply."""

    @functools.cache
    def reply(_text):
        time.sleep(0.02)
        return random.choice(["true", "false"])

    items = [{"question": f"Question {n}", "answer": "so"} for n in range(40)]
    prompts = ["{question} {answer}", "Strict. {question} {answer}"]
    run = jl.audit(items, judge=lambda call: reply(call.text), prompts=prompts, orders=None)
    answer = run.analysis().judges["judge"].answer
    assert answer.word == "early"
    assert answer.headline.startswith("Not known: replies come from a cache")
    assert "call.repeat" in answer.remedy
    assert answer.actions == ()


def test_an_async_judge_runs_in_the_loop_of_whoever_awaits_the_audit():
    loops = set()

    async def ask(_call):
        loops.add(asyncio.get_running_loop())
        await asyncio.sleep(0)
        return "ok"

    async def main():
        run = await jl.audit_async(ROWS, judge=ask, repeats=2)
        return run.status.completed, loops == {asyncio.get_running_loop()}

    assert asyncio.run(main()) == (8, True)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: jl.audit(ROWS), "judge= is missing"),
        (lambda: jl.audit([], judge=parity), "there are none"),
        (lambda: jl.audit(["text"], judge=parity), r"items\[0\]: a str; an item is a dict"),
        (lambda: jl.audit(ROWS, judge=3), "cannot be called and has no method"),
        (lambda: jl.audit(ROWS, judge=parity, columns={"gold": "rihgt"}), "no column of the items"),
        (lambda: jl.audit(ROWS, judge=parity, columns={"godl": "label"}), "did you mean 'gold'"),
        (lambda: jl.audit(ROWS, judge=parity, orders="AB"), "single answers have no order"),
        (lambda: jl.audit("study.yaml", repeats=2), "repeats is about items"),
        (lambda: jl.audit("nowhere.jsonl", judge=parity), "no such file"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_asked(call, said):
    with pytest.raises(InputError, match=said):
        call()
