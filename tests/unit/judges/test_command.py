"""A judge that is a command: both modes, and everything that a script can do wrong."""

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from judgelaw.acquire import acquire
from judgelaw.acquire.verify import verify
from judgelaw.errors import IncompleteRunError, InputError, StudyError
from judgelaw.ledger import LEDGER_NAME, SqliteView
from judgelaw.runs import audit_study
from judgelaw.study import load_study
from servers.local_judges import command_judge, write_code
from servers.study import frozen_study, write_study

FAST = {"attempts": 2, "backoff_s": 0.001, "timeout_s": 10, "concurrency": 2}
ANSWER = "print(json.dumps({'id': call['id'], 'text': 'A'}))"


def script(tmp_path, body, name="judge.py"):
    """Write a script of `lines`: `body` stands inside its loop."""
    tmp_path.mkdir(parents=True, exist_ok=True)
    inside = "\n".join(f"    {line}" for line in body.splitlines())
    text = "import json, os, sys, time\nfor line in sys.stdin:\n    call = json.loads(line)\n"
    (tmp_path / name).write_text(f"{text}{inside}\n")


def asked(tmp_path, *, mode="lines", **fields):
    fields = {"transport": FAST, "items": 1, **fields}
    frozen = frozen_study(tmp_path, [command_judge("python", "judge.py", mode=mode)], **fields)
    done = acquire(frozen)
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        return done, view.totals(), list(view.attempts()), list(view.completions())


@pytest.mark.parametrize("mode", ["lines", "once"])
def test_an_audit_of_a_command_goes_from_study_to_report(tmp_path, monkeypatch, mode):
    write_code(tmp_path)
    monkeypatch.setenv("ASKED_LOG", str(tmp_path / "asked.log"))
    monkeypatch.chdir("/")
    judge = command_judge("python", f"{mode}.py", mode=mode)
    study = write_study(tmp_path, [judge], items=2, repeats=2, transport={"concurrency": 2})
    audited = audit_study(study)
    assert (audited.run / "report.html").exists()
    assert len((tmp_path / "asked.log").read_text().split()) == 16
    assert audited.analysis.judges["script"].outcomes["invalid"] == 0
    found = verify(audited.run)
    assert found.ok, [c for c in found.checks if not c.ok]


def test_a_line_tells_everything_about_its_call(tmp_path):
    script(tmp_path, f"open('seen', 'a').write(line)\n{ANSWER}")
    _, totals, _, _ = asked(tmp_path, transport={**FAST, "concurrency": 1})
    assert totals.completed == 8
    seen = [json.loads(line) for line in (tmp_path / "seen").read_text().splitlines()]
    keys = {"id", "messages", "seed", "decoding", "item", "prompt", "order", "repeat"}
    assert all(set(line) == keys for line in seen)
    assert {line["prompt"] for line in seen} == {"p1", "p2"}
    assert {line["item"]["candidate_a"] for line in seen if line["order"] == "BA"} == {"two"}


def test_what_a_line_says_of_its_answer_is_kept(tmp_path):
    answer = (
        "print(json.dumps({'id': call['id'], 'text': 'B', 'model': 'm7', 'finish_reason': 'stop',"
        " 'usage': {'prompt_tokens': 5, 'completion_tokens': 2}, 'logprobs': [1]}))"
    )
    script(tmp_path, answer)
    _, totals, _, completions = asked(tmp_path)
    assert (totals.input_tokens, totals.output_tokens) == (40, 16)
    assert completions[0].receipt.model == "m7"
    assert completions[0].completion.finish_reason == "stop"


def test_once_is_given_the_prompt_and_may_read_its_call_from_the_environment(tmp_path):
    (tmp_path / "judge.py").write_text(
        "import os, sys\nprint(sys.stdin.read())\nprint(os.environ['JUDGELAW_ORDER'])\n"
    )
    _, _, _, completions = asked(tmp_path, mode="once")
    for done in completions:
        *prompt, order = done.completion.text.splitlines()
        assert order == done.call.order
        assert prompt[0].removeprefix("# ") == "Question 0"


