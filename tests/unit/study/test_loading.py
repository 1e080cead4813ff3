import json
import re
import traceback

import pytest

from judgelaw.errors import StudyError
from judgelaw.study import load_study, survey


def problems(path) -> list[str]:
    with pytest.raises(StudyError) as caught:
        load_study(path)
    return str(caught.value).replace(f"{path}:", "").splitlines()


def test_a_small_study_loads_with_its_defaults(make_study):
    loaded = load_study(make_study())
    study = loaded.study
    assert loaded.source == loaded.path.read_text()
    assert study.orders == {"AB": 0.5, "BA": 0.5}
    assert [layer.name for layer in study.streams] == ["audit"]
    assert study.depth == {"audit": 2}
    assert study.judges[0].seed == "sent"
    assert study.schedule == "random"


BAD = [
    # (replacement, line, what the message says)
    (("repeats: 2", 'repeats: "2"'), 8, "repeats: '2', must be a whole number"),
    (("repeats: 2", "repeats: 0"), 8, "repeats: 0, should be greater than or equal to 1"),
    (("repeats: 2", "repeats: true"), 8, "repeats: True, must be a whole number"),
    (
        ("repeats: 2", "repeats: 99999999999999999999"),
        8,
        "repeats: 99999999999999999999, must be at most 2147483647; write a smaller number",
    ),
    (("repeats: 2", f"repeats: {'9' * 60}"), 8, "repeats: a number beyond all use"),
    (("seed: 7", f"seed: 0x{'f' * 5000}"), 3, "seed: a number beyond all use"),
    *(
        (
            ("    model: m", f"    model: m\n    parser: {value}"),
            14,
            "must be first-line, {regex: ...}, {json: ...} or {score: ...}; choose one",
        )
        for value in ("5", "", "true", "[first-line]", "1.5")
    ),
    (
        ("    model: m", '    model: m\n    headers: {X-Team: "a\\r\\nX-Evil: b"}'),
        14,
        "judges[0].headers.X-Team: (not shown), a header holds one line of printable ASCII",
    ),
    (
        ("    model: m", '    model: m\n    headers: {"X-Team\\r\\n": a}'),
        14,
        r"judges[0].headers.'X-Team\r\n': is no name of a header",
    ),
    (
        ("    model: m", "    model: m\n    extra: {top_a: .inf}"),
        14,
        "judges[0].extra.top_a: inf, no number that a study can hold",
    ),
    (
        ("    model: m", "    model: m\n    grid: {min_p: [.nan]}"),
        14,
        "judges[0].grid.min_p[0]: nan, no number that a study can hold",
    ),
    (
        (
            "    model: m",
            "    model: m\n    grid: {"
            + ", ".join(
                f"{key}: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]"
                for key in ("top_k", "seed", "max_tokens")
            )
            + "}",
        ),
        14,
        "judges[0].grid: more than 1000 contracts",
    ),
    (("repeats: 2", "repeat: 2"), 8, "repeat: unknown key; did you mean repeats?"),
    (("  path: items.jsonl", "  file: x"), 4, "items.path: missing"),
    (("source: jsonl", "source: xml"), 5, "items.source: 'xml', must be 'jsonl', 'csv'"),
    (("paper-six", "paper-seven"), 7, "prompts: 'paper-seven', must be 'paper-six'"),
    (("paper-six", "{policy: sensus}"), 7, "must be paper-six, {policy: census, ...}"),
    (("paper-six", "{policy: census}"), 7, "prompts: must list templates or name a path"),
    (("    model: m", "    model: 4"), 13, "judges[0].model: 4, must be text; put it in quotes"),
    (
        ("    model: m", "    model: m\n    revision: 20260101"),
        14,
        "judges[0].revision: 20260101, must be text; put it in quotes",
    ),
    (
        ("    model: m", "    model: m\n    revision: 2026-01-01"),
        14,
        "judges[0].revision: a date to YAML; put it in quotes",
    ),
    (
        ("    model: m", "    model: m\n    decoding:\n      temperatur: 1"),
        15,
        "judges[0].decoding.temperatur: unknown key; did you mean temperature?",
    ),
    (
        ("    model: m", "    model: m\n    decoding: {temperature: .inf}"),
        14,
        "judges[0].decoding.temperature",
    ),
    (("    model: m", "    modle: m"), 13, "judges[0].modle: unknown key; did you mean model?"),
    (
        ("    model: m", "    model: m\n    parser: {regexp: x}"),
        14,
        "judges[0].parser: a mapping, must be first-line, {regex: ...}",
    ),
    (
        ("    model: m", "    model: m\n    parser: {regex: '('}"),
        14,
        "judges[0].parser: '(', no regular expression",
    ),
    (("name: j", "name: [j]"), 10, "judges[0].name: a list, must be text"),
    (("seed: 7", "seed: -7"), 3, "seed: -7, should be greater than or equal to 0"),
    (("name: trial", "name: a/b"), 2, "name: 'a/b'"),
    (("version: 1", "version: 2"), 1, "version: 2, must be 1"),
]


