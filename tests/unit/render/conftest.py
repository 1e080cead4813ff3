import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# Timings say nothing on a shared machine; pytest-timeout catches what hangs.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

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


@pytest.fixture
def make_study(tmp_path: Path) -> Callable[..., Path]:
    """Write a small study with replacements, and six items beside it."""

    def make(*changes: tuple[str, str], add: str = "", text: str = STUDY) -> Path:
        for old, new in changes:
            assert old in text, f"{old!r} is not in the study"
            text = text.replace(old, new)
        if not (tmp_path / "items.jsonl").exists():
            write_items(tmp_path)
        path = tmp_path / "study.yaml"
        path.write_text(text + add, encoding="utf-8")
        return path

    return make
