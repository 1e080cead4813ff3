"""The frozen calls of a run: one Parquet file in schedule order, read and written in blocks.

The frozen calls of a run, read back in schedule order without holding them.

`freeze` and `extend` write them, each with the hash of its rendered request.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb
import numpy as np
from numpy.typing import NDArray

from judgelaw.duck import one_file, without_bar
from judgelaw.errors import IntegrityError, RunError
from judgelaw.record_files import json_of, read_regular
from judgelaw.study.blueprint import Blueprint
from judgelaw.study.items import Item, from_dict, from_jsonl
from judgelaw.study.models import Budget, Layer, Study, Transport
from judgelaw.study.prompts import Template
from judgelaw.study.record import RECORD, LookRecord, RunRecord, read_record
from judgelaw.study.reworded import RewordingFacts, facts_from
from judgelaw.study.run_files import SEALED, settle
from judgelaw.study.shards import ShardRecord, share_of_budget, share_of_limits
from judgelaw.wire import JudgeSpec

Columns = Mapping[str, NDArray[Any]]

COLUMNS = {
    "call_id": "VARCHAR",
    "judge": "VARCHAR",
    "layer": "VARCHAR",
    "item": "VARCHAR",
    "stratum": "VARCHAR",
    "prompt": "VARCHAR",
    "order": "VARCHAR",
    "repeat": "INTEGER",
    "seed": "BIGINT",
    "position": "BIGINT",
    "request_sha256": "VARCHAR",
    "payload_sha256": "VARCHAR",
    "judge_sha256": "VARCHAR",
    "gold": "VARCHAR",
}
DATED = {**COLUMNS, "date": "VARCHAR"}
"""The columns of a run that is asked again on later dates."""
NO_SEED = 0
"""Stands for an absent seed in a block; no call has this seed."""

PAGE = 20_480

_FORMAT = f"(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {PAGE})"


class TableWriter:
    """Collects blocks of rows outside memory and writes them as one Parquet file."""

    def __init__(self, scratch: Path, columns: Mapping[str, str]) -> None:
        """Open a table of these columns in the scratch folder."""
        self._columns = columns
        self._connection = duckdb.connect(
            config={
                "memory_limit": "256MB",
                "temp_directory": str(scratch / "rows"),  # where the rest of a large table goes
                "threads": 1,  # keeps the rows in sequence
            }
        )
        self._connection.execute("SET pandas_analyze_sample = 0")  # object columns hold text only
        without_bar(self._connection)
        declared = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
        self._connection.execute(f"CREATE TABLE rows ({declared})")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._connection.close()

    def add(self, block: Columns) -> None:
        """Append a block of rows."""
        chosen = ", ".join(
            f'nullif("{name}", {NO_SEED})' if name == "seed" else f'"{name}"'
            for name in self._columns
        )
        self._connection.register("block", dict(block))
        self._connection.execute(f"INSERT INTO rows SELECT {chosen} FROM block")  # noqa: S608 - column names are ours
        self._connection.unregister("block")

    def add_file(self, path: Path) -> None:
        """Append the rows of a file as they are."""
        chosen = _selected(self._connection, path, self._columns)
        self._connection.execute(
            f"INSERT INTO rows SELECT {chosen} FROM {one_file(path)}"  # noqa: S608 - column names are ours
        )

    def write(self, path: Path, *, sort: str | None = None) -> None:
        """Write everything, in the sequence in which it came or sorted by one column."""
        path.parent.mkdir(parents=True, exist_ok=True)
        order = f' ORDER BY "{sort}"' if sort else ""
        query = f"COPY (SELECT * FROM rows{order}) TO $path {_FORMAT}"  # noqa: S608 - the column name is ours
        self._connection.execute(query, {"path": str(path)})


def _selected(connection: duckdb.DuckDBPyConnection, path: Path, columns: Mapping[str, str]) -> str:
    """Write the columns for a query; those that a file does not have are empty."""
    scan = f"SELECT * FROM {one_file(path)} LIMIT 0"  # noqa: S608 - the path is quoted
    there = {column[0] for column in connection.execute(scan).description or ()}
    return ", ".join(
        f'"{name}"' if name in there else f'NULL::{kind} AS "{name}"'
        for name, kind in columns.items()
    )


@contextmanager
def reading() -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a small connection for reading."""
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        without_bar(connection)
        yield connection


