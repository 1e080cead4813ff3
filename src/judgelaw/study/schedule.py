"""Which call goes when, with which seed and which hidden label, and how they are written.

Seeds: distinct 31-bit integers, by a keyed permutation instead of a truncated hash.

A truncated hash of 31 bits collides after some 50,000 calls; a permutation never does. The
permutation is a four-round Feistel network on 32 bits; values outside the domain are walked on
along their cycle until they fall inside.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgelaw.steps import Progress, unseen
from judgelaw.streams import stream
from judgelaw.study.blueprint import Block, Blueprint
from judgelaw.study.manifest import (
    COLUMNS,
    DATED,
    LABELS,
    MANIFEST,
    NO_SEED,
    PROMPTS,
    TableWriter,
    hex_strings,
    to_json,
)
from judgelaw.study.requests import Digests, digest_block

Places = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Coordinates:
    """Where calls of one block stand; every array has one entry a call.

    Attributes:
        item, prompt, order: places in the block's own lists.
        repeat: the repeat rank.
        cell: the place of the cell, counted through the block.
    """

    item: Places
    prompt: Places
    order: Places
    repeat: Places
    cell: Places


def locate(block: Block, ordinals: Places) -> Coordinates:
    """Find the coordinates of calls by their ordinal: items, then prompts, orders, repeats."""
    cell, rank = np.divmod(ordinals, len(block.repeats))
    rest, order = np.divmod(cell, len(block.orders))
    item, prompt = np.divmod(rest, len(block.prompts))
    return Coordinates(
        item=item, prompt=prompt, order=order, repeat=rank + block.repeats.start, cell=cell
    )


def schedule(blocks: Sequence[Block], *, kind: str, seed: int, session: int) -> Places:
    """Return the ordinals of all calls in the sequence in which they are made.

    Args:
        blocks: the calls, ordinals counted through all of them.
        kind: `random` permutes all calls; `cells` permutes cells and keeps the calls of a cell
            together, rank by rank; `prompts` permutes prompts, then the items within each, and
            keeps the cells of an item together: a model that runs here reads a prompt's wrapper
            once for all items.
        seed: the study's seed.
        session: 0 for the first freeze, then the number of the extension.
    """
    random = stream(seed, "schedule", session)
    if kind == "random":
        return random.permutation(sum(block.count for block in blocks))
    groups: list[Places] = []
    ranks: list[Places] = []
    shown: list[list[str]] = []
    asked: list[list[str]] = []
    first = 0
    for block in blocks:
        where = locate(block, np.arange(block.count))
        # Slots of a control block share one request, so they stay together like repeats.
        group = where.item * len(block.orders) + where.order if block.hides_labels else where.cell
        rank = where.repeat * len(block.prompts) + where.prompt
        groups.append(first + group)
        ranks.append(rank)
        shown.append([block.templates[place].id for place in where.prompt])
        asked.append([block.items[place].id for place in where.item])
        first += int(group.max(initial=-1)) + 1
    shuffled = random.permutation(first)
    keys = [np.concatenate(ranks), shuffled[np.concatenate(groups)]]
    if kind == "prompts":
        keys += [_shuffled(labels, random) for labels in (asked, shown)]
    return np.lexsort(keys)


def _shuffled(labels: Sequence[Sequence[str]], random: np.random.Generator) -> Places:
    """Give every distinct label of the blocks a random place."""
    flat = [label for block in labels for label in block]
    _, code = np.unique(np.array(flat, dtype=str), return_inverse=True)
    return np.asarray(random.permutation(int(code.max(initial=-1)) + 1)[code])


def hidden_labels(block: Block, seed: int) -> Places:
    """Assign the labels of a control block: one entry a call, counted from 0.

    Inside every item-order-repeat block each label goes to one slot, without replacement.
    """
    shape = (len(block.items), len(block.orders), len(block.repeats), len(block.prompts))
    wave = () if block.date is None else (block.date,)
    name = (block.judge.name, block.layer.name, block.repeats.start, *wave)
    labels = stream(seed, "control", *name).permuted(
        np.broadcast_to(np.arange(shape[-1]), shape), axis=-1
    )
    return np.ascontiguousarray(labels.transpose(0, 3, 1, 2)).reshape(-1)


SMALLEST = 1
LARGEST = 2**31 - 1
"""Zero is left out: servers take it for "no seed given"."""

CAPACITY = LARGEST - SMALLEST + 1

_ROUNDS = 4
_HALF = np.uint32(16)
_LOW = np.uint32(0xFFFF)


def distinct_seeds(key: int, start: int, stop: int) -> NDArray[np.int64]:
    """Return the seeds of the ordinals `start` to `stop - 1` under a study's seed.

    The same ordinal always gives the same seed; two ordinals never do.
    """
    if not 0 <= start <= stop <= CAPACITY:
        raise ValueError(f"ordinals {start} to {stop} leave the {CAPACITY} distinct seeds")
    return seeds_at(key, np.arange(start, stop))


def seeds_at(key: int, ordinals: Places) -> NDArray[np.int64]:
    """Return the seeds of these ordinals, each below the number of distinct seeds."""
    keys = _round_keys(key)
    # The walk starts inside the domain, so the permutation of 32 bits restricts to one of it.
    values = _permute((ordinals + SMALLEST).astype(np.uint32), keys)
    outside = _outside(values)
    while outside.any():
        values[outside] = _permute(values[outside], keys)
        outside = _outside(values)
    return values.astype(np.int64)


def _outside(values: NDArray[np.uint32]) -> NDArray[np.bool_]:
    return (values < SMALLEST) | (values > LARGEST)


def _round_keys(key: int) -> tuple[np.uint32, ...]:
    digest = hashlib.sha256(f"judgelaw.seeds/1:{key}".encode()).digest()
    return tuple(np.frombuffer(digest, dtype="<u4")[:_ROUNDS])


def _permute(values: NDArray[np.uint32], keys: tuple[np.uint32, ...]) -> NDArray[np.uint32]:
    left, right = values >> _HALF, values & _LOW
    for key in keys:
        left, right = right, left ^ (_mix(right ^ key) & _LOW)
    return (left << _HALF) | right


def _mix(values: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Scramble 32 bits (Wellons' low-bias multiply and xor-shift hash)."""
    values = values ^ (values >> np.uint32(16))
    values = values * np.uint32(0x7FEB352D)
    values = values ^ (values >> np.uint32(15))
    values = values * np.uint32(0x846CA68B)
    return values ^ (values >> np.uint32(16))


