"""A server for one person at one machine: loopback only, a token in the address, Host checked.

Whoever has the address may read; nobody else gets anything, a page of another origin included:

    the socket       is bound to 127.0.0.1, never to another interface
    the Host header  must name that address, so that a foreign name made to point here gets nothing
    the first part   of every path is the token, 256 random bits, compared in constant time
    what is sent     (a label) must be JSON from a page of this server, told by Origin
    every answer     forbids framing, foreign readers and foreign content

A proxy in front of it may show it under another address, which has to be declared: what a proxy
says in headers of its own (Forwarded, X-Forwarded-Host) is never read. Whoever sends something
else gets a status and one sentence, and nothing is printed.
"""

import asyncio
import json
import logging
import os
import secrets
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from judgelaw.errors import InputError, JudgelawError
from judgelaw.page import stylesheet
from judgelaw.processes import endings
from judgelaw.words import visible

HOST = "127.0.0.1"
_TOKEN_BYTES = 32
_PORTS = {"http": 80, "https": 443}
_BEHIND = "behind a proxy, start it with --public-url and the address that the browser shows"
_LEAD = """<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=URL">
<title>judgelaw</title>
<a href="URL">Go on to the page</a>
"""
_LARGEST_BODY = 1 << 18
_ASSETS = files("judgelaw.live") / "assets"
_KINDS = {"css": "text/css", "js": "text/javascript"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where the server is; the token makes it known to one person only.

    Attributes:
        port: on this machine.
        token: the first part of every path.
        public: the address under which a proxy shows the server.
    """

    port: int
    token: str
    public: str | None = None

    @property
    def url(self) -> str:
        """The address that a browser opens."""
        return f"{self.public or f'http://{HOST}:{self.port}'}/{self.token}/"

    @property
    def hosts(self) -> frozenset[str]:
        """What the Host header may be."""
        return frozenset(urlsplit(origin).netloc for origin in self.origins)

    @property
    def origins(self) -> frozenset[str]:
        """What a page of this server may say that it is from."""
        own = {f"http://{HOST}:{self.port}", f"http://localhost:{self.port}"}
        if self.public is not None:
            there = urlsplit(self.public)
            own.add(f"{there.scheme}://{there.netloc}")
            if there.port is None:  # some proxies name the port that goes without saying
                own.add(f"{there.scheme}://{there.netloc}:{_PORTS[there.scheme]}")
        return frozenset(own)


class LocalServer:
    """Serves a set of routes to whoever has the address.

    Args:
        routes: handlers by method and path behind the token, `("GET", "/api/runs")`.
        port: 0 for any that is free.
        public: the address under which a proxy shows the server, without the token.
    """

    def __init__(
        self,
        routes: "dict[tuple[str, str], Handler]",
        *,
        port: int = 0,
        public: str | None = None,
    ) -> None:
        self._routes = routes
        public = None if public is None else _public(public)
        self._socket = _bound(port)
        port = self._socket.getsockname()[1]
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        self.address = Address(port=port, token=token, public=public)
        self._leads_here: Path | None = None

    def show(self) -> bool:
        """Open a window of the user's browser where there is a screen; a terminal keeps its own.

        What stands in a command line can be read by everybody on the machine. The browser is
        started with a file of the user's own that leads to the address, and that is removed once
        the page was asked for. It lies in the home folder: browsers in a box see nothing else.
        """
        screen = sys.platform in ("darwin", "win32") or any(
            os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
        )
        if not screen:
            return False
        self._leads_here = _leading_to(self.address.url)
        if self._leads_here is not None and webbrowser.open(self._leads_here.as_uri()):
            return True
        self._remove_lead()
        return False

    def _remove_lead(self) -> None:
        if self._leads_here is not None:
            self._leads_here.unlink(missing_ok=True)
            self._leads_here = None

    def run(self, opened: Callable[[], None] = lambda: None) -> None:
        """Serve until Ctrl-C or a termination; `opened` is called once requests are taken."""
        asyncio.run(self._until(_on_signal, opened))

    @contextmanager
    def beside(self) -> Iterator[Address]:
        """Serve in a thread while the caller does something else."""
        ended, ready = threading.Event(), threading.Event()

        async def wait() -> None:
            await asyncio.to_thread(ended.wait)

        thread = threading.Thread(
            target=lambda: asyncio.run(self._until(wait, ready.set)), name="judgelaw-view"
        )
        thread.start()
        try:
            ready.wait()
            yield self.address
        finally:
            ended.set()
            thread.join()

    async def _until(self, wait: Callable[[], Awaitable[None]], opened: Callable[[], None]) -> None:
        runner = web.AppRunner(self._app(), access_log=None, logger=_nobody(), shutdown_timeout=1.0)
        await runner.setup()
        try:
            await web.SockSite(runner, self._socket).start()
            opened()
            await wait()
        finally:
            await runner.cleanup()
            self._remove_lead()

    def _app(self) -> web.Application:
        app = web.Application(middlewares=[self._guard()], client_max_size=_LARGEST_BODY)
        for (method, path), handler in self._routes.items():
            app.router.add_route(method, f"/{{token}}{path}", handler)
        app.router.add_get("/{token}/assets/{name}", _asset)
        app.on_shutdown.append(_end_streams)
        app[_STREAMS] = set()
        return app

    def _guard(self) -> Any:
        address = self.address

        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            if refusal := _refusal(request, address):
                return web.Response(status=403, text=refusal, headers=_HEADERS)
            self._remove_lead()
            try:
                answer = await handler(request)
            except web.HTTPException as error:
                answer = web.Response(status=error.status, text=error.reason)
            except Exception as error:  # noqa: BLE001 - said to whoever asked, who has the token
                answer = json_answer({"error": _in_words(error)}, status=500)
            if not answer.prepared:
                for name, value in _HEADERS.items():
                    answer.headers.setdefault(name, value)
            return answer

        return guard


def _refusal(request: web.Request, address: Address) -> str | None:
    """Say why a request gets nothing, None where it may have what it asks for."""
    if request.headers.get("Host") not in address.hosts:
        return f"this address is served on this machine alone; {_BEHIND}"
    # `CONNECT host` and `OPTIONS *` have no path.
    _, _, path = request.path.partition("/")
    token, _, _ = path.partition("/")
    if not secrets.compare_digest(token.encode(errors="replace"), address.token.encode()):
        return "open the address that the terminal shows, with its token"
    origin = request.headers.get("Origin")
    if origin is not None and origin not in address.origins:
        return f"a page of another origin gets nothing; {_BEHIND}"
    if request.method not in ("GET", "HEAD") and (
        origin is None or request.content_type != "application/json"
    ):
        return "only a page of this server may send something, as JSON"
    return None


def _bound(port: int) -> socket.socket:
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
    except OSError as error:
        found.close()
        raise InputError(
            f"--port {port}: {error.strerror}; choose another, or leave it out for any free one"
        ) from error
    return found


async def _on_signal() -> None:
    """Wait for Ctrl-C, a termination, or the end of the terminal."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in endings():
        with suppress(NotImplementedError):  # Windows: Ctrl-C ends the wait itself
            loop.add_signal_handler(number, stop.set)
    await stop.wait()


def page(title: str, script: str) -> Handler:
    """Return the handler of a page that a script fills."""

    async def shell(request: web.Request) -> web.Response:
        # Relative, so that the page works under whatever path a proxy shows it.
        base = "../" * (request.path.count("/") - 2) or "./"
        return web.Response(
            text=_asset_text("shell.html")
            .replace("TITLE", title)
            .replace("BASE", base)
            .replace("SCRIPT", script),
            content_type="text/html",
            charset="utf-8",
        )

    return shell


def json_answer(value: Any, *, status: int = 200) -> web.Response:
    """Answer with JSON."""
    return web.Response(text=_json(value), status=status, content_type="application/json")


async def stream(
    request: web.Request, events: Callable[[], AsyncIterator[Any]]
) -> web.StreamResponse:
    """Send values as server-sent events until they end, the reader leaves or the server stops."""
    # nginx gathers an answer before it passes it on, unless it is told not to.
    kind = {"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"}
    answer = web.StreamResponse(headers={**_HEADERS, **kind})
    await answer.prepare(request)
    task = asyncio.current_task()
    streams = request.app[_STREAMS]
    streams.add(task)
    try:
        async for value in events():
            await answer.write(f"data: {_json(value)}\n\n".encode())
    except (ConnectionError, asyncio.CancelledError):
        return answer  # the reader has left, or the server stops: there is nobody to tell
    finally:
        streams.discard(task)
    return answer


_STREAMS: web.AppKey[set[Any]] = web.AppKey("streams", set)


async def _end_streams(app: web.Application) -> None:
    running: set[Any] = app[_STREAMS]
    for task in tuple(running):
        task.cancel()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


async def _asset(request: web.Request) -> web.Response:
    name = request.match_info["name"]
    kind = _KINDS.get(name.rpartition(".")[2])
    if kind is None or "/" in name or not (_ASSETS / name).is_file():
        raise web.HTTPNotFound(reason="no such file")
    text = _asset_text(name)
    return web.Response(
        text=stylesheet() + text if kind == "text/css" else text, content_type=kind, charset="utf-8"
    )


@cache
def _asset_text(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _public(given: str) -> str:
    """Return the address that a proxy shows, without a slash at its end."""
    try:
        there = urlsplit(given)
        known = there.scheme in _PORTS and there.hostname and there.port != 0
    except ValueError:
        known = False
    if not known or there.username or there.query or there.fragment or not given.isascii():
        raise InputError(
            f"--public-url {given}: no address of a page; write it as the browser will show it, "
            "such as https://labels.example.org/team/"
        )
    return f"{there.scheme}://{there.netloc.lower()}{there.path.rstrip('/')}"


def _leading_to(url: str) -> Path | None:
    """Write a page of this user's own that leads to an address; None where nothing is writable."""
    page = _LEAD.replace("URL", url).encode()
    for folder in (Path.home(), Path(tempfile.gettempdir())):
        with suppress(OSError):
            fd, name = tempfile.mkstemp(".html", "judgelaw-", folder)  # for its owner alone
            with os.fdopen(fd, "wb") as file:
                file.write(page)
            return Path(name)
    return None


def _in_words(error: Exception) -> str:
    """Say what went wrong, to whoever has the token."""
    known = isinstance(error, JudgelawError)
    return visible(str(error) if known else f"{type(error).__name__}: {error}")


def _nobody() -> logging.Logger:
    """Return a log that nobody reads: strangers who send nonsense write nothing on the terminal."""
    log = logging.getLogger("judgelaw.live")
    log.disabled = True
    return log
