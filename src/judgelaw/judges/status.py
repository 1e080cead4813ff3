"""The first reading of a reply: which row of "what counts as what" its status belongs to."""

import json
from collections.abc import Sequence
from email.utils import mktime_tz, parsedate_tz
from typing import Any

from judgelaw.judges.reply import Answer, Consequence, Failure, FailureKind, Reply
from judgelaw.judges.text import words
from judgelaw.render.completion import Completion

_REFUSED = frozenset({401, 402, 403})
_BUSY = frozenset({408, 409, 425})
_THROTTLED = 429
_FILTERABLE = 400
_CACHE_HEADERS = ("x-cache", "cf-cache-status", "x-litellm-cache-hit", "helicone-cache")


def read_json(reply: Reply) -> dict[str, Any] | Failure:
    """Return the JSON object of a reply.

    Bytes that are not UTF-8 are no JSON: providers serialise completions, so such bytes were
    damaged on the way and the reply counts as cut, whatever the model said.
    """
    try:
        value = json.loads(reply.body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
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
        retry_after=retry_after(reply, now) if kind.consequence is Consequence.RETRY else None,
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
        # Seconds are summed up, since a date beyond the calendar has no datetime.
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
        value = json.loads(reply.body)
    except (ValueError, RecursionError):
        return {}
    error = value.get("error", value) if isinstance(value, dict) else {}
    return error if isinstance(error, dict) else {"message": str(error)}


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
