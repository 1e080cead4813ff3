"""A canary: no key, header or environment value reaches a file, a message or a traceback."""

import subprocess
import sys

import pytest

from judgelaw.cli import _main
from servers.provider import Provider, echo_headers, first, reply, reset, say
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
    """Name every file and text that holds a piece of the canary."""
    found = [
        str(path)
        for path in folder.rglob("*")
        if path.is_file() and any(piece.encode() in path.read_bytes() for piece in PIECES)
    ]
    return found + [text for text in said if any(piece in text for piece in PIECES)]


ECHO = {"error": {"message": f"Incorrect API key provided: {KEY} of {ORG}", "code": KEY}}
ACTS = {
    "echoed in completions": echo_headers,
    "echoed in a failure": first(reply(500, ECHO)),
    "echoed in a rejection": reply(400, ECHO),
    "echoed in a refusal": reply(401, ECHO),
    "echoed in no JSON": first(reply(200, f"oops {KEY} {ORG}")),
    "echoed in a redirect": reply(302, headers={"Location": f"http://h/?key={KEY}"}),
    "reset": first(reset),
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
        code = _main._run(["run", str(study), "--out", str(tmp_path / "run")])
    assert code in (0, 5)
    assert any(KEY in str(seen.headers) for seen in provider.seen), "the key was sent"
    said = capfd.readouterr()
    assert leaks(tmp_path, said.out, said.err, caplog.text) == []


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
        raise RuntimeError("a bug while decoding")

    monkeypatch.setattr("judgelaw.judges.http.HttpJudge.decode", bug)
    with Provider(say()) as provider:
        study = write_study(tmp_path, judges(provider), items=1)
        code = _main._run(["run", str(study), "--out", str(tmp_path / "run")])
    said = capsys.readouterr()
    assert code == 70
    assert "a bug while decoding" in said.err
    assert leaks(tmp_path, said.out, said.err) == []


def test_a_missing_key_stops_before_anything_is_sent(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("CANARY_KEY", raising=False)
    with Provider(say()) as provider:
        study = write_study(tmp_path, judges(provider), items=1)
        code = _main._run(["run", str(study), "--out", str(tmp_path / "run")])
        assert provider.seen == []
    assert code == 2
    assert "CANARY_KEY is not set: export it" in capsys.readouterr().err