@pytest.mark.parametrize(("change", "line", "words"), BAD, ids=[words for _, _, words in BAD])
def test_a_bad_value_is_named_with_its_line(make_study, change, line, words):
    found = problems(make_study(change))
    assert any(one.startswith(f"{line}: ") and words in one for one in found), found


RULES = [
    ("orders: {AB: 0.7, BA: 0.5}\n", 14, "orders: weights sum to 1.2, must sum to 1"),
    (
        "layers:\n  - {name: a, role: audit}\n  - {name: a, role: audit}\n",
        16,
        "layers[1].name: 'a', already used",
    ),
    ("layers: [{name: a, labels: 6}]\n", 14, "layers[0].labels: is a field of role control"),
    ("layers: [{name: a, items: most}]\n", 14, "layers[0].items: 'most', must be one of"),
    ("layers:\n  - name: a\n    judges: [k]\n", 16, "layers[0].judges[0]: 'k', must be one of j"),
    ("analysis: {thresholds: {promt: 1}}\n", 14, "did you mean prompt?"),
    ("analysis: {depth: 8}\n", 14, "analysis.depth: 8, exceeds the deepest layer (2 repeats)"),
    ("analysis: {estimator: sampled}\n", 14, "a census is estimated by census"),
    ("budget: {usd: 5}\n", 14, "budget.usd: the price of j is unknown"),
    ('layers: [{name: "a\\nb"}]\n', 14, "must be one line of at most 200 characters"),
    ("task: pointwise\n", 7, "prompts: 'paper-six', compares pairs"),
    ("task: pointwise\norders: {AB: 1}\n", 15, "orders: single answers have no order"),
]


@pytest.mark.parametrize(("add", "line", "words"), RULES, ids=[words for _, _, words in RULES])
def test_a_broken_rule_is_named_with_its_line(make_study, add, line, words):
    found = problems(make_study(add=add))
    assert any(one.startswith(f"{line}: ") and words in one for one in found), found


def test_problems_come_together_in_the_sequence_of_the_file(make_study):
    path = make_study(
        ("seed: 7", "seed: x"), ("repeats: 2", "repeats: x"), ("model: m", "model: 1")
    )
    lines = [int(re.match(r"\d+", one).group()) for one in problems(path)]
    assert lines == [3, 8, 13]


@pytest.mark.parametrize(
    ("selections", "words"),
    [
        ("{a: {complement_of: b}}", "'b' is no selection"),
        ("{a: {complement_of: b}, b: {complement_of: a}}", "goes round in a circle"),
        ("{a: {complement_of: a}}", "goes round in a circle"),
        ("{a: {}}", "one of them"),
        ("{a: {per_stratum: 1, complement_of: a}}", "one of them"),
        ("{sample: {per_stratum: 1}}", "the name is taken"),
    ],
)
def test_selections_must_be_well_founded(make_study, selections, words):
    path = make_study(("path: items.jsonl", f"path: items.jsonl\n  selections: {selections}"))
    assert all(one.startswith("7: items.selections") for one in problems(path))
    assert words in "\n".join(problems(path))


def test_unknown_names_in_a_field_map_are_suggested(make_study):
    path = make_study(("path: items.jsonl", "path: items.jsonl\n  fields: {candidate1: x}"))
    assert problems(path) == ["7: items.fields.candidate1: unknown key; did you mean candidate_1?"]


def test_both_names_of_the_time_limit_are_read(make_study):
    for name in ("timeout", "timeout_s"):
        study = load_study(make_study(add=f"transport: {{{name}: 9}}\n")).study
        assert study.transport.timeout_s == 9


def test_a_fixed_seed_with_repeats_is_refused(make_study):
    path = make_study(("    model: m", "    model: m\n    seed: none\n    decoding: {seed: 5}"))
    (found,) = problems(path)
    assert found.startswith("15: judges[0].decoding.seed: 5, one fixed seed makes 2 repeats one")
    load_study(make_study(("repeats: 2", "repeats: 1"), text=path.read_text()))


CANARY = "sk-CANARY-0123456789abcdef"


