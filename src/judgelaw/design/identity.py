"""What a run is, what may change under it, and the difference in words.

Frozen: the seed, the task, the schedule, orders and their weights, the items and prompts by
content, the configuration of every judge, and the layers. Free: the study's name, transport,
budget, gate and analysis, and the address, key, headers and price of a judge; a change of these
is recorded as an amendment. Depth (repeats, and the prompts of a generator) grows by `extend`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from judgelaw.design.blueprint import Blueprint
from judgelaw.design.judge import AMENDABLE
from judgelaw.design.study import Census, Generator, Study

FREE = ("name", "transport", "budget", "gate", "analysis")

ABSENT = "(absent)"
_SHOWN = 5
_LONGEST = 80


def identity(blueprint: Blueprint) -> dict[str, Any]:
    """Return what is frozen, as plain data."""
    study = blueprint.study
    return {
        "seed": study.seed,
        "task": study.task,
        "schedule": study.schedule,
        "orders": study.orders if study.task == "pairwise" else {},
        "judges": {judge.name: judge.identity() for judge in study.judges},
        "prompts": _prompts(blueprint),
        "items": {item.id: item.sha256 for item in blueprint.items},
        "layers": {
            layer.name: {
                "role": layer.role,
                "labels": layer.labels,
                "prompt": layer.prompt,
                "judges": [judge.name for judge in study.judges_of(layer)],
                "items": list(blueprint.members[layer.name]),
            }
            for layer in study.streams
        },
    }


def _prompts(blueprint: Blueprint) -> dict[str, Any]:
    prompts = blueprint.study.prompts
    if isinstance(prompts, Generator):
        return prompts.model_dump(mode="json", exclude={"count"})
    policy = prompts.policy if isinstance(prompts, Census) else "census"
    return {
        "policy": policy,
        "templates": {template.id: template.sha256 for template in blueprint.templates},
    }


def depth(study: Study) -> dict[str, Any]:
    """Return what `extend` may raise."""
    prompts = study.prompts.count if isinstance(study.prompts, Generator) else None
    return {"repeats": study.depth, "prompts": prompts}


def free(study: Study) -> dict[str, Any]:
    """Return what may change between sessions."""
    values = study.model_dump(mode="json", by_alias=True, include=set(FREE))
    values["judges"] = {
        judge.name: judge.model_dump(mode="json", by_alias=True, include=set(AMENDABLE))
        for judge in study.judges
    }
    return values


def differences(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """Yield the differences of two plain values, one line each."""
    if old == new:
        return
    name = path.rpartition(".")[2]
    if name in ("items", "templates") and not _both(old, new, str):
        yield f"{path}: {_members(old, new)}"
    elif isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in [*old, *(key for key in new if key not in old)]:
            inner = f"{path}.{key}" if path else str(key)
            yield from differences(old.get(key, ABSENT), new.get(key, ABSENT), inner)
    else:
        yield f"{path}: {_short(old)} -> {_short(new)}"


def _both(old: Any, new: Any, kind: type) -> bool:
    return isinstance(old, kind) or isinstance(new, kind)


def _members(old: Any, new: Any) -> str:
    """Say which members came, went or changed."""
    before = old if isinstance(old, Mapping) else dict.fromkeys(old)
    after = new if isinstance(new, Mapping) else dict.fromkeys(new)
    groups = {
        "added": [key for key in after if key not in before],
        "removed": [key for key in before if key not in after],
        "changed": [key for key in after if key in before and before[key] != after[key]],
    }
    said = [f"{len(keys)} {word} ({_some(keys)})" for word, keys in groups.items() if keys]
    return ", ".join(said) or "another sequence"


def _some(keys: list[str]) -> str:
    return ", ".join(keys[:_SHOWN]) + (", ..." if len(keys) > _SHOWN else "")


def _short(value: Any) -> str:
    text = value if value == ABSENT else repr(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
