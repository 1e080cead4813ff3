"""What comes back from a judge, and what it counts as."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from email.utils import mktime_tz, parsedate_tz
from enum import Enum, StrEnum, auto
from typing import Any

from judgelaw.tensor import INVALID
from judgelaw.wire.quotas import seconds_until
from judgelaw.wire.reply_json import json_value
from judgelaw.words import count, storable, words

RAN_OUT = "parser timeout"
"""Why a verdict is invalid where the parser had no time left: true of one reading on one machine,
so that nobody can derive it again."""


SAID_INVALID = "invalid: "
"""Begins the finish reason of an answer that its own judge calls unreadable; why follows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Completion:
    """One finished answer.

    Attributes:
        text: what the model wrote for the reader, None where the provider sent none.
        finish_reason: why it stopped, in the provider's word.
        refusal: the provider's refusal text, if it keeps refusals apart.
        content_filtered: the provider withheld the answer under a rule that the judge names.
    """

    text: str | None
    finish_reason: str | None = None
    refusal: str | None = None
    content_filtered: bool = False

    @property
    def said_invalid(self) -> str | None:
        """Why the judge itself says that the answer could not be read; None where it does not."""
        reason = self.finish_reason or ""
        return reason.removeprefix(SAID_INVALID) if reason.startswith(SAID_INVALID) else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What a completion counts as.

    Attributes:
        verdict: the verdict with candidates restored, `invalid` at worst.
        parser: the versioned name of the rule that read it.
        displayed: the label as the model wrote it, None where there is none.
        reason: `parsed`, or why the verdict is `invalid`.
        criteria: the verdict on each criterion, by name, where one reply holds several; the
            verdict as a whole then lists them, and is `invalid` where one of them is.
    """

    verdict: str
    parser: str
    displayed: str | None
    reason: str
    criteria: tuple[tuple[str, "Verdict"], ...] = ()

    @classmethod
    def joined(cls, parts: "Mapping[str, Verdict]", parser: str) -> "Verdict":
        """Make the verdict of a whole reply of the verdicts on its criteria.

        One that is missing is invalid by itself; the whole then says why the first of them is.
        """
        # In the sequence in which a ledger gives them back.
        criteria = tuple((name, replace(parts[name], parser=parser)) for name in sorted(parts))
        wrong = [part.reason for _, part in criteria if part.verdict == INVALID]
        whole = ", ".join(f"{name}: {part.verdict}" for name, part in criteria)
        reason = RAN_OUT if RAN_OUT in wrong else (*wrong, "parsed")[0]
        said = INVALID if wrong else whole
        return cls(verdict=said, parser=parser, displayed=None, reason=reason, criteria=criteria)


class Consequence(Enum):
    """What a failure means for the run."""

    RETRY = auto()
    """A byte-identical request follows, after a while."""
    STOP_JUDGE = auto()
    """The provider rejects what this judge asks: asking again would not help."""
    CORRECT_JUDGE = auto()
    """The code that answers has an error of its own: its owner has to correct it."""
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
    ERROR_BESIDE = "error_beside_answer"
    CONTRADICTING = "contradicting"
    UNLISTED = "unlisted"
    TOO_LARGE = "too_large"
    INTERRUPTED = "interrupted"
    RAISED = "raised"
    WRONG_TYPE = "wrong_type"
    CRASHED = "crashed"
    UNUSABLE = "unusable"
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
        if self in (FailureKind.RAISED, FailureKind.WRONG_TYPE):
            return Consequence.CORRECT_JUDGE
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
        FailureKind.ERROR_BESIDE,
        FailureKind.CONTRADICTING,
        FailureKind.UNLISTED,
        FailureKind.TOO_LARGE,
        FailureKind.INTERRUPTED,
        FailureKind.RAISED,
        FailureKind.WRONG_TYPE,
        FailureKind.CRASHED,
        FailureKind.UNUSABLE,
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
class Receipt:
    """What the provider says of its own reply.

    Attributes:
        input_tokens, output_tokens, cached_tokens: usage as reported, None where it was not.
        model, fingerprint, response_id, echoed_seed: as returned.
        replayed: the reply names itself as served from a cache.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    model: str | None = None
    fingerprint: str | None = None
    response_id: str | None = None
    echoed_seed: int | None = None
    replayed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer(Receipt):
    """A reply that holds a completion, and what the provider says of it.

    Attributes:
        completion: the answer itself.
        tokens: its token probabilities, as a ledger keeps them; None where it came without.
        unread: fields that could not be read, each with the reason; their values are missing.
    """

    completion: Completion
    tokens: str | None = None
    unread: tuple[tuple[str, str], ...] = ()


