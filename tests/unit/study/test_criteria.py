"""Criteria of a study: what is wrong with them has file, line, value, rule and remedy."""

import pytest

from judgelaw.errors import StudyError
from judgelaw.study import load_study, preview, study_schema
from support.studies import make_study

POINTWISE = """\
version: 1
name: trial
seed: 7
task: pointwise
criteria:
  helpful: {json: helpful}
  safe: {json: safe}
items: {source: jsonl, path: items.jsonl}
prompts:
  policy: census
  templates: [{id: p1, text: "{instruction} {candidate}"}]
judges:
  - name: j
    provider: openai-chat
    base_url: http://127.0.0.1:1/v1
    model: m
"""
ASKED = (
    ("helpful: {json: helpful}", "helpful: {ask: Is it helpful?}"),
    ("safe: {json: safe}", 'safe: {ask: Is it safe?, parser: {regex: "yes|no"}}'),
)
ITEM = '{"id": "i", "instruction": "q", "candidate_1": "a", "gold": %s}\n'


@pytest.fixture
def study(tmp_path):
    (tmp_path / "items.jsonl").write_text(ITEM % '{"safe": "yes"}')

    def written(*changes, add=""):
        return make_study(tmp_path, *changes, add=add, text=POINTWISE)

    return written


def refusal(path) -> str:
    with pytest.raises(StudyError) as refused:
        preview(load_study(path))
    return str(refused.value)


def test_judges_read_every_criterion_from_one_reply(study):
    (judge,) = load_study(study()).study.judges
    assert list(judge.streams.items()) == [
        ("j · helpful", ("j", "helpful")),
        ("j · safe", ("j", "safe")),
    ]
    (plain,) = load_study(
        study(
            ("criteria:\n  helpful: {json: helpful}\n  safe: {json: safe}\n", ""),
            ("    model: m\n", "    model: m\n    parser: {json: x}\n"),
        )
    ).study.judges
    assert "criteria" not in plain.identity()


def test_a_criterion_with_its_own_calls_fills_its_place_in_the_prompt(study):
    path = study(
        *ASKED,
        ("{candidate}", "{candidate} {criterion}"),
        ("model: m", "model: m\n    parser: {json: x}"),
    )
    seen = preview(load_study(path))
    assert seen.run.count == 2 * 4
    assert [call.judge for call, _ in seen.examples] == ["j · helpful", "j · safe"]
    assert b"q a Is it helpful?" in seen.examples[0][1]
    assert b"q a Is it safe?" in seen.examples[1][1]
    assert seen.examples[0][0].call_id != seen.examples[1][0].call_id


@pytest.mark.parametrize(
    ("changes", "add", "said"),
    [
        (
            (("helpful: {json: helpful}", "helpful: {ask: Is it?}"),),
            "",
            "study.yaml:7: criteria.safe: 'safe', is read from a reply, and 'helpful' has calls",
        ),
        (
            (),
            "gate: {criteria: {sfe: {call: 0.1}}}\n",
            (
                "study.yaml:17: gate.criteria.sfe: 'sfe', must be one of criteria (helpful, safe) "
                "(did you mean 'safe'?)"
            ),
        ),
        ((), "gate: {criteria: {safe: {cal: 0.1}}}\n", "gate.criteria.safe.cal: unknown key"),
        (
            (("model: m", "model: m\n    parser: first-line"),),
            "",
            "study.yaml:17: judges[0].parser: criteria say how replies are read; leave it",
        ),
        (
            (("{json: safe}", '{regex: "("}'),),
            "",
            "study.yaml:7: criteria.safe: '(', no regular expression",
        ),
        (
            (("{json: safe}", "first-lin"),),
            "",
            "criteria.safe: 'first-lin', must be one of first-line",
        ),
        (
            (*ASKED, ("model: m", "model: m\n    parser: {json: x}")),
            "",
            "'p1' does not name {criterion}, where the text under ask: goes; add it",
        ),
        (ASKED, "", "judges[0].parser: 'first-line', reads A, B or TIE"),
        (
            (("model: m", "model: m\n    logprobs: 20"),),
            "",
            "judges[0].logprobs: with criteria the token that decides is not looked for; leave one",
        ),
        (
            (),
            "stop: {component: prompt, limit: 0.02, looks: [4, 8]}\n",
            "study.yaml:17: stop: looks at one verdict of a reply, and this reply holds several",
        ),
    ],
)
def test_bad_criteria_are_refused_with_line_value_rule_and_remedy(study, changes, add, said):
    assert said in refusal(study(*changes, add=add))


@pytest.mark.parametrize(
    ("gold", "said"),
    [
        ('"yes"', "items.jsonl:1: gold: 'yes', with criteria it names a verdict for some of"),
        ('{"sfe": "yes"}', "items.jsonl:1: gold: 'sfe', with criteria it names a verdict"),
        ('{"safe": []}', "items.jsonl:1: gold: a list, must be text; convert it"),
    ],
)
def test_gold_names_a_verdict_for_each_criterion(study, tmp_path, gold, said):
    path = study()
    assert preview(load_study(path)).run.items["i"].gold == '{"safe":"yes"}'
    (tmp_path / "items.jsonl").write_text(ITEM % gold)
    assert said in refusal(path)


def test_the_schema_knows_both_kinds_of_criteria():
    found = study_schema()
    assert "criteria" in found["properties"]
    assert "AskedCriterion" in found["$defs"]
    assert not {"criteria", "asks"} & set(found["$defs"]["JudgeSpec"]["properties"])
