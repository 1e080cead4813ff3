import json

import pytest
from hypothesis import given, strategies as st

from judgelaw.errors import InputError
from judgelaw.wire import JudgeSpec, frame, request

texts = st.text(st.characters(exclude_categories=["Cs"]))


def judge(**fields) -> JudgeSpec:
    base = {"name": "j", "provider": "openai-chat", "base_url": "http://h", "model": "m"}
    return JudgeSpec.model_validate({**base, **fields})


def test_chat_requests_are_exact_bytes_in_a_fixed_sequence():
    spec = judge(
        system="be fair",
        decoding={"top_p": 1.0, "temperature": 1.0, "max_tokens": 8},
        stop=["\n"],
        extra={"chat_template_kwargs": {"enable_thinking": False}},
    )
    assert (
        request(spec, 'say "é"', 5)
        == (
            '{"model":"m","messages":[{"role":"system","content":"be fair"},'
            '{"role":"user","content":"say \\"é\\""}],"temperature":1.0,"top_p":1.0,"max_tokens":8,'
            '"stop":["\\n"],"chat_template_kwargs":{"enable_thinking":false},"seed":5}'
        ).encode()
    )


def test_nothing_is_sent_that_the_study_does_not_name():
    assert json.loads(request(judge(seed="none"), "x", None)) == {
        "model": "m",
        "messages": [{"role": "user", "content": "x"}],
    }


def test_the_messages_format_has_its_own_names():
    spec = judge(
        provider="anthropic",
        system="s",
        decoding={"max_tokens": 512, "temperature": 1.0},
        stop=["x"],
        extra={"stream": False},
    )
    body = json.loads(request(spec, "p", 9))
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "p"}],
        "system": "s",
        "temperature": 1.0,
        "max_tokens": 512,
        "stop_sequences": ["x"],
        "stream": False,
    }


def test_the_paper_request_to_claude_holds_five_fields():
    spec = judge(
        provider="anthropic",
        model="claude-haiku-4-5-20251001",
        decoding={"temperature": 1.0, "max_tokens": 512},
        extra={"stream": False},
    )
    body = json.loads(request(spec, "p", 9))
    assert set(body) == {"model", "messages", "temperature", "max_tokens", "stream"}


def test_embedded_judges_speak_the_wire_of_their_choice():
    chat = judge(provider="embedded", base_url=None, grammar='root ::= "A"')
    messages = judge(
        provider="embedded", base_url=None, wire="anthropic", decoding={"max_tokens": 4}
    )
    assert list(json.loads(request(chat, "p", 1))) == ["model", "messages", "seed"]
    assert list(json.loads(request(messages, "p", 1))) == ["model", "messages", "max_tokens"]


def test_simulated_judges_have_requests_too():
    spec = judge(provider="simulated", base_url=None, law={"verdicts": {"tie": 1}})
    assert json.loads(request(spec, "p", 3)) == {"model": "m", "prompt": "p", "seed": 3}


@given(texts, st.integers(1, 2**31 - 1))
def test_any_payload_survives_and_seeds_change_the_end_only(payload, seed):
    spec = judge()
    body = request(spec, payload, seed)
    assert json.loads(body)["messages"][0]["content"] == payload
    assert json.loads(body)["seed"] == seed
    assert body == frame(spec).head(payload) + b"%d}" % seed


def test_a_seed_that_must_be_sent_must_be_there():
    with pytest.raises(InputError, match="needs a seed"):
        request(judge(), "p", None)


def test_a_provider_without_a_format_is_refused():
    with pytest.raises(InputError, match="names no wire format"):
        request(judge(provider="other"), "p", 1)
