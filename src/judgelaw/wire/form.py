"""What every wire format offers: requests with holes, replies that are read, batches."""

import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Protocol, Self

from judgelaw.errors import InputError
from judgelaw.wire.judge_spec import JudgeSpec
from judgelaw.wire.reply import (
    Answer,
    Failure,
    FailureKind,
    Reply,
    error_in,
    read_json,
    read_status,
    said_in,
    without,
)
from judgelaw.words import count, words

Shape = tuple[str, str, dict[str, Any]]
"""Text before the content, text after it, and the fields that follow."""

Fault = tuple[tuple[str | int, ...], str]
"""A field of a judge, and what is wrong with it."""


def bearer(key: str) -> dict[str, str]:
    """Return the header that most servers read a key from."""
    return {"Authorization": f"Bearer {key}"}


@dataclass(frozen=True, kw_only=True)
class WireFormat:
    """One wire format, whole: where a call goes, how it is written, signed, read and batched.

    Attributes:
        name: as a study writes it.
        encode: the body of a judge's requests around their content.
        decode: from a reply and its JSON to an answer.
        path: what is joined to a judge's base_url; None where nothing is sent over HTTP.
        at_root: whether base_url is the server's root, so that the path begins with its version.
        headers: sent with every request of a judge.
        sign: the headers that carry a key.
        rendered: whether the prompt is rendered here, by a chat template.
        seedless: why the format takes no seed; None where it takes one.
        probabilities: whether replies can hold token probabilities.
        caches: whether servers of this format keep prompts that repeat.
        faults: what is wrong with a judge of this format, beyond what every judge must hold.
        batches: its batch interface, over a link that sends.
    """

    name: str
    encode: Callable[[JudgeSpec], Shape]
    decode: Callable[[Reply, dict[str, Any]], Answer | Failure]
    path: str | None = None
    at_root: bool = False
    headers: Callable[[JudgeSpec], Mapping[str, str]] = lambda _: {}
    sign: Callable[[str], dict[str, str]] = bearer
    rendered: bool = False
    seedless: str | None = None
    probabilities: bool = False
    caches: bool = False
    faults: Callable[[JudgeSpec], Iterable[Fault]] = lambda _: ()
    batches: "Callable[[Link], BatchClient] | None" = None

    def read(
        self, reply: Reply, *, content_filter: Sequence[str] = (), now: float
    ) -> Answer | Failure:
        """Read a reply: first what every format has in common, its status and its error object.

        Args:
            reply: what came back.
            content_filter: codes or words of a 400 that the judge counts as a filtered completion.
            now: Unix time, against which a Retry-After date is read.
        """
        if (early := read_status(reply, content_filter=content_filter, now=now)) is not None:
            return early
        body = read_json(reply)
        if isinstance(body, Failure):
            return body
        found = self.decode(reply, body)
        if (error := error_in(body)) is None:
            return found
        if isinstance(found, Answer):
            # Somebody answered, and charged for it; whether this is the answer, nobody can tell.
            what = f"an error object beside a completion: {said_in(error)}"
            return without(reply, FailureKind.ERROR_BESIDE, what)
        return without(reply, FailureKind.ERROR_OBJECT, f"an error object: {said_in(error)}")


@dataclass(frozen=True, kw_only=True)
class Provider:
    """Who answers, as a study names it. A file of `wire/providers/` offers some as `PROVIDERS`.

    Attributes:
        name: what a study writes after `provider:`.
        place: where lists show it, the smallest first.
        wire: the format that it brings; None where it speaks those of others.
        speaks: formats of others that a judge may choose with `wire:`, the first one by default.
        opens: the class that asks, `module:class`; it is given a JudgeSpec and a JudgeContext.
        local: whether it runs here: it has no address, and costs nothing.
        own_code: whether it is the user's own code: it runs in the study's folder, and need not
            name a model.
        slots: whether `n_parallel` says how many calls it takes at once.
        fields: fields of a judge that are this provider's alone.
        faults: what is wrong with a judge of it, given the task of the study.
    """

    name: str
    place: int = 100
    wire: WireFormat | None = None
    speaks: tuple[str, ...] = ()
    opens: str = "judgelaw.judges.http:HttpJudge"
    local: bool = False
    own_code: bool = False
    slots: bool = False
    fields: tuple[str, ...] = ()
    faults: Callable[[JudgeSpec, str], Iterable[Fault]] = lambda *_: ()

    @property
    def format(self) -> str:
        """The format of a judge that chooses none."""
        return self.speaks[0] if self.wire is None else self.wire.name


