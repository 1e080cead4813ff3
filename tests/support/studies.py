"""A small study with six items, for tests that change one thing of it."""

import json
from pathlib import Path

STUDY = """\
version: 1
name: trial
seed: 7
items:
  source: jsonl
  path: items.jsonl
prompts: paper-six
repeats: 2
judges:
  - name: j
    provider: openai-chat
    base_url: http://127.0.0.1:1/v1
    model: m
"""


def write_items(folder: Path, count: int = 6) -> None:
    rows = [
        {
            "id": f"i{n}",
            "stratum": "ab"[n % 2],
            "instruction": f"task {n}",
            "candidate_1": f"first {n}",
            "candidate_2": f"second {n}",
            "gold": "candidate_1",
        }
        for n in range(count)
    ]
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


LAYERS = """\
layers:
  - {name: evaluation, role: evaluation, repeats: 3}
  - {name: reference, role: reference, repeats: 5}
  - {name: control, role: control, repeats: 4, labels: 6}
"""
SECOND = """\
  - name: k
    provider: anthropic
    base_url: http://127.0.0.1:1
    model: c
    decoding: {max_tokens: 8}
"""


def snapshot(run: Path) -> dict[str, bytes]:
    """Return every file of a run folder."""
    return {
        str(path.relative_to(run)): path.read_bytes() for path in run.rglob("*") if path.is_file()
    }


def make_study(folder: Path, *changes: tuple[str, str], add: str = "", text: str = STUDY) -> Path:
    """Write the study with replacements, and its items beside it."""
    for old, new in changes:
        assert old in text, f"{old!r} is not in the study"
        text = text.replace(old, new)
    if not (folder / "items.jsonl").exists():
        write_items(folder)
    path = folder / "study.yaml"
    path.write_text(text + add, encoding="utf-8")
    return path
