"""A judge behind HTTP: one POST, no redirects, no retries, no cookies, nothing unasked for."""

import errno
import os
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from hashlib import sha256
from inspect import signature
from typing import Any, Self

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError
from multidict import CIMultiDict
from yarl import URL

from judgelaw import __version__
from judgelaw.errors import InputError
from judgelaw.judges.port import LARGEST_ANSWER, JudgeContext, masked
from judgelaw.study import PlannedCall
from judgelaw.wire import (
    WIRES,
    Answer,
    Failure,
    FailureKind,
    JudgeSpec,
    Proxy,
    Reply,
    Secrets,
    check_secrets,
    decode,
    has_secrets,
    headers_for,
    kind_of,
    proxy_for,
    query_for,
    read_json,
    read_status,
)
from judgelaw.words import words


async def read_body(
    content: aiohttp.StreamReader, headers: Mapping[str, str], *, most: int
) -> bytes | None:
    """Return a body, None where it is larger than `most` bytes; then no more is read."""
    length = headers.get("Content-Length", "")
    if length.isdecimal() and int(length) <= most and not headers.get("Content-Encoding"):
        return await content.read()
    chunks, size = [], 0
    async for chunk in content.iter_any():
        chunks.append(chunk)
        size += len(chunk)
        if size > most:
            return None
    return b"".join(chunks)


Posted = tuple[int, Mapping[str, str], bytes | None]
"""What a request was answered with: status, headers, and the body; None where it is too large."""
Post = Callable[[Mapping[str, str], bytes], Awaitable[Posted]]
"""Sends headers and body, once."""


async def _post(
    session: aiohttp.ClientSession,
    url: URL,
    proxy: str | None,
    headers: Mapping[str, str],
    body: bytes,
) -> Posted:
    """Post through the session: the way that is always there."""
    async with session.post(
        url, data=body, headers=headers, allow_redirects=False, proxy=proxy
    ) as response:
        content = await read_body(response.content, response.headers, most=LARGEST_REPLY)
        if content is None:
            response.close()
        return response.status, response.headers, content


class NotSentError(Exception):
    """A request did not leave, since others may have its call."""


class DirectPost:
    """Posts over the connections of a session, without what it adds for browsers.

    Pool, TLS, protocol and parser are those of the session. Cookies, redirects, forms, traces and
    a task for each body are left out: they take a quarter of the time of a call, and a judge has
    no use for them.
    """

    _UNTIMED = aiohttp.ClientTimeout(total=None, sock_connect=None)  # the lane keeps time

    def __init__(
        self, session: aiohttp.ClientSession, url: URL, may_send: Callable[[], bool] = lambda: True
    ) -> None:
        self._session = session
        self._may_send = may_send
        self._url = url
        # Names the server to the pool, and is never sent.
        self._peer = aiohttp.ClientRequest("POST", url, session=session)
        self._headers: Mapping[str, str] | None = None
        self._head = b""

    @staticmethod
    def serves(session: aiohttp.ClientSession, url: URL) -> bool:
        """Whether connections can be had from this session as they are used here.

        How a connection is spoken to is no promise of aiohttp's: one that changed it is used
        through its session.
        """
        connector = getattr(session, "connector", None)
        return (
            isinstance(connector, aiohttp.TCPConnector)
            and not connector.force_close
            and bool(url.raw_host and url.scheme in connector.allowed_protocol_schema_set)
            and url.raw_user is None
            and [*signature(aiohttp.TCPConnector.connect).parameters]
            == ["self", "req", "traces", "timeout"]
            and all(hasattr(ResponseHandler, name) for name in ("set_response_params", "read"))
        )

    async def __call__(self, headers: Mapping[str, str], body: bytes) -> Posted:
        """Send headers and body once; read the answer to its end."""
        if headers is not self._headers and headers != self._headers:
            self._headers, self._head = headers, self._head_of(headers)
        connector = self._session.connector
        if connector is None:
            raise aiohttp.ClientConnectionError("the session is closed")
        connection = await connector.connect(self._peer, [], self._UNTIMED)
        try:
            protocol = connection.protocol
            if protocol is None or protocol.transport is None or protocol.transport.is_closing():
                raise aiohttp.ClientConnectionResetError("the connection was closed")  # noqa: TRY301
            if not self._may_send():
                raise NotSentError  # noqa: TRY301
            protocol.set_response_params(read_until_eof=True)
            protocol.transport.write(
                b"%bContent-Length: %d\r\n\r\n%b" % (self._head, len(body), body)
            )
            message, content = await protocol.read()
            while 100 <= message.code < 200 and message.code != _SWITCHING:  # noqa: PLR2004 - 1xx
                message, content = await protocol.read()
            whole = await read_body(content, message.headers, most=LARGEST_REPLY)
        except HttpProcessingError as error:
            connection.close()
            raise aiohttp.ClientResponseError(
                self._peer.request_info, (), status=error.code, message=error.message
            ) from error
        except BaseException:
            connection.close()
            raise
        # What was not read to its end is closed, not used again.
        connection.release()
        return message.code, message.headers, whole

    def _head_of(self, headers: Mapping[str, str]) -> bytes:
        """Return the lines before the length, as the session would write them."""
        full = aiohttp.ClientRequest(
            "POST", self._url, headers=headers, session=self._session
        ).headers
        lines = [f"POST {self._url.raw_path_qs} HTTP/1.1"]
        for name, value in full.items():
            if any(c in f"{name}{value}" for c in "\r\n\0"):
                raise InputError(f"header {name!r} holds a line break: a header is one line")
            if name.lower() != "content-length":
                lines.append(f"{name}: {value}")
        return "".join(f"{line}\r\n" for line in lines).encode()


