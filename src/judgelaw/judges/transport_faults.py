"""Which exceptions of a judge function are faults on the way to a provider.

They are recognised by what they are called and by what they hold, in the exception or in what
caused it, so that no client library is imported here. A status decides as that of an HTTP reply
does; without one the class does. Everything else is an error of the function's own.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from judgelaw.wire import FailureKind, Reply, kind_of, retry_after

_MOST_CAUSES = 20

_HTTPX = ("httpx", "httpx2", "httpcore", "httpcore2")
_OF_LIBRARIES: Mapping[tuple[str, str], FailureKind] = {
    (package, name): kind
    for packages, names, kind in (
        (_HTTPX, ("TimeoutException",), FailureKind.TIMEOUT),
        (
            _HTTPX,
            ("NetworkError", "ProxyError", "ConnectError"),
            FailureKind.NO_CONNECTION,
        ),
        (_HTTPX, ("ProtocolError", "DecodingError"), FailureKind.CUT),
        (("requests",), ("Timeout",), FailureKind.TIMEOUT),
        (("requests",), ("ConnectionError",), FailureKind.NO_CONNECTION),
        (("requests",), ("ChunkedEncodingError", "ContentDecodingError"), FailureKind.CUT),
        (("requests",), ("JSONDecodeError",), FailureKind.NOT_JSON),
        (("urllib3",), ("TimeoutError",), FailureKind.TIMEOUT),
        (("urllib3",), ("ProtocolError",), FailureKind.CUT),
        (
            ("urllib3",),
            ("NewConnectionError", "MaxRetryError", "ProxyError", "SSLError"),
            FailureKind.NO_CONNECTION,
        ),
        (("http",), ("IncompleteRead", "BadStatusLine"), FailureKind.CUT),
        (("socket",), ("gaierror",), FailureKind.NO_CONNECTION),
        (("ssl",), ("SSLError",), FailureKind.NO_CONNECTION),
        (("aiohttp",), ("ServerTimeoutError",), FailureKind.TIMEOUT),
        (("aiohttp",), ("ClientPayloadError",), FailureKind.CUT),
        (("aiohttp",), ("ContentTypeError",), FailureKind.NOT_JSON),
        (("aiohttp",), ("ClientConnectionError",), FailureKind.NO_CONNECTION),
        (
            ("openai", "anthropic", "groq", "cerebras", "together"),
            ("APITimeoutError",),
            FailureKind.TIMEOUT,
        ),
        (
            ("openai", "anthropic", "groq", "cerebras", "together"),
            ("APIConnectionError",),
            FailureKind.NO_CONNECTION,
        ),
        (("openai", "anthropic"), ("APIResponseValidationError",), FailureKind.NOT_JSON),
        (("litellm",), ("Timeout",), FailureKind.TIMEOUT),
        (("litellm",), ("APIConnectionError",), FailureKind.NO_CONNECTION),
        (("botocore",), ("ConnectTimeoutError", "ReadTimeoutError"), FailureKind.TIMEOUT),
        (
            ("botocore",),
            ("EndpointConnectionError", "ConnectionClosedError"),
            FailureKind.NO_CONNECTION,
        ),
        (("google",), ("RetryError", "TransportError"), FailureKind.NO_CONNECTION),
    )
    for package in packages
    for name in names
}
"""By the first part of the module, and the name, of a class or one that it derives from."""

_CODES = ("urllib", "google")
"""Packages whose exceptions hold the status under `code`, which elsewhere means other things."""

_OWN_ERRORS = (
    *(LookupError, TypeError, AttributeError, NameError, AssertionError, ArithmeticError),
    *(ImportError, SyntaxError, ValueError),
)
"""Raised while a fault is dealt with, these are errors of whoever deals with it."""


@dataclass(frozen=True, slots=True)
class TransportFault:
    """A fault on the way: its kind, the words of its exception, and the pause that is asked for."""

    kind: FailureKind
    error: BaseException
    after: float | None = None


def transport_fault(error: BaseException, now: float) -> TransportFault | None:
    """Return the fault that an exception tells of; None where it is an error of its owner's.

    Args:
        error: what a function raised.
        now: Unix time, against which a Retry-After date is read.
    """
    for each in _with_causes(error):
        if (fault := _of_status(each, now)) is not None:
            return fault
        if (kind := _of_class(each)) is not None:
            return TransportFault(kind, each)
    return None


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception, then what it was raised from and what it holds, each once."""
    waiting, seen = [error], set[int]()
    while waiting and len(seen) < _MOST_CAUSES:
        each = waiting.pop(0)
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        cause, context = each.__cause__, each.__context__
        silent = each.__suppress_context__ or isinstance(each, _OWN_ERRORS)
        # Of urllib, the exception that stopped it; of tenacity, that of the last attempt.
        held = _held(each, "reason"), _raised_last(each)
        parts = each.exceptions if isinstance(each, BaseExceptionGroup) else ()
        waiting += [
            found
            for found in (cause, None if silent else context, *held, *parts)
            if isinstance(found, BaseException)
        ]


