import string
from random import Random

import pytest

from judgelaw.errors import StudyError
from judgelaw.study import load_study
from judgelaw.study.judge_rules import judge_problems, looks_like_a_key
from judgelaw.study.presets import PRESETS, expand
from judgelaw.wire import JudgeSpec, headers_for


def judge(**fields) -> JudgeSpec:
    base = {"name": "j", "provider": "openai-chat", "base_url": "http://h/v1", "model": "m"}
    return JudgeSpec.model_validate({**base, **fields})


def complaints(spec: JudgeSpec, task: str = "pairwise") -> list[str]:
    return [f"{problem.path[-1]}: {problem.text}" for problem in judge_problems(spec, (), task)]


def test_a_plain_judge_has_no_problem():
    assert complaints(judge()) == []


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"provider": "openai"}, "provider: 'openai', must be one of"),
        ({"base_url": None}, "base_url: missing"),
        ({"base_url": "host/v1"}, "must be http://"),
        ({"provider": "anthropic", "base_url": "https://h/v1"}, "leave out /v1"),
        ({"provider": "anthropic"}, "needs max_tokens"),
        ({"provider": "anthropic", "seed": "sent"}, "takes no seed"),
        ({"provider": "anthropic", "decoding": {"min_p": 0.1}}, "has no such field"),
        ({"provider": "openai-completions"}, "template: missing"),
        ({"template": {"text": "x"}}, "the server renders this format"),
        ({"extra": {"seed": 4}}, "declare seed: sent"),
        ({"extra": {"n": 8}}, "one request is one call"),
        ({"extra": {"messages": []}}, "declare prompts and system"),
        ({"extra": {"temperature": 1}}, "declare decoding.temperature"),
        ({"extra": {"stream": True}}, "streamed replies are not read"),
        ({"decoding": {"max_tokens": 1, "max_completion_tokens": 1}}, "one cap only"),
        ({"decoding": {"seed": 4}}, "under seed: sent every call has its own"),
        ({"grammar": "root ::= x"}, "is a field of provider embedded only"),
        ({"law": {"verdicts": {"tie": 1}}}, "is a field of provider simulated only"),
        ({"wire": "anthropic"}, "has one format"),
        ({"wire": "simulated"}, "has one format"),
        (
            {"provider": "openai-completions", "wire": "simulated"},
            "must be openai-chat or anthropic",
        ),
        ({"provider": "embedded"}, "needs no address"),
        ({"provider": "embedded", "base_url": None, "wire": "simulated"}, "or anthropic"),
        ({"provider": "simulated", "base_url": None}, "law: missing"),
        ({"parser": "second-line"}, "must be one of first-line"),
        ({"parser": {"regex": "x", "labels": {"x": "1"}}}, "must be A, B or TIE"),
        ({"parser": {"score": {"min": 1, "max": 5}}}, "set task: pointwise"),
    ],
)
def test_what_a_judge_may_not_be(fields, words):
    assert any(words in complaint for complaint in complaints(judge(**fields)))


@pytest.mark.parametrize("wire", ["simulated", "python", "command"])
def test_a_provider_of_another_package_with_an_address_speaks_a_format_of_servers(
    monkeypatch, wire
):
    monkeypatch.setattr("judgelaw.study.judge_rules._names", lambda _: ["theirs"])
    assert complaints(judge(provider="theirs", wire="openai-chat")) == []
    local = complaints(judge(provider="theirs", base_url=None, wire=wire))
    assert not any("base_url names" in c for c in local)
    found = complaints(judge(provider="theirs", wire=wire))
    assert any("is no format of a server, and base_url names one" in c for c in found)


def test_single_answers_have_their_own_parsers():
    assert "need {score: ...}" in complaints(judge(), "pointwise")[0]
    assert complaints(judge(parser={"score": {"min": 1, "max": 5}}), "pointwise") == []
    assert complaints(judge(parser={"regex": "yes|no"}), "pointwise") == []
    assert "swap" in complaints(judge(parser={"score": {"min": 5, "max": 1}}), "pointwise")[0]