def pages(path: Path, *, after: int, judge: str | None = None) -> Iterator[list[tuple[Any, ...]]]:
    """Yield rows behind a position, in sequence, one row group at a time."""
    condition = "" if judge is None else " AND judge = $judge"
    with reading() as connection:
        query = (
            f"SELECT {_selected(connection, path, DATED)} FROM {one_file(path)} "  # noqa: S608 - column names are ours
            f"WHERE position > $after AND position <= $until{condition} ORDER BY position"
        )
        last = connection.execute(
            f"SELECT max(position) FROM {one_file(path)}"  # noqa: S608 - the path is quoted
        ).fetchall()[0][0]
        while last is not None and after < last:
            # Pages end where row groups end, so that each is read once.
            until = (after + 1) // PAGE * PAGE + PAGE - 1
            values: dict[str, Any] = {"after": after, "until": until}
            if judge is not None:
                values["judge"] = judge
            yield connection.execute(query, values).fetchall()
            after = until


def hex_strings(digests: NDArray[np.uint8]) -> NDArray[np.object_]:
    """Turn rows of digest bytes into an array of hexadecimal texts."""
    width = 2 * digests.shape[1]
    text = digests.tobytes().hex()
    strings = np.empty(len(digests), dtype=object)
    strings[:] = [text[place : place + width] for place in range(0, len(text), width)]
    return strings


STUDY = "study.yaml"
MANIFEST = "manifest.parquet"
ITEMS = "inputs/items.jsonl"
CHANGED = "inputs/probes.jsonl"
PROMPTS = "inputs/prompts.json"
REWORDINGS = "inputs/rewordings.jsonl"
LABELS = f"{SEALED}/labels.parquet"


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
    date: str | None = None


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
        changed: the items of probe layers as they are shown there, by layer and id.
    """

    path: Path
    study: Study
    items: Mapping[str, Item]
    templates: Mapping[str, Template]
    judges: Mapping[str, JudgeSpec]
    count: int
    record: RunRecord = field(repr=False)
    changed: Mapping[tuple[str, str], Item] = field(default_factory=dict, repr=False)

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

    def asked_calls(self) -> Iterator[PlannedCall]:
        """Yield the calls that are asked here: those of a shard, else all of the manifest."""
        mine = self._asked_items
        if mine is None:
            yield from self.iter_calls()
        else:
            yield from (call for call in self.iter_calls() if call.item in mine)

    @property
    def asked_count(self) -> int:
        """How many calls are asked here."""
        return self.count if self.shard is None else self.shard.calls

    @property
    def shard(self) -> ShardRecord | None:
        """The slice of the manifest that is asked here; None where all of it is."""
        return self.record.shard

    def holds(self, item: str) -> bool:
        """Whether the calls of an item are asked here."""
        return self._asked_items is None or item in self._asked_items

    @cached_property
    def _asked_items(self) -> frozenset[str] | None:
        return None if self.shard is None else frozenset(self.shard.of_items(tuple(self.items)))

    @property
    def budget(self) -> Budget | None:
        """What may be spent here: a shard has its share by calls."""
        if self.shard is None:
            return self.study.budget
        return share_of_budget(self.study.budget, self.asked_count / self.count)

    @property
    def transport(self) -> Transport:
        """How providers are asked here: shards run at once, and share what a provider allows."""
        if self.shard is None:
            return self.study.transport
        return share_of_limits(self.study.transport, self.shard.of)

    def item_of(self, call: PlannedCall) -> Item:
        """Return the item of a call as it is shown in the call's layer."""
        return self.changed.get((call.layer, call.item)) or self.items[call.item]

    def template_of(self, call: PlannedCall) -> Template:
        """Return the template that a call renders; all slots of a control layer render one."""
        layer, prompt = self._layers[call.layer], call.prompt
        if layer.role == "control":
            prompt = layer.prompt or next(iter(self.templates))
        return self.templates[prompt].asking(self.judges[call.judge].asks)

    @cached_property
    def _layers(self) -> dict[str, Layer]:
        """The layers by name: thousands of calls ask for theirs."""
        return {layer.name: layer for layer in self.study.streams}

    @cached_property
    def readers(self) -> dict[str, JudgeSpec]:
        """The judges as their replies are read: as frozen, or by a parser adopted since."""
        return {
            name: JudgeSpec.model_validate(
                {**judge.model_dump(mode="json", by_alias=True), **self.record.readings[name]}
            )
            if name in self.record.readings
            else judge
            for name, judge in self.judges.items()
        }

    @cached_property
    def rewordings(self) -> RewordingFacts | None:
        """What the prompts are draws of; None where they are no rewordings."""
        path = self.path / REWORDINGS
        return facts_from(path.read_text(encoding="utf-8")) if path.is_file() else None

    @property
    def blueprint(self) -> Blueprint:
        """The study with its files as they were frozen."""
        return Blueprint(
            study=self.study,
            items=tuple(self.items.values()),
            templates=tuple(self.templates.values()),
            members={name: tuple(ids) for name, ids in self.record.members.items()},
            changed=self.changed,
            reached=self.reached,
            repeats=self.record.repeats,
        )

    @property
    def last_looks(self) -> dict[str, LookRecord]:
        """The last look at each judge that was looked at."""
        return {look.judge: look for look in self.record.looks}

    @property
    def reached(self) -> dict[str, int]:
        """The depth that looks have brought each judge to: that of its last, or the next one."""
        looks = self.study.stop.looks if self.study.stop else ()
        return {
            judge: look.depth
            if look.action != "continue"
            else next(depth for depth in looks if depth > look.depth)
            for judge, look in self.last_looks.items()
        }

    @property
    def undecided(self) -> dict[str, int]:
        """The judges that wait for a look, with the depth at which it is taken."""
        if self.study.stop is None:
            return {}
        last, first = self.last_looks, self.study.stop.looks[0]
        return {
            judge.name: self.reached.get(judge.name, first)
            for judge in self.study.judges_of(self.study.main)
            if judge.name not in last or last[judge.name].action == "continue"
        }


