"""`judgelaw label` and `judgelaw view` from the outside: options, files, how they end."""

import csv
import http.client
import json
import signal
import socket
import subprocess
import sys

import pytest

from judgelaw.cli import program


def started(folder, *words):
    command = [sys.executable, "-m", "judgelaw", *map(str, words)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True)


def ended(process):
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 0
    return said


def ask(url, path, sent=None):
    """Send a request as the page would, and return status and answer."""
    _, _, host, token, _ = url.split("/")
    connection = http.client.HTTPConnection(host, timeout=10)
    headers = {"Content-Type": "application/json", "Origin": f"http://{host}"}
    body = None if sent is None else json.dumps(sent)
    connection.request("GET" if body is None else "POST", f"/{token}/{path}", body, headers)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, json.loads(text) if text.startswith(b"{") else text


def get(url, path):
    status, answer = ask(url, path)
    assert status == 200
    return answer


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "calls.csv"
    path.write_text("item,question,answer,verdict\na,q1,x,pass\nb,q2,y,fail\n")
    return path


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def test_labels_go_where_they_are_told_under_the_name_that_was_given(tmp_path, table):
    port = free_port()
    words = ("--labels", "good,bad", "--as", "ann", "--out", "mine.csv", "--show", "question")
    process = started(tmp_path, "label", table, *words, "--port", port, "--no-open")
    url = process.stdout.readline().strip()
    assert url.startswith(f"http://127.0.0.1:{port}/")
    state = get(url, "api/next")
    assert state["labeller"] == "ann"
    assert [c["label"] for c in state["next"]["choices"]] == ["good", "bad"]
    assert [heading for heading, _ in state["next"]["texts"]] == ["Question"]
    item = state["next"]["item"]
    sent = {"item": item, "label": "good", "labeller": "ann"}
    status, state = ask(url, "api/label", sent)
    assert (status, state["done"]) == (200, 1)
    said = ended(process)
    assert "1 of 2 items have a label by ann; they are in mine.csv" in said
    assert "next: judgelaw validate mine-and-verdicts.csv --human label" in said
    with (tmp_path / "mine.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["item"], row["label"], row["labeller"]) == (item, "good", "ann")


def test_what_cannot_be_a_label_is_refused_and_nothing_is_written(tmp_path, table):
    process = started(tmp_path, "label", table, "--as", "ann", "--no-open")
    url = process.stdout.readline().strip()
    for sent in (
        {"item": "zzz", "label": "pass", "labeller": "ann"},
        {"item": "a", "label": "zzz", "labeller": "ann"},
        {"item": "a", "label": "pass", "labeller": ""},
        {"item": ["a"], "label": {}, "labeller": "ann"},
        ["a"],
    ):
        assert ask(url, "api/label", sent)[0] == 400
    sent = {"item": "a", "label": "pass", "labeller": "ann"}
    assert ask(url, "api/label", sent)[0] == 200
    status, answer = ask(url, "api/label", {**sent, "label": "fail"})
    assert status == 409
    assert "undo it to change it" in answer["error"]
    ended(process)
    assert (tmp_path / "calls-labels.csv").read_text().count("\n") == 2


def test_a_view_listens_where_it_is_told_and_lists_nothing_where_there_is_nothing(tmp_path):
    port = free_port()
    process = started(tmp_path, "view", tmp_path, "--port", port, "--no-open")
    url = process.stdout.readline().strip()
    assert url.startswith(f"http://127.0.0.1:{port}/")
    assert get(url, "api/runs") == {"folder": str(tmp_path), "count": 0, "runs": []}
    assert "ended; runs go on as they were" in ended(process)


@pytest.mark.parametrize("command", ["view", "label"])
def test_a_page_is_shown_under_the_address_of_a_proxy(tmp_path, table, command):
    port, public = free_port(), "https://labels.example.org/team"
    source = table if command == "label" else tmp_path
    words = (command, source, "--port", port, "--public-url", f"{public}/", "--no-open")
    process = started(tmp_path, *words)
    url = process.stdout.readline().strip()
    assert url.startswith(f"{public}/")
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    token = url.removeprefix(f"{public}/")
    connection.request("GET", f"/{token}", headers={"Host": "labels.example.org"})
    assert connection.getresponse().status == 200
    connection.close()
    ended(process)


def test_what_is_not_there_is_named(tmp_path, capsys):
    assert program._run(["view", str(tmp_path / "none")]) == 2
    assert "no such folder; name a folder with runs, or a run" in capsys.readouterr().err
    assert program._run(["label", str(tmp_path / "none.csv")]) == 2
    assert "check the path" in capsys.readouterr().err