STATUSES = range(100, 1000)
"""Of HTTP; a batch writes them as numbers of its own."""
_REFUSED = frozenset({401, 402, 403, 407})
_BUSY = frozenset({408, 409, 425})
_THROTTLED = 429
_FILTERABLE = 400
_PARTIAL = 206
_CACHE_HEADERS = ("x-cache", "cf-cache-status", "x-litellm-cache-hit", "helicone-cache")


def read_json(reply: Reply) -> dict[str, Any] | Failure:
    """Return the JSON object of a reply.

    Bytes that are not UTF-8 are no JSON: providers serialise completions, so such bytes were
    damaged on the way and the reply counts as cut, whatever the model said.
    """
    try:
        value = json_value(reply.body)
    except ValueError as error:
        size = len(reply.body)
        return Failure(
            kind=FailureKind.NOT_JSON,
            status=reply.status,
            detail=words(f"status {reply.status} with {size} bytes that are no JSON: {error}"),
        )
    if isinstance(value, dict):
        return value
    return Failure(
        kind=FailureKind.NO_COMPLETION,
        status=reply.status,
        detail=f"status {reply.status} with a JSON {type(value).__name__} in place of an object",
    )


def read_status(
    reply: Reply, *, content_filter: Sequence[str], now: float
) -> Answer | Failure | None:
    """Judge a reply by its status; None for a 2xx, whose body decides."""
    status = reply.status
    if status == _PARTIAL:
        return without(reply, FailureKind.CUT, "a part of a body, which is no completion")
    if 200 <= status < 300:  # noqa: PLR2004 - the range of success
        return None
    error = error_of(reply)
    if status == _FILTERABLE and _names(error, content_filter):
        return Answer(
            completion=Completion(text=None, finish_reason="content_filter", content_filtered=True)
        )
    kind = kind_of(status, error)
    return Failure(
        kind=kind,
        status=status,
        detail=_said(reply, error),
        retry_after=_asked(reply, error, now) if kind.consequence is Consequence.RETRY else None,
    )


def kind_of(status: int, error: dict[str, Any]) -> FailureKind:
    """Classify a status other than 2xx."""
    if status in _REFUSED or (status == _THROTTLED and _names(error, ("insufficient_quota",))):
        return FailureKind.REFUSED
    if status == _THROTTLED:
        return FailureKind.THROTTLED
    if status in _BUSY:
        return FailureKind.BUSY
    if status >= 500:  # noqa: PLR2004 - the range of server errors, 520 and the like included
        return FailureKind.SERVER_ERROR
    if status >= 400:  # noqa: PLR2004 - the range of client errors
        return FailureKind.REJECTED
    return FailureKind.REDIRECTED


def _asked(reply: Reply, error: dict[str, Any], now: float) -> float | None:
    """Return the seconds that the server asks to wait, in a header or in the body (Gemini)."""
    said = retry_after(reply, now)
    details = error.get("details") if said is None else None
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and (found := seconds_until(delay, now)) is not None:
            return found
    return said


