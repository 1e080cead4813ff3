"""`run`, `status`, `verify` and `reparse` as a user meets them: output and exit codes."""

import json
import signal
import subprocess
import sys
import time

import duckdb
import pytest

from judgelaw.cli import program
from servers import counting
from servers.provider import Provider, first, reply, say
from servers.study import chat_judge, frozen_study, simulated_judge, write_study


@pytest.fixture
def judgelaw(capsys):
    """Run a command in this process; return exit code, stdout and stderr."""

    def call(*arguments):
        code = program._run([str(a) for a in arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def test_run_then_status_then_verify(tmp_path, judgelaw):
    study = write_study(tmp_path, [simulated_judge()])
    code, out, _ = judgelaw("run", study, "--out", tmp_path / "run")
    assert (code, out.strip()) == (0, str(tmp_path / "run" / "calls.parquet"))
    code, out, _ = judgelaw("status", tmp_path / "run", "--json")
    found = json.loads(out)
    assert code == 0
    names = ("planned", "completed", "open", "attempts", "failed", "orphaned", "flagged")
    assert [found[name] for name in names] == [16, 16, 0, 16, 0, 0, 0]
    code, out, _ = judgelaw("verify", tmp_path / "run", "--json", "-")
    found = json.loads(out)
    assert (code, found["ok"]) == (0, True)
    assert all(set(check) == {"name", "ok", "detail"} for check in found["checks"])
    for command in ("status", "verify"):
        code, out, _ = judgelaw(command, tmp_path / "run")
        assert code == 0
        assert str(tmp_path / "run") in out


def test_without_out_the_run_is_beside_the_study(tmp_path, judgelaw):
    study = write_study(tmp_path, [simulated_judge()])
    assert judgelaw("run", study)[0] == 0
    assert (tmp_path / "runs" / "small" / "calls.parquet").exists()


def test_status_of_a_frozen_run_that_was_never_started(tmp_path, judgelaw):
    frozen = frozen_study(tmp_path, [simulated_judge()])
    found = json.loads(judgelaw("status", frozen.path, "--json", "-")[1])
    assert (found["planned"], found["completed"], found["open"]) == (16, 0, 16)
    assert judgelaw("verify", frozen.path)[0] == 0


def test_status_says_how_calls_ended(tmp_path, judgelaw):
    async def act(seen, request):
        finish = "length" if seen.total % 2 else "stop"
        return await say(finish=finish)(seen, request)

    with Provider(first(reply(503), act)) as provider:
        judge = chat_judge(provider.base_url)
        study = write_study(tmp_path, [judge], transport={"backoff_s": 0.01})
        assert judgelaw("run", study, "--out", tmp_path / "run")[0] == 0
    found = json.loads(judgelaw("status", tmp_path / "run", "--json")[1])
    chat = found["judges"]["chat"]
    assert (chat["retried"], chat["failures"]) == (16, {"server_error": 16})
    assert chat["truncated"] == chat["finish_reasons"]["length"]
    assert sum(chat["finish_reasons"].values()) == 16
    table = judgelaw("status", tmp_path / "run")[1]
    assert "server_error 16" in table


def test_open_calls_leave_with_three_and_the_same_command_resumes(tmp_path, judgelaw):
    with Provider(first(reply(500), times=2)) as provider:
        judge = chat_judge(provider.base_url)
        transport = {"attempts": 2, "backoff_s": 0.01}
        study = write_study(tmp_path, [judge], items=1, transport=transport)
        code, _, err = judgelaw("run", study, "--out", tmp_path / "run")
        assert code == 3
        assert "8 open: the same command resumes" in err
        assert judgelaw("run", study, "--out", tmp_path / "run")[0] == 0


def test_a_refused_key_leaves_with_five(tmp_path, judgelaw):
    with Provider(reply(401, {"error": {"message": "no such key"}})) as provider:
        study = write_study(tmp_path, [chat_judge(provider.base_url)])
        code, _, err = judgelaw("run", study, "--out", tmp_path / "run")
    assert code == 5
    assert "no such key" in err
    assert "16 open: correct api_key, the account behind it, or base_url, then the same" in err
    found = json.loads(judgelaw("status", tmp_path / "run", "--json")[1])
    assert (found["failed"], found["completed"]) == (0, 0)


def test_a_used_up_budget_leaves_with_six(tmp_path, judgelaw):
    study = write_study(tmp_path, [simulated_judge()], budget={"calls": 3})
    code, _, err = judgelaw("run", study, "--out", tmp_path / "run")
    assert code == 6
    assert "the budget of 3 calls is used up. 3 of 16 calls are done, 13 open: " in err
    assert "raise budget.calls in the study, then the same command goes on" in err


def test_a_wrong_address_is_named_and_corrected(tmp_path, judgelaw):
    async def act(seen, request):
        found = request.path.startswith("/v1/")
        return await (say() if found else reply(404, {"detail": "Not Found"}))(seen, request)

    run = tmp_path / "run"
    with Provider(act) as provider:
        base = provider.base_url.removesuffix("/v1")
        study = write_study(tmp_path, [chat_judge(base)])
        code, _, err = judgelaw("run", study, "--out", run)
        assert code == 5
        assert f"asked {base}/chat/completions; base_url usually ends in /v1" in err
        assert "correct base_url or api_key in the study" in err
        study = write_study(tmp_path, [chat_judge(provider.base_url)])
        assert judgelaw("run", study, "--out", run)[0] == 0


def test_damage_leaves_with_four(tmp_path, judgelaw):
    study = write_study(tmp_path, [simulated_judge()])
    judgelaw("run", study, "--out", tmp_path / "run")
    table = tmp_path / "run" / "calls.parquet"
    content = bytearray(table.read_bytes())
    content[40] ^= 1
    table.write_bytes(content)
    code, out, err = judgelaw("verify", tmp_path / "run")
    assert code == 4
    assert "WRONG" in out
    assert "see files" in err


def test_an_audit_of_one_call_a_cell_says_what_it_tells_and_how_to_tell_more(tmp_path, judgelaw):
    study = write_study(tmp_path, [simulated_judge()], repeats=1)
    run = tmp_path / "runs" / "small"
    code, out, _ = judgelaw("audit", study)
    assert code == 0
    assert "not known: one call each" in out
    assert f"judgelaw extend {run} --repeats 2" in out
    assert (run / "report.html").exists()
    assert judgelaw("extend", run, "--repeats", 2)[0] == 0
    code, out, _ = judgelaw("audit", study)
    assert code == 0
    assert "one call each" not in out


def test_a_layer_of_one_call_a_cell_leaves_the_others_as_they_are(tmp_path, judgelaw):
    layers = [{"name": "audit"}, {"name": "null", "role": "control", "repeats": 1, "labels": 4}]
    study = write_study(tmp_path, [simulated_judge()], layers=layers)
    code, out, _ = judgelaw("audit", study, "--json", "-")
    assert code == 0
    found = json.loads(out)["layers"]
    assert found["audit"]["sim"]["answer"]["changes"]["ask_again"] is not None
    assert found["null"]["sim"]["answer"]["changes"]["ask_again"] is None


def test_verify_finds_nothing_wrong_after_any_command(tmp_path, judgelaw):
    def verified():
        code, out, _ = judgelaw("verify", run, "--json", "-")
        assert code == 0, out
        return {check["name"]: check["detail"] for check in json.loads(out)["checks"]}

    run = tmp_path / "run"
    study = write_study(tmp_path, [simulated_judge()], budget={"calls": 3})
    assert judgelaw("run", study, "--out", run)[0] == 6
    assert "3 of 16 calls completed, 13 open" in verified()["complete"]
    study = write_study(tmp_path, [simulated_judge()])
    assert judgelaw("run", study, "--out", run)[0] == 0
    assert "16 of 16 calls completed, 0 open" in verified()["complete"]
    assert judgelaw("extend", run, "--repeats", 4)[0] == 0
    found = verified()
    assert "16 calls added, not asked yet" in found["join"]
    assert "16 of 32 calls completed, 16 open" in found["complete"]
    assert judgelaw("audit", study, "--out", run)[0] == 0
    assert "32 of 32 calls completed, 0 open" in verified()["complete"]
    assert judgelaw("extend", run, "--repeats", 5)[0] == 0
    assert "8 calls added, not asked yet" in verified()["join"]


@pytest.mark.parametrize("arguments", [["status"], ["verify"], ["extend", "--repeats", "4"]])
def test_a_run_folder_that_is_not_there_is_named(tmp_path, judgelaw, arguments):
    code, _, err = judgelaw(*arguments, tmp_path / "nope")
    assert code == 2
    assert f"{tmp_path / 'nope'}: no such folder" in err
    assert "name " in err


@pytest.mark.parametrize(("path", "said"), [("none.jsonl", "no such file"), (".", "Is a dir")])
def test_items_that_cannot_be_read_are_a_problem_of_the_studys_line(tmp_path, judgelaw, path, said):
    study = write_study(tmp_path, [simulated_judge()], items=1)
    study.write_text(study.read_text().replace("items.jsonl", path))
    line = study.read_text().splitlines().index(f'  "path": "{path}"') + 1
    for command in ("check", "run", "audit"):
        code, _, err = judgelaw(command, study)
        assert code == 2
        assert f"{study}:{line}: items.path: " in err
        assert said in err


def test_reparse_keeps_both_and_says_what_changed(tmp_path, judgelaw):
    study = write_study(tmp_path, [simulated_judge()], items=8)
    run = tmp_path / "run"
    judgelaw("run", study, "--out", run)
    before = (run / "calls.parquet").read_bytes()
    other = tmp_path / "other.parquet"
    code, out, _ = judgelaw(
        "reparse", run, "--parser", "{regex: '(A|B)'}", "--out", other, "--json", "-"
    )
    assert code == 0
    found = json.loads(out)["judges"]["sim"]
    assert (found["before"].split("#")[0], found["after"].split("#")[0]) == (
        "first-line/1",
        "regex/1",
    )
    assert {(c["from"], c["to"]) for c in found["changes"]} == {("tie", "invalid")}
    assert found["changed"] == sum(c["count"] for c in found["changes"]) > 0
    assert (run / "calls.parquet").read_bytes() == before
    verdicts = [row[7] for row in duckdb.read_parquet(str(other)).fetchall()]
    assert "tie" not in verdicts
    assert judgelaw("verify", run)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--parser", "{regex: ["], "no YAML"),
        (["--parser", "{sum: 3}"], "is no parser"),
        (["--parser", "first-line", "--judge", "nobody"], "the run has sim"),
    ],
)
def test_reparse_says_what_it_wants(tmp_path, judgelaw, arguments, words):
    study = write_study(tmp_path, [simulated_judge()], items=1)
    judgelaw("run", study, "--out", tmp_path / "run")
    code, _, err = judgelaw("reparse", tmp_path / "run", *arguments)
    assert code == 2
    assert words in err


def start_slow_run(fleet, tmp_path, delay, **transport):
    """Start a run against a server that takes its time; return both processes and the log."""
    log = tmp_path / "requests.log"
    server = subprocess.Popen(
        [sys.executable, counting.__file__, str(log), str(delay)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    port = int(server.stdout.readline())
    judge = chat_judge(f"http://127.0.0.1:{port}/v1")
    study = write_study(tmp_path, [judge], items=20, transport={"concurrency": 4, **transport})
    run = fleet.start(tmp_path, "run", study, "--out", tmp_path / "run")
    while run.code() is None and (not log.exists() or log.stat().st_size < 65 * 4):
        time.sleep(0.01)
    return server, run, log


def stop_server(server):
    server.stdin.close()
    server.stdout.close()
    server.wait(10)


def test_ctrl_c_waits_for_replies_under_way_and_saves_them(fleet, tmp_path, judgelaw):
    server, run, log = start_slow_run(fleet, tmp_path, 0.4)
    try:
        run.send(signal.SIGINT)
        assert run.wait() == 130, run.said
        assert "saved" in run.said
        asked = len(log.read_text().split())
        found = json.loads(judgelaw("status", tmp_path / "run", "--json")[1])
        assert found["completed"] == found["attempts"] == asked < found["planned"]
        assert (found["failed"], found["orphaned"]) == (0, 0)
        assert found["unsent"] > 0, "calls are reserved ahead"
        code, out, _ = judgelaw("verify", tmp_path / "run", "--json", "-")
        assert code == 0
        (said,) = [c["detail"] for c in json.loads(out)["checks"] if c["name"] == "attempts"]
        assert said.startswith(f"{found['attempts']} attempts, ")
        assert said.endswith(f"; {found['unsent']} more reserved and never sent")
    finally:
        stop_server(server)


def test_after_a_kill_every_attempt_stands_in_a_column(fleet, tmp_path, judgelaw):
    server, run, _ = start_slow_run(fleet, tmp_path, 3.0)
    try:
        run.kill()
    finally:
        stop_server(server)
    found = json.loads(judgelaw("status", tmp_path / "run", "--json")[1])
    parts = ("completed", "failed", "orphaned", "refused", "in_flight")
    assert found["attempts"] == sum(found[name] for name in parts) > 0
    code, out, err = judgelaw("status", tmp_path / "run")
    assert code == 0
    assert "in flight" in out
    assert f"{found['in_flight']} attempts in flight: reserved, and perhaps sent" in err


def test_a_second_ctrl_c_does_not_wait_and_says_what_may_be_lost(fleet, tmp_path, judgelaw):
    server, run, log = start_slow_run(fleet, tmp_path, 3.0, concurrency=6)
    try:
        run.send(signal.SIGINT)
        time.sleep(0.2)
        run.send(signal.SIGTERM)
        begin = time.monotonic()
        assert run.wait() == 130, run.said
        assert time.monotonic() - begin < 2.5
        found = json.loads(judgelaw("status", tmp_path / "run", "--json")[1])
        assert found["completed"] == 0
        assert found["failed"] == len(log.read_text().split())
        assert found["judges"]["chat"]["failures"] == {"interrupted": found["failed"]}
    finally:
        stop_server(server)


def test_a_second_process_is_told_who_holds_the_run(fleet, tmp_path, judgelaw):
    server, run, _ = start_slow_run(fleet, tmp_path, 0.5)
    try:
        code, _, err = judgelaw("run", tmp_path / "study.yaml", "--out", tmp_path / "run")
        assert code == 3
        assert f"held by process {run.pid} on " in err
        assert judgelaw("status", tmp_path / "run")[0] == 0, "looking is always allowed"
    finally:
        run.send(signal.SIGTERM)
        run.wait()
        stop_server(server)


HOSTILE = "stop\x1b]0;owned\x07\x1b[2J\u202e\x9b31m\r"


def test_no_command_prints_what_a_terminal_would_obey(tmp_path, judgelaw):
    """A server that puts escape codes into every field it has, in answers and in failures."""

    async def hostile(seen, request):
        if seen.number == 1 and seen.total % 3 == 0:
            error = {"error": {"message": HOSTILE, "code": HOSTILE}}
            return await reply(500, error, {"Retry-After": "0"})(seen, request)
        return await say(HOSTILE, finish=HOSTILE, model=HOSTILE)(seen, request)

    with Provider(hostile) as provider:
        study = write_study(
            tmp_path, [chat_judge(provider.base_url)], transport={"backoff_s": 0.01}
        )
        run = tmp_path / "run"
        shown = [
            judgelaw("check", study, "--probe"),
            judgelaw("run", study, "--out", run),
            judgelaw("status", run),
            judgelaw("status", run, "--json"),
            judgelaw("verify", run),
            judgelaw("analyze", run),
            judgelaw("reparse", run, "--parser", "{regex: (?s).*}"),
        ]
    for code, out, err in shown:
        assert code in (0, 2), err
        assert not set("\x1b\x07\u202e\x9b\r") & set(out + err)
    assert "⟨U+001B⟩" in shown[2][1], "the stop reason is shown, made visible"
