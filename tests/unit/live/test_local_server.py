"""Who gets an answer from the local server, and who gets nothing."""

import http.client
import json
import socket

import pytest

from judgelaw.errors import InputError
from judgelaw.live.local_server import LocalServer, json_answer, page


async def secret(request):
    del request
    return json_answer({"secret": "s3cret"})


async def keep(request):
    return json_answer({"kept": await request.json()})


@pytest.fixture(scope="module")
def address():
    routes = {
        ("GET", "/"): page("A title", "label.js"),
        ("GET", "/api/secret"): secret,
        ("POST", "/api/keep"): keep,
    }
    with LocalServer(routes).beside() as found:
        yield found


def ask(address, path, *, method="GET", body=None, host=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=10)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", host or f"127.0.0.1:{address.port}")
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    content = b"" if body is None else json.dumps(body).encode()
    connection.putheader("Content-Length", str(len(content)))
    connection.endheaders(content)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer, text


def test_whoever_has_the_address_is_answered(address):
    answer, text = ask(address, f"/{address.token}/api/secret")
    assert (answer.status, json.loads(text)) == (200, {"secret": "s3cret"})
    assert address.url == f"http://127.0.0.1:{address.port}/{address.token}/"
    assert len(address.token) >= 43


@pytest.mark.parametrize("path", ["/", "/wrong/api/secret", "/api/secret", "//api/secret"])
def test_nothing_is_told_without_the_token(address, path):
    answer, text = ask(address, path)
    assert answer.status == 403
    assert "s3cret" not in text
    assert address.token not in text


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "[::1]:{port}"]
)
def test_a_name_that_was_made_to_point_here_gets_nothing(address, host):
    named = host.format(port=address.port)
    answer, text = ask(address, f"/{address.token}/api/secret", host=named)
    assert answer.status == 403
    assert "s3cret" not in text


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
def test_another_origin_gets_nothing(address, origin):
    answer, text = ask(address, f"/{address.token}/api/secret", Origin=origin)
    assert answer.status == 403
    assert "s3cret" not in text
    assert answer.getheader("Access-Control-Allow-Origin") is None


def test_only_our_own_page_may_send_something_and_only_json(address):
    path, mine = f"/{address.token}/api/keep", f"http://127.0.0.1:{address.port}"
    as_json = {"Content_Type": "application/json"}
    sent = ask(address, path, method="POST", body={"a": 1}, Origin=mine, **as_json)
    assert json.loads(sent[1]) == {"kept": {"a": 1}}
    for headers in (
        as_json,
        {"Origin": mine, "Content_Type": "text/plain"},
        {"Origin": "http://evil.example", **as_json},
    ):
        answer, text = ask(address, path, method="POST", body={"a": 1}, **headers)
        assert answer.status == 403, headers
        assert "kept" not in text


def test_every_answer_forbids_frames_foreign_content_and_traces(address):
    for path in (f"/{address.token}/", f"/{address.token}/api/secret", "/wrong/"):
        answer, _ = ask(address, path)
        policy = answer.getheader("Content-Security-Policy")
        assert policy.startswith("default-src 'none'; script-src 'self'")
        assert "frame-ancestors 'none'" in policy
        assert answer.getheader("X-Frame-Options") == "DENY"
        assert answer.getheader("Referrer-Policy") == "no-referrer"
        assert answer.getheader("Cache-Control") == "no-store"
        assert answer.getheader("Cross-Origin-Resource-Policy") == "same-origin"


@pytest.mark.parametrize("name", ["shell.html", "..%2Flocal_server.py", "none.js", "x"])
def test_only_scripts_and_styles_are_given_out(address, name):
    answer, _ = ask(address, f"/{address.token}/assets/{name}")
    assert answer.status == 404
    answer, text = ask(address, f"/{address.token}/assets/make.js")
    assert answer.status == 200
    assert "textContent" in text


def test_it_listens_on_this_machine_alone(address):
    with socket.socket() as other:
        other.settimeout(1)
        mine = socket.gethostbyname(socket.gethostname())
        if mine.startswith("127."):
            mine = "127.0.0.2"  # loopback too, and another address than the one bound
        with pytest.raises(OSError):  # noqa: PT011 - refused or unreachable, as the system says
            other.connect((mine, address.port))


def test_a_port_that_is_taken_is_named(address):
    with pytest.raises(InputError, match=f"--port {address.port}: .*; choose another"):
        LocalServer({}, port=address.port)
