"""The frozen calls of a run, read back in schedule order without holding them.

`freeze` and `extend` write them; they live in `judgelaw.render`, since a frozen call carries the
hash of its rendered request.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from judgelaw.design.items import Item
from judgelaw.design.judge import JudgeSpec
from judgelaw.design.study import Study
from judgelaw.design.templates import Template


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedCall:
    """One logical call, known before anything is sent.

    `prompt` of a control layer is the label-free slot (`slot-1`, ...); the hidden label is in
    `sealed/labels.parquet`, which acquisition never reads.
    """

    call_id: str
    judge: str
    layer: str
    item: str
    stratum: str | None
    prompt: str
    order: str
    repeat: int
    seed: int | None
    position: int
    request_sha256: str
    payload_sha256: str
    judge_sha256: str
    gold: str | None


@dataclass(frozen=True, kw_only=True)
class FrozenRun:
    """A run folder whose manifest is written."""

    path: Path
    study: Study
    items: Mapping[str, Item]
    templates: Mapping[str, Template]
    judges: Mapping[str, JudgeSpec]
    count: int

    def iter_calls(
        self, after: int = -1, limit: int | None = None, judge: str | None = None
    ) -> Iterator[PlannedCall]:
        """Yield the calls behind position `after` in schedule order, a block at a time."""
        raise NotImplementedError


def open_run(run: Path) -> FrozenRun:
    """Open a run folder that was frozen."""
    raise NotImplementedError
