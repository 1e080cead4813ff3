# ruff: noqa: INP001 - a script, not part of a package
"""Make the logs in tests/fixtures/imports again, by running the tools that write them.

    python tools/make_import_fixtures.py [--work FOLDER]

inspect_ai and lm-evaluation-harness are installed into a virtual environment of their own,
promptfoo by npm, all in the work folder, which can be kept and given again. They ask a small
server on this machine, which speaks the OpenAI chat format and answers A, B or TIE by a seeded
law. Nothing in a log is changed by hand. The batch files have no tool that writes them here: they
are put together from the providers' documented formats, around answers of the same server.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests" / "fixtures" / "imports"
PROMPTFOO = "promptfoo@0.118.0"
ITEMS = {"i1": ("2 + 2?", "4", "5"), "i2": ("Capital of France?", "Paris", "Rome")}
PROMPTS = {"plain": "Which is better?", "terse": "Pick one."}
EPOCHS = 3

STUDY = """\
version: 1
name: crossed
seed: 7
items: {source: jsonl, path: items.jsonl}
prompts:
  policy: census
  templates:
    - {id: plain, prefix: "Which is better?\\n\\n", suffix: "\\n\\nSay A, B or TIE."}
    - {id: terse, prefix: "Pick one.\\n\\n", suffix: "\\n\\nSay A, B or TIE."}
repeats: 2
judges:
  - name: judge-1
    provider: openai-chat
    base_url: http://127.0.0.1:1/v1
    model: judge-1
    decoding: {temperature: 1.0, max_tokens: 8}
"""

INSPECT = """\
import json, sys
from inspect_ai import Task, eval, score
from inspect_ai.dataset import Sample
from inspect_ai.log import write_eval_log
from inspect_ai.model import CachePolicy
from inspect_ai.scorer import match, model_graded_qa
from inspect_ai.solver import generate

cells = json.load(open("cells.json"))
samples = [
    Sample(id=c["id"], input=c["text"], target=c["target"], metadata=c["metadata"]) for c in cells
]
MODEL = "openai-api/local/judge-1"

def run(name, cache, limit, form):
    task = Task(name="pairs", dataset=samples, solver=generate(cache=cache), scorer=match())
    eval(task, model=MODEL, epochs=int(sys.argv[1]), limit=limit, log_format=form, log_dir=name,
         display="none", max_connections=1)

run("pairs-eval", False, None, "eval")
run("pairs-json", False, 4, "json")
run("cached-eval", CachePolicy(per_epoch=False), 4, "eval")
graded = Task(
    name="graded",
    dataset=[
        Sample(id=n, input=f"Question {n}?", target="t", metadata={"human": "CI"[n % 2]})
        for n in (1, 2)
    ],
    solver=generate(),
    scorer=[match(), model_graded_qa(model_role="grader")],
)
(log,) = eval(graded, model="openai-api/local/answerer", epochs=2, display="none",
              model_roles={"grader": "openai-api/local/grader"}, max_connections=1)
for _ in range(2):
    log = score(log, model_graded_qa(model_role="grader"), action="append", display="none")
write_eval_log(log, "graded-eval/graded.eval")
eval("judgelaw/crossed", model=MODEL, task_args={"study": "study.yaml"}, log_format="eval",
     log_dir="crossed-eval", display="none", max_connections=1)
"""

LM_EVAL = """\
task: pairs_{prompt}
dataset_path: json
dataset_kwargs: {{data_files: {{test: docs.jsonl}}}}
test_split: test
output_type: generate_until
doc_to_text: "{text}\\n{{{{question}}}}\\nA: {{{{first}}}}\\nB: {{{{second}}}}"
doc_to_target: "{{{{gold}}}}"
generation_kwargs: {{until: [], do_sample: true, temperature: 1.0, max_gen_toks: 8}}
repeats: {epochs}
filter_list:
  - {{name: first, filter: [{{function: take_first}}]}}
  - {{name: second, filter: [{{function: take_first}}]}}
metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true}}]
"""


class Judge(BaseHTTPRequestHandler):
    """A judge that prefers the first answer shown, a little more under the second prompt."""

    asked: ClassVar[Counter[str]] = Counter()
    lock = threading.Lock()

    def do_POST(self) -> None:
        """Answer one request."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = json.dumps(self.answer(body["messages"][-1]["content"])).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    @classmethod
    def answer(cls, text: str) -> dict[str, object]:
        """Draw from the law of a text; the n-th answer to it is the same in every run.

        A text for a grader asks for a grade, which one reply in five leaves out.
        """
        with cls.lock:
            cls.asked[text] += 1
            number, total = cls.asked[text], cls.asked.total()
        first = 0.6 if text.startswith("Pick") else 0.45
        words = {"A": first, "B": 0.9 - first, "TIE": 0.1}
        if "GRADE" in text:
            words = {"GRADE: C": 0.5, "GRADE: I": 0.3, "I cannot say": 0.2}
        word = random.Random(f"{text}|{number}").choices([*words], [*words.values()])[0]  # noqa: S311 - no secret
        message = {"role": "assistant", "content": word}
        return {
            "id": f"chatcmpl-{total:04}",
            "object": "chat.completion",
            "created": 1700000000,
            "model": "judge-1",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11},
        }

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def cells() -> list[dict[str, object]]:
    """Return every item x prompt x order."""
    found = []
    for item, (question, one, two) in ITEMS.items():
        for prompt, text in PROMPTS.items():
            for order, (first, second) in {"AB": (one, two), "BA": (two, one)}.items():
                found.append(
                    {
                        "id": f"{item}-{prompt}-{order}",
                        "text": f"{text}\n{question}\nA: {first}\nB: {second}",
                        "target": "A" if order == "AB" else "B",
                        "metadata": {
                            "item": item,
                            "prompt": prompt,
                            "order": order,
                            "stratum": "facts",
                        },
                        "vars": {
                            "item": item,
                            "order": order,
                            "question": question,
                            "first": first,
                            "second": second,
                        },
                    }
                )
    return found


def main() -> None:
    """Make every fixture."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--work", type=Path, help="kept, and used again where it is there")
    work: Path = options.parse_args().work or Path(tempfile.mkdtemp(prefix="fixtures-"))
    work.mkdir(parents=True, exist_ok=True)
    FIXTURES.mkdir(parents=True, exist_ok=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Judge)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        tools = install(work)
        inspect(work / "inspect", tools, url)
        lm_eval(work / "lm-eval", tools, url)
        promptfoo(work / "promptfoo", work, url)
        batches()
    finally:
        server.shutdown()


def install(work: Path) -> Path:
    """Install the tools, and return the folder of the Python ones."""
    venv = work / "venv"
    if not (venv / "ready").exists():
        run([sys.executable, "-m", "venv", venv], work)
        pip = [venv / "bin" / "python", "-m", "pip", "install", "-q"]
        run([*pip, f"{ROOT}[inspect]", "openai", "lm_eval[api]"], work)
        (venv / "ready").touch()
    if not (work / "node_modules" / ".bin" / "promptfoo").exists():
        quiet = {"PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1"}
        run(
            ["npm", "install", "--no-audit", "--no-fund", "--omit=optional", PROMPTFOO], work, quiet
        )
    return venv / "bin"


def inspect(folder: Path, tools: Path, url: str) -> None:
    """Run inspect: a task of our own in both formats, a cached one, and our extension."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "cells.json").write_text(json.dumps(cells()))
    (folder / "study.yaml").write_text(STUDY)
    (folder / "items.jsonl").write_text("".join(f"{json.dumps(i)}\n" for i in study_items()))
    (folder / "run.py").write_text(INSPECT)
    environment = {
        "LOCAL_BASE_URL": url,
        "LOCAL_API_KEY": "none",
        "INSPECT_CACHE_DIR": str(folder / "cache"),
    }
    run([tools / "python", "run.py", str(EPOCHS)], folder, environment)
    for name in ("pairs-eval", "pairs-json", "cached-eval", "crossed-eval", "graded-eval"):
        (log,) = (folder / name).iterdir()
        shutil.copy(log, FIXTURES / f"inspect-{name.partition('-')[0]}{log.suffix}")


def study_items() -> list[dict[str, str]]:
    """Return the items as a study reads them."""
    return [
        {
            "id": item,
            "stratum": "facts",
            "instruction": question,
            "candidate_1": one,
            "candidate_2": two,
            "gold": "candidate_1",
        }
        for item, (question, one, two) in ITEMS.items()
    ]


