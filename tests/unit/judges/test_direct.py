"""Two ways to post, one over bare connections and one through the session: the same in all."""

import asyncio

import aiohttp
import pytest
from yarl import URL

from judgelaw.acquire.engine import _session
from judgelaw.errors import InputError
from judgelaw.judges import JudgeContext, http, open_judge
from judgelaw.judges.http import DirectPost, HttpJudge
from judgelaw.wire import Failure, FailureKind, JudgeSpec, Reply

BODY = b'{"messages": []}'
OK = b"HTTP/1.1 200 OK\r\n"
JSON = OK + b"Content-Type: application/json\r\n"
WHOLE = JSON + b"Content-Length: 4\r\n\r\nabcd"
REPLIES = {
    "whole": WHOLE,
    "chunked": JSON + b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n",
    "until the end": JSON + b"Connection: close\r\n\r\nabcd",
    "empty": JSON + b"Content-Length: 0\r\n\r\n",
    "without a body": b"HTTP/1.1 204 No Content\r\n\r\n",
    "after hints": b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + WHOLE,
    "after going on": b"HTTP/1.1 100 Continue\r\n\r\n" + WHOLE,
    "redirected": b"HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n",
    "throttled": b"HTTP/1.1 429 Slow\r\nRetry-After: 3\r\nContent-Length: 2\r\n\r\n{}",
    "with a cookie": JSON + b"Set-Cookie: a=b\r\nContent-Length: 4\r\n\r\nabcd",
    "packed": JSON
    + b"Content-Encoding: deflate\r\nContent-Length: 12\r\n\r\n"
    + b"x\x9cKLJN\x01\x00\x03\xd8\x01\x8b",
}
FAULTS = {
    "cut": (JSON + b"Content-Length: 9\r\n\r\nabcd", FailureKind.CUT),
    "cut in a chunk": (JSON + b"Transfer-Encoding: chunked\r\n\r\n9\r\nab", FailureKind.CUT),
    "cut in the head": (OK, FailureKind.RESET),
    "nothing": (b"", FailureKind.RESET),
    "no HTTP": (b"SSH-2.0-OpenSSH_9.2\r\n", FailureKind.BAD_HTTP),
    "a bad header": (OK + b"no colon\r\n\r\n", FailureKind.BAD_HTTP),
    "two lengths": (
        OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        FailureKind.BAD_HTTP,
    ),
    "too large": (JSON + b"Content-Length: 4000\r\n\r\n" + b"a" * 40, FailureKind.TOO_LARGE),
    "too large in chunks": (
        JSON + b"Transfer-Encoding: chunked\r\n\r\n28\r\n" + b"a" * 40 + b"\r\n",
        FailureKind.TOO_LARGE,
    ),
}
CLOSED = {"until the end", *FAULTS}


class Server:
    """Answers every request with the same bytes; keeps what it was sent, by connection."""

    def __init__(self, answer, *, close=False):
        self._answer = answer
        self._close = close
        self.sent = []
        self.connections = 0
        self.lost = asyncio.Event()

    async def _serve(self, reader, writer):
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                self.sent.append(head + await reader.readexactly(length))
                if self._answer is not None:
                    writer.write(self._answer)
                    await writer.drain()
                if self._close:
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            self.lost.set()
            writer.close()

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exception):
        self._server.close()


def judge_at(server, session, **fields):
    spec = JudgeSpec(
        name="j",
        provider="openai-chat",
        model="m",
        base_url=f"http://127.0.0.1:{server.port}/v1",
        **fields,
    )
    return open_judge(spec, JudgeContext(frozen=None, session=session, clock=lambda: 0.0))


def asked(answer, *, direct, times=2, close=False, **fields):
    """Ask a server that answers with these bytes; return it and what came back."""

    async def run():
        async with Server(answer, close=close) as server, _session() as session:
            async with judge_at(server, session, **fields) as judge:
                assert isinstance(judge._post, DirectPost) == direct
                found = [await judge.ask(None, BODY) for _ in range(times)]
            return server, found

    return asyncio.run(run())


@pytest.fixture(params=[True, False], ids=["direct", "session"])
def direct(request, monkeypatch):
    if not request.param:
        monkeypatch.setattr(DirectPost, "serves", lambda *_: False)
    return request.param


@pytest.mark.parametrize("name", REPLIES)
def test_whatever_is_answered_arrives_whole_and_leaves_the_connection_open(direct, name):
    closed = name in CLOSED
    server, replies = asked(REPLIES[name], direct=direct, close=closed)
    bodies = {"throttled": b"{}", "empty": b"", "without a body": b"", "redirected": b""}
    assert [reply.body for reply in replies] == [bodies.get(name, b"abcd")] * 2
    status = int(REPLIES[name].split(b" ")[1])
    assert {reply.status for reply in replies} == {200 if name.startswith("after") else status}
    assert len(server.sent) == 2, "each was sent once, and no redirect was followed"
    assert server.connections == (2 if closed else 1)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_has_the_same_name_and_costs_the_connection(direct, name, monkeypatch):
    monkeypatch.setattr(http, "LARGEST_REPLY", 20)
    answer, kind = FAULTS[name]
    server, found = asked(answer, direct=direct, close="large" not in name)
    assert [type(each) for each in found] == [Failure, Failure]
    assert {each.kind for each in found} == {kind}
    assert len(server.sent) == server.connections == 2


