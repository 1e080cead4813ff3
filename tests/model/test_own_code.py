"""A real llama.cpp server over every wire, and behind a function and a command of one's own."""

import sys

import pytest

import judgelaw as jl
from judgelaw.acquire.verify import verify
from servers.study import write_study

pytestmark = pytest.mark.model

TEMPLATE = {
    "text": "{{ messages[0].content }}\nAnswer:",
    "server_adds_bos": False,
}
WIRES = {
    "openai-chat": {"at": "v1"},
    "openai-completions": {"at": "v1", "template": TEMPLATE},
    "anthropic": {"at": ""},
}
ASKING = """
import json, sys, urllib.request

def ask(call):
    body = {"model": "local", "messages": call["messages"], "seed": call["seed"], "max_tokens": 8}
    head = {"Content-Type": "application/json"}
    asked = urllib.request.Request(URL, json.dumps(body).encode(), head)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(asked, timeout=60) as reply:
        return json.load(reply)["choices"][0]["message"]["content"]

for line in sys.stdin:
    call = json.loads(line)
    print(json.dumps({"id": call["id"], "text": ask(call)}))
"""


def audited(folder, judge, function=None):
    study = write_study(
        folder, [judge], items=1, repeats=2, transport={"concurrency": 1, "timeout_s": 120}
    )
    run = jl.audit(study, judge=function)
    found = verify(run.path)
    assert found.ok, [c for c in found.checks if not c.ok]
    assert (run.path / "report.html").exists()
    return run


@pytest.mark.parametrize("wire", WIRES)
def test_a_real_server_is_audited_over_every_wire(tmp_path, shallow, wire):
    _, server = shallow
    fields = dict(WIRES[wire])
    base = f"{server.base_url.removesuffix('/v1')}/{fields.pop('at')}".rstrip("/")
    judge = {
        "name": "served",
        "provider": wire,
        "base_url": base,
        "model": "local",
        "decoding": {"max_tokens": 8, "temperature": 1.0},
        "truncated": "parse",
        **fields,
    }
    run = audited(tmp_path, judge)
    assert run.status.completed == 8
    found = {finding.name: finding.verdict for finding in run.analysis(draws=50).diagnostics}
    assert found["replay"] != "problem", "the alias of a served file is no replay"


def test_a_command_in_front_of_a_real_model_is_audited(tmp_path, shallow):
    _, server = shallow
    url = f"{server.base_url.removesuffix('/v1')}/v1/chat/completions"
    (tmp_path / "judge.py").write_text(f"URL = {url!r}\n{ASKING}")
    judge = {"name": "script", "provider": "command", "command": [sys.executable, "judge.py"]}
    assert audited(tmp_path, judge).status.completed == 8