CHUNK = 50_000
LABEL_COLUMNS = {"call_id": "VARCHAR", "label": "VARCHAR"}


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
    progress: Progress = unseen,
    ordinals: Callable[[Block], Places] | None = None,
) -> None:
    """Write manifest and sealed labels: what the run holds, then the calls of these blocks.

    Seeds follow the ordinals of calls: by default their places in the run, in the sequence of the
    blocks.
    """
    study = blueprint.study
    starts = np.cumsum([0, *(block.count for block in planned)])
    sequence = schedule(planned, kind=study.schedule, seed=study.seed, session=session)
    prepared = []
    with progress("freezing calls", int(starts[-1])) as advance:
        for block, start in zip(planned, starts, strict=False):
            at = first + int(start)
            seeds = (
                distinct_seeds(study.seed, at, at + block.count)
                if ordinals is None
                else seeds_at(study.seed, ordinals(block))
            )
            prepared.append(_Prepared(block, seeds, digest_block(block, seeds, advance)))
    with TableWriter(spare, DATED if any(b.date for b in planned) else COLUMNS) as writer:
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
            "date": _repeated(self.block.date, len(ordinals)),
        }


def _texts(values: Sequence[str | None]) -> NDArray[np.object_]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _repeated(text: str | None, count: int) -> NDArray[np.object_]:
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
