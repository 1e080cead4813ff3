"""`manifest.json`: what was frozen, by which versions, and every change since."""

import json
import platform
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from judgelaw.errors import IntegrityError

RECORD = "manifest.json"
SCHEMA = "judgelaw.manifest/1"

_PACKAGES = ("judgelaw", "duckdb", "jinja2", "numpy", "pydantic")


@dataclass(frozen=True, kw_only=True)
class Session:
    """One writing of calls: the first freeze, or an extension.

    Attributes:
        kind: `freeze` or `extend`.
        calls: how many it added.
        depth: repeats by layer, and prompts of a generator, from then on.
        seeds: the range of seed ordinals of each judge and layer: its namespace.
    """

    kind: str
    calls: int
    depth: dict[str, Any]
    seeds: tuple[dict[str, Any], ...]


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

    @property
    def calls(self) -> int:
        """Logical calls of all sessions."""
        return sum(session.calls for session in self.sessions)

    def to_json(self) -> bytes:
        """Write the record."""
        text = json.dumps({"schema": SCHEMA, **asdict(self)}, ensure_ascii=False, indent=1)
        return (text + "\n").encode()


def read_record(run: Path) -> RunRecord:
    """Read the record of a run."""
    path = run / RECORD
    try:
        values = json.loads(path.read_bytes())
        if values.pop("schema") != SCHEMA:
            raise IntegrityError(f"{path}: not of schema {SCHEMA}; use the judgelaw that froze it")
        values["sessions"] = tuple(Session(**session) for session in values["sessions"])
        values["amendments"] = tuple(values["amendments"])
        return RunRecord(**values)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise IntegrityError(
            f"{path}: cannot be read ({type(error).__name__}); the run is damaged, restore it"
        ) from None


def versions() -> dict[str, str]:
    """Return the versions that decide what is frozen."""
    return {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}}