def test_a_law_must_sum_to_one():
    law = {"verdicts": {"candidate_1": 0.5}, "cells": [{"order": "XY", "verdicts": {"tie": 1}}]}
    found = complaints(judge(provider="simulated", base_url=None, law=law))
    assert any("shares sum to 0.5" in one for one in found)
    assert any("'XY', must be AB or BA" in one for one in found)
    strange = {"verdicts": {"A": 1}}
    found = complaints(judge(provider="simulated", base_url=None, law=strange))
    assert "'A', must be one of candidate_1" in found[0]


def test_the_fingerprint_is_the_configuration_and_not_the_way_to_it():
    one = judge()
    assert one.fingerprint == judge(base_url="http://elsewhere/v1", api_key="env:X").fingerprint
    price = {"input_per_mtok": 1, "output_per_mtok": 1}
    assert one.fingerprint == judge(price=price, headers={"a": "b"}).fingerprint
    for change in (
        {"model": "n"},
        {"name": "k"},
        {"revision": "r"},
        {"seed": "none"},
        {"stop": ["x"]},
        {"truncated": "parse"},
        {"decoding": {"temperature": 1}},
        {"parser": {"regex": "x"}},
        {"extra": {"x": 1}},
    ):
        assert judge(**change).fingerprint != one.fingerprint


def test_a_template_is_known_by_its_text_and_not_by_its_path():
    a = judge(template={"path": "a", "text": "x"})
    assert a.fingerprint == judge(template={"path": "b", "text": "x"}).fingerprint
    assert a.fingerprint != judge(template={"path": "a", "text": "y"}).fingerprint


def test_the_messages_format_records_its_seeds_by_default():
    assert judge(provider="anthropic").seed == "logical"
    assert judge(provider="embedded", wire="anthropic").seed == "logical"
    assert judge().seed == "sent"


def test_presets_are_the_published_configurations(make_study, tmp_path):
    (tmp_path / "chat.jinja").write_text("{{ messages[-1].content }}")
    text = make_study().read_text()
    head = text[: text.index("judges:")]
    judges = "judges:\n" + "".join(
        f"  - {{name: {name}, preset: {name}"
        + (", base_url: http://h/v1, template: chat.jinja}\n" if "claude" not in name else "}\n")
        for name in PRESETS
    )
    path = make_study(text=head + judges)
    found = {judge.name: judge for judge in load_study(path).study.judges}
    qwen, oss = found["paper-qwen"], found["paper-gpt-oss"]
    gemma, claude = found["paper-gemma"], found["paper-claude"]
    assert (qwen.model, qwen.decoding.max_tokens) == ("Qwen/Qwen3.6-27B", 8)
    assert qwen.revision == "6a9e13bd6fc8f0983b9b99948120bc37f49c13e9"
    assert oss.final_channel is not None
    assert (oss.decoding.max_tokens, oss.truncated) == (512, "invalid")
    assert (gemma.decoding.top_k, gemma.decoding.max_tokens, gemma.stop) == (-1, 32, ("\n",))
    assert (claude.decoding.top_p, claude.decoding.max_tokens, claude.seed) == (
        None,
        512,
        "logical",
    )
    assert claude.complete_on == ("end_turn",)
    assert {j.decoding.temperature for j in found.values()} == {1.0}


def test_a_preset_gives_way_to_what_is_written():
    entry = {"name": "q", "preset": "paper-qwen", "decoding": {"max_tokens": 16}, "model": "x"}
    judges, origins, problems = expand([entry])
    assert (judges[0]["model"], origins, problems) == ("x", [0], [])
    assert judges[0]["decoding"] == {"temperature": 1.0, "top_p": 1.0, "max_tokens": 16}


