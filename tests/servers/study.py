"""Small studies against a local provider, written as a user would write them."""

import json
from pathlib import Path

from judgelaw.study import FrozenRun, freeze, load_study

PROMPTS = {
    "policy": "census",
    "templates": [
        {"id": "p1", "text": "{instruction}\n{candidate_a}\n{candidate_b}"},
        {"id": "p2", "text": "# {instruction}\n{candidate_a}\n{candidate_b}"},
    ],
}


def write_study(folder: Path, judges: list[dict], *, items=2, repeats=2, **fields) -> Path:
    """Write a study and its items; every JSON text is YAML too."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "id": f"i{n}",
            "stratum": "even" if n % 2 == 0 else "odd",
            "instruction": f"Question {n}",
            "candidate_1": "one",
            "candidate_2": "two",
            "gold": "candidate_1",
        }
        for n in range(items)
    ]
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    study = {
        "version": 1,
        "name": "small",
        "seed": 11,
        "items": {"source": "jsonl", "path": "items.jsonl"},
        "prompts": PROMPTS,
        "repeats": repeats,
        "judges": judges,
        **fields,
    }
    path = folder / "study.yaml"
    path.write_text(json.dumps(study, indent=1))
    return path


def chat_judge(base_url: str, **fields) -> dict:
    return {
        "name": "chat",
        "provider": "openai-chat",
        "base_url": base_url,
        "model": "m",
        "decoding": {"max_tokens": 8},
        **fields,
    }


def simulated_judge(**fields) -> dict:
    law = {"candidate_1": 0.5, "candidate_2": 0.3, "tie": 0.1, "invalid": 0.1}
    return {
        "name": "sim",
        "provider": "simulated",
        "model": "law",
        "law": {"verdicts": law},
        **fields,
    }


def frozen_study(folder: Path, judges: list[dict], **fields) -> FrozenRun:
    return freeze(load_study(write_study(folder, judges, **fields)), folder / "run")
