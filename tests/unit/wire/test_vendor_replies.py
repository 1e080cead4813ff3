"""Replies as vendors and gateways write them: what each counts as."""

import json

import pytest

from judgelaw.wire import Answer, Failure, Reply, decode, same_model

NOW = 1_700_000_000.0
CHAT, MESSAGES, RESPONSES = "openai-chat", "anthropic", "openai-responses"


def chat(content="A", *, finish="stop", **fields):
    message = {"role": "assistant", "content": content, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4.1-mini-2025-04-14",
        "choices": [choice | fields.pop("choice", {})],
        "usage": {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10},
        "service_tier": "default",
        "system_fingerprint": "fp_1",
        **fields,
    }


def message(*blocks, stop="end_turn", **fields):
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-4-5-20251001",
        "content": list(blocks),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 1, "service_tier": "standard"},
        **fields,
    }


def response(*parts, status="completed", why=None, **fields):
    content = [{"type": "output_text", "text": part, "annotations": []} for part in parts]
    said = {"type": "message", "role": "assistant", "status": status, "content": content}
    return {
        "id": "resp_1",
        "object": "response",
        "status": status,
        "error": None,
        "incomplete_details": why and {"reason": why},
        "model": "gpt-4.1-mini-2025-04-14",
        "output": [{"type": "reasoning", "summary": []}, said],
        "usage": {"input_tokens": 9, "output_tokens": 1},
        **fields,
    }


def text(words):
    return {"type": "text", "text": words, "citations": None}


def fails(error):
    return {"error": error, "finish_reason": "error", "native_finish_reason": None}


UPSTREAM = {"code": 502, "message": "Upstream error from Foo: overloaded", "metadata": {"raw": ""}}
OPENAI_401 = {"message": "Incorrect API key provided", "type": "invalid_request_error"}
OPENAI_429 = {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}
QUOTA = {"message": "You exceeded your quota", "code": "insufficient_quota"}
AZURE_FILTER = {
    "message": "The response was filtered",
    "code": "content_filter",
    "innererror": {"code": "ResponsibleAIPolicyViolation"},
}

