"""`judgelaw reword` from the outside: what it writes, what it says, how people strike."""

import csv
import http.client
import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from judgelaw.cli import program
from judgelaw.study import load_study, open_run, survey
from servers.provider import Provider, reply, say
from servers.rewording import TEMPLATE, reworder
from servers.study import chat_judge, simulated_judge, write_study

ONE = {"policy": "census", "templates": [{"id": "mine", "text": TEMPLATE}]}
SAME, STRIKE = "same meaning", "strike"


@pytest.fixture
def run(capsys):
    """Run a command in this process; return exit code, stdout and stderr."""

    def call(*words):
        capsys.readouterr()
        code = program._run([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


@pytest.fixture
def study(tmp_path):
    return write_study(tmp_path, [simulated_judge()], prompts=ONE, items=6, repeats=4)


def test_rules_reword_and_the_study_that_is_written_is_audited(run, study, tmp_path):
    code, out, err = run("reword", study, "--with", "rules", "--count", 5)
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[2:]] == [f"r00{n}" for n in range(1, 6)]
    written = tmp_path / "study-reworded.yaml"
    assert "5 rewordings, 5 different; made by rule" in err
    assert f"read them: judgelaw reword {written} --approve" in err
    assert f"next: judgelaw audit {written}" in err
    code, out, _ = run("audit", written)
    assert code == 0
    assert "Prompts like these 5: the prompt component is " in out
    report = (tmp_path / "runs/small-reworded/report.html").read_text()
    assert "Prompts: 5 rewordings of one template by rules, drawn as they came" in report
    found = json.loads((tmp_path / "runs/small-reworded/results/analysis.json").read_text())
    assert found["settings"]["design"] == "sampled"
    (judge,) = found["judges"].values()
    assert judge["more_prompts"]["prompts"] == 5
    assert judge["more_prompts"]["sentence"] in out
    assert any("the answer is about prompts like these" in w for w in judge["warnings"])


def test_rules_leave_a_list_in_sequence_as_it_is(run, tmp_path):
    text = TEMPLATE.replace("Criteria:", "Criteria, the most important first:")
    prompts = {"policy": "census", "templates": [{"id": "mine", "text": text}]}
    path = write_study(tmp_path, [simulated_judge()], prompts=prompts)
    code, _, _ = run("reword", path, "--with", "rules", "--count", 5)
    assert code == 0
    rules = load_study(tmp_path / "study-reworded.yaml").study.prompts.rules
    assert (rules.order, rules.numbering, rules.wrappers) == (False, True, True)


def test_a_model_rewords_and_json_holds_what_was_refused(run, tmp_path):
    with Provider(act=reworder(broken=0.4)) as server:
        path = write_study(tmp_path, [chat_judge(server.base_url)], prompts=ONE)
        code, out, err = run("reword", path, "--with", "chat", "--count", 6, "--json", "-")
        assert code == 0
        found = json.loads(out)
        assert (found["schema"], found["kept"]) == ("judgelaw.reword/1", 6)
        assert sum(found["refused"].values()) == sum(len(d["refused"]) for d in found["draws"]) > 0
        assert f"the checks refused {sum(found['refused'].values())} replies (" in err
        code, _, err = run("reword", tmp_path / "study-reworded.yaml", "--count", 9)
        assert code == 0
        assert "9 rewordings" in err
        server.act = reply(401)
        code, _, err = run("reword", tmp_path / "study-reworded.yaml", "--count", 12)
        assert code == 5


def test_one_of_several_prompts_is_named_and_the_study_goes_where_it_is_told(run, tmp_path):
    path = write_study(tmp_path, [simulated_judge()])
    code, _, err = run("reword", path, "--with", "rules")
    assert (code, "say with --prompt which" in err) == (2, True)
    other = tmp_path / "other.yaml"
    code, _, _ = run("reword", path, "--with", "rules", "--prompt", "p2", "--out", other)
    assert code == 0
    assert load_study(other).study.prompts.text.startswith("# {instruction}")
    code, _, err = run("reword", path, "--with", "rules", "--prompt", "p2", "--out", "/x/y.yaml")
    assert (code, "since the paths in the study start from there" in err) == (2, True)


def test_a_varied_set_is_written_as_a_census(run, study, tmp_path):
    code, _, _ = run("reword", study, "--with", "rules", "--count", 3, "--varied")
    assert code == 0
    code, out, _ = run("audit", tmp_path / "study-reworded.yaml")
    assert code == 0
    assert "Prompts like these" not in out
    frozen = open_run(tmp_path / "runs/small-reworded")
    assert (len(frozen.templates), frozen.rewordings.drawn) == (3, 12)
    found = json.loads((frozen.path / "results/analysis.json").read_text())
    assert found["settings"]["design"] == "census"
    (judge,) = found["judges"].values()
    (note,) = (w for w in judge["warnings"] if w.startswith("prompts:"))
    assert note.endswith("a varied set chosen out of 12: the answer is about these")


class Page:
    """`judgelaw reword --approve` as a browser speaks to it."""

    def __init__(self, folder: Path, *words):
        command = [sys.executable, "-m", "judgelaw", "reword", *map(str, words), "--approve"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [*command, "--no-open"], cwd=folder, stdout=pipe, stderr=pipe, text=True
        )
        self.url = self.process.stdout.readline().strip()

    def ask(self, path, sent=None):
        _, _, host, token, _ = self.url.split("/")
        connection = http.client.HTTPConnection(host, timeout=10)
        headers = {"Content-Type": "application/json", "Origin": f"http://{host}"}
        body = None if sent is None else json.dumps(sent)
        connection.request("GET" if body is None else "POST", f"/{token}/{path}", body, headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        assert answer.status == 200, text
        return json.loads(text)

    def end(self):
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=30)
        assert self.process.returncode == 0, err
        return out, err


def test_people_strike_and_a_second_study_asks_with_what_is_left(run, study, tmp_path):
    assert run("reword", study, "--with", "rules", "--count", 6)[0] == 0
    page = Page(tmp_path, "study-reworded.yaml", "--as", "ann")
    state = page.ask("api/next")
    assert (state["total"], state["labeller"]) == (6, "ann")
    shown = state["next"]
    assert [c["label"] for c in shown["choices"]] == [SAME, STRIKE]
    (yours, before), (new, after) = shown["answers"]
    assert (yours, new) == ("Your prompt", "Reworded")
    assert "".join(text for text, _ in before) == TEMPLATE
    assert any(marked for _, marked in after)
    struck = []
    while (at := state["next"]) is not None:
        strike = len(struck) < 2
        struck += [at["item"]] if strike else []
        label = STRIKE if strike else SAME
        sent = {"item": at["item"], "label": label, "labeller": "ann", "note": "n"}
        state = page.ask("api/label", sent)
    out, err = page.end()
    assert sum(line.split()[1] == STRIKE for line in out.splitlines()[2:]) == 2
    assert "people read 6 of them and struck 2" in err
    approved = tmp_path / "study-approved.yaml"
    assert "study-approved.yaml asks with the 4 that are approved" in err
    with (tmp_path / "rewordings/small-reworded/approvals.csv").open(newline="") as file:
        assert {row["item"] for row in csv.DictReader(file) if row["label"] == STRIKE} == {*struck}
    code, out, _ = run("audit", approved, "--details")
    assert code == 0
    assert "drawn and approved by people (2 struck)" in " ".join(out.split())
    frozen = open_run(tmp_path / "runs/small-approved")
    drawn = {draw.wording for draw in frozen.rewordings.prompts}
    assert len(frozen.templates) == 4
    assert not drawn & {*struck}
    assert (frozen.rewordings.struck, frozen.rewordings.drawn) == (2, 6)
    assert run("audit", tmp_path / "study-reworded.yaml")[0] == 0, "both policies are kept"
    assert len(open_run(tmp_path / "runs/small-reworded").templates) == 6


def open_templates(path):
    return [template.id for template in survey(load_study(path)).templates]


def test_what_nobody_read_is_not_asked_with(run, study, tmp_path):
    assert run("reword", study, "--with", "rules", "--count", 4)[0] == 0
    page = Page(tmp_path, "study-reworded.yaml", "--as", "ann", "--out", "study-mine.yaml")
    drawn = (tmp_path / "rewordings/small-reworded/draws.jsonl").read_text().splitlines()
    wordings = {row["prompt"]: row["wording"] for row in map(json.loads, drawn[1:])}
    for prompt in ("r001", "r002", "r004"):
        page.ask("api/label", {"item": wordings[prompt], "label": SAME, "labeller": "ann"})
    _, err = page.end()
    assert "people read 3 of them and struck 0, 1 unread" in err
    written = tmp_path / "study-mine.yaml"
    assert f"{written.name} asks with the 2 that are approved" in err
    assert open_templates(written) == ["r001", "r002"]
    written.write_text(written.read_text().replace("count: 2", "count: 3"))
    code, _, err = run("check", written)
    assert code == 2
    assert "r003 was read by nobody; read on with `judgelaw reword STUDY --approve`" in err


def test_the_page_is_served_where_it_is_told(study, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    page = Page(
        tmp_path, study, "--with", "rules", "--port", port, "--public-url", "http://x.example/p"
    )
    assert page.url.startswith("http://x.example/p/")
    page.process.send_signal(signal.SIGINT)
    page.process.communicate(timeout=30)


def test_duplicates_are_read_once(run, tmp_path):
    alternatives = [["Which one is better?", "Which wins?"]]
    prompts = {"policy": "generator", "grammar": "reworded", "count": 8, "text": TEMPLATE}
    prompts |= {"rules": {}, "alternatives": alternatives}
    path = write_study(tmp_path, [simulated_judge()], prompts=prompts, repeats=2)
    _, out, err = run("reword", path)
    assert "8 rewordings, 2 different" in err
    assert [line.split()[3] for line in out.splitlines()[2:]] == ["4"] * 8
    page = Page(tmp_path, path)
    assert page.ask("api/next")["total"] == 2
    page.end()


def test_more_prompts_are_drawn_and_the_run_is_extended(run, tmp_path):
    """The way that the answer names: draw more, extend, audit again."""
    with Provider(act=reworder()) as server:
        path = write_study(tmp_path, [chat_judge(server.base_url)], prompts=ONE, repeats=2)
        assert run("reword", path, "--with", "chat", "--count", 4)[0] == 0
        written, folder = tmp_path / "study-reworded.yaml", tmp_path / "runs/small-reworded"
        server.act = say("A")
        assert run("audit", written)[0] == 0
        code, _, err = run("extend", folder, "--prompts", 6)
        assert (code, "draw more with `judgelaw reword" in err) == (2, True)
        server.act = reworder()
        assert run("reword", written, "--count", 6)[0] == 0
        assert run("extend", folder, "--prompts", 6)[0] == 0
        server.act = say("B")
        code, out, _ = run("audit", written)
        assert code == 0
        assert "Prompts like these 6:" in out
        assert run("verify", folder)[0] == 0
