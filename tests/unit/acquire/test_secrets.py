"""A canary: no key, header or environment value reaches a file, a message or a traceback."""

import base64
import json
import re
import subprocess
import sys
import time
from urllib.parse import unquote

import pytest
from aiohttp import web

from judgelaw.acquire.verify import verify
from judgelaw.cli import program
from judgelaw.ledger import LEDGER_NAME, SqliteView
from judgelaw.wire.masking import Secrets
from servers.provider import BODIES, Provider, echo_headers, first, reply, reset, say
from servers.study import chat_judge, write_study

KEY = "sk-canary-7f3a9c51e2"
ORG = "org-canary-55aa01"
PIECES = ("canary-7f3a9c51e2", "canary-55aa01")


def judges(provider):
    secret = {"api_key": "env:CANARY_KEY", "headers": {"X-Org": "env:CANARY_ORG"}}
    return [
        chat_judge(provider.base_url, **secret),
        chat_judge(provider.root_url, name="claude", provider="anthropic", **secret),
    ]


def leaks(folder, *said):
    """Name every file and text that holds a piece of the canary, in whatever form."""
    found = [
        str(path)
        for path in folder.rglob("*")
        if path.is_file() and holds(path.read_bytes().decode("latin-1"))
    ]
    return found + [text for text in said if holds(text)]


def holds(text: str) -> bool:
    """Whether somebody who knows escapes, percent signs and base64 finds a piece in a text."""
    for _ in range(4):
        tokens = re.findall(r"[A-Za-z0-9+/_-]{16,}", text)
        seen = [text, *(shifted(token, by) for token in tokens for by in range(4))]
        if any(piece in one.lower() for one in seen for piece in PIECES):
            return True
        # A doubled backslash is one escape deeper.
        text = re.sub(r"\\+u00(..)", lambda m: chr(int(m[1], 16)), text, flags=re.ASCII)
        text = unquote(text)
    return False


