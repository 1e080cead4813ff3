"""Every file that strangers published gives the truth of its table, or a command that gives it."""

import json
import re
import shlex
import subprocess
import sys

import pytest

from judgelaw.tables import read_rows
from judgelaw.tables.read import read_all
from judgelaw.tables.said import wishes
from support.calls import WILD, wild

pytestmark = pytest.mark.skipif(not WILD.is_dir(), reason="../shared/data/wild is not there")

DESIGNS = {
    "panel_two_orders.jsonl": (1, 200, 1, 2, (1, 1)),
    "mtbench_single.jsonl": (1, 160, 1, 1, (1, 1)),
    "mtbench_pair.jsonl": (1, 75, 1, 2, (1, 1)),
    "alpaca_phi-2-sft.json": (1, 120, 1, 1, (1, 1)),
    "alpaca_vicuna-13b.json": (1, 120, 1, 1, (1, 1)),
    "judgebench_two_games.jsonl": (1, 120, 1, 2, (1, 1)),
    "geval_scores.csv": (3, 19, 1, 1, (1, 1)),
    "promptfoo_niche.json": (1, 10, 1, 1, (1, 1)),
    "promptfoo_reqverify.json": (1, 1, 1, 1, (1, 1)),
    "teormin__multi-p.eval": (1, 10, 1, 1, (1, 1)),
    "teormin__qm-prob.eval": (1, 30, 1, 1, (1, 1)),
    "deepeval_agri.json": (2, 2, 1, 1, (1, 1)),
    "deepeval_latest.json": (3, 1, 1, 1, (1, 1)),
    "ragas_diaure.csv": (4, 6, 1, 1, (1, 1)),
    "ragas_tiago.csv": (4, 10, 1, 1, (1, 1)),
    "fourway_o0_0.jsonl": (1, 300, 1, 1, (1, 1)),
    "fourway_o1_0.jsonl": (1, 300, 1, 1, (1, 1)),
}
"""Judges and criteria, items, prompts, orders and repeats of what is read without a word."""

ASKED = {
    "abelo_exp3.json": (2, 10, 2, 1, (20, 20)),
    "swap_rep1.tsv swap_rep2.tsv swap_rep3.tsv": (1, 72, 1, 2, (3, 3)),
    "swap_rep1.tsv": (1, 72, 1, 2, (1, 1)),
    "swap_rep2.tsv": (1, 72, 1, 2, (1, 1)),
    "swap_rep3.tsv": (1, 72, 1, 2, (1, 1)),
    "fourway_o0_0.jsonl fourway_o1_0.jsonl": (1, 300, 2, 1, (1, 1)),
    "hiver_judge_scores.csv": (5, 87, 1, 1, (1, 1)),
    "hiver_hand.csv": (5, 25, 1, 1, (1, 1)),
    "triviaqa_nine_judges.csv": (9, 960, 1, 1, (1, 1)),
}
"""The same of what the first command of one refusal reads."""

NO_JUDGE = {"inspect_two_items.eval": "a string match gives one verdict for ever"}


def judgelaw(*words) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "judgelaw", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )


def outcomes(tensor) -> dict[str, int]:
    """Return how often each verdict was given."""
    counts = tensor.counts.sum(axis=(0, 1, 2))
    return {verdict: int(n) for verdict, n in zip(tensor.verdicts, counts, strict=True) if n}


def paths(names: str):
    return [str(wild(name)) for name in names.split()]


def advised(done: subprocess.CompletedProcess) -> list[list[str]]:
    """Return the commands that a refusal prints, as a shell would run them."""
    lines = re.findall(r"^ {4}judgelaw (.+)$", done.stderr, re.MULTILINE)
    return [shlex.split(line) for line in lines]


def analysed(*words) -> dict:
    done = judgelaw(*words, "--permutations", "0", "--draws", "50", "--json", "-")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def design(document: dict) -> tuple:
    """Return judges and criteria, items, prompts, orders and repeats of an analysis."""
    streams = [
        stream
        for judge in document["judges"].values()
        for stream in judge.get("criteria", {"": judge}).values()
    ]
    (shape,) = {(s["items"], s["prompts"], max(s["orders"], 1), str(s["repeats"])) for s in streams}
    repeats = json.loads(shape[-1])
    depth = tuple(repeats) if isinstance(repeats, list) else (repeats, repeats)
    return (len(streams), *shape[:3], depth)


def test_every_file_is_looked_at():
    named = {name for names in (*DESIGNS, *ASKED, *NO_JUDGE) for name in names.split()}
    assert named == {path.name for path in WILD.iterdir()}


@pytest.mark.parametrize("names", DESIGNS)
def test_a_file_is_read_without_a_word(names):
    assert design(analysed("analyze", *paths(names))) == DESIGNS[names]


@pytest.mark.parametrize("names", ASKED)
def test_one_refusal_prints_the_command_that_reads_it(names):
    refused = judgelaw("analyze", *paths(names))
    assert (refused.returncode, refused.stdout) == (2, "")
    first, *_ = advised(refused)
    assert design(analysed(*first)) == ASKED[names]


@pytest.mark.parametrize("name", NO_JUDGE)
def test_a_log_without_a_judge_is_named_as_one(name):
    done = judgelaw("analyze", wild(name))
    assert done.returncode == 2
    assert NO_JUDGE[name] in done.stderr


def test_the_other_answers_of_a_refusal_are_words_that_work_too():
    refused = judgelaw("analyze", *paths("fourway_o0_0.jsonl fourway_o1_0.jsonl"))
    *settled, ignored = advised(refused)
    assert len(settled) == 3
    for command in settled:
        assert design(analysed(*command))[1] in (300, 600)
    again = judgelaw(*ignored)
    assert "differ in 'results'" in again.stderr, "then something else tells them apart"


