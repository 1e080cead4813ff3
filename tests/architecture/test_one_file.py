"""A provider is one source file, and so is an importer: each is planted beside the others.

What is planted are the files that the pages for contributors show.
"""

import json
import os
import re
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

EXAMPLES = SRC.parents[1] / "examples" / "extend"
CALLS = SRC.parents[1] / "examples" / "calls.csv.gz"
HTTP_PROVIDER = (EXAMPLES / "oracle.py").read_text()

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

IMPORTER = (EXAMPLES / "bars_log.py").read_text()


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
    """Copy the source tree with its bytecode, and add files to it.

    A copy is as old as its file, so bytecode of it still holds, and not of a file that is changed.
    """
    tree = tmp_path / "src"
    rewritten = shutil.ignore_patterns("*-pytest-*.pyc")
    shutil.copytree(SRC, tree / "judgelaw", ignore=rewritten)
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


def test_a_parser_needs_no_file_here(tmp_path):
    """A package offers it under an entry point: a module and its metadata."""
    shutil.copy(EXAMPLES / "last_word.py", tmp_path)
    info = tmp_path / "last_word-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: last-word\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[judgelaw.parsers]\nlast-word = last_word:parse\n")
    law = {"candidate_1": 0.5, "candidate_2": 0.5}
    judge = {"name": "j", "provider": "simulated", "model": "law", "law": {"verdicts": law}}
    study = write_study(tmp_path / "study", [judge | {"parser": "last-word"}])
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{SRC.parent}"}
    command = [sys.executable, "-m", "judgelaw", "audit", str(study), "--json", "-"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, env=env
    )
    assert done.returncode == 0, done.stderr
    outcomes = json.loads(done.stdout)["judges"]["j"]["outcomes"]
    assert outcomes["candidate_1"] + outcomes["candidate_2"] == 16


