"""Judges as a study writes them, with a preset or a grid of values, to judges one by one."""

from itertools import product
from math import prod
from typing import Any

from judgelaw.study.problems import Path, Problem
from judgelaw.wire import Decoding, JudgeSpec, canonical_json

PRESETS: dict[str, dict[str, Any]] = {
    "paper-qwen": {
        "provider": "openai-completions",
        "model": "Qwen/Qwen3.6-27B",
        "revision": "6a9e13bd6fc8f0983b9b99948120bc37f49c13e9",
        "decoding": {"temperature": 1.0, "top_p": 1.0, "max_tokens": 8},
        "seed": "sent",
        "parser": "first-line",
        # Eight tokens hold the verdict and cut what may follow it: the cut text is read.
        "truncated": "parse",
    },
    "paper-gpt-oss": {
        "provider": "openai-completions",
        "model": "openai/gpt-oss-120b",
        "revision": "b5c939de8f754692c1647ca79fbf85e8c1e70f8a",
        "decoding": {"temperature": 1.0, "top_p": 1.0, "max_tokens": 512},
        "seed": "sent",
        "parser": "first-line",
        "truncated": "invalid",
        "final_channel": {
            "start": "<|channel|>final<|message|>",
            "end": ["<|return|>", "<|end|>"],
        },
        # The channel marks are special tokens: without this the server leaves them out.
        "extra": {"skip_special_tokens": False},
    },
    "paper-gemma": {
        "provider": "openai-completions",
        "model": "google/gemma-3-27b-it",
        "revision": "005ad3404e59d6023443cb575daa05336842228a",
        "decoding": {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "max_tokens": 32},
        "stop": ["\n"],
        "seed": "sent",
        "parser": "first-line",
        "truncated": "invalid",
    },
    "paper-claude": {
        "provider": "anthropic",
        "base_url": "https://api.anthropic.com",
        "api_key": "env:ANTHROPIC_API_KEY",
        "model": "claude-haiku-4-5-20251001",
        "decoding": {"temperature": 1.0, "max_tokens": 512},
        "extra": {"stream": False},
        "seed": "logical",
        "parser": "first-line",
        "truncated": "invalid",
        "complete_on": ["end_turn"],
    },
}
"""The paper's four configurations. The three open models were rendered by a frozen local template:
name the template file of the revision, or set `provider: openai-chat` to let the server render."""

DERIVED = ("family", "contract", "folder", "criteria", "asks")
"""Fields of a judge that nobody writes: they follow from the rest of the study."""
FIXED = ("name", "provider", *DERIVED, "api_key", "base_url", "headers", "price")
"""Fields that a grid may not vary."""

_MOST_CONTRACTS = 1_000


def expand(entries: Any) -> tuple[Any, list[int], list[Problem]]:
    """Expand the judges of a study.

    Returns:
        The judges, the place in the file of each, and what is wrong.
    """
    if not isinstance(entries, list):
        return entries, [], []
    judges: list[Any] = []
    origins: list[int] = []
    problems: list[Problem] = []
    for place, entry in enumerate(entries):
        for judge in _expand_one(entry, ("judges", place), problems):
            judges.append(judge)
            origins.append(place)
    return judges, origins, problems


def _expand_one(entry: Any, path: Path, problems: list[Problem]) -> list[Any]:
    if not isinstance(entry, dict):
        return [entry]
    judge = dict(entry)
    judge = _with_preset(judge, path, problems) if "preset" in judge else judge
    return _over_grid(judge, path, problems) if "grid" in judge else [judge]


def _with_preset(judge: dict[str, Any], path: Path, problems: list[Problem]) -> dict[str, Any]:
    name = judge.pop("preset")
    if not isinstance(name, str) or name not in PRESETS:
        text = f"{name!r}, must be one of {', '.join(PRESETS)}; choose one"
        problems.append(Problem(path=(*path, "preset"), text=text))
        return judge
    merged = {**PRESETS[name], **judge}
    for key in ("decoding", "extra"):
        if isinstance(judge.get(key), dict):
            merged[key] = {**PRESETS[name].get(key, {}), **judge[key]}
    return merged


def _over_grid(judge: dict[str, Any], path: Path, problems: list[Problem]) -> list[Any]:
    grid = judge.pop("grid")
    before = len(problems)
    if not isinstance(grid, dict) or not grid:
        problems.append(
            Problem(path=(*path, "grid"), text="must map fields to lists of values; give some")
        )
        return [judge]
    for key, levels in grid.items():
        problems.extend(_grid_problems(key, levels, (*path, "grid", key)))
    if len(problems) == before and prod(map(len, grid.values())) > _MOST_CONTRACTS:
        text = f"more than {_MOST_CONTRACTS} contracts; vary fewer fields, or give fewer values"
        problems.append(Problem(path=(*path, "grid"), text=text))
    if len(problems) > before:
        return [judge]
    return [
        _variant(judge, dict(zip(grid, chosen, strict=True))) for chosen in product(*grid.values())
    ]


def _grid_problems(key: str, levels: Any, path: Path) -> list[Problem]:
    known = set(JudgeSpec.model_fields) - set(FIXED) | set(Decoding.model_fields)
    if key not in known:
        text = "no field that a grid can vary; vary decoding, stop, truncated, system or parser"
        return [Problem(path=path, text=text)]
    if not isinstance(levels, list) or not levels:
        return [Problem(path=path, text=f"{levels!r}, must be a list of values; write [a, b]")]
    labels = [_label(level) for level in levels]
    if len(set(labels)) < len(labels):
        return [Problem(path=path, text="the same value twice; a contract is counted once")]
    return []


def _variant(judge: dict[str, Any], levels: dict[str, Any]) -> dict[str, Any]:
    decoding = dict(judge.get("decoding") or {})
    variant = dict(judge)
    for key, value in levels.items():
        if key in Decoding.model_fields and key != "seed":
            decoding[key] = value
        else:
            variant[key] = value
    contract = {key: _label(value) for key, value in levels.items()}
    listed = ",".join(f"{key}={label}" for key, label in contract.items())
    return {
        **variant,
        "decoding": decoding,
        "name": f"{judge.get('name')}[{listed}]",
        "family": judge.get("name"),
        "contract": contract,
    }


def _label(value: Any) -> str:
    return value if isinstance(value, str) else canonical_json(value)
