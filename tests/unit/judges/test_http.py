"""Foreign errors stop at the edge, and keys never leave it."""

import inspect

import aiohttp
import pytest

from judgelaw.errors import InputError
from judgelaw.judges import JudgeContext
from judgelaw.judges.http import HttpJudge, failure_of
from judgelaw.wire import FailureKind, JudgeSpec, Reply, check_secrets, headers_for
from judgelaw.wire.secrets import Secrets

CLIENT_ERRORS = [
    error
    for _, error in inspect.getmembers(aiohttp, inspect.isclass)
    if issubclass(error, aiohttp.ClientError)
]


def instance(error):
    """Make an error of this class without the arguments that its own constructor wants."""
    ways = {
        "__init__": lambda _: None,
        "__str__": lambda _: "foreign words",
        "message": "foreign words",
    }
    return type(error.__name__, (error,), ways)()


@pytest.mark.parametrize("error", CLIENT_ERRORS, ids=lambda error: error.__name__)
def test_every_error_of_the_http_library_becomes_one_of_ours(error):
    found = failure_of(instance(error))
    assert isinstance(found.kind, FailureKind)
    assert found.detail == f"{error.__name__}: foreign words"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (aiohttp.ClientConnectorDNSError, FailureKind.NO_CONNECTION),
        (aiohttp.ClientConnectorError, FailureKind.NO_CONNECTION),
        (aiohttp.ClientConnectorCertificateError, FailureKind.NO_CONNECTION),
        (aiohttp.ServerDisconnectedError, FailureKind.RESET),
        (aiohttp.ClientOSError, FailureKind.RESET),
        (ConnectionResetError, FailureKind.RESET),
        (aiohttp.ClientPayloadError, FailureKind.CUT),
        (aiohttp.ServerTimeoutError, FailureKind.TIMEOUT),
        (TimeoutError, FailureKind.TIMEOUT),
        (aiohttp.ClientError, FailureKind.BAD_HTTP),
        (aiohttp.InvalidURL, FailureKind.REJECTED),
    ],
)
def test_which_error_becomes_which(error, kind):
    assert failure_of(instance(error)).kind is kind


def spec(**fields):
    return JudgeSpec(name="j", provider="openai-chat", base_url="http://h/v1", model="m", **fields)


def test_a_key_is_read_when_a_request_leaves(monkeypatch):
    judge = spec(api_key="env:SOME_KEY", headers={"X-Org": "env:SOME_ORG", "X-Plain": "open"})
    monkeypatch.setenv("SOME_KEY", " sk-secret-1 \n")
    monkeypatch.setenv("SOME_ORG", "org-secret")
    headers, secrets = headers_for(judge, "openai-chat", {"A": "b"})
    assert headers == {
        "A": "b",
        "Authorization": "Bearer sk-secret-1",
        "X-Org": "org-secret",
        "X-Plain": "open",
    }
    assert secrets.redact("sk-secret-1, org-secret, open") == "[redacted], [redacted], open"
    assert "secret-1" not in repr(secrets)
    monkeypatch.setenv("SOME_KEY", "sk-secret-2")
    assert headers_for(judge, "anthropic", {})[0]["x-api-key"] == "sk-secret-2"


def test_a_missing_key_is_named_and_not_shown(monkeypatch):
    judge = spec(api_key="env:SOME_KEY")
    monkeypatch.delenv("SOME_KEY", raising=False)
    with pytest.raises(InputError, match="SOME_KEY is not set: export it"):
        check_secrets(judge)
    monkeypatch.setenv("SOME_KEY", "caf\u00e9-secret")
    with pytest.raises(InputError) as error:
        check_secrets(judge)
    assert "secret" not in str(error.value)


def test_no_key_means_no_header():
    headers, secrets = headers_for(spec(), "openai-chat", {})
    assert headers == {}
    assert not secrets


def test_what_a_server_repeats_is_masked():
    assert Secrets(("sk-1234",)).redact_body(b"a sk-1234 b sk-1234") == b"a [redacted] b [redacted]"


@pytest.mark.parametrize(
    ("base_url", "said"),
    [
        ("http://h:8000", "asked http://h:8000/chat/completions; base_url usually ends in /v1"),
        ("http://h:8000/v1", "asked http://h:8000/v1/chat/completions; check base_url and model"),
        ("http://h/sk-secret-1", "asked http://h/[redacted]/chat/completions; base_url usually"),
    ],
)
def test_a_404_names_the_address_without_secrets(monkeypatch, base_url, said):
    monkeypatch.setenv("SOME_KEY", "sk-secret-1")
    judge = HttpJudge(
        spec(api_key="env:SOME_KEY"),
        JudgeContext(frozen=None, session=None, clock=lambda: 0.0),
        base_url=base_url,
    )
    failure = judge.decode(Reply(status=404, body=b'{"detail": "Not Found"}'))
    assert failure.kind is FailureKind.REJECTED
    assert "Not Found" in failure.detail
    assert said in failure.detail
    assert "asked" not in judge.decode(Reply(status=400, body=b"{}")).detail


def test_a_response_error_never_shows_the_request():
    url = "http://h/v1"
    info = aiohttp.RequestInfo(url, "POST", {"Authorization": "Bearer sk-secret"}, url)
    error = aiohttp.ClientResponseError(info, (), status=400, message="bad line")
    assert failure_of(error).detail == "ClientResponseError: bad line"