FAULTS = {
    "garbage": ("print('Loading model...')\n" + ANSWER, "unusable", "one JSON object"),
    "a list": ("print('[1]')", "unusable", "one JSON object"),
    "two answers": (
        "one = json.dumps({'id': call['id'], 'text': 'A'}) + chr(10); sys.stdout.write(one * 2)",
        "unusable",
        "two lines for one call",
    ),
    "another id": ("print(json.dumps({'id': 'x', 'text': 'A'}))", "unusable", "answered id 'x'"),
    "no text": ("print(json.dumps({'id': call['id']}))", "no_completion", "a line without text"),
    "error": (
        "print(json.dumps({'id': call['id'], 'error': 'GPU lost'}))",
        "error_object",
        "it says: GPU lost",
    ),
    "dies": ("sys.exit('out of memory')", "crashed", "code 1 before it answered; its last words"),
    "ends": ("sys.exit(0)", "crashed", "ended with code 0 before it answered"),
    "killed": ("os.kill(os.getpid(), 9)", "crashed", "ended by signal 9"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_line_is_a_failed_attempt_and_never_a_verdict(tmp_path, fault):
    body, kind, word = FAULTS[fault]
    script(tmp_path, body)
    done, totals, attempts, _ = asked(tmp_path)
    assert totals.completed == 0
    kinds = {a.kind for a in attempts if a.kind}
    assert kinds == {kind}
    said = [a.detail for a in attempts if a.detail]
    assert all(each.startswith("python judge.py: ") and word in each for each in said)
    with pytest.raises(IncompleteRunError):
        done.raise_if_open()


def test_a_second_answer_that_comes_late_is_no_answer_to_the_next_call(tmp_path):
    """The line belongs to nobody: the process is ended, and the next call asked anew."""
    script(tmp_path, f"{ANSWER}\ntime.sleep(0.05)\n{ANSWER}")
    _, totals, attempts, completions = asked(
        tmp_path, transport={**FAST, "attempts": 10, "concurrency": 1}
    )
    assert totals.completed == 8
    assert {c.completion.text for c in completions} == {"A"}
    assert {a.kind for a in attempts if a.kind} <= {"unusable"}


def test_a_crashed_process_is_replaced_and_the_run_goes_on(tmp_path):
    script(
        tmp_path, f"if os.path.exists('met'):\n    {ANSWER}\nelse:\n    open('met', 'w')\n    1/0"
    )
    done, totals, attempts, _ = asked(tmp_path)
    done.raise_if_open()
    crashed = [a for a in attempts if a.kind == "crashed"]
    assert totals.completed == 8
    assert crashed
    assert "ZeroDivisionError" in crashed[0].detail


def test_a_process_is_kept_from_call_to_call(tmp_path):
    script(tmp_path, f"open('pids', 'a').write(str(os.getpid()) + '\\n')\n{ANSWER}")
    asked(tmp_path, items=4)
    assert len(set((tmp_path / "pids").read_text().split())) <= 2


def test_retry_after_waits_and_asks_again(tmp_path):
    script(
        tmp_path,
        # Of several processes one is the first: it alone can make the folder.
        f"try:\n    os.mkdir('met')\nexcept FileExistsError:\n    {ANSWER}\nelse:\n"
        "    print(json.dumps({'id': call['id'], 'error': 'busy', 'retry_after': 0.05}))",
    )
    done, _, attempts, _ = asked(tmp_path)
    done.raise_if_open()
    assert [a.kind for a in attempts if a.kind] == ["throttled"]


def alive(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rsplit(")", 1)[1].split()[0] != "Z"


@pytest.mark.parametrize("mode", ["lines", "once"])
def test_a_time_out_ends_the_process_and_all_that_it_started(tmp_path, mode):
    (tmp_path / "judge.py").write_text(
        "import os, subprocess, time\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        "open('pids', 'a').write(f'{os.getpid()}\\n{child.pid}\\n')\n"
        "time.sleep(60)\n"
    )
    transport = {**FAST, "attempts": 1, "timeout_s": 0.7, "concurrency": 4}
    started = time.monotonic()
    _, totals, attempts, _ = asked(tmp_path, mode=mode, transport=transport, repeats=1)
    assert {a.kind for a in attempts if a.kind} == {"timeout"}
    assert totals.completed == 0
    assert time.monotonic() - started < 30
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) >= 2
    deadline = time.monotonic() + 5
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, pids))


