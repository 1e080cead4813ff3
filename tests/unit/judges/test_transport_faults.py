"""What counts as a fault on the way: by class, by status, and through causes."""

import asyncio
import http.client
import socket
import urllib.error
from email.message import Message

import aiohttp
import pytest
from yarl import URL

from judgelaw.judges.transport_faults import transport_fault
from judgelaw.wire import FailureKind


def kind(error):
    fault = transport_fault(error, 0.0)
    return fault and fault.kind.value


def raised(make):
    """Return what a function raises, with its causes as Python notes them."""
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - whatever it is
        make()
    return caught.value


def of(module, name, base=Exception, **attributes):
    """Return an exception of a class that is called like one of a library."""
    return type(name, (base,), {"__module__": module, **attributes})("said")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ConnectionRefusedError("refused"), "no_connection"),
        (ConnectionResetError("reset"), "reset"),
        (http.client.RemoteDisconnected("gone"), "reset"),
        (http.client.IncompleteRead(b"half"), "cut"),
        (TimeoutError("late"), "timeout"),
        (asyncio.TimeoutError("late"), "timeout"),  # noqa: UP041 - as older code writes it
        (socket.gaierror("no such name"), "no_connection"),
        (aiohttp.ServerDisconnectedError(), "no_connection"),
        (aiohttp.ServerTimeoutError(), "timeout"),
        (aiohttp.ClientPayloadError(), "cut"),
        (urllib.error.URLError(ConnectionRefusedError("refused")), "no_connection"),
        (
            of(
                "httpx",
                "ReadTimeout",
                type("TimeoutException", (Exception,), {"__module__": "httpx"}),
            ),
            "timeout",
        ),
        (of("requests.exceptions", "ConnectionError", OSError), "no_connection"),
        (of("openai", "APIConnectionError"), "no_connection"),
        (of("openai", "APITimeoutError"), "timeout"),
        (of("anthropic", "APIConnectionError"), "no_connection"),
        (of("litellm.exceptions", "Timeout"), "timeout"),
        (of("botocore.exceptions", "ReadTimeoutError"), "timeout"),
    ],
)
def test_faults_are_recognised_by_their_class(error, expected):
    assert kind(error) == expected


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 529])
def test_a_status_of_the_first_row_is_a_failed_attempt(status):
    fault = transport_fault(of("openai", "APIStatusError", status_code=status), 0.0)
    assert fault.kind.consequence.name == "RETRY"


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (400, None, "rejected"),
        (404, None, "rejected"),
        (401, None, "refused"),
        (403, None, "refused"),
        (429, "insufficient_quota", "refused"),
        (429, "rate_limit_exceeded", "throttled"),
        (503, None, "server_error"),
    ],
)
def test_a_status_decides_as_that_of_a_reply_does(status, code, expected):
    assert kind(of("openai", "APIStatusError", status_code=status, code=code)) == expected


def test_a_reply_that_an_exception_holds_is_asked_for_its_pause():
    response = type("Response", (), {"status_code": 429, "headers": {"Retry-After": "7"}})()
    fault = transport_fault(of("httpx", "HTTPStatusError", response=response), 0.0)
    assert (fault.kind, fault.after) == (FailureKind.THROTTLED, 7.0)
    headers = Message()
    headers["Retry-After"] = "3"
    fault = transport_fault(urllib.error.HTTPError("u", 503, "busy", headers, None), 0.0)
    assert (fault.kind, fault.after) == (FailureKind.SERVER_ERROR, 3.0)
    info = aiohttp.RequestInfo(URL("http://x/"), "POST", headers={}, real_url=URL("http://x/"))
    assert kind(aiohttp.ClientResponseError(info, (), status=500)) == "server_error"


def refused():
    raise ConnectionRefusedError("refused")


def wrapped():
    try:
        refused()
    except ConnectionRefusedError as error:
        raise RuntimeError("the metric failed") from error


def wrapped_in_silence():
    try:
        refused()
    except ConnectionRefusedError:
        raise RuntimeError("the metric failed")  # noqa: B904 - as much code does


def a_slip_while_dealing_with_a_fault():
    try:
        refused()
    except ConnectionRefusedError:
        return {}["last answer"]


def hidden():
    try:
        refused()
    except ConnectionRefusedError:
        raise RuntimeError("no such metric") from None


def of_a_group():
    raise ExceptionGroup("two", [ValueError("x"), TimeoutError("late")])


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (wrapped, "no_connection"),
        (wrapped_in_silence, "no_connection"),
        (of_a_group, "timeout"),
        (a_slip_while_dealing_with_a_fault, None),
        (hidden, None),
    ],
)
def test_faults_are_found_in_what_caused_an_exception(make, expected):
    assert kind(raised(make)) == expected


@pytest.mark.parametrize(
    "error",
    [
        KeyError("score"),
        TypeError("takes no argument"),
        FileNotFoundError("prompt.txt"),
        SystemExit(429),
        of("mine", "Timeout"),
        of("mine", "ApiError", code=503),
        of("mine", "Odd", status_code=True),
        of("mine", "Odd", status=200),
    ],
)
def test_everything_else_is_an_error_of_the_functions_own(error):
    assert kind(error) is None


def test_a_chain_that_leads_back_to_itself_has_an_end():
    first, second = RuntimeError("a"), RuntimeError("b")
    first.__cause__, second.__cause__ = second, first
    assert kind(first) is None


def test_attributes_that_raise_are_no_status():
    class Odd(Exception):  # noqa: N818
        @property
        def status_code(self):
            raise RuntimeError

        @property
        def response(self):
            raise RuntimeError

    assert kind(Odd()) is None