def test_a_diagnostic_is_one_file(tmp_path):
    """It reaches JSON, terminal and page, and no other file knows of it."""
    tree = planted(tmp_path, {"diagnose/ties.py": (EXAMPLES / "ties.py").read_text()})
    few = ("--draws", "50", "--permutations", "0")
    done = run(tree, "analyze", CALLS, *few, "--json", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (found,) = (f for f in json.loads(done.stdout)["diagnostics"] if f["name"] == "ties")
    assert found["verdict"] == "ok"
    assert 0.1 < found["figures"]["share"] < 0.4
    rows = ["judge,item,prompt,repeat,verdict"]
    rows += [f"j,i{i},p{k},{r},tie" for i in range(6) for k in range(2) for r in range(2)]
    (tmp_path / "ties.csv").write_text("\n".join(rows) + "\n")
    said = "100% of the calls are ties"
    assert said in run(tree, "analyze", "ties.csv", *few, "--details", cwd=tmp_path).stdout
    done = run(tree, "report", "ties.csv", "-o", "page.html", *few, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert said in (tmp_path / "page.html").read_text()


QUICK = ("--draws", "50", "--permutations", "0")


def reference(tree, page, cwd):
    """Return a page of the reference, written from a planted tree."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import generated; "
        "print(generated.pages()[sys.argv[2]])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(SRC.parents[1] / "docs"), page],
        capture_output=True,
        text=True,
        check=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    return done.stdout


def test_a_quantity_is_one_file(tmp_path):
    """One function with a title reaches JSON, terminal, page and reference."""
    text = (EXAMPLES / "tie_share.py").read_text()
    tree = planted(tmp_path, {"analysis/measures/tie_share.py": text})
    analysed = run(tree, "analyze", CALLS, *QUICK, "--json", "a.json", "--details", cwd=tmp_path)
    assert analysed.returncode == 0, analysed.stderr
    (judge,) = json.loads((tmp_path / "a.json").read_text())["judges"].items()
    name, found = judge
    share = found["outcomes"]["tie"] / found["calls"]
    assert found["tie_share"] == pytest.approx(share)
    (line,) = [x for x in analysed.stdout.splitlines() if x.startswith("Calls that ended in a tie")]
    assert f"{share:.1%}" in line
    page = run(tree, "report", CALLS, *QUICK, "-o", "r.html", cwd=tmp_path)
    assert page.returncode == 0, page.stderr
    html = (tmp_path / "r.html").read_text()
    assert f'data-path="judges.{name}.tie_share">{share:.1%}</data>' in html
    assert "Share of calls that ended in a tie" in html
    assert "| `tie_share` | number or `null` | Share of calls" in reference(
        tree, "analysis.md", tmp_path
    )


def test_a_section_with_its_figure_is_one_file(tmp_path):
    """It reaches page, terminal, files of figures and reference; its numbers are the JSON's."""
    text = (EXAMPLES / "leading_verdict.py").read_text()
    tree = planted(tmp_path, {"page/sections/leading_verdict.py": text})
    analysed = run(tree, "analyze", CALLS, *QUICK, "--json", "a.json", "--details", cwd=tmp_path)
    assert analysed.returncode == 0, analysed.stderr
    ((name, found),) = json.loads((tmp_path / "a.json").read_text())["judges"].items()
    leader = max(found["outcomes"], key=found["outcomes"].get)
    said = f"{leader} leads: it came in {found['outcomes'][leader]:,} of {found['calls']:,} calls."
    assert f"Which verdict leads\n  {said}\n" in analysed.stdout
    page = run(tree, "report", CALLS, *QUICK, "-o", "r.html", "--figures", "figures", cwd=tmp_path)
    assert page.returncode == 0, page.stderr
    html = (tmp_path / "r.html").read_text()
    assert 'id="leading"' in html
    assert 'data-figure="leading-verdict"' in html
    assert f'data-path="judges.{name}.outcomes.{leader}">' in html
    assert (tmp_path / "figures" / "leading-verdict.svg").read_text().startswith("<svg")
    assert "| `#leading` Which verdict leads | closed | yes | which verdict comes" in reference(
        tree, "report.md", tmp_path
    )


PAGES = sorted((SRC.parents[1] / "docs" / "contributing").glob("*.md"))


@pytest.mark.parametrize(
    "name", ["provider", "parser", "diagnostic", "importer", "quantity", "section"]
)
def test_every_page_ends_in_a_file_count(name):
    (page,) = (page for page in PAGES if page.stem == name)
    last = page.read_text().rstrip().split("\n\n")[-1]
    assert re.match(r"\*\*Files: \d+\*\*", last), last


def patched(text, diff):
    """Make the change of a diff of one hunk."""
    lines = [x for x in diff.splitlines() if not x.startswith(("---", "+++", "@@"))]
    before = "\n".join(x[1:] for x in lines if not x.startswith("+"))
    assert text.count(before) == 1
    return text.replace(before, "\n".join(x[1:] for x in lines if not x.startswith("-")))


def test_a_reading_flag_is_one_field(tmp_path):
    """It reaches Python with signature, check and help, commands, pytest and the reference."""
    rows = ["judge,item,stratum,prompt,repeat,verdict,human"]
    for i in range(12):
        stratum = "easy" if i % 3 else "hard"
        rows += [
            f"j,i{i},{stratum},p{k},{r},{('x', 'y')[(i * k + r) % 2]},x"
            for k in range(2)
            for r in range(2)
        ]
    (tmp_path / "calls.csv").write_text("\n".join(rows) + "\n")
    diff = (EXAMPLES / "stratum_flag.diff").read_text()
    text = patched((SRC / "runs/reading_options.py").read_text(), diff)
    tree = planted(tmp_path, {"runs/reading_options.py": text})
    only = ("--stratum", "hard")
    done = run(tree, "analyze", "calls.csv", *only, *QUICK, "--json", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["judges"]["j"]["items"] == 4
    held = run(tree, "validate", "calls.csv", *only, "--json", "-", cwd=tmp_path)
    assert json.loads(held.stdout)["labelled"] == 4, held.stderr
    for command in ("report", "compare", "gate", "advise", "score", "watch"):
        assert (
            "Read items of this stratum only." in run(tree, command, "--help", cwd=tmp_path).stdout
        )
    gated = run(tree, "gate", "calls.csv", "--max", "prompt=1", "--stratum", "none", cwd=tmp_path)
    assert gated.returncode == 2
    assert "no stratum is called 'none': there are easy, hard" in gated.stderr
    (tmp_path / "test_it.py").write_text(
        "import inspect, pytest\n"
        "import judgelaw as jl\n"
        "@pytest.mark.judgelaw('calls.csv', max={'prompt': 1}, stratum='nowhere')\n"
        "def test_limits(): ...\n"
        "def test_python():\n"
        "    found = jl.analyze('calls.csv', stratum='easy', draws=9, permutations=0)\n"
        "    assert found.judges['j'].items == 8\n"
        "    for ask in (jl.analyze, jl.gate, jl.validate, jl.watch, jl.Run.analysis):\n"
        "        assert inspect.signature(ask).parameters['stratum'].annotation == str | None\n"
        "        assert 'stratum: read items of this stratum only.' in ask.__doc__\n"
        "    with pytest.raises(jl.JudgelawError, match='stratum = 3: a name is needed'):\n"
        "        jl.score('calls.csv', stratum=3)\n"
    )
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert "1 failed, 1 passed" in tested.stdout, tested.stdout
    assert "no stratum is called 'nowhere'" in tested.stdout
    assert "| `stratum` | `--stratum` |" in reference(tree, "options.md", tmp_path)