REPLIES = {
    # OpenAI and Azure
    "openai answer": (CHAT, 200, chat(), "A"),
    "openai refusal": (CHAT, 200, chat(None, choice={"message": {"refusal": "no"}}), None),
    "openai length": (CHAT, 200, chat("A", finish="length"), "A"),
    "openai filtered": (CHAT, 200, chat(None, finish="content_filter"), None),
    "openai empty": (CHAT, 200, chat(""), ""),
    "openai parts": (CHAT, 200, chat([{"type": "text", "text": "A"}]), "A"),
    "openai wrong key": (CHAT, 401, {"error": OPENAI_401}, "refused"),
    "openai throttled": (CHAT, 429, {"error": OPENAI_429}, "throttled"),
    "openai quota": (CHAT, 429, {"error": QUOTA}, "refused"),
    "openai server error": (
        CHAT,
        500,
        {"error": {"message": "The server had an error"}},
        "server_error",
    ),
    "azure filtered prompt": (CHAT, 400, {"error": AZURE_FILTER}, None),
    "azure no deployment": (CHAT, 404, {"error": {"code": "DeploymentNotFound"}}, "rejected"),
    # OpenRouter and other gateways
    "openrouter answer": (CHAT, 200, chat(provider="Foo", model="openai/gpt-4.1-mini"), "A"),
    "openrouter error in the choice": (CHAT, 200, chat("", choice=fails(UPSTREAM)), "server_error"),
    "openrouter throttled upstream": (
        *(CHAT, 200),
        *(chat("", choice=fails({"code": 429, "message": "slow down"})), "throttled"),
    ),
    "openrouter error without code": (
        *(CHAT, 200),
        *(chat("", choice=fails({"message": "Provider returned error"})), "error_object"),
    ),
    "openrouter error in the middle": (
        *(CHAT, 200),
        *(chat("The answer", choice=fails(UPSTREAM)), "error_beside_answer"),
    ),
    "openrouter error for a body": (CHAT, 200, {"error": UPSTREAM, "user_id": "u"}, "error_object"),
    "finish reason error alone": (CHAT, 200, chat("", finish="error"), "error_object"),
    "error and completion": (CHAT, 200, chat(error=UPSTREAM), "error_beside_answer"),
    "openrouter no credit": (CHAT, 402, {"error": {"code": 402, "message": "credits"}}, "refused"),
    "gateway page": (CHAT, 502, "<html>Bad Gateway</html>", "server_error"),
    "cloudflare": (CHAT, 524, "error code: 524", "server_error"),
    "partial content": (CHAT, 206, chat(), "cut"),
    "choices out of order": (
        *(CHAT, 200),
        {**chat(), "choices": [chat("B")["choices"][0] | {"index": 1}, *chat("A")["choices"]]},
        "A",
    ),
    "no choice is the first": (CHAT, 200, chat(choice={"index": 1}), "no_completion"),
    "choices without numbers": (CHAT, 200, chat(choice={"index": None}), "A"),
    "no choices": (CHAT, 200, {**chat(), "choices": []}, "no_completion"),
    # OpenAI Responses
    "responses answer": (RESPONSES, 200, response("A"), "A"),
    "responses cut": (
        *(RESPONSES, 200),
        *(response("A", status="incomplete", why="max_output_tokens"), "A"),
    ),
    "responses filtered": (
        *(RESPONSES, 200),
        *(response(status="incomplete", why="content_filter"), None),
    ),
    "responses failed": (
        *(RESPONSES, 200),
        *(response(status="failed", error={"code": "server_error"}), "error_object"),
    ),
    "responses not done": (RESPONSES, 200, response(status="in_progress"), "no_completion"),
    # Anthropic
    "anthropic answer": (MESSAGES, 200, message(text("A")), "A"),
    "anthropic thinking": (
        *(MESSAGES, 200, message({"type": "thinking", "thinking": "B?"}, text("A"))),
        "A",
    ),
    "anthropic refusal": (MESSAGES, 200, message(stop="refusal"), ""),
    "anthropic overloaded": (
        *(MESSAGES, 529),
        *({"type": "error", "error": {"type": "overloaded_error"}}, "server_error"),
    ),
    "anthropic error under 200": (
        *(MESSAGES, 200),
        *({"type": "error", "error": {"type": "api_error", "message": "x"}}, "error_object"),
    ),
    "anthropic billing": (
        *(MESSAGES, 400),
        *({"type": "error", "error": {"type": "invalid_request_error"}}, "rejected"),
    ),
}


@pytest.mark.parametrize("name", REPLIES)
def test_vendors_replies_are_what_they_mean(name):
    wire, status, body, expected = REPLIES[name]
    content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    found = decode(
        wire, Reply(status=status, body=content), content_filter=("content_filter",), now=NOW
    )
    if isinstance(found, Failure):
        assert str(found.kind) == expected
    else:
        assert isinstance(found, Answer)
        assert found.completion.text == expected


def test_there_are_thirty_of_them():
    assert len(REPLIES) >= 30


def test_an_error_beside_an_answer_may_have_been_charged_for():
    for name in ("error and completion", "openrouter error in the middle", "partial content"):
        wire, status, body, _ = REPLIES[name]
        found = decode(wire, Reply(status=status, body=json.dumps(body).encode()), now=NOW)
        assert found.kind.at_risk


@pytest.mark.parametrize(
    ("asked", "returned", "same"),
    [
        ("gpt-4.1-mini", "gpt-4.1-mini-2025-04-14", True),
        ("openai/gpt-4.1-mini", "gpt-4.1-mini-2025-04-14", True),
        ("gpt-4.1-mini", "openai/gpt-4.1-mini", True),
        ("llama3", "llama3:latest", True),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5", True),
        ("claude-3-5-haiku-latest", "claude-3-5-haiku-20241022", True),
        ("local", "/models/smol.gguf", True),
        ("local", "SmolLM2.Q4.gguf", True),
        ("Qwen/Qwen3", "qwen/qwen3", True),
        ("gpt-4.1", "gpt-4o", False),
        ("gpt-4.1-mini", "gpt-4.1", False),
        ("m", "other", False),
        ("m", "mistral", False),
    ],
)
def test_which_names_are_aliases(asked, returned, same):
    assert same_model(asked, returned) is same
