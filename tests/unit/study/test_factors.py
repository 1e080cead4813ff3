"""Prompts that cross factors: one for every combination of levels, and what is refused."""

import pytest

from judgelaw.errors import StudyError
from judgelaw.study import load_study, survey
from judgelaw.words import prompt_factors
from servers.several import crossed_study


def crossed(folder, factors, text=None):
    path = crossed_study(folder, prompts={"factors": factors, "template": "judge.txt"})
    if text is not None:
        (folder / "judge.txt").write_text(text)
    return survey(load_study(path)).templates


def refusal(folder, factors, text=None):
    with pytest.raises(StudyError) as error:
        crossed(folder, factors, text)
    return str(error.value).replace(f"{folder}/", "")


BODY = "\n{instruction}{candidate_a}{candidate_b}"
LEVELS = {"wrapper": ["plain", "xml"], "rubric": ["short", "strict", "kind"]}


def test_every_combination_is_a_prompt_named_by_its_levels(tmp_path):
    found = crossed(tmp_path, LEVELS)
    assert [t.id for t in found] == [
        f"wrapper={w},rubric={r}" for w in LEVELS["wrapper"] for r in LEVELS["rubric"]
    ]
    assert found[4].text.startswith("xml strict\n{instruction}")
    assert prompt_factors([t.id for t in found]) == {k: tuple(v) for k, v in LEVELS.items()}


def test_levels_have_texts_by_name_that_may_hold_later_factors(tmp_path):
    factors = {
        "wrapper": {"plain": "{rubric}", "xml": "<task>{rubric}</task>"},
        "rubric": {"a": "Be {strict}", "b": "Be kind"},
    }
    found = crossed(tmp_path, factors, "{wrapper}" + BODY)
    texts = {t.id: t.text for t in found}
    assert texts["wrapper=xml,rubric=a"].startswith("<task>Be {strict}</task>\n")
    assert texts["wrapper=plain,rubric=b"].startswith("Be kind\n")


def test_a_long_text_in_a_list_is_named_by_its_number(tmp_path):
    found = crossed(tmp_path, {"rubric": ["Judge truth, not style.", "short"]}, "{rubric}" + BODY)
    assert [t.id for t in found] == ["rubric=rubric-1", "rubric=short"]
    assert found[0].text.startswith("Judge truth, not style.\n")


def test_a_factor_with_one_level_is_refused_with_line_value_rule_and_remedy(tmp_path):
    said = refusal(tmp_path, {"wrapper": ["plain"], "rubric": ["a", "b"]})
    lines = (tmp_path / "study.yaml").read_text().splitlines()
    line = next(n for n, text in enumerate(lines, 1) if '"wrapper"' in text)
    assert said == (
        f"study.yaml:{line}: prompts.factors.wrapper: 'plain', a factor needs two levels or more "
        "to vary; add one, or write the text into the template"
    )


@pytest.mark.parametrize(
    ("factors", "text", "words"),
    [
        ({}, None, "prompts.factors: empty"),
        ({"wrapper": []}, None, "wrapper: no level, a factor needs two levels"),
        ({"wrapper": ["a", "a"]}, None, "wrapper: 'a', given twice; count each level once"),
        ({"wrapper": {"a=b": "x", "c": "y"}}, None, "'a=b', a name of a level holds no ,"),
        ({"candidate_a": ["x", "y"]}, None, "'candidate_a', must be a word of letters"),
        ({"two words": ["x", "y"]}, None, "'two words', must be a word of letters"),
        (LEVELS, "{wrapper}" + BODY, "prompts.factors.rubric: has no place in judge.txt"),
        (
            {"a": ["x", "y"], "b": {"p": "{a}", "q": "z"}},
            "{a}{b}" + BODY,
            "prompts.factors.b: a level holds the place {a}, which is filled in before",
        ),
        (LEVELS, "{wrapper} {rubric} {instruction} {candidate_a}", "does not name {candidate_b}"),
        ({"a": {"x": "same", "y": "same"}}, "{a}" + BODY, "the same prompt as 'a=x'"),
        ({f"f{n}": ["a", "b"] for n in range(11)}, None, "2,048 prompts"),
    ],
)
def test_bad_factors_are_refused(tmp_path, factors, text, words):
    assert words in refusal(tmp_path, factors, text)


def test_a_missing_template_is_named(tmp_path):
    path = crossed_study(tmp_path)
    (tmp_path / "judge.txt").unlink()
    with pytest.raises(StudyError, match=r"prompts.template: 'judge.txt', No such file"):
        survey(load_study(path))


@pytest.mark.parametrize(
    "prompts",
    [
        ["p1", "p2"],
        ["a=1", "a=2", "b=1"],
        ["a=1,b=1", "a=1,b=2", "a=2,b=1"],
        ["a=1,a=2", "a=2,a=1"],
        ["a=1"],
        [],
    ],
)
def test_other_prompts_are_no_crossing(prompts):
    assert prompt_factors(prompts) == {}