LEAVES = {
    "no environment": (
        "subprocess.Popen(['env', '-i', '/bin/sleep', '60'], start_new_session=True)"
    ),
    "a session of its own": "subprocess.Popen(['sleep', '60'], start_new_session=True)",
    "a daemon": (
        "subprocess.run([sys.executable, '-c', 'import subprocess; "
        'print(subprocess.Popen(["sleep", "60"], start_new_session=True, '
        "stdout=subprocess.DEVNULL).pid)'], stdout=subprocess.PIPE, text=True)"
    ),
}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the group is what can be reached")
@pytest.mark.parametrize("how", LEAVES)
@pytest.mark.parametrize("mode", ["lines", "once"])
def test_a_time_out_ends_what_left_the_session_too(tmp_path, mode, how):
    (tmp_path / "judge.py").write_text(
        "import os, subprocess, sys, time\n"
        f"child = {LEAVES[how]}\n"
        "pid = getattr(child, 'pid', None) or int(child.stdout)\n"
        "open('pids', 'a').write(f'{os.getpid()}\\n{pid}\\n')\n"
        "time.sleep(60)\n"
    )
    transport = {**FAST, "attempts": 1, "timeout_s": 1.5, "concurrency": 4}
    _, totals, attempts, _ = asked(tmp_path, mode=mode, transport=transport, repeats=1)
    assert {a.kind for a in attempts if a.kind} == {"timeout"}
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 2 * len([a for a in attempts if a.kind])
    deadline = time.monotonic() + 5
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, pids))
    assert totals.completed == 0


@pytest.mark.parametrize("size", [1, 100_000])
def test_a_child_that_holds_the_output_does_not_hold_the_answer(tmp_path, size):
    """The program has answered and ended: what it left behind is not waited for."""
    (tmp_path / "judge.py").write_text(
        "import subprocess, sys\n"
        "child = subprocess.Popen(['sleep', '20'])\n"
        "open('pids', 'a').write(f'{child.pid}\\n')\n"
        f"print('A' + ' ' * {size})\n"
    )
    transport = {**FAST, "attempts": 1, "timeout_s": 10, "concurrency": 4}
    started = time.monotonic()
    done, totals, _, _ = asked(tmp_path, mode="once", transport=transport, repeats=1)
    done.raise_if_open()
    assert totals.completed == totals.attempts
    assert time.monotonic() - started < 10
    for pid in (tmp_path / "pids").read_text().split():
        assert alive(int(pid)), "what an answered program leaves behind is its own"
        os.kill(int(pid), signal.SIGKILL)


def test_a_program_of_lines_that_ended_is_not_waited_for(tmp_path):
    """Something holds its output open: it crashed all the same, and no time is lost."""
    script(
        tmp_path,
        "import subprocess\n"
        "child = subprocess.Popen(['sleep', '20'], start_new_session=True)\n"
        "open('pids', 'a').write(f'{child.pid}\\n')\n"
        "os._exit(3)",
    )
    _, totals, attempts, _ = asked(tmp_path, transport={**FAST, "attempts": 1, "timeout_s": 15})
    assert {a.kind for a in attempts if a.kind} == {"crashed"}
    assert totals.completed == 0
    if sys.platform == "linux":
        assert not any(alive(int(pid)) for pid in (tmp_path / "pids").read_text().split())


