"""Every row of "what counts as what", for every wire format."""

import json

import pytest
from hypothesis import given, settings, strategies as st

from judgelaw.wire import Answer, Completion, Consequence, Failure, FailureKind, Reply, decode
from judgelaw.wire.reply import retry_after
from servers.provider import chat_body, completions_body, messages_body

WIRES = {
    "openai-chat": chat_body,
    "openai-completions": completions_body,
    "anthropic": messages_body,
}
NOW = 1_700_000_000.0


def read(wire, status, body=b"", *, headers=None, content_filter=()):
    content = json.dumps(body).encode() if isinstance(body, dict) else body
    reply = Reply(status=status, body=content, headers=headers or {})
    return decode(wire, reply, content_filter=content_filter, now=NOW)


every_wire = pytest.mark.parametrize("wire", WIRES)


@every_wire
@pytest.mark.parametrize(
    ("status", "kind", "consequence"),
    [
        (408, FailureKind.BUSY, Consequence.RETRY),
        (409, FailureKind.BUSY, Consequence.RETRY),
        (425, FailureKind.BUSY, Consequence.RETRY),
        (429, FailureKind.THROTTLED, Consequence.RETRY),
        (500, FailureKind.SERVER_ERROR, Consequence.RETRY),
        (502, FailureKind.SERVER_ERROR, Consequence.RETRY),
        (503, FailureKind.SERVER_ERROR, Consequence.RETRY),
        (520, FailureKind.SERVER_ERROR, Consequence.RETRY),
        (529, FailureKind.SERVER_ERROR, Consequence.RETRY),
        (400, FailureKind.REJECTED, Consequence.STOP_JUDGE),
        (404, FailureKind.REJECTED, Consequence.STOP_JUDGE),
        (405, FailureKind.REJECTED, Consequence.STOP_JUDGE),
        (413, FailureKind.REJECTED, Consequence.STOP_JUDGE),
        (422, FailureKind.REJECTED, Consequence.STOP_JUDGE),
        (451, FailureKind.REJECTED, Consequence.STOP_JUDGE),
        (301, FailureKind.REDIRECTED, Consequence.STOP_JUDGE),
        (307, FailureKind.REDIRECTED, Consequence.STOP_JUDGE),
        (401, FailureKind.REFUSED, Consequence.STOP_RUN),
        (402, FailureKind.REFUSED, Consequence.STOP_RUN),
        (403, FailureKind.REFUSED, Consequence.STOP_RUN),
    ],
)
def test_statuses(wire, status, kind, consequence):
    found = read(wire, status, {"error": {"message": "because", "type": "some_error"}})
    assert isinstance(found, Failure)
    assert (found.kind, found.kind.consequence, found.status) == (kind, consequence, status)
    assert "because" in found.detail


@every_wire
def test_a_used_up_account_is_refused_and_not_throttled(wire):
    error = {"error": {"code": "insufficient_quota", "message": "You exceeded your quota"}}
    assert read(wire, 429, error).kind is FailureKind.REFUSED


@every_wire
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", FailureKind.NOT_JSON),
        (b"<html>gateway</html>", FailureKind.NOT_JSON),
        (b'{"choices": [{"mess', FailureKind.NOT_JSON),
        (b'{"id": "\xff\xfe"}', FailureKind.NOT_JSON),
        (b"[" * 100_000, FailureKind.NOT_JSON),
        (b"[]", FailureKind.NO_COMPLETION),
        (b'"A"', FailureKind.NO_COMPLETION),
        (b"null", FailureKind.NO_COMPLETION),
        (b"{}", FailureKind.NO_COMPLETION),
        (b'{"choices": []}', FailureKind.NO_COMPLETION),
        (b'{"choices": null, "content": null}', FailureKind.NO_COMPLETION),
        (b'{"choices": [null], "content": "A"}', FailureKind.NO_COMPLETION),
        (b'{"choices": [{}]}', FailureKind.NO_COMPLETION),
        (b'{"error": {"message": "overloaded"}}', FailureKind.ERROR_OBJECT),
        (b'{"error": "overloaded"}', FailureKind.ERROR_OBJECT),
        (b'{"type": "error", "error": {"type": "x"}}', FailureKind.ERROR_OBJECT),
    ],
)
def test_a_200_without_a_completion_is_a_failed_attempt(wire, body, kind):
    found = read(wire, 200, body)
    assert isinstance(found, Failure)
    assert found.kind is kind
    assert found.kind.consequence is Consequence.RETRY


@every_wire
@pytest.mark.parametrize("text", ["", " ", "I will not.", "nonsense \u0000 \U0001f600", "A"])
def test_whatever_a_completion_says_it_is_one(wire, text):
    found = read(wire, 200, WIRES[wire](text))
    assert isinstance(found, Answer)
    assert found.completion.text == text


def test_null_content_is_a_completion_without_text():
    assert read("openai-chat", 200, chat_body(None)).completion == Completion(
        text=None, finish_reason="stop"
    )


def test_an_anthropic_message_without_blocks_is_an_empty_completion():
    body = {**messages_body(), "content": []}
    assert read("anthropic", 200, body).completion.text == ""


def test_refusals_are_completions():
    chat = read("openai-chat", 200, chat_body(None, refusal="I cannot")).completion
    assert (chat.text, chat.refusal) == (None, "I cannot")
    claude = read("anthropic", 200, messages_body("", finish="refusal")).completion
    assert claude.refusal == ""


