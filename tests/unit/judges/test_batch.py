"""What batch interfaces say, line by line: each row of "what counts as what" has its line."""

import asyncio
import time

import aiohttp
import pytest

from judgelaw.judges import JudgeContext
from judgelaw.judges.http import BatchLink
from judgelaw.wire import (
    Answer,
    Batch,
    Failure,
    JudgeSpec,
    LostBatch,
    Reply,
    Stage,
    Unheard,
    decode,
)
from judgelaw.wire.providers import anthropic, openai
from servers.provider import Provider, reply


def openai_line(status=None, body=None, error=None):
    response = None if status is None else {"status_code": status, "request_id": "r", "body": body}
    return {"id": "b", "custom_id": "c", "response": response, "error": error}


CHAT = {
    "id": "x",
    "model": "m",
    "choices": [{"message": {"content": "A"}, "finish_reason": "stop"}],
}
MESSAGE = {"id": "x", "model": "m", "content": [{"type": "text", "text": "A"}]}


def kind_of(wire, read):
    """Return the text of an answer, or the kind of a failure."""
    found = decode(wire, read, now=0.0) if isinstance(read, Reply) else read
    return found.completion.text if isinstance(found, Answer) else found.kind.value


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        (openai_line(200, CHAT), "A"),
        (openai_line(200, {"error": {"message": "x"}}), "error_object"),
        (openai_line(200, {"choices": []}), "no_completion"),
        (openai_line(200, None), "no_completion"),
        (openai_line(200, "text"), "no_completion"),
        (openai_line(429, {"error": {"code": "rate_limit_exceeded"}}), "throttled"),
        (openai_line(429, {"error": {"code": "insufficient_quota"}}), "refused"),
        (openai_line(500, {}), "server_error"),
        (openai_line(400, {"error": {"message": "bad"}}), "rejected"),
        (openai_line(401, {"error": {"message": "key"}}), "refused"),
        (openai_line(error={"code": "batch_expired", "message": "late"}), "expired"),
        (openai_line(error={"code": "batch_cancelled", "message": "x"}), "cancelled"),
        (openai_line(error={"code": "other", "message": "x"}), "error_object"),
        (openai_line(), "no_completion"),
        ({"custom_id": "c", "response": {"status_code": "200"}}, "no_completion"),
        ({}, "no_completion"),
    ],
)
def test_a_line_of_openai(line, becomes):
    assert kind_of("openai-chat", openai.read_line(line)) == becomes


def errored(kind):
    error = {"type": "error", "error": {"type": kind, "message": "words"}}
    return {"custom_id": "c", "result": {"type": "errored", "error": error}}


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        ({"custom_id": "c", "result": {"type": "succeeded", "message": MESSAGE}}, "A"),
        ({"custom_id": "c", "result": {"type": "succeeded", "message": {}}}, "no_completion"),
        ({"custom_id": "c", "result": {"type": "expired"}}, "expired"),
        ({"custom_id": "c", "result": {"type": "canceled"}}, "cancelled"),
        ({"custom_id": "c", "result": {"type": "something new"}}, "no_completion"),
        ({"custom_id": "c", "result": None}, "no_completion"),
        ({}, "no_completion"),
        (errored("invalid_request_error"), "rejected"),
        (errored("request_too_large"), "rejected"),
        (errored("not_found_error"), "rejected"),
        (errored("authentication_error"), "refused"),
        (errored("permission_error"), "refused"),
        (errored("billing_error"), "refused"),
        (errored("rate_limit_error"), "throttled"),
        (errored("api_error"), "server_error"),
        (errored("overloaded_error"), "server_error"),
        (errored("timeout_error"), "server_error"),
        (errored("something new"), "server_error"),
        ({"custom_id": "c", "result": {"type": "errored", "error": "text"}}, "server_error"),
    ],
)
def test_a_line_of_anthropic(line, becomes):
    assert kind_of("anthropic", anthropic.read_line(line)) == becomes