@dataclass(frozen=True, kw_only=True, slots=True)
class Frame:
    """A judge's request with holes for the payload and the seed.

    The seed stands last, so that the requests of one cell share everything before it and a hash
    of the shared part is taken once.
    """

    before: str
    after: str
    prompt: Callable[[str], str]
    sends_seed: bool

    def head(self, payload: str) -> bytes:
        """Return everything before the seed."""
        content = dumps(self.prompt(payload))
        end = ',"seed":' if self.sends_seed else ""
        return (self.before + content + self.after + end).encode()

    def tail(self, seed: int | None) -> bytes:
        """Return the seed and the end of the body."""
        if not self.sends_seed:
            return b"}"
        if seed is None:
            raise InputError("seed: sent needs a seed for every call, this one has none")
        return b"%d}" % seed


_UNDER_A_GRAMMAR = 300
"""Tokens after which allowed ones that are not listed hold about half a percent at most."""


def decoding_of(judge: JudgeSpec) -> dict[str, Any]:
    """Return the decoding fields that a judge declares."""
    return judge.decoding.model_dump(exclude_none=True)


def top_tokens_of(judge: JudgeSpec) -> dict[str, Any]:
    """Return the fields by which a chat format is asked for token probabilities.

    With a grammar, which only the embedded judge takes, the law after all samplers is asked for,
    and a longer list: some replies show the law before the grammar, which is spread widely.
    """
    if judge.logprobs is None:
        return {}
    if judge.grammar is None:
        return {"logprobs": True, "top_logprobs": judge.logprobs}
    most = max(judge.logprobs, _UNDER_A_GRAMMAR)
    return {"logprobs": True, "top_logprobs": most, "post_sampling_probs": True}


def stops_of(judge: JudgeSpec, name: str) -> dict[str, Any]:
    """Return the stop sequences of a judge under the name that a format has for them."""
    return {name: list(judge.stop)} if judge.stop else {}


dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
"""Writes JSON as it is frozen: no spaces, nothing escaped that need not be."""


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
class BatchStatus:
    """What a provider says of a batch.

    Attributes:
        stage: how far it is.
        words: in the provider's own words.
        results: how many results it says can be fetched; None where it does not say.
        sources: where its results are.
        failure: why nothing was asked, where it failed.
    """

    stage: Stage
    words: str
    results: int | None = None
    sources: tuple[str, ...] = ()
    failure: Failure | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Unheard:
    """A batch that was announced, and whose name at the provider nobody heard.

    Attributes:
        uid: the name that we gave it.
        since: when it was about to be submitted.
        calls: every call in it.
        known: the provider's names of batches that are others.
    """

    uid: str
    since: float
    calls: frozenset[str]
    known: frozenset[str] = frozenset()


class LostBatch(Enum):
    """What a provider's list says of a batch that nobody heard the name of."""

    ABSENT = auto()
    """It is not there."""
    UNDECIDED = auto()
    """One that may be it shows what is in it only when it has ended: look again."""
    UNKNOWN = auto()
    """One that may be it does not show any more what was in it, so that nobody can tell."""


CLOCKS_S = 3600.0
"""How far a provider's clock may be from ours."""

Results = Mapping[str, Reply | Failure]