def test_a_grid_expands_into_named_contracts(make_study):
    grid = "grid: {max_tokens: [8, 32], stop: [[], ['\\n']], truncated: [parse]}"
    path = make_study(
        ("    model: m", f"    model: m\n    {grid}"),
        add="layers: [{name: audit, judges: [j]}]\n",
    )
    study = load_study(path).study
    assert [judge.name for judge in study.judges] == [
        f"j[max_tokens={cap},stop={stop},truncated=parse]"
        for cap in (8, 32)
        for stop in ("[]", '["\\\\n"]')
    ]
    assert {judge.family for judge in study.judges} == {"j"}
    assert study.judges[3].contract == {
        "max_tokens": "32",
        "stop": '["\\\\n"]',
        "truncated": "parse",
    }
    assert study.judges_of(study.streams[0]) == study.judges
    assert len({judge.fingerprint for judge in study.judges}) == 4


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ("{max_token: [1]}", "judges[0].grid.max_token: no field that a grid can vary"),
        ("{api_key: ['env:A']}", "no field that a grid can vary"),
        ("{temperature: 1}", "must be a list of values"),
        ("{temperature: []}", "must be a list of values"),
        ("{temperature: [1, 1]}", "the same value twice"),
        ("[]", "must map fields to lists"),
        ("{temperature: [hot]}", "judges[0].decoding.temperature: 'hot', must be a number"),
    ],
)
def test_a_bad_grid_is_named_with_its_line(make_study, grid, words):
    path = make_study(("    model: m", f"    model: m\n    grid: {grid}"))
    with pytest.raises(StudyError) as caught:
        load_study(path)
    assert words in str(caught.value)


def test_a_template_file_is_frozen_by_text_and_checked_by_hash(make_study, tmp_path):
    (tmp_path / "chat.jinja").write_text("{{ messages }}")
    change = ("provider: openai-chat", "provider: openai-completions\n    template: chat.jinja")
    template = load_study(make_study(change)).study.judges[0].template
    assert template.text == "{{ messages }}"
    pinned = f"{{path: chat.jinja, sha256: '{'0' * 64}'}}"
    wrong = ("provider: openai-chat", f"provider: openai-completions\n    template: {pinned}")
    with pytest.raises(StudyError, match=r"12: judges\[0\].template: 'chat.jinja', hashes to"):
        load_study(make_study(wrong))


ORDINARY = [
    *("2023-06-01", "prompt-caching-2024-07-31", "application/vnd.api+json; version=3", "my-team"),
    *("judgelaw/0.1.0", "Mozilla/5.0 (X11; Linux x86_64)", "Qwen/Qwen3.6-27B-Instruct", "6a9e13bd"),
    *("Meta-Llama-3.1-8B-Instruct-Q4_K_M", "claude-3-5-sonnet-20241022", "2026-11-16T15:40:21Z"),
    *("https://example.org/study/llmbar-formats", "eu-central-1", "no-cache, no-store", "true"),
]


@pytest.mark.parametrize("value", ORDINARY)
def test_ordinary_values_of_headers_are_declared_and_allowed(value):
    assert complaints(judge(headers={"X-Api": f"literal:{value}"})) == []


@pytest.mark.parametrize("value", [*ORDINARY, "canary", "env:", "env:not a name"])
def test_a_value_that_is_not_declared_counts_as_a_secret(value):
    (said,) = complaints(judge(headers={"X-Api": value}))
    assert "write env:NAME, or write literal:TEXT" in said
    assert value not in said.replace("env:NAME", "")


@pytest.mark.parametrize(
    "key",
    [
        *("sk-7f3a9c51e2XyZ", "Bearer short", "0123456789abcdef0123456789abcdef"),
        *("c1f0a9de-3b5c-4a6f-9d2e-7b8c6d5e4f3a", "qLx9TjWv2RkZ8mNb", "zvkqjxwpbnmthgfdsaqwertz"),
        *("AB12-CD34-EF56-GH78", "name 7f3a9c51e2d4"),
    ],
)
def test_what_looks_like_a_key_is_refused_whatever_it_is_declared(key):
    (said,) = complaints(judge(headers={"X-Api": f"literal:{key}"}))
    assert "looks like a key" in said
    assert key not in said


def test_few_random_keys_pass_for_words():
    chance = Random(7)
    alphabet = string.ascii_letters + string.digits
    keys = ["".join(chance.choices(alphabet, k=24)) for _ in range(2_000)]
    assert sum(not looks_like_a_key(key) for key in keys) <= 10


def test_a_declared_value_is_sent_without_its_declaration(monkeypatch):
    monkeypatch.setenv("SOME_ORG", "org-canary-1")
    headers = {"X-Api": "literal:2023-06-01", "X-Org": "env:SOME_ORG", "X-Old": "frozen before"}
    sent, _ = headers_for(judge(headers=headers), "openai-chat", {})
    assert sent == {"X-Api": "2023-06-01", "X-Org": "org-canary-1", "X-Old": "frozen before"}