@pytest.mark.parametrize(
    ("status", "stage"),
    [
        ("validating", Stage.WORKING),
        ("in_progress", Stage.WORKING),
        ("finalizing", Stage.WORKING),
        ("cancelling", Stage.WORKING),
        ("completed", Stage.ENDED),
        ("expired", Stage.ENDED),
        ("cancelled", Stage.CANCELLED),
        ("failed", Stage.FAILED),
    ],
)
def test_a_status_of_openai(status, stage):
    look = openai.read_batch({"status": status, "output_file_id": "o", "error_file_id": None})
    assert (look.stage, look.sources) == (stage, ("o",))
    assert (look.failure is not None) == (stage is Stage.FAILED)


@pytest.mark.parametrize(
    ("errors", "kind"),
    [
        ([{"code": "token_limit_exceeded", "message": "full"}], "throttled"),
        ([{"code": "invalid_json_line", "message": "line 3"}], "rejected"),
        ([{"code": "token_limit_exceeded"}, {"code": "invalid_json_line"}], "rejected"),
        ([], "rejected"),
        (None, "rejected"),
        (-1, "rejected"),
        ([7, {"code": {}}], "rejected"),
    ],
)
def test_why_openai_did_not_accept_a_batch(errors, kind):
    look = openai.read_batch({"status": "failed", "errors": {"data": errors}})
    assert look.failure.kind.value == kind


FAR = 4_000_000_000


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ({"data": [{"id": "b", "metadata": {"judgelaw_batch": "u"}}]}, "b"),
        ({"data": [{"id": "b", "metadata": 5, "created_at": []}, 7]}, LostBatch.ABSENT),
        ({"data": {"id": "b"}, "has_more": True}, LostBatch.ABSENT),
        ({"data": [{"id": "b", "created_at": FAR}], "has_more": True}, "circle"),
        ({"data": [{"id": None, "created_at": FAR}], "has_more": True}, "without id"),
    ],
    ids=["found", "odd", "no list", "circle", "no id"],
)
def test_a_list_of_batches_is_read_to_its_end_whatever_it_holds(page, found):
    """A server that always has more must not keep a run asking for ever."""

    lost = Unheard(uid="u", since=0.0, calls=frozenset({"c"}))

    async def find():
        async with aiohttp.ClientSession() as session:
            around = JudgeContext(frozen=None, session=session, clock=time.time)
            async with openai.OpenAIBatches(BatchLink(judge, around)) as client:
                return await asyncio.wait_for(client.find(lost), 10)

    with Provider(reply(200, page)) as at:
        judge = JudgeSpec(name="j", provider="openai-chat", base_url=at.base_url, model="m")
        told = asyncio.run(find())
    if isinstance(told, Failure):
        assert found in told.detail
        assert len(at.seen) <= 2
    else:
        assert told == found


def test_a_status_of_anthropic():
    working = anthropic.read_batch({"processing_status": "in_progress"})
    canceling = anthropic.read_batch({"processing_status": "canceling", "cancel_initiated_at": "x"})
    ended = anthropic.read_batch({"processing_status": "ended", "cancel_initiated_at": None})
    cancelled = anthropic.read_batch({"processing_status": "ended", "cancel_initiated_at": "x"})
    stages = [look.stage for look in (working, canceling, ended, cancelled)]
    assert stages == [Stage.WORKING, Stage.WORKING, Stage.ENDED, Stage.CANCELLED]


def test_words_that_no_file_takes_survive_a_line():
    body = {**CHAT, "choices": [{"message": {"content": "\ud800 \0 \U0001f600"}}]}
    read = openai.read_line(openai_line(200, body))
    found = decode("openai-chat", read, now=0.0)
    assert found.completion.text == "\ufffd \0 \U0001f600"


def test_the_interface_is_part_of_the_judge_and_its_rhythm_is_not():
    plain = JudgeSpec(name="j", provider="openai-chat", base_url="http://h/v1", model="m")
    batched = plain.model_copy(update={"batch": Batch()})
    slower = plain.model_copy(update={"batch": Batch(poll_s=600, chunk=10)})
    assert plain.fingerprint != batched.fingerprint == slower.fingerprint


def test_failures_of_lines_are_failures():
    assert isinstance(openai.read_line({}), Failure)
