"""A local provider that speaks the real wire formats, and misbehaves on demand."""

import asyncio
import hashlib
import json
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from aiohttp import web

Act = Callable[["Seen", web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One request as the server saw it; `number` counts requests with these bytes, from 1."""

    path: str
    body: bytes
    headers: dict[str, str]
    number: int
    total: int

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.body).hexdigest()


def chat_body(text="A", *, finish="stop", model="m", number=1, **message) -> dict:
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "model": model,
        "system_fingerprint": "fp_1",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, **message},
                "finish_reason": finish,
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 2},
    }


def completions_body(text="A", *, finish="stop", model="m", number=1) -> dict:
    return {
        "id": f"cmpl-{number}",
        "model": model,
        "choices": [{"index": 0, "text": text, "finish_reason": finish}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 2},
    }


def messages_body(text="A", *, finish="end_turn", model="m", number=1) -> dict:
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": text}],
        "stop_reason": finish,
        "usage": {"input_tokens": 90, "cache_read_input_tokens": 10, "output_tokens": 2},
    }


def responses_body(text="A", *, finish="completed", model="m", number=1, why=None) -> dict:
    part = {"type": "output_text", "text": text, "annotations": []}
    message = {"type": "message", "id": "m", "role": "assistant", "status": finish}
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1,
        "status": finish,
        "error": None,
        "incomplete_details": why and {"reason": why},
        "model": model,
        "output": [{"type": "reasoning", "id": "r", "summary": []}, {**message, "content": [part]}],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 10},
            "output_tokens": 2,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 102,
        },
    }


BODIES = {
    "/v1/responses": responses_body,
    "/v1/chat/completions": chat_body,
    "/v1/completions": completions_body,
    "/v1/messages": messages_body,
}


def say(text="A", **fields) -> Act:
    """Answer as a model would, in the format of the endpoint."""

    async def act(seen, _request):
        body = BODIES[seen.path](text, **{**fields, "number": seen.total})
        return web.json_response(body)

    return act


def reply(status: int, body: bytes | str | dict = b"", headers=None) -> Act:
    """Answer with exactly this."""
    content = json.dumps(body) if isinstance(body, dict) else body
    content = content.encode() if isinstance(content, str) else content

    async def act(_seen, _request):
        return web.Response(status=status, body=content, headers=headers)

    return act


def cut(at: int) -> Act:
    """Announce a whole reply, send its first bytes, and close the connection."""

    async def act(seen, request):
        whole = json.dumps(BODIES[seen.path](number=seen.total)).encode()
        response = web.StreamResponse(headers={"Content-Length": str(len(whole))})
        await response.prepare(request)
        await response.write(whole[:at])
        request.transport.close()
        return response

    return act


def short_json(at: int) -> Act:
    """Send the first bytes of a reply as if they were all of it."""

    async def act(seen, _request):
        whole = json.dumps(BODIES[seen.path](number=seen.total)).encode()
        return web.Response(body=whole[:at])

    return act


async def reset(_seen, request):
    """Tear the connection down before a byte is sent."""
    request.transport.abort()
    return web.Response()


async def reset_mid_body(_seen, request):
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b'{"choices": [')
    request.transport.abort()
    return response


def drip(every: float) -> Act:
    """Send a byte now and then, for ever."""

    async def act(_seen, request):
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" ")
            await asyncio.sleep(every)

    return act


async def echo_headers(seen, _request):
    """Repeat the request's headers in the completion: a proxy that leaks."""
    text = "A " + json.dumps(seen.headers)
    return web.json_response(BODIES[seen.path](text, number=seen.total))


def first(act: Act, then: Act | None = None, times: int = 1) -> Act:
    """Misbehave the first times that these bytes are asked, then do the other thing."""
    then = then or say()

    async def chosen(seen, request):
        return await (act if seen.number <= times else then)(seen, request)

    return chosen


@dataclass
class Provider:
    """The server, in a thread of its own, until the context ends."""

    act: Act = field(default_factory=say)
    seen: list[Seen] = field(default_factory=list)
    port: int = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def root_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def counts(self) -> Counter:
        """How often each request, by its hash, arrived."""
        return Counter(s.sha256 for s in self.seen)

    def __enter__(self):
        self._loop = asyncio.new_event_loop()
        started = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(started,), daemon=True)
        self._thread.start()
        assert started.wait(10)
        return self

    def __exit__(self, *exception):
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    def _serve(self, started):
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._main(started))
        self._loop.close()

    async def _main(self, started):
        self._stop = asyncio.Event()
        app = web.Application(client_max_size=2**26)
        app.router.add_route("*", "/{tail:.*}", self._handle)
        runner = web.AppRunner(app, handle_signals=False, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.port = runner.addresses[0][1]
        started.set()
        await self._stop.wait()
        await runner.cleanup()

    async def _handle(self, request):
        body = await request.read()
        digest = hashlib.sha256(body).hexdigest()
        number = 1 + sum(s.sha256 == digest for s in self.seen)
        seen = Seen(
            path=request.path,
            body=body,
            headers=dict(request.headers),
            number=number,
            total=len(self.seen) + 1,
        )
        self.seen.append(seen)
        return await self.act(seen, request)