@pytest.mark.parametrize(
    ("text", "kind", "word"),
    [
        ("", "unusable", "printed nothing and ended well"),
        ("import sys; sys.exit('no key')", "crashed", "its last words: no key"),
        ("import os; os.write(1, b'\\xff')", "unusable", "UTF-8"),
    ],
)
def test_once_that_gives_no_answer_is_a_failed_attempt(tmp_path, text, kind, word):
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / "judge.py").write_text(text)
    _, totals, attempts, _ = asked(tmp_path, mode="once")
    assert totals.completed == 0
    assert {a.kind for a in attempts if a.kind} == {kind}
    assert all(word in a.detail for a in attempts if a.detail)


def test_an_answer_of_once_is_counted_whatever_it_says(tmp_path):
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / "judge.py").write_text("print('I cannot say')")
    done, totals, _, _ = asked(tmp_path, mode="once")
    done.raise_if_open()
    assert totals.completed == 8


def test_a_program_that_is_not_there_is_said_before_anything_is_asked(tmp_path):
    frozen = frozen_study(tmp_path, [command_judge("no-such-program-here")])
    with pytest.raises(InputError, match="'no-such-program-here': no such program"):
        acquire(frozen)
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        assert list(view.attempts()) == []


def test_a_program_in_the_studys_folder_is_found(tmp_path):
    tmp_path.mkdir(exist_ok=True)
    program = tmp_path / "judge.sh"
    program.write_text("#!/bin/sh\ncat > /dev/null\necho A\n")
    program.chmod(0o755)
    frozen = frozen_study(tmp_path, [command_judge("./judge.sh", mode="once")], items=1)
    acquire(frozen).raise_if_open()


def test_python_is_the_interpreter_at_hand_where_the_path_has_none(tmp_path, monkeypatch):
    script(tmp_path, ANSWER)
    monkeypatch.setenv("PATH", str(tmp_path))
    done, _, _, _ = asked(tmp_path)
    done.raise_if_open()


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"command": []}, "command: missing, it is what answers"),
        ({"system": "Be fair.", "mode": "once"}, "system: mode: once hands over one text"),
        ({"api_key": "env:KEY"}, "api_key: provider command sends no key"),
        ({"base_url": "http://127.0.0.1:1"}, "base_url: command needs no address"),
        ({"mode": "twice"}, "mode: 'twice'"),
        ({"call": "a:b"}, "call: is a field of provider python only"),
    ],
)
def test_a_command_is_declared_in_full(tmp_path, fields, word):
    judge = {**command_judge("python", "judge.py"), **fields}
    with pytest.raises(StudyError) as error:
        load_study(write_study(tmp_path, [judge]))
    assert word in str(error.value)
    assert f"{tmp_path}/study.yaml:" in str(error.value)


def test_a_flood_that_nobody_reads_ends_with_its_call(tmp_path):
    """A process whose output is full of nothing times out, and does not hold up the run's end."""
    transport = {**FAST, "attempts": 1, "timeout_s": 0.5, "concurrency": 4}
    frozen = frozen_study(tmp_path, [command_judge("yes", "")], items=1, transport=transport)
    started, busy = time.monotonic(), time.process_time()
    with pytest.raises(IncompleteRunError, match=r"judge script: no reply in 0\.5 s"):
        acquire(frozen).raise_if_open()
    assert time.monotonic() - started < 30
    assert time.process_time() - busy < 10


def test_what_a_crashed_process_started_goes_with_it(tmp_path):
    start = "import subprocess; child = subprocess.Popen(['sleep', '60'], stdout=2)\n"
    script(tmp_path, start + "open('pids', 'a').write(f'{child.pid}\\n')\nos._exit(3)")
    _, _, attempts, _ = asked(tmp_path)
    assert {a.kind for a in attempts if a.kind} == {"crashed"}
    assert not any(alive(int(pid)) for pid in (tmp_path / "pids").read_text().split())


def test_no_process_is_left_when_a_run_ends(tmp_path):
    script(tmp_path, f"open('pids', 'a').write(str(os.getpid()) + '\\n')\n{ANSWER}")
    asked(tmp_path)
    assert not any(alive(int(pid)) for pid in (tmp_path / "pids").read_text().split())
