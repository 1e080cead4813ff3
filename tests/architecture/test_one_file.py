"""A provider is one source file, and so is an importer: each is planted beside the others."""

import json
import os
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import judgelaw
from servers.study import write_study

SRC = Path(judgelaw.__file__).parent

HTTP_PROVIDER = '''
"""A made-up server that answers under `said`, and counts tokens in its own words."""

from judgelaw.wire.form import Provider, WireFormat, decoding_of
from judgelaw.wire.reply import Answer, Completion


def _encode(judge):
    return ',"ask":', "", {"options": decoding_of(judge)}


def _decode(reply, body):
    return Answer(
        completion=Completion(text=body["said"], finish_reason="stop"),
        output_tokens=body["spent"],
    )


WIRE = WireFormat(name="oracle", path="speak", encode=_encode, decode=_decode, seedless="no dice")
PROVIDERS = (Provider(name="oracle", wire=WIRE),)
'''

LOCAL_PROVIDER = '''
"""A judge without HTTP: it always prefers what is shown first."""

import json

from judgelaw.wire.form import Provider
from judgelaw.wire.providers.openai import CHAT
from judgelaw.wire.reply import Reply


class FirstJudge:
    def __init__(self, spec, around):
        self._clock = around.clock

    async def __aenter__(self):
        return self

    async def __aexit__(self, *exception):
        pass

    async def ask(self, call, body):
        choice = {"message": {"content": "A"}, "finish_reason": "stop"}
        return Reply(status=200, body=json.dumps({"choices": [choice]}).encode())

    def decode(self, reply):
        return CHAT.read(reply, now=self._clock())


PROVIDERS = (
    Provider(name="first", speaks=("openai-chat",), local=True, opens=f"{__name__}:FirstJudge"),
)
'''

IMPORTER = '''
"""Logs of a made-up tool: item, prompt, order and verdict between bars."""

from judgelaw.tables.importers.entries import Advice, Entry, Format


def read(path, tick):
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        tick(len(line))
        item, prompt, order, verdict = line.split("|")
        known = {"judge": "j", "item": item, "prompt": prompt, "order": order}
        yield Entry(
            place=f"{path}:{number}", record={"said": verdict}, known={**known, "verdict": verdict}
        )


ADVICE = Advice(fresh="ask again", repeat="ask twice")
OFFERED = (Format(name="bars", read=read, advice=ADVICE),)
'''


class _Oracle(BaseHTTPRequestHandler):
    seen: list[dict]

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append({"path": self.path, **asked})
        body = json.dumps({"said": "B", "spent": 3}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def oracle():
    handler = type("Handler", (_Oracle,), {"seen": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", handler.seen
    server.shutdown()
    thread.join()
    server.server_close()


def planted(tmp_path, files):
    """Copy the source tree, and add files to it."""
    tree = tmp_path / "src"
    shutil.copytree(SRC, tree / "judgelaw", ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in files.items():
        (tree / "judgelaw" / name).write_text(text)
    return tree


def run(tree, *arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "judgelaw", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"},
    )


def test_a_provider_is_one_file(tmp_path, oracle):
    """Two are planted, one over HTTP and one without; a study declares, asks and analyses both."""
    address, seen = oracle
    tree = planted(
        tmp_path,
        {"wire/providers/oracle.py": HTTP_PROVIDER, "wire/providers/first.py": LOCAL_PROVIDER},
    )
    judges = [
        {
            "name": "far",
            "provider": "oracle",
            "base_url": address,
            "model": "m",
            "decoding": {"max_tokens": 8},
        },
        {"name": "near", "provider": "first", "model": "none"},
    ]
    study = write_study(tmp_path / "study", judges, items=3)
    done = run(tree, "audit", study, "--out", tmp_path / "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(seen) == 3 * 2 * 2 * 2
    assert {request["path"] for request in seen} == {"/speak"}
    assert all(request["options"] == {"max_tokens": 8} for request in seen)
    assert not any("seed" in request for request in seen)
    analysis = json.loads((tmp_path / "run/results/analysis.json").read_text())
    for judge in ("far", "near"):
        outcomes = analysis["judges"][judge]["outcomes"]
        assert outcomes == {"candidate_1": 12, "candidate_2": 12, "tie": 0, "invalid": 0}
    verified = run(tree, "verify", tmp_path / "run", cwd=tmp_path)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert '"oracle"' in run(tree, "schema", cwd=tmp_path).stdout


def test_rules_hold_for_a_planted_provider(tmp_path):
    tree = planted(tmp_path, {"wire/providers/oracle.py": HTTP_PROVIDER})
    judge = {"name": "far", "provider": "oracle", "model": "m", "seed": "sent", "wire": "oracle"}
    study = write_study(tmp_path / "study", [judge])
    done = run(tree, "check", study, cwd=tmp_path)
    assert done.returncode == 2
    for said in ("write where the server is", "'sent', no dice", "has one format; leave it out"):
        assert said in done.stderr + done.stdout


def test_an_importer_is_one_file(tmp_path):
    tree = planted(tmp_path, {"tables/importers/bars_log.py": IMPORTER})
    log = tmp_path / "log.txt"
    lines = [f"i{i}|p{p}|{o}|A\n" for i in range(2) for p in range(2) for o in ("AB", "BA")]
    log.write_text("".join(lines * 2))
    done = run(tree, "import", "--from", "bars", log, "-o", "calls.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "16 calls in calls.csv" in done.stderr
    analysed = run(tree, "analyze", "calls.csv", "--json", "-", cwd=tmp_path)
    judge = json.loads(analysed.stdout)["judges"]["j"]
    assert judge["calls"] == 16
    assert judge["outcomes"] == {"candidate_1": 8, "candidate_2": 8, "tie": 0, "invalid": 0}