LARGEST_RESULTS = 2**30


class BatchLink:
    """Carries the batch interface of a judge: requests that are never repeated on their own."""

    def __init__(self, spec: JudgeSpec, around: JudgeContext) -> None:
        if spec.base_url is None or spec.body is None:
            raise InputError(f"judge {spec.name}: batches need a base_url; add it to the judge")
        self.spec = spec
        self._wire: str = spec.body
        self._base = spec.base_url.rstrip("/")
        self._session = around.session
        self._clock = around.clock
        self._fixed = {
            "Accept-Encoding": "identity",
            "User-Agent": f"judgelaw/{__version__}",
            **WIRES[spec.body].headers(spec),
        }

    def check(self) -> None:
        """Raise at once where a key that the judge needs is missing, or its proxy is no address."""
        check_secrets(self.spec)
        proxy_for(self.spec, self._base)

    def mark(self, uid: str) -> str:
        """Return a word that differs for a batch of this name under another key or address."""
        headers, _ = headers_for(self.spec, self._wire, {})
        asked = [uid, self._base, *sorted(map(str, headers.items())), str(query_for(self.spec))]
        # Sixteen bits under a name of its own: no guess at a key can be checked against them.
        return sha256("\0".join(asked).encode()).hexdigest()[:4]

    def decode(self, reply: Reply) -> Answer | Failure:
        """Read one answer, without effects."""
        rule = self.spec.content_filter
        return decode(self._wire, reply, content_filter=rule, now=self._clock())

    async def _send(
        self,
        method: str,
        path: str,
        *,
        data: "bytes | aiohttp.FormData | None" = None,
        query: Mapping[str, str] | None = None,
    ) -> Reply | Failure:
        proxy = proxy_for(self.spec, self._base)
        headers, secrets = headers_for(self.spec, self._wire, self._fixed, proxy)
        if isinstance(data, bytes):
            headers["Content-Type"] = "application/json"
        try:
            async with self._session.request(
                method,
                f"{self._base}/{path}",
                data=data,
                params={**query_for(self.spec), **(query or {})},
                proxy=proxy and proxy.url,
                headers=headers,
                allow_redirects=False,
            ) as response:
                content = await read_body(response.content, response.headers, most=LARGEST_RESULTS)
                if content is None:
                    response.close()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return failure_of(error, secrets, peer_of(URL(self._base), proxy))
        if content is None:
            detail = f"more than {LARGEST_RESULTS} bytes"
            return Failure(kind=FailureKind.TOO_LARGE, status=response.status, detail=detail)
        answered = {n.lower(): secrets.redact(v) for n, v in response.headers.items()}
        body = await masked(secrets, content)
        return Reply(status=response.status, body=body, headers=answered)

    async def json(self, method: str, path: str, **options: Any) -> dict[str, Any] | Failure:
        """Send a request and return the object that it is answered with."""
        reply = await self._send(method, path, **options)
        if isinstance(reply, Failure):
            return reply
        early = read_status(reply, content_filter=(), now=self._clock())
        return early if isinstance(early, Failure) else read_json(reply)

    async def lines(self, path: str) -> list[dict[str, Any]] | Failure:
        """Fetch a file of one JSON object a line."""
        reply = await self._send("GET", path)
        if isinstance(reply, Failure):
            return reply
        early = read_status(reply, content_filter=(), now=self._clock())
        if isinstance(early, Failure):
            return early
        lines = []
        for line in reply.body.splitlines():
            if line.strip():
                value = read_json(Reply(status=reply.status, body=line))
                if isinstance(value, Failure):
                    return value  # a file that is cut is fetched again
                lines.append(value)
        return lines


