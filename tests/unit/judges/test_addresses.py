"""Queries, proxies, keys in other headers and files of variables: how a judge is reached."""

import asyncio
import os
import socket
import ssl
import threading
from contextlib import contextmanager, suppress
from urllib.parse import parse_qs, urlsplit

import pytest

from judgelaw.acquire import acquire
from judgelaw.cli.init import study_text
from judgelaw.errors import IncompleteRunError, InputError, JudgelawError, StudyError
from judgelaw.ledger import LEDGER_NAME, SqliteView
from judgelaw.study import load_study, open_run
from judgelaw.wire import Proxy, proxy_for
from servers import untrusted
from servers.provider import Provider, say
from servers.study import chat_judge, frozen_study, write_study

KEY = "sk-7f3a9c51e2aa44"


def test_a_query_is_added_to_the_address_and_is_no_part_of_the_judge(tmp_path):
    seen = []

    async def act(call, request):
        seen.append(request.path_qs)
        return await say()(call, request)

    with Provider(act) as provider:
        judge = chat_judge(provider.base_url, query={"api-version": "2025-01-01"})
        frozen = frozen_study(tmp_path, [judge])
        acquire(frozen).raise_if_open()
    assert {parse_qs(urlsplit(path).query)["api-version"][0] for path in seen} == {"2025-01-01"}
    bare = frozen_study(tmp_path / "bare", [chat_judge("http://127.0.0.1:1/v1")])
    assert bare.judges["chat"].fingerprint == frozen.judges["chat"].fingerprint


def test_a_secret_in_a_query_comes_from_the_environment_and_is_never_stored(tmp_path, monkeypatch):
    monkeypatch.setenv("GATE_TOKEN", KEY)
    seen = []

    async def act(call, request):
        seen.append(request.query["code"])
        return await say(f"A {request.query['code']}")(call, request)

    with Provider(act) as provider:
        judge = chat_judge(provider.base_url, query={"code": "env:GATE_TOKEN"})
        frozen = frozen_study(tmp_path, [judge])
        acquire(frozen).raise_if_open()
    assert set(seen) == {KEY}
    for path in frozen.path.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes()
    monkeypatch.delenv("GATE_TOKEN")
    again = frozen_study(tmp_path / "again", [judge])
    with pytest.raises(InputError, match="query code is env:GATE_TOKEN, and GATE_TOKEN is not set"):
        acquire(again)


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"query": {"code": KEY}}, "judges[0].query.code: "),
        ({"query": {"api_key": "x"}}, "judges[0].query.api_key: "),
        ({"base_url": f"http://h/v1?key={KEY}"}, "query: {NAME: VALUE}"),
        ({"proxy": "socks://h:1"}, "must be http://HOST:PORT, env:NAME or none"),
        ({"proxy": f"http://me:{KEY}@h:1"}, "a password must not stand in a study"),
    ],
)
def test_keys_in_addresses_are_refused_with_their_line_and_never_shown(tmp_path, fields, word):
    with pytest.raises(StudyError) as error:
        load_study(write_study(tmp_path, [chat_judge("http://127.0.0.1:1/v1") | fields]))
    assert word in str(error.value)
    assert "study.yaml:" in str(error.value)
    assert KEY not in str(error.value)


@pytest.mark.parametrize(
    ("auth", "header", "value"),
    [
        (None, "Authorization", f"Bearer {KEY}"),
        ("bearer", "Authorization", f"Bearer {KEY}"),
        ("x-api-key", "x-api-key", KEY),
        ("api-key", "api-key", KEY),
    ],
)
def test_the_key_travels_in_the_header_that_is_declared(tmp_path, monkeypatch, auth, header, value):
    monkeypatch.setenv("SOME_KEY", KEY)
    with Provider() as provider:
        fields = {} if auth is None else {"auth": auth}
        judge = chat_judge(provider.base_url, api_key="env:SOME_KEY", **fields)
        acquire(frozen_study(tmp_path, [judge])).raise_if_open()
    assert {seen.headers[header] for seen in provider.seen} == {value}


