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


ODD = [
    b"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n",
    b"TRACE / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n",
    b"NONSENSE / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n",
    b"GET http://127.0.0.1:{port}/x HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n",
    b"GET /%ff%fe/\xed\xa0\x80 HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nExpect: more\r\n\r\n",
    b"GET / HTTP/9.9\r\nHost: 127.0.0.1:{port}\r\n\r\n",
    b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: x\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(50),
    b"what\r\n\r\n",
]


@pytest.mark.parametrize("sent", ODD, ids=range(len(ODD)))
def test_strangers_get_a_status_and_print_nothing(address, sent, capfd, caplog):
    with socket.create_connection(("127.0.0.1", address.port), 10) as connection:
        connection.sendall(sent.replace(b"{port}", str(address.port).encode()))
        answer = connection.recv(1 << 16)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert 400 <= int(head.split()[1]) < 500
    assert len(body) < 400
    assert b"Traceback" not in body
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


def test_a_defect_is_said_to_whoever_has_the_token_and_prints_nothing(capfd):
    async def defect(request):
        raise TypeError(request.method)

    with LocalServer({("GET", "/api/x"): defect}).beside() as found:
        answer, text = ask(found, f"/{found.token}/api/x")
    assert (answer.status, json.loads(text)) == (500, {"error": "TypeError: GET"})
    assert capfd.readouterr() == ("", "")


def test_a_proxy_is_answered_once_its_address_is_declared(address):
    host, origin = "labels.example.org", "https://labels.example.org"
    refused, text = ask(address, f"/{address.token}/", host=host)
    assert refused.status == 403
    assert "--public-url" in text
    routes = {("GET", "/"): page("A title", "label.js"), ("POST", "/api/keep"): keep}
    with LocalServer(routes, public=f"{origin}/team/").beside() as found:
        assert found.url == f"{origin}/team/{found.token}/"
        path = f"/{found.token}/api/keep"
        for name in (host, f"{host}:443", None):
            sent = {"method": "POST", "body": {"a": 1}, "Content_Type": "application/json"}
            answer, _ = ask(found, path, host=name, Origin=origin, **sent)
            assert answer.status == 200
        for headers in ({"Origin": "https://evil.example"}, {"X_Forwarded_Host": host}):
            answer, _ = ask(found, path, host="evil.example", **headers, **sent)
            assert answer.status == 403
        answer, text = ask(found, f"/{found.token}/", host=host)
        assert 'href="./assets/live.css"' in text, "under whatever path the proxy shows it"
        assert found.token not in text


@pytest.mark.parametrize(
    "url",
    [
        "labels.example",
        "ftp://a/",
        "https://",
        "https://u:p@a/",
        "https://a/?x",
        "http://[",
        "https://a:x/",
    ],
)
def test_what_is_no_address_of_a_proxy_is_refused(url):
    with pytest.raises(InputError, match="--public-url"):
        LocalServer({}, public=url)


def test_no_command_line_holds_the_token(tmp_path, monkeypatch):
    """The browser is started with a file for this user alone, which is removed once it was read."""
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("HOME", str(tmp_path))
    started = []
    monkeypatch.setattr("webbrowser.open", lambda url: not started.append(url))
    server = LocalServer({("GET", "/"): page("A title", "label.js")})
    with server.beside() as found:
        assert server.show()
        (lead,) = tmp_path.iterdir()
        assert started == [lead.as_uri()]
        assert found.token not in started[0]
        assert found.url in lead.read_text()
        assert lead.stat().st_mode & 0o777 == 0o600
        ask(found, "/wrong/")
        assert lead.exists()
        ask(found, f"/{found.token}/")
        assert not lead.exists()
        server.show()
    assert list(tmp_path.iterdir()) == []


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