_SENT = {name: wire for name, wire in WIRES.items() if wire.path is not None}
_NOT_FOUND = 404
_NO_SECRETS = Secrets(())
_SWITCHING = 101
LARGEST_REPLY = LARGEST_ANSWER

# The first match counts, so the more specific kinds come first.
_KINDS: tuple[tuple[type[BaseException], FailureKind], ...] = (
    (aiohttp.InvalidURL, FailureKind.REJECTED),
    (aiohttp.ClientConnectorError, FailureKind.NO_CONNECTION),
    (aiohttp.ClientSSLError, FailureKind.NO_CONNECTION),
    (TimeoutError, FailureKind.TIMEOUT),
    (aiohttp.ClientPayloadError, FailureKind.CUT),
    (aiohttp.ServerDisconnectedError, FailureKind.RESET),
    (aiohttp.ClientConnectionError, FailureKind.RESET),
    (OSError, FailureKind.RESET),
    (aiohttp.ClientError, FailureKind.BAD_HTTP),
)


class HttpJudge:
    """Asks one endpoint in one wire format."""

    def __init__(
        self, spec: JudgeSpec, around: JudgeContext, *, base_url: str | None = None
    ) -> None:
        wire, base = spec.body, base_url or spec.base_url
        if wire not in _SENT or base is None:
            raise InputError(
                f"judge {spec.name}: provider {spec.provider} with wire {wire} and base_url "
                f"{base}: an HTTP judge needs a base_url and one of the wires {', '.join(_SENT)}"
            )
        self._spec = spec
        self._wire: str = wire
        self._url = URL(f"{base.rstrip('/')}/{_SENT[wire].path}")
        self._proxy: Proxy | None = None
        self._session = around.session
        self._post: Post = partial(_post, self._session, self._url, None)
        self._clock = around.clock
        self._may_send = around.may_send
        self._fixed = {
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": f"judgelaw/{__version__}",
            **_SENT[wire].headers(spec),
        }
        self._public: tuple[Mapping[str, str], Secrets] | None = None

    async def __aenter__(self) -> Self:
        check_secrets(self._spec)
        self._url = self._url.update_query(query_for(self._spec))
        self._proxy = proxy_for(self._spec, str(self._url))
        if not has_secrets(self._spec):
            headers, secrets = self._headers()
            self._public = CIMultiDict(headers), secrets
        self._post = partial(
            _post, self._session, self._url, None if self._proxy is None else self._proxy.url
        )
        if self._proxy is None and DirectPost.serves(self._session, self._url):
            self._post = DirectPost(self._session, self._url, self._may_send)
        return self

    async def __aexit__(self, *exception: object) -> None:
        pass

    async def ask(self, call: PlannedCall, body: bytes) -> Reply | Failure:
        """Send the exact bytes once."""
        del call
        headers, secrets = self._public or self._headers()
        try:
            status, answered, content = await self._post(headers, body)
        except NotSentError:
            detail = "not sent: this worker was silent for longer than its lease"
            return Failure(kind=FailureKind.NO_CONNECTION, detail=detail)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return failure_of(error, secrets, peer_of(self._url, self._proxy))
        if content is None:
            detail = f"more than {LARGEST_REPLY} bytes"
            return Failure(kind=FailureKind.TOO_LARGE, status=status, detail=detail)
        if secrets:
            content = await masked(secrets, content)
            answered = {n.lower(): secrets.redact(v) for n, v in answered.items()}
        return Reply(status=status, body=content, headers=answered)

    def _headers(self) -> tuple[dict[str, str], Secrets]:
        return headers_for(self._spec, self._wire, self._fixed, self._proxy)

    def decode(self, reply: Reply) -> Answer | Failure:
        """Read a reply, without effects."""
        answer = decode(
            self._wire, reply, content_filter=self._spec.content_filter, now=self._clock()
        )
        if isinstance(answer, Failure) and answer.status == _NOT_FOUND:
            return replace(answer, detail=f"{answer.detail} ({self._asked()})")
        if isinstance(answer, Failure) and answer.status == _PROXY_AUTHENTICATION:
            return replace(answer, detail=f"{answer.detail}{self._asked_through()}")
        return answer

    def _asked_through(self) -> str:
        """Name the proxy that wants a password: only one asks for it."""
        return f": {peer_of(self._url, self._proxy)} wants another password{_PROXY_TRUST}"

    def _asked(self) -> str:
        """Name the address that nothing was found at, without credentials and query."""
        _, secrets = self._headers()
        bare = self._url.with_user(None).with_query(None).with_fragment(None)
        asked = f"asked {secrets.redact(str(bare))}"
        wire = _SENT[self._wire]
        if wire.at_root or bare.path == f"/v1/{wire.path}":
            return f"{asked}; check base_url and model"
        return f"{asked}; base_url usually ends in /v1"


