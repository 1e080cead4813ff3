"""Studies of two criteria, and the components that their laws have."""

import json
from pathlib import Path

import numpy as np

CRITERIA = {
    "helpful": {"json": "helpful", "labels": {"yes": "pass", "no": "fail"}},
    "safe": {"json": "safe", "labels": {"yes": "safe", "no": "unsafe"}},
}
LAWS = {
    "helpful": {
        "verdicts": {"pass": 0.8, "fail": 0.15, "invalid": 0.05},
        "cells": [{"prompt": "p2", "verdicts": {"pass": 0.4, "fail": 0.6}}],
    },
    "safe": {"verdicts": {"safe": 0.9, "unsafe": 0.1}},
}
PROMPTS = {
    "policy": "census",
    "templates": [
        {"id": "p1", "text": "{instruction}\n{candidate}"},
        {"id": "p2", "text": "# {instruction}\n{candidate}"},
    ],
}
ASKED = {
    "policy": "census",
    "templates": [
        {"id": "p1", "text": "{instruction}\n{candidate}\n{criterion}"},
        {"id": "p2", "text": "{criterion}\n{instruction}\n{candidate}"},
    ],
}


def simulated(name="sim", laws=LAWS, **fields) -> dict:
    return {
        "name": name,
        "provider": "simulated",
        "model": "law",
        "law": {"criteria": laws},
        **fields,
    }


def write_criteria_study(folder: Path, judges: list[dict], *, items=4, gold=None, **fields) -> Path:
    """Write a study of single answers with two criteria, and its items."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {"id": f"i{n:03}", "instruction": f"Question {n}", "candidate_1": "one", "gold": gold}
        for n in range(items)
    ]
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    study = {
        "version": 1,
        "name": "criteria",
        "seed": 11,
        "task": "pointwise",
        "criteria": CRITERIA,
        "items": {"source": "jsonl", "path": "items.jsonl"},
        "prompts": PROMPTS,
        "repeats": 2,
        "judges": judges,
        **fields,
    }
    path = folder / "study.yaml"
    path.write_text(json.dumps(study, indent=1))
    return path


def true_components(law: dict) -> dict[str, float]:
    """Return the components of a law under the two prompts, the same for every item."""
    other = {cell["prompt"]: cell["verdicts"] for cell in law.get("cells", ())}
    names = sorted({v for table in (law["verdicts"], *other.values()) for v in table})
    p = np.array([[other.get(k, law["verdicts"]).get(v, 0.0) for v in names] for k in ("p1", "p2")])
    call, total = float((1 - (p**2).sum(axis=1)).mean()), float(1 - (p.mean(axis=0) ** 2).sum())
    return {"call": call, "prompt": total - call, "total": total}
