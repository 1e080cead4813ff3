import pytest

from judgelaw.study.problems import read_yaml


def test_every_key_has_its_line():
    document = read_yaml("a: 1\nb:\n  - x: 1\n    y: 2\n  - z\n")
    assert document.data == {"a": 1, "b": [{"x": 1, "y": 2}, "z"]}
    assert document.lines["b", 0, "y"] == 4
    assert document.lines["b", 1] == 5
    assert document.line(("b", 0, "missing")) == 3


def test_yaml_is_version_1_2():
    assert read_yaml("a: yes\nb: off\nc: 012\n").data == {"a": "yes", "b": "off", "c": 12}


def test_merge_keys_do_not_override():
    document = read_yaml("a: &a {x: 1, y: 2}\nb:\n  <<: *a\n  y: 3\n")
    assert document.data["b"] == {"y": 3, "x": 1}


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\na: 2\n", 2, "the same key twice"),
        ("a:\n  b: 2026-01-02\n", 2, "a date to YAML"),
        ("a: !!python/object:os.system x\n", 1, "plain values only"),
        ("a: 1\nb: [1\n", 3, "no YAML"),
        ("a: &a [*a]\n", 1, "expand too far"),
        ("? [x]\n: 1\n", 1, "a plain word"),
        ("a: " + "9" * 5000 + "\n", 1, "no readable int"),
    ],
)
def test_problems_carry_their_line(text, line, words):
    problems = read_yaml(text).problems
    assert [problem.line for problem in problems] == [line]
    assert words in problems[0].text


def test_a_bomb_of_aliases_is_refused():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    problems = read_yaml("\n".join(lines)).problems
    assert len(problems) == 1
    assert "expand too far" in problems[0].text


def test_deep_nesting_is_refused():
    assert read_yaml("a: " + "[" * 600).problems
    assert read_yaml("a: " + "[" * 60 + "]" * 60).problems


def test_a_syntax_error_does_not_repeat_the_line():
    problems = read_yaml("api_key: sk-secret: x\n").problems
    assert problems
    assert "sk-secret" not in problems[0].text
