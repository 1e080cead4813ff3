"""Scores and labels as a study declares them: how replies are read, and what is refused."""

import json

import pytest

from judgelaw.errors import StudyError
from judgelaw.study import load_study, survey
from judgelaw.wire import Completion, parse

STUDY = """\
version: 1
name: scores
seed: 7
task: pointwise
scale: [1, 2, 3, 4, 5]
items: {source: jsonl, path: items.jsonl}
prompts: {policy: census, templates: [{id: p, text: "{instruction} {candidate}"}]}
repeats: 2
judges:
  - name: j
    provider: openai-chat
    base_url: http://127.0.0.1:1/v1
    model: m
"""
ITEM = {"id": "i", "instruction": "q", "candidate_1": "a", "gold": 4}


@pytest.fixture
def study(tmp_path):
    def write(*changes, item=ITEM):
        text = STUDY
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "items.jsonl").write_text(json.dumps(item) + "\n")
        path = tmp_path / "study.yaml"
        path.write_text(text)
        return path

    return write


SCALE = "scale: [1, 2, 3, 4, 5]"
LABELS = (SCALE, "labels: [pass, fail]")
PARSER = "    model: m"


def parsed(path, text):
    judge = load_study(path).study.judges[0]
    return parse(judge, Completion(text=text, finish_reason="stop"), "single").verdict


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("4", "4"),
        ("\n **4** \nbecause", "4"),
        ("4.", "4"),
        ("6", "invalid"),
        ("4.5", "invalid"),
        ("-4", "invalid"),
        ("On a scale from 1 to 5 it is a 4", "invalid"),
        ("", "invalid"),
    ],
)
def test_the_first_line_is_a_score_of_the_scale_or_invalid(study, said, verdict):
    assert parsed(study(), said) == verdict


@pytest.mark.parametrize(
    ("said", "verdict"),
    [("pass", "pass"), ('"Fail."', "fail"), ("PASS\nit is right", "pass"), ("passes", "invalid")],
)
def test_the_first_line_is_a_label_or_invalid(study, said, verdict):
    assert parsed(study(LABELS), said) == verdict


@pytest.mark.parametrize(
    ("parser", "said", "verdict"),
    [
        ("{json: score}", '{"score": 3}', "3"),
        ("{json: score}", '{"score": 7}', "invalid"),
        ('{regex: "Score: (.*)"}', "Score: 2", "2"),
        ('{regex: "Score: (.*)"}', "Score: 0", "invalid"),
        ('{score: {regex: "Score: ([0-9.]+)"}}', "Score: 5", "5"),
        ('{score: {regex: "Score: ([0-9.]+)"}}', "Score: 2.5", "invalid"),
        ('{score: {regex: "Score: ([0-9.]+)"}}', "Score: 9", "invalid"),
    ],
)
def test_other_parsers_read_scores_of_the_scale_alone(study, parser, said, verdict):
    assert parsed(study((PARSER, f"{PARSER}\n    parser: {parser}")), said) == verdict


def test_verdicts_are_written_in_plain_digits(study):
    assert load_study(study((SCALE, "scale: [0, 0.5, 1.0]"))).study.verdicts == ("0", "0.5", "1")
    assert load_study(study(LABELS)).study.verdicts == ("pass", "fail")


BAD = [
    # (replacement, line, what the message says)
    ((SCALE, "scale: [1, 2, 2, 3]"), 5, "scale[2]: 2, is there already; name every verdict once"),
    ((SCALE, "scale: [1, 3, 2]"), 5, "scale[2]: 2, comes after 3; write the scores from low"),
    ((SCALE, "scale: [1, 2.0, 2]"), 5, "scale[2]: 2, is there already"),
    ((SCALE, "scale: [3]"), 5, "scale: 1 verdict, must be 2 to 101; list them all"),
    ((SCALE, "scale: []"), 5, "scale: 0 verdicts, must be 2 to 101"),
    ((SCALE, "scale: [1, .inf]"), 5, "scale[1]: "),
    ((SCALE, "scale: [low, high]"), 5, "scale[0]: 'low', must be a number"),
    ((SCALE, "labels: [pass, Pass]"), 5, "labels[1]: 'Pass', is there already"),
    ((SCALE, "labels: [pass, invalid]"), 5, "labels[1]: 'invalid', is what a reply without"),
    ((SCALE, f"{SCALE}\nlabels: [a, b]"), 6, "labels: labels have no order and scores do"),
    ((SCALE, "labels: [a, b]\ndissimilarity: numeric"), 6, "dissimilarity: 'numeric', is about"),
    ((SCALE, f"{SCALE}\ndissimilarity: cubic"), 6, "dissimilarity: 'cubic'"),
    (("task: pointwise\n", ""), 4, "scale: is about single answers; write task: pointwise"),
    ((SCALE, f"{SCALE}\norders: {{AB: 1.0}}"), 6, "orders: single answers have no order"),
    ((SCALE, f"{SCALE}\ngate: {{order: 0.1}}"), 6, "gate.order: single answers have no order"),
    (
        (SCALE, f"{SCALE}\ngate: {{prompt: 2}}"),
        6,
        (
            "gate.prompt: 2, must be at most 1; components are shares of the scale, so a point is "
            "0.25; write a share"
        ),
    ),
    (
        (SCALE, f"{SCALE}\ndissimilarity: numeric\ngate: {{prompt: 9}}"),
        7,
        "gate.prompt: 9, must be at most 8; numeric components are variances",
    ),
    (
        (SCALE, "labels: [pass, fail]\ngate: {prompt: 1.5}"),
        6,
        "gate.prompt: 1.5, must be at most 1; write a smaller number",
    ),
    (
        (PARSER, f"{PARSER}\n    parser: {{score: {{min: 1, max: 10}}}}"),
        14,
        "judges[0].parser.score: 1 to 10 in steps of 1, the verdicts are 1, 2, 3, 4, 5; leave out",
    ),
    (
        (PARSER, f"{PARSER}\n    parser: {{json: s, labels: {{bad: '0'}}}}"),
        14,
        "judges[0].parser.labels.bad: '0', must be one of 1, 2, 3, 4, 5",
    ),
]


@pytest.mark.parametrize(("change", "line", "said"), BAD, ids=[str(i) for i in range(len(BAD))])
def test_a_bad_scale_is_named_with_line_value_rule_and_remedy(study, change, line, said):
    path = study(change)
    with pytest.raises(StudyError) as caught:
        load_study(path)
    assert f"{path}:{line}: {said}" in str(caught.value)


def test_a_numeric_gate_may_be_above_one(study):
    path = study((SCALE, f"{SCALE}\ndissimilarity: numeric\ngate: {{prompt: 1.5}}"))
    assert load_study(path).study.gate.prompt == 1.5


def test_gold_is_a_score_of_the_scale(study):
    (item,) = survey(load_study(study(item={**ITEM, "gold": 4.0}))).items
    assert item.gold == "4"
    with pytest.raises(StudyError, match=r"items.jsonl:1: gold: '7', must be one of 1, 2, 3, 4, 5"):
        survey(load_study(study(item={**ITEM, "gold": 7})))
