"""The port to a provider's batch interface: hand many requests over, come back for the answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Protocol, Self

from judgelaw import __version__
from judgelaw.design.judge import JudgeSpec
from judgelaw.errors import InputError
from judgelaw.judges.body import read_body
from judgelaw.judges.decode import decode
from judgelaw.judges.protocol import Surroundings
from judgelaw.judges.reply import Answer, Failure, FailureKind, Reply
from judgelaw.judges.secrets import check_secrets, headers_for
from judgelaw.judges.status import read_json, read_status
from judgelaw.judges.text import words

if TYPE_CHECKING:
    import aiohttp

LARGEST_RESULTS = 2**30


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One request of a batch: the call's own name, and the exact bytes that a single call sends."""

    call_id: str
    body: bytes


class Stage(Enum):
    """How far a batch is at its provider."""

    WORKING = auto()
    ENDED = auto()
    CANCELLED = auto()
    """Somebody cancelled it there; what was answered before is there to collect."""
    FAILED = auto()
    """It was not accepted as a whole, and nothing in it was asked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """What a provider says of a batch.

    Attributes:
        stage: how far it is.
        words: in the provider's own words.
        sources: where its results are.
        failure: why nothing was asked, where it failed.
    """

    stage: Stage
    words: str
    sources: tuple[str, ...] = ()
    failure: Failure | None = None


class Trace(Enum):
    """What a provider's list says of a batch that nobody heard the name of."""

    ABSENT = auto()
    """It is not there."""
    UNKNOWN = auto()
    """The provider keeps no name of ours, so that nobody can tell."""


Results = Mapping[str, Reply | Failure]


class BatchClient(Protocol):
    """One judge behind a batch interface, ready while its context is open."""

    most_bytes: int

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *exception: object) -> None: ...

    async def upload(self, entries: Sequence[Entry]) -> str | Failure:
        """Send what asks for nothing yet; return its name, empty where there is no such step."""
        ...

    async def create(self, uid: str, upload: str, entries: Sequence[Entry]) -> str | Failure:
        """Ask for the answers; return the provider's name of the batch."""
        ...

    async def find(self, uid: str, since: float) -> str | Trace | Failure:
        """Look for a batch of ours that was perhaps created at or after a time."""
        ...

    async def look(self, provider_id: str) -> Look | Failure:
        """Ask how far a batch is."""
        ...

    async def results(self, provider_id: str, look: Look) -> Results | Failure:
        """Fetch the answers by call, in whatever sequence the provider keeps them."""
        ...

    async def cancel(self, provider_id: str) -> Look | Failure:
        """Ask the provider to stop; what is answered by then can still be collected."""
        ...

    def decode(self, reply: Reply) -> Answer | Failure:
        """Read one answer, without effects."""
        ...


class BatchHttp:
    """What both clients share: requests that are never repeated behind anybody's back."""

    fixed: Mapping[str, str] = {}

    def __init__(self, spec: JudgeSpec, around: Surroundings) -> None:
        if spec.base_url is None or spec.body is None:
            raise InputError(f"judge {spec.name}: batches need a base_url; add it to the judge")
        self._spec = spec
        self._wire: str = spec.body
        self._base = spec.base_url.rstrip("/")
        self._session = around.session
        self._clock = around.clock
        self._fixed = {
            "Accept-Encoding": "identity",
            "User-Agent": f"judgelaw/{__version__}",
            **self.fixed,
        }

    async def __aenter__(self) -> Self:
        check_secrets(self._spec)
        return self

    async def __aexit__(self, *exception: object) -> None:
        pass

    def decode(self, reply: Reply) -> Answer | Failure:
        """Read one answer, without effects."""
        rule = self._spec.content_filter
        return decode(self._wire, reply, content_filter=rule, now=self._clock())

    async def _send(
        self,
        method: str,
        path: str,
        *,
        data: "bytes | aiohttp.FormData | None" = None,
        query: Mapping[str, str] | None = None,
    ) -> Reply | Failure:
        import aiohttp  # noqa: PLC0415 - loads when a judge is asked

        from judgelaw.judges.http import failure_of  # noqa: PLC0415 - loads aiohttp

        headers, secrets = headers_for(self._spec, self._wire, self._fixed)
        if isinstance(data, bytes):
            headers["Content-Type"] = "application/json"
        try:
            async with self._session.request(
                method,
                f"{self._base}/{path}",
                data=data,
                params=query,
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

    async def _json(self, method: str, path: str, **options: Any) -> dict[str, Any] | Failure:
        """Send a request and return the object that it is answered with."""
        reply = await self._send(method, path, **options)
        if isinstance(reply, Failure):
            return reply
        early = read_status(reply, content_filter=(), now=self._clock())
        return early if isinstance(early, Failure) else read_json(reply)

    async def _lines(self, path: str) -> list[dict[str, Any]] | Failure:
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


def text_of(value: dict[str, Any], key: str, what: str) -> str | Failure:
    """Return a string that a reply must hold."""
    found = value.get(key)
    if isinstance(found, str) and found:
        return found
    return Failure(kind=FailureKind.NO_COMPLETION, detail=words(f"{what} without {key}: {value}"))


def open_batch_client(spec: JudgeSpec, around: Surroundings) -> BatchClient:
    """Return the batch client of a judge, not yet entered."""
    from judgelaw.judges.batch_anthropic import AnthropicBatches  # noqa: PLC0415 - they import us
    from judgelaw.judges.batch_openai import OpenAIBatches  # noqa: PLC0415 - same

    kinds: dict[str | None, Callable[[JudgeSpec, Surroundings], BatchClient]] = {
        "openai-chat": OpenAIBatches,
        "openai-completions": OpenAIBatches,
        "anthropic": AnthropicBatches,
    }
    return kinds[spec.body](spec, around)