def test_the_same_bytes_leave_on_either_way(monkeypatch):
    monkeypatch.setenv("SOME_KEY", "sk-secret-1234")
    ways = {
        "plain": {},
        "key": {"api_key": "env:SOME_KEY"},
        "headers": {"headers": {"Accept": "application/json", "X-Org": "literal:café"}},
        "query": {"query": {"api-version": "2025 01/01"}},
    }
    straight = [asked(WHOLE, direct=True, **fields)[0].sent for fields in ways.values()]
    monkeypatch.setattr(DirectPost, "serves", lambda *_: False)
    around = [asked(WHOLE, direct=False, **fields)[0].sent for fields in ways.values()]
    for one, other in zip(straight, around, strict=True):
        assert list(map(lines, one)) == list(map(lines, other))


def lines(request):
    """Return the lines of a request without what differs from server to server."""
    return [line for line in request.split(b"\r\n") if not line.startswith(b"Host: 127.0.0.1:")]


def test_a_key_that_changes_is_sent_as_it_is_now(monkeypatch):
    async def run():
        async with Server(WHOLE) as server, _session() as session:
            async with judge_at(server, session, api_key="env:SOME_KEY") as judge:
                for key in ("sk-first-1234", "sk-second-5678"):
                    monkeypatch.setenv("SOME_KEY", key)
                    await judge.ask(None, BODY)
            return server.sent

    monkeypatch.setenv("SOME_KEY", "sk-first-1234")
    first, second = asyncio.run(run())
    assert b"Bearer sk-first-1234\r\n" in first
    assert b"Bearer sk-second-5678\r\n" in second


def test_a_header_of_two_lines_is_refused_before_anything_is_sent():
    async def run():
        async with Server(WHOLE) as server, _session() as session:
            post = DirectPost(session, URL(f"http://127.0.0.1:{server.port}/v1"))
            with pytest.raises(InputError, match="header 'X-Two' holds a line break"):
                await post({"X-Two": "one\r\nX-Three: two"}, BODY)
            assert not server.connections

    asyncio.run(run())


@pytest.mark.usefixtures("direct")
def test_a_call_that_nobody_waits_for_costs_its_connection():
    async def run():
        async with Server(None) as server, _session() as session:
            async with judge_at(server, session) as judge:
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(judge.ask(None, BODY), 0.05)
                await asyncio.wait_for(server.lost.wait(), 5)
            assert len(server.sent) == 1

    asyncio.run(run())


@pytest.mark.usefixtures("direct")
def test_what_nobody_asked_for_is_the_answer_to_no_call():
    """A server that answers once too often would be heard one call late from then on."""
    said, surplus = 0, asyncio.Event()

    async def serve(reader, writer):
        nonlocal said
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            await reader.readexactly(length)
            said += 1
            writer.write(JSON + b"Content-Length: 4\r\n\r\n%4d" % said)
            if said == 1:
                await surplus.wait()
                writer.write(JSON + b"Content-Length: 4\r\n\r\nmore")

    async def run():
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        server.port = server.sockets[0].getsockname()[1]
        async with _session() as session, judge_at(server, session) as judge:
            found = [await judge.ask(None, BODY)]
            surplus.set()
            (idle,) = next(iter(session.connector._conns.values()))
            while not idle[0].should_close:  # noqa: ASYNC110 - until the surplus has arrived
                await asyncio.sleep(0)
            found += [await judge.ask(None, BODY) for _ in range(2)]
        server.close()
        return [int(reply.body) for reply in found]

    assert asyncio.run(run()) == [1, 2, 3]


@pytest.mark.usefixtures("direct")
def test_a_large_body_arrives_whole():
    async def run():
        body = b'"' + b"x" * 900_000 + b'"'
        async with Server(WHOLE) as server, _session() as session:
            async with judge_at(server, session) as judge:
                assert isinstance(await judge.ask(None, body), Reply)
            assert server.sent[0].endswith(body)

    asyncio.run(run())


def test_another_aiohttp_a_proxy_or_a_closing_server_is_asked_through_the_session(monkeypatch):
    async def changed(self, request, *more):
        """Stand for a version of aiohttp that hands out connections in another way."""

    async def run():
        url = URL("http://127.0.0.1:1/v1")
        async with _session() as session:
            assert DirectPost.serves(session, url)
            assert not DirectPost.serves(session, URL("http://me:secret@127.0.0.1:1/v1"))
            assert not DirectPost.serves(session, URL("ftp://127.0.0.1:1/v1"))
            spec = JudgeSpec(
                name="j",
                provider="openai-chat",
                model="m",
                base_url=str(url),
                proxy="http://127.0.0.1:2",
            )
            around = JudgeContext(frozen=None, session=session, clock=lambda: 0.0)
            async with HttpJudge(spec, around) as judge:
                assert not isinstance(judge._post, DirectPost)
            monkeypatch.setattr(aiohttp.TCPConnector, "connect", changed)
            assert not DirectPost.serves(session, url)
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(force_close=True)
        ) as session:
            assert not DirectPost.serves(session, url)

    asyncio.run(run())
