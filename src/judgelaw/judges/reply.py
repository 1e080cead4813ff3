"""What comes back from a judge: a reply on the wire, then an answer or a failure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum, auto

from judgelaw.render.completion import Completion


class Consequence(Enum):
    """What a failure means for the run."""

    RETRY = auto()
    """A byte-identical request follows, after a while."""
    STOP_JUDGE = auto()
    """The provider rejects what this judge asks: asking again would not help."""
    STOP_RUN = auto()
    """The provider refuses the key or the account: nothing is sent any more."""


class FailureKind(StrEnum):
    """Every way in which an attempt ends without a completion."""

    NO_CONNECTION = "no_connection"
    TIMEOUT = "timeout"
    RESET = "reset"
    CUT = "cut"
    BAD_HTTP = "bad_http"
    NOT_JSON = "not_json"
    NO_COMPLETION = "no_completion"
    ERROR_OBJECT = "error_object"
    TOO_LARGE = "too_large"
    INTERRUPTED = "interrupted"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    BUSY = "busy"
    THROTTLED = "throttled"
    SERVER_ERROR = "server_error"
    REDIRECTED = "redirected"
    REJECTED = "rejected"
    REFUSED = "refused"

    @property
    def consequence(self) -> Consequence:
        """Return what this kind of failure means for the run."""
        if self is FailureKind.REFUSED:
            return Consequence.STOP_RUN
        if self in (FailureKind.REJECTED, FailureKind.REDIRECTED):
            return Consequence.STOP_JUDGE
        return Consequence.RETRY

    @property
    def at_risk(self) -> bool:
        """Whether the provider may have answered, and charged, all the same."""
        return self in _PERHAPS_ANSWERED


_PERHAPS_ANSWERED = frozenset(
    {
        FailureKind.TIMEOUT,
        FailureKind.RESET,
        FailureKind.CUT,
        FailureKind.BAD_HTTP,
        FailureKind.NOT_JSON,
        FailureKind.TOO_LARGE,
        FailureKind.INTERRUPTED,
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """A complete reply; headers are asked for by lower-case names, and none is stored."""

    status: int
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """An attempt without a completion, in the provider's words where it gave some."""

    kind: FailureKind
    detail: str
    status: int | None = None
    retry_after: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """A completion, and what the provider says of it.

    Attributes:
        completion: what was said.
        input_tokens, output_tokens, cached_tokens: usage as reported, None where it was not.
        model, fingerprint, response_id, echoed_seed: as returned.
        replayed: the reply names itself as served from a cache.
    """

    completion: Completion
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    model: str | None = None
    fingerprint: str | None = None
    response_id: str | None = None
    echoed_seed: int | None = None
    replayed: bool = False