def peer_of(url: URL, proxy: Proxy | None) -> str:
    """Name who is connected to."""
    if proxy is None:
        return f"{url.host}:{url.port}"
    through = URL(proxy.url)
    return f"the proxy {through.host}:{through.port} on the way to {url.host}"


_TRUST = (
    "; nothing was sent: set SSL_CERT_FILE to the certificates that you trust, or correct base_url"
)
_PROXY_TRUST = "; check the user and the password of the proxy in its variable or in proxy:"
_PROXY_AUTHENTICATION = 407


def _cause(error: BaseException) -> str:
    """Return why the server was not reached, in the system's words if it has some."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return _of_certificate(error.certificate_error)
    if isinstance(error, aiohttp.ClientConnectorError):
        foreign = error.os_error
        if isinstance(foreign, ssl.SSLCertVerificationError | ssl.CertificateError):
            return _of_certificate(foreign)
        if isinstance(foreign, ssl.SSLError):
            # Its numbers are those of OpenSSL, which mean other things to the system.
            said = (foreign.reason or str(foreign)).replace("_", " ").lower()
            return f"TLS failed ({said}); check scheme and port of base_url, and of the proxy"
        if foreign.errno is not None and foreign.errno in errno.errorcode:
            return os.strerror(foreign.errno)
        return foreign.strerror or str(foreign)
    return str(error)


def _of_certificate(error: Exception) -> str:
    """Return the words of TLS for a certificate that is not trusted, and what to do."""
    said = getattr(error, "verify_message", None) or str(error)
    return f"its certificate is not trusted ({said}){_TRUST}"


def failure_of(
    error: BaseException, secrets: Secrets = _NO_SECRETS, peer: str | None = None
) -> Failure:
    """Turn what the HTTP library raised into a failure of ours, without what it may repeat.

    Where it is known who was asked, it is said who was not reached, and what to do.
    """
    kind = next(kind for foreign, kind in _KINDS if isinstance(error, foreign))
    status = None
    # The text of a response error is its message alone: its repr would show request headers.
    said = error.message if isinstance(error, aiohttp.ClientResponseError) else str(error)
    detail = f"{type(error).__name__}: {said}"
    if peer is not None and isinstance(error, aiohttp.ClientHttpProxyError):
        # The way was refused: nothing of the request arrived anywhere.
        kind, status = kind_of(error.status, {}), error.status
        kind = FailureKind.NO_CONNECTION if kind.at_risk else kind
        detail = f"{peer}: the proxy answered {error.status} {said}"
        detail += _PROXY_TRUST if error.status == _PROXY_AUTHENTICATION else ""
    elif peer is not None and kind is FailureKind.NO_CONNECTION:
        detail = f"cannot connect to {peer}: {_cause(error)}"
    # Masked before it is cut: the half of a key is no less a secret.
    return Failure(kind=kind, detail=words(secrets.redact(detail)), status=status)