def retry_after(reply: Reply, now: float) -> float | None:
    """Return the seconds that the server asks to wait: a number or an HTTP date.

    Whatever else the header says, it asks for nothing.
    """
    milliseconds = _seconds(reply.headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = reply.headers.get("retry-after")
    seconds = _seconds(value)
    if value is None or seconds is not None:
        return seconds
    when = _date(value)
    return None if when is None else max(0.0, when - now)


def _date(value: str) -> float | None:
    """Return the Unix time of an HTTP date; None for anything that is none."""
    try:
        parts = parsedate_tz(value)
        # Add up seconds, since datetime cannot hold dates this far away.
        return None if parts is None else float(mktime_tz(parts))
    except (ArithmeticError, IndexError, LookupError, TypeError, ValueError):
        # The standard library promises None for a bad date, and raises all of these.
        return None


def replayed(reply: Reply) -> bool:
    """Whether the reply says that a cache served it."""
    headers = reply.headers
    if "age" in headers and (_seconds(headers["age"]) or 0) > 0:
        return True
    for name in _CACHE_HEADERS:
        if name in headers and headers[name].lower().startswith(("hit", "true")):
            return True
    return False


def error_of(reply: Reply) -> dict[str, Any]:
    """Return the error object of a reply, empty where it has none."""
    try:
        value = json_value(reply.body)
    except ValueError:
        return {}
    error = value.get("error", value) if isinstance(value, dict) else {}
    return error if isinstance(error, dict) else {"message": str(error)}


def upstream_kind(error: dict[str, Any]) -> FailureKind:
    """Classify an error that a gateway hands on inside a reply, by the code that it gives.

    Nothing here stops a run: what a gateway's own provider refuses is not ours to correct.
    """
    code = count(error.get("code"))
    if code == _THROTTLED:
        return FailureKind.THROTTLED
    if code in _BUSY:
        return FailureKind.BUSY
    if code is not None and code >= 500:  # noqa: PLR2004 - the range of server errors
        return FailureKind.SERVER_ERROR
    return FailureKind.ERROR_OBJECT


def error_in(value: Any) -> dict[str, Any] | None:
    """Return the error object under `error`, None where there is none."""
    error = value.get("error") if isinstance(value, dict) else None
    if not error:
        return None
    return error if isinstance(error, dict) else {"message": str(error)}


_SEPARATORS = "-@:./_ "
_DATED = re.compile(r"[-@:](?:latest|\d{8}|\d{4}-\d{2}-\d{2})$")
_MODEL_FILES = (".gguf", ".safetensors", ".bin")


def same_model(asked: str, returned: str) -> bool:
    """Whether a returned name only extends, dates or locates the one that was asked for.

    >>> same_model("gpt-4.1-mini", "gpt-4.1-mini-2025-04-14"), same_model("local", "/m/x.gguf")
    (True, True)
    >>> same_model("claude-haiku-latest", "claude-haiku-20241022")
    True
    >>> same_model("gpt-4.1-mini", "gpt-4.1"), same_model("gpt-4.1-mini", "gpt-3.5-turbo")
    (False, False)
    """
    one, other = asked.strip().casefold(), returned.strip().casefold()
    if other.startswith(("/", "./", "~")) or other.endswith(_MODEL_FILES):
        return True
    # A gateway writes the vendor before the name, or leaves it out.
    one, other = one.rpartition("/")[2], other.rpartition("/")[2]
    undated = _DATED.sub("", one)
    return other == undated or other.startswith(tuple(undated + s for s in _SEPARATORS))


def said_in(error: dict[str, Any]) -> str:
    """Return the provider's words of an error object."""
    parts = [str(error[key]) for key in ("type", "code", "message") if error.get(key)]
    return words(": ".join(parts) or json.dumps(error))


def _said(reply: Reply, error: dict[str, Any]) -> str:
    if error:
        said = said_in(error)
    else:
        said = words(reply.body.decode("utf-8", "replace")) or "an empty body"
    where = f" to {words(reply.headers['location'])}" if "location" in reply.headers else ""
    return f"status {reply.status}{where}: {said}"


def _names(error: dict[str, Any], rule: Sequence[str]) -> bool:
    """Whether an error's code or type is one of the rule's words, or its message holds one."""
    codes = {str(error.get(key)) for key in ("code", "type")}
    message = str(error.get("message", "")).casefold()
    return any(word in codes or word.casefold() in message for word in rule)


def _seconds(value: str | None) -> float | None:
    try:
        seconds = float(value) if value is not None else None
    except ValueError:
        return None
    # A NaN or an infinity is no time to wait; both fail the comparison.
    return max(0.0, seconds) if seconds is not None and abs(seconds) < float("inf") else None


def content_of(content: Any) -> str | None:
    """Return the text of a content field: a string, or the text parts of a list."""
    if isinstance(content, list):
        parts = [p.get("text") for p in content if isinstance(p, dict) and p.get("type") == "text"]
        return storable("".join(p for p in parts if isinstance(p, str)))
    return storable(content)


def object_of(value: Any) -> dict[str, Any]:
    """Return a JSON object, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def without(reply: Reply, kind: FailureKind, what: str) -> Failure:
    """Say what a reply came without."""
    return Failure(kind=kind, status=reply.status, detail=f"status {reply.status} with {what}")
