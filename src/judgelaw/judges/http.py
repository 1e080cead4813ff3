"""A judge behind HTTP: one POST, no redirects, no retries, no cookies, nothing unasked for."""

import errno
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from judgelaw import __version__
from judgelaw.errors import InputError
from judgelaw.judges.port import JudgeContext
from judgelaw.study import PlannedCall
from judgelaw.wire import (
    WIRES,
    Answer,
    Failure,
    FailureKind,
    JudgeSpec,
    Reply,
    Secrets,
    check_secrets,
    decode,
    has_secrets,
    headers_for,
    proxy_for,
    query_for,
    read_json,
    read_status,
)
from judgelaw.words import words


async def read_body(response: "aiohttp.ClientResponse", *, most: int) -> bytes | None:
    """Return the body, None where it is larger than `most` bytes; then no more is read."""
    length = response.content_length
    if length is not None and length <= most and not response.headers.get("Content-Encoding"):
        return await response.read()
    chunks, size = [], 0
    async for chunk in response.content.iter_any():
        chunks.append(chunk)
        size += len(chunk)
        if size > most:
            response.close()
            return None
    return b"".join(chunks)


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
        """Raise at once where a key that the judge needs is missing."""
        check_secrets(self.spec)

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
        headers, secrets = headers_for(self.spec, self._wire, self._fixed)
        if isinstance(data, bytes):
            headers["Content-Type"] = "application/json"
        try:
            async with self._session.request(
                method,
                f"{self._base}/{path}",
                data=data,
                params={**query_for(self.spec), **(query or {})},
                proxy=proxy_for(self.spec, self._base),
                headers=headers,
                allow_redirects=False,
            ) as response:
                content = await read_body(response, most=LARGEST_RESULTS)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            failure = failure_of(error)
            return replace(failure, detail=secrets.redact(failure.detail))
        if content is None:
            detail = f"more than {LARGEST_RESULTS} bytes"
            return Failure(kind=FailureKind.TOO_LARGE, status=response.status, detail=detail)
        answered = {n.lower(): secrets.redact(v) for n, v in response.headers.items()}
        return Reply(status=response.status, body=secrets.redact_body(content), headers=answered)

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
LARGEST_REPLY = 64 * 2**20

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
        self._proxy: str | None = None
        self._session = around.session
        self._clock = around.clock
        self._fixed = {
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": f"judgelaw/{__version__}",
            **_SENT[wire].headers(spec),
        }
        self._public: tuple[Mapping[str, str], Secrets] | None = None
        if not has_secrets(spec):
            headers, none = headers_for(spec, wire, self._fixed)
            self._public = CIMultiDict(headers), none

    async def __aenter__(self) -> Self:
        check_secrets(self._spec)
        self._url = self._url.update_query(query_for(self._spec))
        self._proxy = proxy_for(self._spec, str(self._url))
        return self

    async def __aexit__(self, *exception: object) -> None:
        pass

    async def ask(self, call: PlannedCall, body: bytes) -> Reply | Failure:
        """Send the exact bytes once."""
        del call
        headers, secrets = self._public or headers_for(self._spec, self._wire, self._fixed)
        try:
            async with self._session.post(
                self._url, data=body, headers=headers, allow_redirects=False, proxy=self._proxy
            ) as response:
                content = await read_body(response, most=LARGEST_REPLY)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            failure = failure_of(error)
            detail = failure.detail
            if failure.kind is FailureKind.NO_CONNECTION:
                detail = words(f"cannot connect to {self._peer}: {_cause(error)}")
            return replace(failure, detail=secrets.redact(detail))
        if content is None:
            detail = f"more than {LARGEST_REPLY} bytes"
            return Failure(kind=FailureKind.TOO_LARGE, status=response.status, detail=detail)
        answered: Mapping[str, str] = response.headers
        if secrets:
            content = secrets.redact_body(content)
            answered = {n.lower(): secrets.redact(v) for n, v in answered.items()}
        return Reply(status=response.status, body=content, headers=answered)

    @property
    def _peer(self) -> str:
        if self._proxy is not None:
            proxy = URL(self._proxy)
            return f"the proxy {proxy.host}:{proxy.port} on the way to {self._url.host}"
        return f"{self._url.host}:{self._url.port}"

    def decode(self, reply: Reply) -> Answer | Failure:
        """Read a reply, without effects."""
        answer = decode(
            self._wire, reply, content_filter=self._spec.content_filter, now=self._clock()
        )
        if isinstance(answer, Failure) and answer.status == _NOT_FOUND:
            return replace(answer, detail=f"{answer.detail} ({self._asked()})")
        return answer

    def _asked(self) -> str:
        """Name the address that nothing was found at, without credentials and query."""
        _, secrets = headers_for(self._spec, self._wire, self._fixed)
        bare = self._url.with_user(None).with_query(None).with_fragment(None)
        asked = f"asked {secrets.redact(str(bare))}"
        wire = _SENT[self._wire]
        if wire.at_root or bare.path == f"/v1/{wire.path}":
            return f"{asked}; check base_url and model"
        return f"{asked}; base_url usually ends in /v1"


def _cause(error: BaseException) -> str:
    """Return why the server was not reached, in the system's words if it has some."""
    if isinstance(error, aiohttp.ClientConnectorError):
        number = error.os_error.errno
        if number is not None and number in errno.errorcode:
            return os.strerror(number)
        return error.os_error.strerror or str(error.os_error)
    return str(error)


def failure_of(error: BaseException) -> Failure:
    """Turn what the HTTP library raised into a failure of ours."""
    kind = next(kind for foreign, kind in _KINDS if isinstance(error, foreign))
    # The text of a response error is its message alone: its repr would show request headers.
    said = error.message if isinstance(error, aiohttp.ClientResponseError) else str(error)
    return Failure(kind=kind, detail=words(f"{type(error).__name__}: {said}"))
