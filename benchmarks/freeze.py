"""Freezing: a million logical calls, each with its own request hash, in a child process."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.figure import at_most, progress, shown

CALLS, ITEMS = 1_000_000, 20_834
CALLS_AN_ITEM = 6 * 2 * 4
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

SECONDS = at_most("freeze a million calls, seconds", 60)
PEAK = at_most("freeze a million calls, peak GB", 1)
GROWTH = shown("freeze, growth")
TARGETS = (SECONDS, PEAK, GROWTH)

# The peak of a child process is the peak of freezing alone.
CHILD = """\
import json, sys, time
from benchmarks.figure import peak_mb
from judgelaw.study import load_study
from judgelaw.study import freeze
started = time.perf_counter()
count = freeze(load_study(sys.argv[1]), sys.argv[2]).count
spent = time.perf_counter() - started
print(json.dumps([count, spent, peak_mb() / 1024]))
"""


def run(quick: bool = False):
    items = ITEMS // 100 if quick else ITEMS
    tenth, _ = frozen(items // 10)
    progress(f"a tenth took {tenth:.1f} s")
    seconds, peak = frozen(items)
    tenth = min(tenth, frozen(items // 10)[0])
    calls = items * CALLS_AN_ITEM
    detail = f"{calls:,} calls with 1.6 kB of text each, distinct seeds and request hashes"
    scaled = f"; {seconds:.1f} s, scaled to a million" if quick else ""
    return [
        SECONDS.found(seconds * CALLS / calls, f"{detail}{scaled}"),
        PEAK.found(peak, detail),
        GROWTH.found(
            seconds / tenth,
            f"from {items // 10 * CALLS_AN_ITEM:,} to {calls:,} calls, the smaller twice",
        ),
    ]


def frozen(items: int) -> tuple[float, float]:
    """Freeze a study of so many items; return the seconds and the peak gigabytes."""
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
    assert count == items * CALLS_AN_ITEM
    return seconds, peak
