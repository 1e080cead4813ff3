"""A key that a judge repeats, in whatever form: nothing that is stored or said holds it.

Every judge is asked through the command line by a process of its own, one item a mode; then every
file of the run and every word of the commands is searched, tables and stored bodies cell by cell.
"""

import gzip
import json
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from aiohttp import web

from judgelaw.wire import Secrets
from servers.local_judges import command_judge, function_judge
from servers.provider import Provider, chat_body
from servers.study import chat_judge, write_study
from support.echoes import ECHOES, KEY, NAMED_ECHOES, found_in, pieces_of, shows

SECURITY = Path(__file__).parents[3] / "SECURITY.md"
VARIABLE = "OPENAI_API_KEY_PROD"

ONE_PROMPT = {
    "policy": "census",
    "templates": [{"id": "p", "text": "{instruction}\n{candidate_a}\n{candidate_b}"}],
}
LOCAL = '''
import json, os, re, sys
import judgelaw as jl

SAID = json.load(open(os.environ["ECHO_SAID"], encoding="utf-8"))
seen = set()


def said(call_id, prompt):
    """Return what is said of a mode; an error once, then an answer."""
    found = SAID[int(re.search(r"Question (\\d+)", prompt)[1])]
    if "error" in found and call_id in seen:
        return {"text": "A"}
    seen.add(call_id)
    return found


def function(call):
    found = said(call.id, call.text)
    if "error" in found:
        raise ConnectionError(found["error"])
    extra = found.get("extra")
    names = ("model", "id", "finish_reason", "logprobs")
    named = {key: found[key] for key in names if key in found}
    return jl.Reply(text=found.get("text", "A"), usage=extra, **named)


if __name__ == "__main__":
    for line in sys.stdin:
        call = json.loads(line)
        found = dict(said(call["id"], call["messages"][-1]["content"]))
        beside = found.pop("extra", {})
        print(found.get("error", ""), file=sys.stderr)
        print(json.dumps({"text": "A", **beside, **found, "id": call["id"]}))
'''


def answer(said):
    """Write what is said as a chat completion."""
    body = chat_body(said.get("text", "A"))
    body.update({key: said[key] for key in ("model", "id") if key in said})
    choice = body["choices"][0]
    choice["finish_reason"] = said.get("finish_reason", "stop")
    if "logprobs" in said:
        choice["logprobs"] = {"content": said["logprobs"]}
    return {**body, **said.get("extra", {})}


def serve(saids):
    """Answer each question in its mode; an error once, then an answer."""

    async def act(seen, _request):
        prompt = json.loads(seen.body)["messages"][-1]["content"]
        said = saids[int(re.search(r"Question (\d+)", prompt)[1])]
        if "error" not in said:
            return web.json_response(answer(said))
        if seen.number > 1:
            return web.json_response(answer({}))
        error = {"error": {"message": said["error"], "code": said["error"][:99]}}
        return web.json_response(error, status=500, headers={"X-Debug": json.dumps(said)})

    return act


def judged(kind, echoes, folder):
    """Ask one judge in all these modes; return what the commands printed."""
    saids = [echo.say(KEY) for echo in echoes]
    outside = folder / "outside.json"
    outside.write_text(json.dumps(saids))
    study_folder = folder / "study"
    study_folder.mkdir()
    (study_folder / "echo_judge.py").write_text(LOCAL)
    environment = {**os.environ, VARIABLE: KEY, "ECHO_SAID": str(outside)}
    with Provider(serve(saids)) as provider:
        judges = {
            "HTTP": chat_judge(provider.base_url, api_key=f"env:{VARIABLE}"),
            "function": function_judge("echo_judge:function"),
            "command": command_judge("python", "echo_judge.py"),
        }
        study = write_study(
            study_folder,
            [judges[kind]],
            items=len(echoes),
            repeats=1,
            prompts=ONE_PROMPT,
            transport={"attempts": 9, "backoff_s": 0.001, "concurrency": 4},
        )
        said, run = "", study_folder / "run"
        for words in (
            ("run", str(study), "--out", str(run)),
            ("status", str(run)),
            ("verify", str(run)),
            ("analyze", str(run), "--tables", str(folder / "tables")),
        ):
            command = [sys.executable, "-m", "judgelaw", *words]
            done = subprocess.run(
                command, env=environment, cwd=folder, capture_output=True, text=True, check=False
            )
            said += done.stdout + done.stderr
            assert done.returncode == 0, (words, done.stderr[-3000:])
    outside.unlink()
    return said


def texts_of(path):
    """Yield what a file says: as it is, its cells, its rows, and its pieces of JSON."""
    content = path.read_bytes()
    yield content.decode("latin-1")
    if path.suffix == ".parquet":
        for row in pq.read_table(path).to_pylist():
            yield json.dumps(row, default=str, ensure_ascii=False)
    elif content.startswith(b"SQLite format 3"):
        yield from cells_of(path)
    elif content.startswith(b"\x1f\x8b"):
        yield gzip.decompress(content).decode("latin-1")


def cells_of(path):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as file:
        tables = [
            name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type='table'")
        ]
        for table in tables:
            for row in file.execute(f'SELECT * FROM "{table}"'):  # noqa: S608 - names of the file itself
                for cell in row:
                    yield cell.decode("latin-1") if isinstance(cell, bytes) else str(cell)


def leaks(folder, said):
    """Return what holds a part of the key: in the eye of a file, decoded in cells and words."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            whole, *cells = texts_of(path)
            found += [f"{path.name}: in the eye"] if shows(whole) else []
            found += [f"{path.name}: {cell[:400]}" for cell in dict.fromkeys(cells) if holds(cell)]
    return found + [f"printed: {line[:400]}" for line in set(said.splitlines()) if found_in(line)]


def holds(cell):
    if found_in(cell):
        return True
    try:
        value = json.loads(cell)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict | list) and any(map(found_in, pieces_of(value)))


def test_there_are_enough_modes():
    assert len(ECHOES) >= 184
    assert len({echo.name for echo in ECHOES}) == len(ECHOES)


@pytest.mark.parametrize("echo", ECHOES, ids=lambda echo: echo.name)
def test_a_body_is_masked_in_every_mode_and_stays_json(echo):
    """And the search is no weaker than the modes: each would be a find where nothing is masked."""
    for said in (echo.say(KEY), answer(echo.say(KEY))):
        masked = Secrets((KEY,)).redact_body(json.dumps(said).encode())
        assert isinstance(json.loads(masked), dict)
        assert not holds(masked.decode("latin-1"))
    assert holds(json.dumps(echo.say(KEY)))


def test_what_is_not_masked_is_named():
    document = " ".join(SECURITY.read_text().split())
    assert [echo.name for echo in NAMED_ECHOES if echo.named not in document] == []


@pytest.mark.parametrize("kind", ["HTTP", "function", "command"])
@pytest.mark.parametrize(
    "echoes", [ECHOES[::6], pytest.param(ECHOES, marks=pytest.mark.slow)], ids=["some", "all"]
)
def test_no_file_and_no_word_holds_a_key_that_a_judge_repeats(tmp_path, kind, echoes):
    said = judged(kind, echoes, tmp_path)
    assert leaks(tmp_path, said) == []
