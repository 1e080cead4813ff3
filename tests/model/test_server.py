"""The served model: one law for one prompt, and no process that outlives its parent."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from judgelaw.errors import RunError
from judgelaw.judges.embedded import EmbeddedServer, primer_request
from judgelaw.wire import JudgeSpec, request
from support.exact_law import exact_law
from support.model import CRITERION, spec

pytestmark = [pytest.mark.model, pytest.mark.timeout(240)]

CHAT = "/v1/chat/completions"
SHORT = f"{CRITERION}\n\nName a colour.\n\nCANDIDATE A:\nRed\n\nCANDIDATE B:\nDog\n"
LONG = SHORT + "\n".join(f"Note {n}: the candidates were written by hand." for n in range(22))
"""More than 256 tokens, where a token that is evaluated alone uses a kernel of its own."""


def body(text: str, seed: int = 1) -> bytes:
    return request(JudgeSpec(**spec()), text, seed)


def cached_and_read(reply: dict) -> tuple[int, int]:
    usage = reply["usage"]
    return usage["prompt_tokens_details"]["cached_tokens"], usage["prompt_tokens"]


@pytest.mark.parametrize("text", [SHORT, LONG], ids=["short", "long"])
def test_the_law_of_a_prompt_does_not_depend_on_what_was_asked_before(server, text):
    law = exact_law(server, body(text))
    for kept in (0, len(text) // 3, len(text) - 20):
        server.post(CHAT, primer_request(body(text[:kept] + " and something else entirely")))
        assert exact_law(server, body(text)) == law, f"after a prompt that shares {kept} letters"
    assert set(law) == {"A", "B", "TIE"}
    assert all(p > 0 for p in law.values())


def test_a_primed_prompt_is_cached_up_to_its_last_token(server):
    server.post(CHAT, primer_request(body(LONG)))
    cached, tokens = cached_and_read(server.post(CHAT, body(LONG)))
    assert tokens > 256
    assert cached == tokens - 1


def test_seeds_are_taken_modulo_two_to_the_32nd_and_differ_below(server):
    server.post(CHAT, primer_request(body(SHORT)))

    def said(seed: int) -> str:
        return server.post(CHAT, body(SHORT, seed))["choices"][0]["message"]["content"]

    first = [said(seed) for seed in range(1, 9)]
    assert [said(seed + 2**32) for seed in range(1, 9)] == first
    assert len(set(first)) > 1
    assert set(first) <= {"A", "B", "TIE"}


def test_nothing_trims_the_law_unless_the_study_does(server):
    url = f"{server.root}/props"
    with urllib.request.urlopen(url, timeout=10) as reply:  # noqa: S310 - loopback
        params = json.load(reply)["default_generation_settings"]["params"]
    assert (params["top_k"], params["top_p"], params["min_p"]) == (0, 1.0, 0.0)
    assert params["temperature"] == 1.0
    assert params["repeat_penalty"] == 1.0


def test_the_messages_format_reads_the_same_prompt_under_the_same_grammar(server):
    fields = {"model": "x", "max_tokens": 8, "messages": [{"role": "user", "content": SHORT}]}
    server.post(CHAT, primer_request(body(SHORT)))
    reply = server.post("/v1/messages", json.dumps(fields).encode())
    assert reply["content"][0]["text"] in {"A", "B", "TIE"}
    assert reply["stop_reason"] == "end_turn"
    assert reply["usage"]["input_tokens"] == 1
    assert reply["model"] == spec()["model"]


def test_a_file_that_is_no_model_is_shown_with_the_words_of_llama_cpp(tmp_path):
    (tmp_path / "m.gguf").write_bytes(b"not a model")
    server = EmbeddedServer(JudgeSpec(**spec(model_path=str(tmp_path / "m.gguf"))))
    with pytest.raises(RunError, match=r"(?s)did not start.*failed to load model"):
        server.start()
    assert not server.alive


def test_stopping_with_a_request_in_flight_takes_no_longer():
    with EmbeddedServer(JudgeSpec(**spec())) as server:
        failed = []

        def ask() -> None:
            try:
                server.post(CHAT, body(LONG))
            except RunError as error:
                failed.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        time.sleep(0.3)
        began = time.monotonic()
    assert time.monotonic() - began < 3
    asking.join(timeout=10)
    assert failed, "the request was answered before the stop: make the prompt longer"


PARENT = """
    import os, sys, time
    from judgelaw.wire import JudgeSpec
    from judgelaw.judges.embedded import EmbeddedServer

    server = EmbeddedServer(JudgeSpec(name="j", provider="embedded", model="m"))
    server.start()
    helper = os.fork()  # inherits the pipe to the child and keeps it open
    if helper == 0:
        time.sleep(120)
        os._exit(0)
    print(server._process.pid, helper, flush=True)
    time.sleep(120)
"""


def test_no_process_is_left_when_the_parent_is_killed():
    parent = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PARENT)], stdout=subprocess.PIPE, text=True
    )
    with parent:
        child, helper = map(int, parent.stdout.readline().split())
        try:
            os.kill(child, 0)
            parent.send_signal(signal.SIGKILL)
            parent.wait()
            assert asyncio.run(_gone(child, within_s=10)), "the child outlived its parent"
        finally:
            os.kill(helper, signal.SIGKILL)


async def _gone(pid: int, *, within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if not _runs(pid):
            return True
        await asyncio.sleep(0.05)
    return False


def _runs(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except FileNotFoundError:
        return False
    # An orphan that ended waits for a reaper, which a container may lack.
    return stat.rsplit(")", 1)[1].split()[0] != "Z"
