"""What every judge promises. A further one joins by adding itself to JUDGES."""

import asyncio
import hashlib
import time
from importlib.metadata import EntryPoint

import pytest

from judgelaw.acquire import acquire
from judgelaw.acquire.engine import _session
from judgelaw.errors import InputError
from judgelaw.judges import JudgeContext, open_judge
from judgelaw.judges.http import HttpJudge
from judgelaw.study import request_for
from judgelaw.wire import Answer, Failure, Reply
from servers.provider import Provider, reply, reset, say
from servers.study import chat_judge, frozen_study, simulated_judge

TEMPLATE = {"text": "{{ messages[0].content }}", "server_adds_bos": False}
JUDGES = {
    "simulated": lambda _: simulated_judge(),
    "openai-chat": lambda provider: chat_judge(provider.base_url),
    "openai-completions": lambda provider: chat_judge(
        provider.base_url, provider="openai-completions", template=TEMPLATE
    ),
    "anthropic": lambda provider: chat_judge(provider.root_url, provider="anthropic"),
    "openai-responses": lambda provider: chat_judge(provider.base_url, provider="openai-responses"),
}
OVER_HTTP = [name for name in JUDGES if name != "simulated"]


def ask(tmp_path, name, act=None, calls=3):
    """Ask the first calls of a study, one after the other; return provider, bodies and replies."""
    with Provider(act or say()) as provider:
        frozen = frozen_study(tmp_path, [JUDGES[name](provider)])
        (spec,) = frozen.judges.values()
        planned = list(frozen.iter_calls(limit=calls))
        bodies = [request_for(frozen, call) for call in planned]

        async def session():
            async with _session() as http:
                around = JudgeContext(frozen=frozen, session=http, clock=time.time)
                async with open_judge(spec, around) as judge:
                    replies = [
                        await judge.ask(call, body)
                        for call, body in zip(planned, bodies, strict=True)
                    ]
                    return judge, replies

        judge, replies = asyncio.run(session())
    return provider, bodies, judge, replies


@pytest.mark.parametrize("name", JUDGES)
def test_a_reply_decodes_to_an_answer_as_often_as_one_likes(tmp_path, name):
    _, _, judge, replies = ask(tmp_path, name)
    for answered in replies:
        assert isinstance(answered, Reply)
        first = judge.decode(answered)
        assert isinstance(first, Answer)
        assert judge.decode(answered) == first
        assert first.completion.text is not None
        assert first.response_id is not None


@pytest.mark.parametrize("name", OVER_HTTP)
def test_the_exact_bytes_are_sent_once(tmp_path, name):
    provider, bodies, _, _ = ask(tmp_path, name)
    assert [seen.body for seen in provider.seen] == bodies


@pytest.mark.parametrize("name", OVER_HTTP)
@pytest.mark.parametrize("fault", ["500", "reset"])
def test_a_fault_is_returned_and_never_tried_again_behind_our_back(tmp_path, name, fault):
    act = {"500": reply(500), "reset": reset}[fault]
    provider, bodies, judge, replies = ask(tmp_path, name, act)
    assert [seen.body for seen in provider.seen] == bodies
    for answered in replies:
        found = answered if isinstance(answered, Failure) else judge.decode(answered)
        assert isinstance(found, Failure)


def test_a_stale_connection_is_a_failed_attempt_and_no_silent_resend(tmp_path):
    """The server closes after each reply without saying so; whatever is lost is ours to count."""

    async def closing(seen, request):
        response = await say()(seen, request)
        asyncio.get_running_loop().call_later(0.005, request.transport.abort)
        return response

    provider, bodies, _, replies = ask(tmp_path, "openai-chat", closing, calls=8)
    sent = [hashlib.sha256(body).hexdigest() for body in bodies]
    assert set(provider.counts().values()) <= {1}
    answered = sum(isinstance(r, Reply) for r in replies)
    assert answered <= len(provider.seen) <= len(sent)


class Elsewhere(HttpJudge):
    """A judge of another package, named by its entry point."""

    def __init__(self, spec, around):
        super().__init__(spec.model_copy(update={"wire": "openai-chat"}), around)


def test_other_packages_add_judges(tmp_path, monkeypatch):
    point = EntryPoint(name="elsewhere", value=f"{__name__}:Elsewhere", group="judgelaw.judges")
    monkeypatch.setattr(EntryPoint, "load", lambda _: Elsewhere)
    for module in ("judgelaw.judges.port", "judgelaw.study.judge_rules"):
        monkeypatch.setattr(f"{module}.entry_points", lambda **_: [point])
    with Provider() as provider:
        judge = chat_judge(provider.base_url, provider="elsewhere", wire="openai-chat")
        frozen = frozen_study(tmp_path, [judge])
        acquire(frozen).raise_if_open()
        assert len(provider.seen) == frozen.count


def test_an_unknown_provider_lists_those_that_are_known(tmp_path):
    frozen = frozen_study(tmp_path, [simulated_judge()])
    spec = frozen.judges["sim"].model_copy(update={"provider": "nobody"})
    around = JudgeContext(frozen=frozen, session=None, clock=time.time)
    with pytest.raises(InputError, match="'nobody' is unknown; there are openai-chat"):
        open_judge(spec, around)