def lm_eval(folder: Path, tools: Path, url: str) -> None:
    """Run lm-evaluation-harness: one task a prompt, both orders as documents."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    docs = [c for c in cells() if c["id"].split("-")[1] == "plain"]  # type: ignore[attr-defined] # JSON
    lines = [{**c["vars"], "gold": c["target"]} for c in docs]  # type: ignore[dict-item] # JSON
    (folder / "docs.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    for prompt, text in PROMPTS.items():
        task = LM_EVAL.format(prompt=prompt, text=text, epochs=EPOCHS)
        (folder / f"{prompt}.yaml").write_text(task)
    arguments = f"model=judge-1,base_url={url}/chat/completions,tokenizer_backend=None"
    command = [tools / "lm_eval", "--model", "local-chat-completions", "--model_args", arguments]
    command += ["--tasks", ",".join(f"pairs_{prompt}" for prompt in PROMPTS)]
    command += ["--include_path", ".", "--apply_chat_template", "--log_samples"]
    environment = {
        "HF_HOME": str(folder / "hf"),
        "HF_HUB_OFFLINE": "1",
        "OPENAI_API_KEY": "none",
    }
    run([*command, "--output_path", "out"], folder, environment)
    target = FIXTURES / "lm-eval" / "judge-1"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for log in (folder / "out" / "judge-1").glob("samples_*"):
        shutil.copy(log, target / log.name)


def promptfoo(folder: Path, work: Path, url: str) -> None:
    """Run promptfoo: with repeats, then twice without, where the second run reads its cache."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    text = "{prompt}\n{{{{question}}}}\nA: {{{{first}}}}\nB: {{{{second}}}}"
    tests = {json.dumps(c["vars"]): {"vars": c["vars"]} for c in cells()}
    config = {
        "prompts": [
            {"id": name, "label": name, "raw": text.format(prompt=prompt)}
            for name, prompt in PROMPTS.items()
        ],
        "providers": [{"id": "openai:chat:judge-1", "config": {"apiBaseUrl": url}}],
        "tests": list(tests.values()),
    }
    (folder / "config.json").write_text(json.dumps(config))
    environment = {
        "OPENAI_API_KEY": "none",
        "PROMPTFOO_CONFIG_DIR": str(folder / "state"),
        "PROMPTFOO_CACHE_PATH": str(folder / "cache"),
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
    }
    command = [work / "node_modules" / ".bin" / "promptfoo", "eval", "-c", "config.json", "-j", "1"]
    command += ["--no-table", "--no-progress-bar", "-o"]
    run([*command, "repeats.json", "--repeat", str(EPOCHS)], folder, environment)
    run([*command, "fresh.json"], folder, environment)
    run([*command, "cached.json"], folder, environment)
    for name in ("repeats", "fresh", "cached"):
        shutil.copy(folder / f"{name}.json", FIXTURES / f"promptfoo-{name}.json")


def batches() -> None:
    """Write batch results as the providers document them."""
    openai, anthropic = [], []
    for cell in cells():
        for repeat in range(EPOCHS):
            body = Judge.answer(str(cell["text"]))
            word = body["choices"][0]["message"]["content"]  # type: ignore[index] # JSON
            name = str(cell["id"])
            openai.append(
                {
                    "id": f"batch_req_{len(openai):04}",
                    "custom_id": f"{name.replace('-', '/')}/{repeat}",
                    "response": {"status_code": 200, "request_id": "", "body": body},
                    "error": None,
                }
            )
            message = {
                "id": f"msg_{len(anthropic):04}",
                "type": "message",
                "role": "assistant",
                "model": "judge-1",
                "content": [{"type": "text", "text": word}],
                "stop_reason": "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": 10, "output_tokens": 1},
            }
            result = {"type": "succeeded", "message": message}
            anthropic.append(
                {"custom_id": f"{name.replace('-', '__')}__{repeat}", "result": result}
            )
    for name, lines in {"openai": openai, "anthropic": anthropic}.items():
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (FIXTURES / f"{name}-batch.jsonl").write_text(text)


def run(command: list[object], folder: Path, environment: dict[str, str] | None = None) -> None:
    """Run one tool, or stop with what it said."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}\n{done.stdout}")


if __name__ == "__main__":
    main()