def rate(document: dict, change: str = "swap") -> float:
    (judge,) = document["judges"].values()
    return judge["answer"]["changes"][change]["estimate"]


def test_restored_verdicts_are_not_restored_again():
    """52.5 of 100 change when swapped; restored once more it would be 47.5."""
    found = analysed("analyze", *paths("panel_two_orders.jsonl"))
    assert rate(found) == pytest.approx(0.525)


def test_28_of_75_pairs_of_mt_bench_change():
    found = analysed("analyze", *paths("mtbench_pair.jsonl"))
    assert rate(found) == pytest.approx(28 / 75)


def test_the_second_game_of_judgebench_is_restored():
    tensors, _ = read_all(str(wild("judgebench_two_games.jsonl")), wishes())
    (t,) = tensors.values()
    said = t.ranked[:, 0, :, 0]
    gold = [t.verdicts.index(label) for label in t.gold]
    right = [(row == code).all() for row, code in zip(said, gold, strict=True)]
    assert sum(right) == 58
    assert sum(r for r, label in zip(right, t.gold, strict=True) if label == "candidate_1") == 28


def test_nested_runs_give_the_components_of_their_table():
    (first, *_) = advised(judgelaw("analyze", *paths("abelo_exp3.json")))
    found = analysed(*first)["judges"]["gpt-4.1-mini"]["components"]
    assert [round(found[c]["estimate"], 4) for c in ("call", "prompt", "total")] == [
        *(0.2868, 0.0881, 0.3749),
    ]


def test_three_repetitions_in_three_files_are_three_calls():
    names = "swap_rep1.tsv swap_rep2.tsv swap_rep3.tsv"
    (first, *_) = advised(judgelaw("analyze", *paths(names)))
    document = analysed(*first)
    found = document["judges"]["gpt-4-0613"]["components"]
    assert [round(found[c]["estimate"], 4) for c in ("call", "order")] == [0.0602, 0.0525]
    assert rate(document) == pytest.approx(0.165, abs=0.0005)


def test_means_of_three_metrics():
    tensors, _ = read_all(str(wild("geval_scores.csv")), wishes())
    means = [
        (t.counts.sum(axis=(0, 1, 2)) * [float(v) for v in t.verdicts]).sum() / 19
        for t in tensors.values()
    ]
    assert sorted(round(float(mean), 2) for mean in means) == [2.79, 3.74, 4.79]


def test_two_systems_and_two_tasks_are_no_repeats():
    two = analysed("analyze", *paths("alpaca_phi-2-sft.json alpaca_vicuna-13b.json"))
    assert design(two) == (1, 240, 1, 1, (1, 1))
    tasks = analysed("analyze", *paths("teormin__multi-p.eval teormin__qm-prob.eval"))
    assert design(tasks) == (1, 40, 1, 1, (1, 1))


NINE = {"GPT-4": (0.962, 0.934, 0.898), "JudgeLM": (0.292, 0.932, 0.191),
        "Llama3-70B": (0.986, 0.874, 0.876)}  # fmt: skip


@pytest.mark.parametrize("judge", NINE)
def test_nine_judges_in_columns_are_held_against_people(judge):
    path = str(wild("triviaqa_nine_judges.csv"))
    refused = judgelaw("validate", path, "--human", "Human-Eval", "--judge", judge)
    assert refused.returncode == 2
    (first, *_) = advised(refused)
    done = judgelaw(*first, "--json", "-")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["labelled"] == 960
    catches, rejects = (found["recall"][label]["estimate"] for label in ("True", "False"))
    kappa = found["kappa"]["estimate"]
    assert (round(catches, 3), round(rejects, 3), round(kappa, 3)) == NINE[judge]


def test_labels_of_another_file_are_joined_by_their_keys():
    """Means by hand: 25 of 87 answers have a partner, and each criterion its own column."""
    import duckdb

    one, other = wild("hiver_judge_scores.csv"), wild("hiver_hand.csv")
    ((rows, same),) = duckdb.sql(
        f"SELECT count(*), avg((judge_empathy = human_empathy)::INT) FROM '{one}' "  # noqa: S608
        f"JOIN '{other}' USING (question_id, style)"
    ).fetchall()
    words = (
        "validate",
        one,
        "--with",
        other,
        "--on",
        "question_id,style",
        "--criterion",
        "empathy",
    )
    refused = judgelaw(*words)
    (first, *_) = advised(refused)
    done = judgelaw(*first, "--json", "-")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["labelled"], found["agreement"]["estimate"]) == (rows, pytest.approx(same))


@pytest.mark.parametrize(
    "names", ["panel_two_orders.jsonl", "geval_scores.csv", "mtbench_pair.jsonl"]
)
def test_every_question_reads_a_file_alike(names, tmp_path):
    """What is imported, and the rows that go with people's labels, are what is analysed."""
    (path,) = paths(names)
    tensors, reading = read_all(path, wishes())
    out = tmp_path / "calls.parquet"
    assert judgelaw("import", path, "-o", out).returncode == 0
    imported, _ = read_all(str(out), wishes())
    rows = read_rows(path)
    assert rows.rows == sum(int(t.counts.sum()) for t in tensors.values())
    for key, tensor in tensors.items():
        other = imported[key]
        assert (tensor.items, tensor.orders) == (other.items, other.orders)
        assert outcomes(tensor) == outcomes(other)
    if not reading.says:
        again, _ = read_all(path, reading.explicit())
        assert list(again) == list(tensors)
        assert all((again[k].counts == tensors[k].counts).all() for k in tensors)
