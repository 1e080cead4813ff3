"""Small studies in which one of several candidates is chosen, or prompts cross factors."""

import json
from pathlib import Path

from servers.study import simulated_judge, write_study

TEXT = "{instruction}\n{candidates}\nReply with one letter."
CROSSED = {
    "factors": {"wrapper": ["plain", "xml"], "rubric": ["short", "strict", "kind"]},
    "template": "judge.txt",
}


def several_items(count: int, candidates: int) -> list[dict]:
    return [
        {
            "id": f"i{n}",
            "instruction": f"Question {n}",
            "candidates": [f"text {c} of {n}" for c in range(1, candidates + 1)],
            "gold": f"candidate_{n % candidates + 1}",
        }
        for n in range(count)
    ]


def choosing_study(
    folder: Path, judges: list[dict] | None = None, *, items=3, candidates=4, rows=None, **fields
) -> Path:
    """Write a study that chooses one of several candidates, two prompts."""
    law = {"verdicts": {"candidate_1": 0.5, "candidate_2": 0.4, "invalid": 0.1}}
    prompts = {
        "policy": "census",
        "templates": [{"id": "p1", "text": TEXT}, {"id": "p2", "text": f"# {TEXT}"}],
    }
    path = write_study(
        folder,
        judges or [simulated_judge(law=law)],
        **{"task": "choose", "prompts": prompts, **fields},
    )
    written = rows or several_items(items, candidates)
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in written))
    return path


def crossed_study(folder: Path, judges: list[dict] | None = None, **fields) -> Path:
    """Write a study of pairs whose six prompts cross a wrapper and a rubric."""
    folder.mkdir(parents=True, exist_ok=True)
    text = "{wrapper} {rubric}\n{instruction}\n{candidate_a}\n{candidate_b}"
    (folder / "judge.txt").write_text(text)
    return write_study(folder, judges or [simulated_judge()], **{"prompts": CROSSED, **fields})