def shifted(token: str, by: int) -> str:
    part = token[by : by + (len(token) - by) // 4 * 4].translate(str.maketrans("-_", "+/"))
    return base64.b64decode(part).decode("latin-1")


FORMS = {
    "as it is": str,
    "in other case": str.upper,
    "as JSON escapes": lambda s: "".join(f"\\u{ord(c):04x}" for c in s),
    "as JSON escapes in JSON": lambda s: "".join(f"\\\\u{ord(c):04X}" for c in s),
    "as escapes of escapes": lambda s: "".join(f"\\u005cu{ord(c):04x}" for c in s),
    "in part as JSON escapes": lambda s: s[:5] + "".join(f"\\u{ord(c):04x}" for c in s[5:]),
    "in percent form": lambda s: "".join(f"%{ord(c):02x}" for c in s),
    "twice in percent form": lambda s: "".join(f"%25{ord(c):02X}" for c in s),
    "in base64": lambda s: base64.b64encode(s.encode()).decode(),
    "inside base64": lambda s: base64.b64encode(f"Bearer {s}, x".encode()).decode(),
    "in base64 of addresses": lambda s: base64.urlsafe_b64encode(f"ab{s}??>".encode()).decode(),
}


def echo(form, status=200):
    """Repeat both secrets in every field of a reply, JSON text put together by hand."""

    async def act(seen, _request):
        value = FORMS[form](KEY) + " and " + FORMS[form](ORG)
        if status == 200:
            body = json.dumps(BODIES[seen.path]("SAID", finish="WHY", model="WHO"))
            for word in ("SAID", "WHY", "WHO", "fp_1"):
                body = body.replace(word, value)
        else:
            body = json.dumps({"error": {"message": "no: SAID", "code": "SAID"}})
            body = body.replace("SAID", value)
        return web.Response(
            status=status,
            body=body.encode(),
            headers={"Content-Type": "application/json", "X-Debug": FORMS[form](KEY)},
        )

    return act


ECHO = {"error": {"message": f"Incorrect API key provided: {KEY} of {ORG}", "code": KEY}}
ACTS = {
    "echoed in completions": echo_headers,
    "echoed in a failure": first(reply(500, ECHO)),
    "echoed in a rejection": reply(400, ECHO),
    "echoed in a refusal": reply(401, ECHO),
    "echoed in no JSON": first(reply(200, f"oops {KEY} {ORG}")),
    "echoed in a redirect": reply(302, headers={"Location": f"http://h/?key={KEY}"}),
    "reset": first(reset),
    **{f"echoed {form}": echo(form) for form in FORMS},
    **{f"rejected and echoed {form}": echo(form, 400) for form in FORMS},
}


@pytest.fixture
def environment(monkeypatch):
    monkeypatch.setenv("CANARY_KEY", KEY)
    monkeypatch.setenv("CANARY_ORG", ORG)


def study_for(tmp_path, provider):
    transport = {"backoff_s": 0.01, "concurrency": 2}
    return write_study(tmp_path, judges(provider), items=1, transport=transport)


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("what", ACTS)
def test_no_secret_is_written_or_said(tmp_path, capfd, caplog, what):
    with caplog.at_level("DEBUG"), Provider(ACTS[what]) as provider:
        study = study_for(tmp_path, provider)
        code = program._run(["run", str(study), "--out", str(tmp_path / "run")])
    assert code in (0, 5)
    assert any(KEY in str(seen.headers) for seen in provider.seen), "the key was sent"
    said = capfd.readouterr()
    assert leaks(tmp_path, said.out, said.err, caplog.text) == []


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("form", FORMS)
def test_a_masked_reply_is_a_reply(tmp_path, form):
    """What is stored is what the stored body decodes to, and the verdict is read from it."""
    with Provider(echo(form)) as provider:
        run = tmp_path / "run"
        code = program._run(["run", str(study_for(tmp_path, provider)), "--out", str(run)])
    assert code == 0
    assert verify(run).ok
    with SqliteView(run / LEDGER_NAME) as view:
        said = {c.completion.text for c in view.completions()}
    assert all("[redacted]" in text for text in said)


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("status", [200, 400])
def test_a_probe_shows_no_secret(tmp_path, capfd, form, status):
    with Provider(echo(form, status)) as provider:
        program._run(["check", str(study_for(tmp_path, provider)), "--probe"])
    said = capfd.readouterr()
    assert "probe chat" in said.out
    assert leaks(tmp_path, said.out, said.err) == []


def test_a_secret_in_parts_of_a_message_is_masked():
    parts = [{"type": "text", "text": KEY[:9]}, {"type": "text", "text": KEY[9:] + " B"}]
    masked = json.loads(Secrets((KEY,)).redact_body(json.dumps({"content": parts}).encode()))
    assert [part["text"] for part in masked["content"]] == ["[redacted]", " B"]


@pytest.mark.parametrize(
    "body",
    [
        b'{"choices": [{"message": {"content": "A \\u00e9t\\u00e9 100%25 \\\\ &#38;"}}]}',
        b"\xff\xfe no text at all \x00",
        b'{"content": [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]}',
        b"",
    ],
)
def test_a_body_without_a_secret_stays_as_it_came(body):
    assert Secrets((KEY, ORG)).redact_body(body) == body


@pytest.mark.parametrize("piece", [b"\\", b"%25", b"&#0000", b"\\u00", b"\x00", KEY[:9].encode()])
def test_no_body_takes_long_to_look_through(piece):
    started = time.process_time()
    Secrets((KEY, ORG)).redact_body(piece * (10**6 // len(piece)))
    assert time.process_time() - started < 10


@pytest.mark.usefixtures("environment")
def test_no_secret_is_said_by_a_process_in_development_mode(tmp_path):
    with Provider(first(reset, echo_headers)) as provider:
        study = study_for(tmp_path, provider)
        command = [sys.executable, "-X", "dev", "-m", "judgelaw", "run", str(study)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert leaks(tmp_path, done.stdout, done.stderr) == []


@pytest.mark.usefixtures("environment")
def test_a_traceback_shows_no_secret(tmp_path, monkeypatch, capsys):
    def bug(*_):
        raise RuntimeError("a bug while asking")

    monkeypatch.setattr("judgelaw.judges.http.HttpJudge.ask", bug)
    with Provider(say()) as provider:
        study = write_study(tmp_path, judges(provider), items=1)
        code = program._run(["run", str(study), "--out", str(tmp_path / "run")])
    said = capsys.readouterr()
    assert code == 70
    assert "a bug while asking" in said.err
    assert leaks(tmp_path, said.out, said.err) == []


def test_a_missing_key_stops_before_anything_is_sent(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("CANARY_KEY", raising=False)
    with Provider(say()) as provider:
        study = write_study(tmp_path, judges(provider), items=1)
        code = program._run(["run", str(study), "--out", str(tmp_path / "run")])
        assert provider.seen == []
    assert code == 2
    assert "CANARY_KEY is not set: export it" in capsys.readouterr().err
