"""Freezing: a million logical calls, each with its own request hash, in a child process."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.figure import Figure

CALLS, ITEMS = 1_000_000, 20_834  # x 6 prompts x 2 orders x 4 repeats
TEXT = "A candidate answer of the length that people write, again and again. " * 10

STUDY = """\
version: 1
name: million
seed: 7
items: {source: jsonl, path: items.jsonl}
prompts: paper-six
repeats: 4
judges:
  - name: served
    provider: openai-chat
    base_url: http://127.0.0.1:9/v1
    model: m
    decoding: {temperature: 1.0, top_p: 1.0, max_tokens: 8}
"""

# The peak of a child process is the peak of freezing alone.
CHILD = """\
import json, resource, sys, time
from judgelaw.design import load_study
from judgelaw.render import freeze
started = time.perf_counter()
count = freeze(load_study(sys.argv[1]), sys.argv[2]).count
spent = time.perf_counter() - started
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
print(json.dumps([count, spent, peak]))
"""


def run(quick: bool = False) -> list[Figure]:
    items = ITEMS // 20 if quick else ITEMS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "study.yaml").write_text(STUDY)
        with (folder / "items.jsonl").open("w") as file:
            for number in range(items):
                item = {"id": f"i{number}", "instruction": f"{number} {TEXT[:200]}"}
                file.write(json.dumps({**item, "candidate_1": TEXT, "candidate_2": TEXT}) + "\n")
        arguments = [sys.executable, "-c", CHILD, folder / "study.yaml", folder / "run"]
        done = subprocess.run(arguments, check=True, capture_output=True, text=True)
    count, seconds, peak = json.loads(done.stdout)
    assert count == items * 48
    per_million = seconds * CALLS / count
    detail = f"{count:,} calls with 1.6 kB of text each, distinct seeds and request hashes"
    return [
        Figure(
            name="freeze a million calls, seconds",
            value=per_million,
            target=60,
            direction="at most",
            detail=detail,
        ),
        Figure(
            name="freeze a million calls, peak GB",
            value=peak,
            target=1,
            direction="at most",
            detail=detail,
        ),
    ]
