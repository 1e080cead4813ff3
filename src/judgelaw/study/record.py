"""`manifest.json`: what was frozen, by which versions, and what may change since.

What a run is, what may change under it, and the difference in words.

Frozen: the seed, the task, the schedule, when to stop, how repeats are chosen, orders and their
weights, the items and prompts by content, the configuration of every judge, and the layers. Free
is what `study/models.py` calls `Free` at the field, and the address, key, headers and price of a
judge; a change of these is recorded as an amendment. Looks of `stop:` measure by the dissimilarity,
which is frozen with them. Depth (repeats, and the prompts of a generator) grows by `extend`, or by
those looks.
"""

import json
import platform
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from judgelaw import __version__
from judgelaw.errors import IntegrityError
from judgelaw.record_files import json_of, read_regular
from judgelaw.study.blueprint import Blueprint
from judgelaw.study.models import FREE, Study
from judgelaw.study.prompt_models import Generator, Reworded, drawn_count
from judgelaw.study.reworded import source_of
from judgelaw.study.shards import ShardRecord
from judgelaw.wire import AMENDABLE

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
        "stop": study.stop and study.stop.model_dump(mode="json"),
        "dissimilarity": study.dissimilarity if study.stop else None,
        "repeats_by_item": None
        if isinstance(study.repeats, int)
        else study.repeats.model_dump(mode="json", by_alias=True),
        "orders": study.order_weights if study.task != "pointwise" else {},
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
                "reuse": layer.reuse and layer.reuse.model_dump(exclude={"repeats"}),
            }
            for layer in study.streams
        },
        "probes": {f"{key[0]} {key[1]}": item.sha256 for key, item in blueprint.changed.items()},
    }


def frozen_identity(blueprint: Blueprint) -> dict[str, Any]:
    """Return what calls follow from: what is frozen, and how deep."""
    return {**identity(blueprint), "depth": depth(blueprint.study)}


def _prompts(blueprint: Blueprint) -> dict[str, Any]:
    prompts = blueprint.study.prompts
    if isinstance(prompts, Generator):
        return prompts.model_dump(mode="json", exclude={"count"})
    if isinstance(prompts, Reworded) and prompts.policy == "generator":
        generator = source_of(blueprint.study).generator
        return {"policy": prompts.policy, "approved": prompts.approved, **generator}
    policy = "census" if isinstance(prompts, str) else prompts.policy
    return {
        "policy": policy,
        "templates": {template.id: template.sha256 for template in blueprint.templates},
    }


def depth(study: Study) -> dict[str, Any]:
    """Return what `extend` may raise."""
    return {"repeats": study.depth, "prompts": drawn_count(study.prompts)}


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


RECORD = "manifest.json"
SCHEMA = "judgelaw.manifest/1"

_LATER = ("looks", "repeats", "repeats_reason", "shard")
"""What records of earlier versions do not have."""
_PACKAGES = ("duckdb", "jinja2", "numpy", "pydantic")


@dataclass(frozen=True, kw_only=True)
class Session:
    """One writing of calls: the first freeze, an extension, a later look, or a later date.

    Attributes:
        kind: `freeze`, `extend`, `look` or `wave`.
        calls: how many it added.
        depth: repeats by layer, and prompts of a generator, from then on.
        seeds: the range of seed ordinals of each judge and layer: its namespace.
        date: of the wave; None where the study is asked once.
    """

    kind: str
    calls: int
    depth: dict[str, Any]
    seeds: tuple[dict[str, Any], ...]
    date: str | None = None


@dataclass(frozen=True, kw_only=True)
class LookRecord:
    """One look at one judge under the study's `stop:`, as it was taken and acted upon.

    Attributes:
        judge: who was looked at.
        depth: repeats of every cell that were there.
        action: `continue` to the next depth, `stop`, or `exhausted` where no look is left.
        verdict: `pass` below the limit, `fail` above it, `reached` where the interval is narrow
            enough, `inconclusive` otherwise.
        estimate, lower, upper: of the component, with the bounds that decided.
        pass_level, fail_level: confidence of the upper and of the lower bound.
        reason: why the judge stopped or goes on, in a sentence.
    """

    judge: str
    depth: int
    action: str
    verdict: str
    estimate: float
    lower: float
    upper: float
    pass_level: float
    fail_level: float
    reason: str

    @property
    def numbers(self) -> tuple[float, ...]:
        """What was estimated, with the bounds and their levels."""
        return (self.estimate, self.lower, self.upper, self.pass_level, self.fail_level)


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """Everything that `manifest.json` says.

    Attributes:
        study: the study in force, with presets, grids and templates written out.
        source_sha256: hash of the study file at the first freeze.
        beforehand: analysis and gate as they stood at the first freeze.
        members: item ids of each layer.
        judges: configuration hash of each judge.
        prompts: content hash of each prompt.
        counts: calls by layer and judge, and totals.
        sessions: every writing of calls.
        amendments: what was changed since, in words.
        versions: of Python and the packages that froze the run.
        readings: parsers that were adopted since, with their terminal rule, by judge.
        looks: every look that was taken, in the sequence in which they were.
        repeats: repeats by judge and item, where an earlier run chose them.
        repeats_reason: why they were chosen so, in a sentence.
        shard: the slice that is asked here; None where all of it is.
    """

    study: dict[str, Any]
    source_sha256: str
    beforehand: dict[str, Any]
    members: dict[str, list[str]]
    judges: dict[str, str]
    prompts: dict[str, str]
    counts: dict[str, Any]
    sessions: tuple[Session, ...]
    amendments: tuple[dict[str, Any], ...]
    versions: dict[str, str]
    readings: dict[str, dict[str, Any]] = field(default_factory=dict)
    looks: tuple[LookRecord, ...] = ()
    repeats: dict[str, dict[str, int]] = field(default_factory=dict)
    repeats_reason: str = ""
    shard: ShardRecord | None = None

    @property
    def calls(self) -> int:
        """Logical calls of all sessions."""
        return sum(session.calls for session in self.sessions)

    @property
    def dates(self) -> tuple[str, ...]:
        """The dates of all waves, the earliest first; none where the study is asked once."""
        return tuple(session.date for session in self.sessions if session.date is not None)

    def to_json(self) -> bytes:
        """Write the record; what a run does not have is not mentioned."""
        values = asdict(self)
        for name in _LATER:
            if not values[name]:
                del values[name]
        for session in values["sessions"]:
            if session["date"] is None:
                del session["date"]
        text = json.dumps({"schema": SCHEMA, **values}, ensure_ascii=False, indent=1)
        return (text + "\n").encode()


def read_record(run: Path) -> RunRecord:
    """Read the record of a run."""
    path = run / RECORD
    try:
        values = json_of(read_regular(path))
        if values.pop("schema") != SCHEMA:
            raise IntegrityError(f"{path}: not of schema {SCHEMA}; use the judgelaw that froze it")
        values["sessions"] = tuple(Session(**session) for session in values["sessions"])
        values["amendments"] = tuple(values["amendments"])
        if shard := values.get("shard"):
            values["shard"] = ShardRecord(**shard)
        values["looks"] = tuple(LookRecord(**look) for look in values.get("looks", ()))
        return RunRecord(**values)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise IntegrityError(
            f"{path}: cannot be read ({type(error).__name__}); the run is damaged, restore it"
        ) from None


def versions() -> dict[str, str]:
    """Return the versions that decide what is frozen."""
    # Of judgelaw itself the package says it, where a checkout on the path has no metadata.
    ours = {"python": platform.python_version(), "judgelaw": __version__}
    return ours | {name: version(name) for name in _PACKAGES}