def _raised_last(error: BaseException) -> Any:
    attempt = _held(error, "last_attempt")
    ask = getattr(attempt, "exception", None)
    return ask() if callable(ask) and not isinstance(attempt, BaseException) else None


def _held(thing: Any, name: str) -> Any:
    """Return an attribute of a foreign value; None where its class has none, or raises."""
    try:
        return getattr(thing, name, None)
    except Exception:  # noqa: BLE001 - foreign classes raise whatever they like
        return None


def _of_class(error: BaseException) -> FailureKind | None:
    if isinstance(error, TimeoutError):
        return FailureKind.TIMEOUT
    if isinstance(error, ConnectionError):
        reset = isinstance(error, ConnectionResetError | BrokenPipeError)
        return FailureKind.RESET if reset else FailureKind.NO_CONNECTION
    for each in type(error).__mro__:
        known = _OF_LIBRARIES.get((_package(each), each.__name__))
        if known is not None:
            return known
    return None


def _package(kind: type) -> str:
    return str(kind.__module__).partition(".")[0]


def _of_status(error: BaseException, now: float) -> TransportFault | None:
    """Judge an exception by the status of the reply that it tells of, as a reply is judged."""
    response = _held(error, "response")
    status = _status(error, response)
    if status is None:
        return None
    code = _held(error, "code")
    kind = kind_of(status, {"code": code if isinstance(code, str) else _code_in(error)})
    headers = _headers(_held(response, "headers") or _held(error, "headers"))
    asked = retry_after(Reply(status=status, body=b"", headers=headers), now)
    return TransportFault(kind, error, asked)


def _status(error: BaseException, response: Any) -> int | None:
    places = [(error, "status_code"), (error, "status"), (error, "http_status")]
    places += [(response, "status_code"), (response, "status")]
    if any(_package(each) in _CODES for each in type(error).__mro__):
        places.append((error, "code"))
    found = [_held(thing, name) for thing, name in places]
    if isinstance(response, Mapping):  # of botocore
        told = response.get("ResponseMetadata")
        found.append(told.get("HTTPStatusCode") if isinstance(told, Mapping) else None)
    for each in found:
        if isinstance(each, int) and not isinstance(each, bool) and 400 <= each < 600:  # noqa: PLR2004
            return int(each)
    return None


def _code_in(error: BaseException) -> Any:
    """Return the code of an error object that the exception holds as its body."""
    body = _held(error, "body")
    inner = body.get("error", body) if isinstance(body, Mapping) else None
    return inner.get("code") if isinstance(inner, Mapping) else None


def _headers(held: Any) -> dict[str, str]:
    try:
        return {str(name).lower(): str(value) for name, value in dict(held or {}).items()}
    except Exception:  # noqa: BLE001 - as above
        return {}