@pytest.mark.parametrize(
    "judge",
    [
        f"api_key: {CANARY}",
        f"api_key: '{CANARY}'",
        f"apikey: {CANARY}",
        f"api_key: [{CANARY}]",
        f"headers: {{Authorization: Bearer {CANARY}}}",
        f"headers: {{x-api-key: {CANARY}}}",
        f"headers: {{X-Api: {CANARY}}}",
        f"headers: {{X-Api: 'literal:{CANARY}'}}",
        f"base_url: https://user:{CANARY}@host/v1",
        f"base_url: https://host/v1?key={CANARY}",
        f"api_key: {CANARY}\n    api_key: {CANARY}",
        f"api_key: {CANARY}: x",
        f"api_key: !secret {CANARY}",
    ],
)
def test_a_literal_secret_is_refused_and_never_repeated(make_study, judge):
    change = ("    model: m", f"    model: m\n    {judge}")
    if judge.startswith("base_url"):
        change = ("    base_url: http://127.0.0.1:1/v1", f"    {judge}")
    path = make_study(change)
    with pytest.raises(StudyError) as caught:
        load_study(path)
    shown = "".join(traceback.format_exception(caught.value))
    assert CANARY not in shown
    assert str(path) in str(caught.value)


def test_a_key_from_the_environment_is_a_name_only(make_study, monkeypatch):
    monkeypatch.setenv("MY_KEY", CANARY)
    change = ("    model: m", "    model: m\n    api_key: env:MY_KEY")
    judge = load_study(make_study(change)).study.judges[0]
    assert judge.api_key_variable == "MY_KEY"
    assert CANARY not in repr(judge)


@pytest.mark.parametrize("content", [b"", b"- 1\n", b"text", b"a: \xff\n"])
def test_what_is_no_study_is_refused(tmp_path, content):
    path = tmp_path / "study.yaml"
    path.write_bytes(content)
    with pytest.raises(StudyError, match=r"study\.yaml"):
        load_study(path)


def test_a_missing_file_is_a_study_error(tmp_path):
    with pytest.raises(StudyError, match="No such file"):
        load_study(tmp_path / "none.yaml")


def test_half_a_surrogate_pair_is_refused(make_study):
    path = make_study(("    model: m", '    model: m\n    system: "\\ud800"'))
    with pytest.raises(StudyError):
        load_study(path)


COMPLETIONS = ("provider: openai-chat", "provider: openai-completions")


def with_template(make_study, tmp_path, file, content):
    (tmp_path / file).write_text(content)
    return make_study(COMPLETIONS, add=f"    template: {{path: {file}}}\n")


def test_a_tokenizers_file_gives_template_and_tokens(make_study, tmp_path):
    config = {
        "chat_template": "{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}",
        "bos_token": {"content": "<bos>", "lstrip": False},
        "eos_token": "<eos>",
        "additional_special_tokens": ["<turn>"],
    }
    path = with_template(make_study, tmp_path, "tokenizer_config.json", json.dumps(config))
    template = load_study(path).study.judges[0].template
    assert template.text == config["chat_template"]
    assert (template.bos, template.eos, template.special) == ("<bos>", "<eos>", ("<turn>",))
    alone = with_template(make_study, tmp_path, "chat_template.jinja", config["chat_template"])
    assert load_study(alone).study.judges[0].template.sha256 == template.sha256
    several = [{"name": "tool", "template": "t"}, {"name": "default", "template": "d"}]
    named = json.dumps({"chat_template": several})
    path = with_template(make_study, tmp_path, "tokenizer_config.json", named)
    assert load_study(path).study.judges[0].template.text == "d"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "no JSON"),
        ("{}", "holds no chat_template; where a revision keeps it"),
    ],
)
def test_a_tokenizers_file_without_a_template_is_refused(make_study, tmp_path, content, words):
    path = with_template(make_study, tmp_path, "tokenizer_config.json", content)
    assert any(words in problem for problem in problems(path))


def test_a_preset_says_which_file_of_which_revision_it_needs(make_study):
    text = make_study(("    provider: openai-chat\n", "    preset: paper-gemma\n")).read_text()
    path = make_study(text=text.replace("    model: m\n", ""))
    (found,) = problems(path)
    revision = "005ad3404e59d6023443cb575daa05336842228a"
    assert f"name tokenizer_config.json of google/gemma-3-27b-it at revision {revision}" in found


def test_a_world_outside_the_simplex_is_refused_before_freezing(make_study):
    world = "{world: {base: [0.9, 0.1], prompt: 0.2, verdicts: [candidate_1, candidate_2]}}"
    judge = f"    provider: simulated\n    law: {world}\n"
    server = "    provider: openai-chat\n    base_url: http://127.0.0.1:1/v1\n"
    loaded = load_study(make_study((server, judge)))
    words = r"study\.yaml:1\d: judges\[0\]\.law\.world: prompt = 0\.2 .* leaves the simplex"
    with pytest.raises(StudyError, match=words):
        survey(loaded)