async def forward(reader, writer, seen):
    """Answer as a proxy does: an absolute address in, the target's reply out."""
    head = await reader.readuntil(b"\r\n\r\n")
    seen.append(head.split()[1].decode())
    target = urlsplit(seen[-1])
    there, away = await asyncio.open_connection("127.0.0.1", target.port)
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    lines = head.replace(seen[-1].encode(), target.path.encode(), 1)
    away.write(lines.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    away.write(await reader.readexactly(length))
    writer.write(await there.read())
    await writer.drain()
    writer.close()
    away.close()


def test_a_declared_proxy_stands_between(tmp_path):
    seen = []

    async def run(frozen):
        server = await asyncio.start_server(lambda r, w: forward(r, w, seen), "127.0.0.1", 0)
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        spec = frozen.judges["chat"].model_copy(update={"proxy": address})
        from judgelaw.acquire.engine import _session
        from judgelaw.judges import JudgeContext, open_judge
        from judgelaw.study import request_for

        (call,) = frozen.iter_calls(limit=1)
        async with server, _session() as http:
            around = JudgeContext(frozen=frozen, session=http, clock=lambda: 0.0)
            async with open_judge(spec, around) as judge:
                return await judge.ask(call, request_for(frozen, call))

    with Provider() as provider:
        frozen = frozen_study(tmp_path, [chat_judge(provider.base_url)])
        reply = asyncio.run(run(frozen))
        assert reply.status == 200
        assert seen == [f"{provider.base_url}/chat/completions"]


def test_a_dead_proxy_is_named(tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    judge = chat_judge("http://judge.invalid/v1", proxy=f"http://127.0.0.1:{port}")
    fast = {"attempts": 1, "backoff_s": 0.01}
    frozen = frozen_study(tmp_path, [judge], transport=fast)
    done = acquire(frozen)
    with pytest.raises(IncompleteRunError, match=f"the proxy 127.0.0.1:{port} on the way to judge"):
        done.raise_if_open()
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        assert view.totals().completed == 0


def test_the_environment_names_a_proxy_for_others_but_not_for_this_machine(tmp_path, monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    spec = frozen_study(tmp_path, [chat_judge("http://127.0.0.1:1/v1")]).judges["chat"]
    assert proxy_for(spec, "https://api.openai.com/v1") is None
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    assert proxy_for(spec, "https://api.openai.com/v1") == Proxy("http://proxy:3128")
    assert proxy_for(spec, "https://127.0.0.1:1/v1") is None
    monkeypatch.setenv("no_proxy", "openai.com")
    assert proxy_for(spec, "https://api.openai.com/v1") is None
    monkeypatch.setenv("no_proxy", "")
    off = spec.model_copy(update={"proxy": "none"})
    assert proxy_for(off, "https://api.openai.com/v1") is None


def test_variables_are_read_from_a_file_where_a_study_asks(tmp_path, monkeypatch):
    monkeypatch.delenv("FILE_KEY", raising=False)
    monkeypatch.setenv("OTHER_KEY", "outer")
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / ".env").write_text(f"# keys\nexport FILE_KEY='{KEY}'\n\nOTHER_KEY=inner\n")
    with Provider() as provider:
        judge = chat_judge(provider.base_url, api_key="env:FILE_KEY")
        study = write_study(tmp_path, [judge], env_file=".env")
        from judgelaw.study import freeze

        acquire(freeze(load_study(study), tmp_path / "run")).raise_if_open()
    assert {seen.headers["Authorization"] for seen in provider.seen} == {f"Bearer {KEY}"}
    assert os.environ["OTHER_KEY"] == "outer", "what is exported goes first"
    assert open_run(tmp_path / "run").study.env_file == ".env"
    monkeypatch.delenv("FILE_KEY")
    (tmp_path / ".env").write_text(f"FILE_KEY {KEY}\n")
    with pytest.raises(StudyError, match=r"env_file: .*\.env:1: no NAME=VALUE") as error:
        load_study(study)
    assert KEY not in str(error.value)
    (tmp_path / ".env").unlink()
    with pytest.raises(StudyError, match="cannot be read"):
        load_study(study)


@pytest.mark.parametrize(
    ("model", "field"),
    [
        ("gpt-4.1-mini", "max_tokens: 512"),
        ("gpt-4o", "max_tokens: 512"),
        ("gpt-5-mini", "max_completion_tokens: 2048"),
        ("gpt-5.1", "max_completion_tokens: 2048"),
        ("o3", "max_completion_tokens: 2048"),
        ("o4-mini", "max_completion_tokens: 2048"),
    ],
)
def test_init_writes_the_cap_that_the_model_takes(model, field):
    text = study_text("openai", model, file="s.yaml", name="n", seed=1)
    assert field in text
    assert ("temperature" in text.split("decoding:")[1].split("}")[0]) == ("max_tokens" in field)


@pytest.mark.parametrize(
    ("decoding", "version"),
    [({}, "2026-10-21"), ({"temperature": 1.0}, "2023-06-01"), ({"top_k": 5}, "2023-06-01")],
)
def test_sampling_parameters_go_with_the_version_that_takes_them(tmp_path, decoding, version):
    with Provider() as provider:
        judge = chat_judge(
            provider.root_url, provider="anthropic", decoding={"max_tokens": 8, **decoding}
        )
        acquire(frozen_study(tmp_path, [judge])).raise_if_open()
        named = {**judge, "headers": {"anthropic-version": "literal:2099-01-01"}}
        acquire(frozen_study(tmp_path / "named", [named])).raise_if_open()
    seen = [each.headers["anthropic-version"] for each in provider.seen]
    assert set(seen[:16]) == {version}
    assert set(seen[16:]) == {"2099-01-01"}


@contextmanager
def listening(answer, tls=None):
    """Answer every connection in a thread; yield the port and what the first lines were."""
    seen = []

    async def served(reader, writer):
        with suppress(OSError, asyncio.IncompleteReadError):
            seen.append((await reader.read(4096)).split(b"\r\n")[0].decode(errors="replace"))
            writer.write(answer)
            await writer.drain()
        writer.close()

    loop, started = asyncio.new_event_loop(), threading.Event()
    server = loop.run_until_complete(asyncio.start_server(served, "127.0.0.1", 0, ssl=tls))
    thread = threading.Thread(target=lambda: (loop.call_soon(started.set), loop.run_forever()))
    thread.start()
    started.wait()
    try:
        yield server.sockets[0].getsockname()[1], seen
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        loop.run_until_complete(asyncio.sleep(0.01))
        loop.close()


def refused(folder, judge):
    """Run a study that gets no answer; return how many attempts there were, and what was said."""
    transport = {"attempts": 5, "backoff_s": 0.01, "concurrency": 4}
    frozen = frozen_study(folder, [judge], transport=transport)
    with pytest.raises(JudgelawError) as error:
        acquire(frozen).raise_if_open()
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        assert view.totals().completed == 0
        return len(list(view.attempts())), str(error.value)


HTML = b"HTTP/1.1 502 \r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<html></html>"


def test_a_certificate_that_nobody_trusts_is_told_in_the_words_of_tls(tmp_path):
    pem = tmp_path / "server.pem"
    pem.write_text(untrusted.KEY_AND_CERTIFICATE)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pem)
    with listening(HTML, context) as (port, seen):
        _, words = refused(tmp_path, chat_judge(f"https://127.0.0.1:{port}/v1"))
    assert "its certificate is not trusted (self-signed certificate)" in words
    assert "nothing was sent: set SSL_CERT_FILE to the certificates that you trust" in words
    assert seen == []


def test_a_server_without_tls_is_told_so(tmp_path):
    with listening(HTML) as (port, _):
        _, words = refused(tmp_path, chat_judge(f"https://127.0.0.1:{port}/v1"))
    assert "TLS failed (" in words
    assert "check scheme and port of base_url" in words
    assert "not permitted" not in words


@pytest.mark.parametrize("scheme", ["https", "http"])
def test_a_proxy_that_wants_a_password_is_asked_a_few_times_and_named(tmp_path, scheme):
    """Through CONNECT and without: whoever gave a wrong password gives it again the next time."""
    wants = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
    with listening(wants) as (port, seen):
        judge = chat_judge(f"{scheme}://judge.invalid/v1", proxy=f"http://127.0.0.1:{port}")
        _, words = refused(tmp_path, judge)
    assert "407" in words
    assert f"the proxy 127.0.0.1:{port} on the way to judge.invalid" in words
    assert "check the user and the password of the proxy" in words
    assert len(seen) <= 4, "one for each call that was under way"
