"""The frozen calls of a run, read back in schedule order without holding them.

`freeze` and `extend` write them; they live in `judgelaw.render`, since a frozen call carries the
hash of its rendered request.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from judgelaw.design.blueprint import Blueprint
from judgelaw.design.items import Item, from_jsonl
from judgelaw.design.judge import JudgeSpec
from judgelaw.design.manifest_file import pages
from judgelaw.design.record import RECORD, RunRecord, read_record
from judgelaw.design.store import PENDING, exclusive, recover
from judgelaw.design.study import Study
from judgelaw.design.templates import Template
from judgelaw.errors import IntegrityError, RunError

STUDY = "study.yaml"
MANIFEST = "manifest.parquet"
ITEMS = "inputs/items.jsonl"
PROMPTS = "inputs/prompts.json"
LABELS = "sealed/labels.parquet"


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


_FIELDS = tuple(PlannedCall.__dataclass_fields__)


@dataclass(frozen=True, kw_only=True)
class FrozenRun:
    """A run folder whose manifest is written.

    Attributes:
        path: the folder.
        study: the study in force.
        items, templates, judges: by id or name.
        count: logical calls.
        record: the whole of `manifest.json`.
    """

    path: Path
    study: Study
    items: Mapping[str, Item]
    templates: Mapping[str, Template]
    judges: Mapping[str, JudgeSpec]
    count: int
    record: RunRecord = field(repr=False)

    def iter_calls(
        self, after: int = -1, limit: int | None = None, judge: str | None = None
    ) -> Iterator[PlannedCall]:
        """Yield the calls behind position `after` in schedule order, a block at a time."""
        left = self.count if limit is None else limit
        for rows in pages(self.path / MANIFEST, after=after, judge=judge):
            for row in rows[:left]:
                yield PlannedCall(**dict(zip(_FIELDS, row, strict=True)))
            left -= len(rows)
            if left <= 0:
                return

    def template_of(self, call: PlannedCall) -> Template:
        """Return the template that a call renders; all slots of a control layer render one."""
        layer = next(layer for layer in self.study.streams if layer.name == call.layer)
        if layer.role != "control":
            return self.templates[call.prompt]
        return self.templates[layer.prompt or next(iter(self.templates))]

    @property
    def blueprint(self) -> Blueprint:
        """The study with its files as they were frozen."""
        return Blueprint(
            study=self.study,
            items=tuple(self.items.values()),
            templates=tuple(self.templates.values()),
            members={name: tuple(ids) for name, ids in self.record.members.items()},
        )


def open_run(run: Path | str) -> FrozenRun:
    """Open a run folder that was frozen."""
    run = Path(run)
    if (run / PENDING).exists():
        with exclusive(run):
            recover(run)
    if not (run / RECORD).exists():
        raise RunError(f"{run}: no {RECORD}, nothing was frozen here; name a run folder")
    record = read_record(run)
    try:
        study = Study.model_validate(record.study)
        items = {item.id: item for item in from_jsonl((run / ITEMS).read_text(encoding="utf-8"))}
        templates = from_json((run / PROMPTS).read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError, ValidationError) as error:
        raise IntegrityError(
            f"{run}: frozen inputs cannot be read ({type(error).__name__}); restore the folder"
        ) from None
    return FrozenRun(
        path=run,
        study=study,
        items=items,
        templates={template.id: template for template in templates},
        judges={judge.name: judge for judge in study.judges},
        count=record.calls,
        record=record,
    )


def to_json(templates: tuple[Template, ...]) -> str:
    """Write templates as the frozen copy that a run keeps."""
    rows = [{"id": t.id, "sha256": t.sha256, "parts": t.parts} for t in templates]
    return json.dumps(rows, ensure_ascii=False, indent=1) + "\n"


def from_json(text: str) -> tuple[Template, ...]:
    """Read the frozen copy back."""
    return tuple(Template(id=row["id"], parts=tuple(row["parts"])) for row in json.loads(text))
