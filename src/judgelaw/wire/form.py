"""What every batch interface offers: entries, stages, results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Protocol, Self

from judgelaw.wire.reply import Answer, Failure, FailureKind, Reply
from judgelaw.words import words


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
        sources: where its results are.
        failure: why nothing was asked, where it failed.
    """

    stage: Stage
    words: str
    sources: tuple[str, ...] = ()
    failure: Failure | None = None


class LostBatch(Enum):
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

    async def find(self, uid: str, since: float) -> str | LostBatch | Failure:
        """Look for a batch of ours that was perhaps created at or after a time."""
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


def text_of(value: dict[str, Any], key: str, what: str) -> str | Failure:
    """Return a string that a reply must hold."""
    found = value.get(key)
    if isinstance(found, str) and found:
        return found
    return Failure(kind=FailureKind.NO_COMPLETION, detail=words(f"{what} without {key}: {value}"))
