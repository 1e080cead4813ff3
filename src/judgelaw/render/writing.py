"""Writing the calls of a run: hashes, seeds and schedule become one table, in blocks."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgelaw.design.blueprint import Block, Blueprint
from judgelaw.design.layout import hidden_labels, locate, schedule
from judgelaw.design.manifest import LABELS, MANIFEST, PROMPTS, to_json
from judgelaw.design.manifest_file import COLUMNS, NO_SEED, TableWriter, hex_strings
from judgelaw.design.seeds import distinct_seeds
from judgelaw.render.hashing import Digests, digest_block

Tick = Callable[[int], None]
"""Told how many calls were hashed since the last time."""

CHUNK = 50_000
LABEL_COLUMNS = {"call_id": "VARCHAR", "label": "VARCHAR"}


def silent(_count: int) -> None:
    """Report nothing."""


def write_prompts(blueprint: Blueprint, stage: Path) -> None:
    """Write the frozen copy of the templates."""
    (stage / PROMPTS).write_text(to_json(blueprint.templates), encoding="utf-8", newline="")


def namespaces(planned: Sequence[Block], first: int) -> tuple[dict[str, Any], ...]:
    """Give every judge and layer its own range of seed ordinals."""
    ranges: list[dict[str, Any]] = []
    for block in planned:
        ranges.append(
            {
                "judge": block.judge.name,
                "layer": block.layer.name,
                "first": first,
                "count": block.count,
            }
        )
        first += block.count
    return tuple(ranges)


def counts(planned: Sequence[Block], blueprint: Blueprint) -> dict[str, Any]:
    """Count the calls of these blocks by layer and judge."""
    layers: dict[str, dict[str, int]] = {}
    for block in planned:
        judges = layers.setdefault(block.layer.name, {})
        judges[block.judge.name] = judges.get(block.judge.name, 0) + block.count
    return {
        "items": len(blueprint.items),
        "prompts": len(blueprint.templates),
        "judges": len(blueprint.study.judges),
        "layers": layers,
    }


def write_calls(
    planned: Sequence[Block],
    blueprint: Blueprint,
    run: Path,
    stage: Path,
    spare: Path,
    *,
    first: int = 0,
    session: int = 0,
    tick: Tick = silent,
) -> None:
    """Write manifest and sealed labels: what the run holds, then the calls of these blocks."""
    study = blueprint.study
    starts = np.cumsum([0, *(block.count for block in planned)])
    sequence = schedule(planned, kind=study.schedule, seed=study.seed, session=session)
    prepared = []
    for block, start in zip(planned, starts, strict=False):
        seeds = distinct_seeds(study.seed, first + int(start), first + int(start) + block.count)
        prepared.append(_Prepared(block, seeds, digest_block(block, seeds, tick)))
    with TableWriter(spare, COLUMNS) as writer:
        if session:
            writer.add_file(run / MANIFEST)
        for place in range(0, len(sequence), CHUNK):
            chunk = sequence[place : place + CHUNK]
            writer.add(_columns(prepared, starts, chunk, first + place))
        writer.write(stage / MANIFEST)
    _seal(prepared, study.seed, run, stage, spare)


class _Prepared:
    """A block with its seeds and hashes, and its labels as arrays to take from."""

    def __init__(self, block: Block, seeds: NDArray[np.int64], digests: Digests) -> None:
        self.block = block
        self.seeds = seeds if block.judge.seed != "none" else np.full_like(seeds, NO_SEED)
        self.digests = digests
        self.items = _texts([item.id for item in block.items])
        self.strata = _texts([item.stratum for item in block.items])
        self.gold = _texts([item.gold for item in block.items])
        self.prompts = _texts(block.prompts)
        self.orders = _texts(block.orders)

    def columns(self, ordinals: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Return the columns of some calls of the block, except for their positions."""
        where = locate(self.block, ordinals)
        judge = self.block.judge
        return {
            "call_id": hex_strings(self.digests.call_id[ordinals]),
            "judge": _repeated(judge.name, len(ordinals)),
            "layer": _repeated(self.block.layer.name, len(ordinals)),
            "item": self.items[where.item],
            "stratum": self.strata[where.item],
            "prompt": self.prompts[where.prompt],
            "order": self.orders[where.order],
            "repeat": where.repeat,
            "seed": self.seeds[ordinals],
            "request_sha256": hex_strings(self.digests.request[ordinals]),
            "payload_sha256": hex_strings(self.digests.payload[where.cell]),
            "judge_sha256": _repeated(judge.fingerprint, len(ordinals)),
            "gold": self.gold[where.item],
        }


def _texts(values: Sequence[str | None]) -> NDArray[np.object_]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _repeated(text: str, count: int) -> NDArray[np.object_]:
    return np.full(count, text, dtype=object)


def _columns(
    prepared: Sequence[_Prepared],
    starts: NDArray[np.int64],
    chunk: NDArray[np.int64],
    position: int,
) -> dict[str, NDArray[Any]]:
    """Return the columns of a chunk of the schedule, which may touch every block."""
    owner = np.searchsorted(starts, chunk, side="right") - 1
    columns: dict[str, NDArray[Any]] = {}
    for place in np.unique(owner):
        mine = owner == place
        part = prepared[place].columns(chunk[mine] - starts[place])
        for name, values in part.items():
            whole = columns.setdefault(name, np.empty(len(chunk), dtype=values.dtype))
            whole[mine] = values
    columns["position"] = np.arange(position, position + len(chunk))
    return columns


def _seal(prepared: Sequence[_Prepared], seed: int, run: Path, stage: Path, spare: Path) -> None:
    """Write the hidden labels, sorted by call id so that the sequence says nothing."""
    controls = [each for each in prepared if each.block.hides_labels]
    if not controls:
        return
    (spare / "labels").mkdir()
    with TableWriter(spare / "labels", LABEL_COLUMNS) as writer:
        if (run / LABELS).exists():
            writer.add_file(run / LABELS)
        for each in controls:
            labels = hidden_labels(each.block, seed)
            names = _texts([f"h{number}" for number in range(1, len(each.block.prompts) + 1)])
            ids = hex_strings(each.digests.call_id)
            writer.add({"call_id": ids, "label": names[labels]})
        writer.write(stage / LABELS, sort="call_id")