class Gathered(dict[str, Reply | Failure]):
    """Results by call, as they are read line by line."""

    def take(self, call: Any, result: Reply | Failure) -> None:
        """Take one; two that say different things of one call are an answer that nobody has."""
        if self.setdefault(str(call), result) != result:
            detail = "the batch has results for this call that contradict each other"
            self[str(call)] = Failure(kind=FailureKind.CONTRADICTING, detail=detail)


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

    def mark(self, uid: str) -> str:
        """Return a word that differs for a batch of this name under another key or address.

        Too short to tell a key, and long enough to tell two apart.
        """
        ...

    async def find(self, lost: Unheard) -> str | LostBatch | Failure:
        """Look for a batch of ours that was perhaps created."""
        ...

    async def look(self, provider_id: str) -> BatchStatus | Failure:
        """Ask how far a batch is."""
        ...

    async def results(self, provider_id: str, look: BatchStatus) -> Results | Failure:
        """Fetch the answers by call, in whatever sequence the provider keeps them."""
        ...

    async def cancel(self, provider_id: str) -> BatchStatus | Failure:
        """Ask the provider to stop; what is answered by then can still be collected."""
        ...

    def decode(self, reply: Reply) -> Answer | Failure:
        """Read one answer, without effects."""
        ...


class Link(Protocol):
    """What carries a batch interface: sends once, and never again behind anybody's back."""

    spec: JudgeSpec

    def check(self) -> None:
        """Raise at once where a key that the judge needs is missing."""
        ...

    def mark(self, uid: str) -> str:
        """Return a word that differs for a batch of this name under another key or address."""
        ...

    async def json(
        self,
        method: str,
        path: str,
        *,
        data: Any = None,
        query: Mapping[str, str] | None = None,
    ) -> dict[str, Any] | Failure:
        """Send a request and return the object that it is answered with."""
        ...

    async def lines(self, path: str) -> list[dict[str, Any]] | Failure:
        """Fetch a file of one JSON object a line."""
        ...

    def decode(self, reply: Reply) -> Answer | Failure:
        """Read one answer, without effects."""
        ...


class Batches:
    """What the batch interfaces of all formats share."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def __aenter__(self) -> Self:
        self._link.check()
        return self

    async def __aexit__(self, *exception: object) -> None:
        pass

    def mark(self, uid: str) -> str:
        """Return a word that differs for a batch of this name under another key or address."""
        return self._link.mark(uid)

    def decode(self, reply: Reply) -> Answer | Failure:
        """Read one answer, without effects."""
        return self._link.decode(reply)

    async def _pages(
        self, path: str, *, after: str, limit: int
    ) -> AsyncIterator[list[dict[str, Any]] | Failure]:
        """Yield a list page by page, the newest first, until it ends or goes wrong."""
        query, seen = {"limit": str(limit)}, set[str]()
        while True:
            page = await self._link.json("GET", path, query=query)
            if isinstance(page, Failure):
                yield page
                return
            listed = objects_of(page.get("data"))
            yield listed
            if not page.get("has_more") or not listed:
                return
            last = text_of(listed[-1], "id", "a batch")
            if isinstance(last, str) and last in seen:
                what = "the list of batches goes round in a circle"
                last = Failure(kind=FailureKind.NO_COMPLETION, detail=what)
            if isinstance(last, Failure):
                yield last
                return
            seen.add(last)
            query[after] = last


def no_status(key: str, value: Any) -> Failure:
    """Say that a batch has a status that nobody knows, so that it might never end."""
    said = "null" if value is None else repr(value)
    detail = words(f"a batch with {key} {said}, which is none of those that the format has")
    return Failure(kind=FailureKind.NO_COMPLETION, detail=detail)


def objects_of(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list, none for anything else."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def text_of(value: dict[str, Any], key: str, what: str) -> str | Failure:
    """Return a name that a reply must hold; some servers number what they name."""
    found = value.get(key)
    if (isinstance(found, str) and found) or count(found) is not None:
        return str(found)
    return Failure(kind=FailureKind.NO_COMPLETION, detail=words(f"{what} without {key}: {value}"))