def test_the_reasoning_channel_is_no_answer():
    body = chat_body("B", reasoning_content="A", reasoning="A")
    assert read("openai-chat", 200, body).completion.text == "B"
    thinking = {"type": "thinking", "thinking": "A"}
    body = messages_body("B")
    body["content"].insert(0, thinking)
    assert read("anthropic", 200, body).completion.text == "B"


def test_content_parts_are_joined():
    body = chat_body([{"type": "text", "text": "TI"}, {"type": "text", "text": "E"}])
    assert read("openai-chat", 200, body).completion.text == "TIE"


@every_wire
def test_the_judges_rule_makes_a_400_a_filtered_completion(wire):
    error = {"error": {"code": "content_filter", "message": "The prompt triggered our policy"}}
    for rule in (("content_filter",), ("triggered OUR policy",)):
        found = read(wire, 400, error, content_filter=rule)
        assert isinstance(found, Answer)
        assert found.completion.content_filtered
    assert read(wire, 400, error, content_filter=("other",)).kind is FailureKind.REJECTED
    assert read(wire, 403, error, content_filter=("content_filter",)).kind is FailureKind.REFUSED


def test_openai_says_what_it_used_and_who_answered():
    body = {**chat_body("A", model="m-2"), "seed": 5}
    body["usage"]["prompt_tokens_details"] = {"cached_tokens": 64}
    found = read("openai-chat", 200, body)
    assert (found.input_tokens, found.output_tokens, found.cached_tokens) == (100, 2, 64)
    assert (found.model, found.fingerprint, found.response_id) == ("m-2", "fp_1", "chatcmpl-1")
    assert found.echoed_seed == 5


def test_anthropic_input_includes_what_the_cache_read_and_wrote():
    body = messages_body()
    body["usage"]["cache_creation_input_tokens"] = 5
    found = read("anthropic", 200, body)
    assert (found.input_tokens, found.output_tokens, found.cached_tokens) == (105, 2, 10)


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": -1}, {"prompt_tokens": "9"}, 7, []])
def test_nonsense_about_usage_is_no_usage(usage):
    found = read("openai-chat", 200, {**chat_body(), "usage": usage})
    assert found.input_tokens is None


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT"}, 30.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:50"}, 30.0),
        ({"retry-after": "Tue, 14 Nov 2000 00:00:00 GMT"}, 0.0),
        ({"retry-after": "Fri, 31 Dec 99999 23:59:59 GMT"}, None),
        ({"retry-after": "Wed, 21 Oct 2099999999999 07:28:00 GMT"}, None),
        ({"retry-after": "Mon, 01 Jan 0001 00:00:00 +9999"}, 0.0),
        ({"retry-after": "Thu, 99 Zzz 2025 99:99:99 GMT"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
    ],
)
def test_retry_after_in_seconds_and_as_a_date(headers, expected):
    assert read("openai-chat", 429, b"{}", headers=headers).retry_after == expected
    assert read("openai-chat", 503, b"{}", headers=headers).retry_after == expected


@pytest.mark.parametrize(
    "headers", [{"x-cache": "HIT from proxy"}, {"age": "12"}, {"cf-cache-status": "HIT"}]
)
def test_a_reply_from_a_cache_is_a_replay(headers):
    assert read("openai-chat", 200, chat_body(), headers=headers).replayed
    assert not read("openai-chat", 200, chat_body(), headers={"x-cache": "MISS"}).replayed


def test_words_are_safe_to_print_and_short():
    hostile = {"error": {"message": "\x1b[2J\x07 wiped " + "x" * 10_000}}
    detail = read("openai-chat", 500, hostile).detail
    assert "\x1b" not in detail
    assert "\x07" not in detail
    assert len(detail) < 1_000


def test_lone_surrogates_become_storable():
    body = b'{"choices": [{"message": {"content": "A \\ud800"}, "finish_reason": "stop"}]}'
    text = read("openai-chat", 200, body).completion.text
    assert text.encode()
    assert text.startswith("A ")


@pytest.mark.parametrize("wire", WIRES)
def test_a_body_cut_at_any_byte_is_never_a_completion(wire):
    whole = json.dumps(WIRES[wire]("A")).encode()
    for at in range(len(whole)):
        found = read(wire, 200, whole[:at])
        assert isinstance(found, Failure), at
        assert found.kind is FailureKind.NOT_JSON


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "message", "content", "text", "usage", "error", "id", "model", "type"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(value=json_values, wire=st.sampled_from([*WIRES]), status=st.sampled_from([200, 400, 429]))
def test_nothing_that_is_json_makes_decoding_raise(value, wire, status):
    found = read(wire, status, json.dumps(value).encode(), content_filter=("x",))
    assert isinstance(found, Answer | Failure)


@given(body=st.binary(max_size=60), wire=st.sampled_from([*WIRES]))
def test_no_bytes_make_decoding_raise(body, wire):
    assert isinstance(read(wire, 200, body), Answer | Failure)


DATE_PARTS = [
    *("Wed,", "21", "Oct", "2026", "07:28:00", "GMT", "+0000", "-9999", "99999999999", "0", "Jan"),
    *(":", "::", "1:2", "-", ",", "\u00e4", "\x00", "\u00b2", "1e9", "AM", "\u0661"),
]


@given(st.one_of(st.lists(st.sampled_from(DATE_PARTS)).map(" ".join), st.text()))
@settings(max_examples=2_000, deadline=None)
def test_any_retry_after_is_a_time_to_wait_or_nothing(value):
    for name in ("retry-after", "retry-after-ms"):
        seconds = retry_after(Reply(status=429, body=b"", headers={name: value}), NOW)
        assert seconds is None or 0 <= seconds < float("inf")