_MOST_ITEMS = 2**34
"""Bytes of the items of a run, which are as large as the user's own."""


def open_run(run: Path | str) -> FrozenRun:
    """Open a run folder that was frozen."""
    run = Path(run)
    settle(run)
    if not (run / RECORD).exists():
        raise RunError(f"{run}: no {RECORD}, nothing was frozen here; name a run folder")
    record = read_record(run)
    try:
        study = Study.model_validate(record.study)
        items = {
            item.id: item for item in from_jsonl(read_regular(run / ITEMS, _MOST_ITEMS).decode())
        }
        templates = from_json(read_regular(run / PROMPTS).decode())
        changed = read_changed(run) if study.probes else {}
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
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
        changed=changed,
    )


def changed_jsonl(changed: Mapping[tuple[str, str], Item]) -> str:
    """Write the items of probe layers, each with its layer: the texts are frozen, not the rule."""
    lines = (
        json.dumps({"layer": layer, **item.as_dict()}, ensure_ascii=False)
        for (layer, _), item in changed.items()
    )
    return "".join(f"{line}\n" for line in lines)


def read_changed(run: Path) -> dict[tuple[str, str], Item]:
    """Read the items of probe layers."""
    found = {}
    for line in read_regular(run / CHANGED, _MOST_ITEMS).decode().split("\n"):
        if line:
            row = json_of(line)
            layer = row.pop("layer")
            found[layer, row["id"]] = from_dict(row)
    return found


def to_json(templates: tuple[Template, ...]) -> str:
    """Write templates as the frozen copy that a run keeps."""
    rows = [{"id": t.id, "sha256": t.sha256, "parts": t.parts} for t in templates]
    return json.dumps(rows, ensure_ascii=False, indent=1) + "\n"


def from_json(text: str) -> tuple[Template, ...]:
    """Read the frozen copy back."""
    return tuple(Template(id=row["id"], parts=tuple(row["parts"])) for row in json_of(text))
