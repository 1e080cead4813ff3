"""Control blocks: one payload, distinct seeds, and labels that know nothing of their slots."""

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from judgelaw.acquire.outputs import read_labels
from judgelaw.acquire.verify.check import Check, Problems
from judgelaw.design.manifest import FrozenRun, PlannedCall

_IMPROBABLE = 1e-6
_EXACT_UP_TO = 4_000
"""Blocks beyond which the count of coincidences is normal to any accuracy that matters here."""

BlockKey = tuple[str, str, str, str, int]


@dataclass
class _Block:
    payloads: set[str] = field(default_factory=set)
    seeds: set[int | None] = field(default_factory=set)
    labels: dict[int, str | None] = field(default_factory=dict)


def check_controls(frozen: FrozenRun) -> Iterator[Check]:
    """Check every control block of a run, if it has any."""
    widths = {
        layer.name: layer.labels or len(frozen.templates)
        for layer in frozen.study.streams
        if layer.role == "control"
    }
    if not widths:
        return
    labels = read_labels(frozen)
    found: dict[BlockKey, _Block] = defaultdict(_Block)
    for call in frozen.iter_calls():
        if call.layer in widths:
            _add(found, call, labels)
    problems = Problems()
    coincidences: dict[int, list[int]] = defaultdict(list)
    for key, block in found.items():
        width = widths[key[1]]
        seeds = 1 if frozen.judges[key[0]].seed == "none" else width
        problems.extend(_wrong(key, block, width=width, seeds=seeds))
        coincidences[width].append(_coincidences(block))
    moved = total = 0
    for width, counts in coincidences.items():
        total += width * len(counts)
        moved += width * len(counts) - sum(counts)
        p = coincidence_p(sum(counts), blocks=len(counts), width=width)
        if p < _IMPROBABLE:
            problems.add(
                f"{sum(counts)} labels equal their slots in {len(counts)} blocks of {width}, "
                f"where chance gives about {len(counts)} (p = {p:.1e}): labels were not assigned "
                "at random"
            )
    yield problems.check(
        "controls",
        f"{len(found)} blocks with one payload each; label and slot differ in {moved} of {total}",
    )


def coincidence_p(count: int, *, blocks: int, width: int) -> float:
    """Return the two-sided p value of `count` labels in their own slot.

    A random assignment of `width` labels to as many slots has m coincidences with probability
    C(width, m) D(width - m) / width!, D the number of derangements; mean and variance are 1.
    """
    if blocks > _EXACT_UP_TO:
        return math.erfc(abs(count - blocks) / math.sqrt(2 * blocks))
    law = _power(_coincidence_law(width), blocks)
    lower, upper = law[: count + 1].sum(), law[count:].sum()
    return float(min(1.0, 2 * min(lower, upper)))


def _coincidence_law(width: int) -> NDArray[np.float64]:
    deranged = [1, 0]
    for n in range(2, width + 1):
        deranged.append((n - 1) * (deranged[-1] + deranged[-2]))
    whole = math.factorial(width)
    return np.array([math.comb(width, m) * deranged[width - m] / whole for m in range(width + 1)])


def _power(law: NDArray[np.float64], times: int) -> NDArray[np.float64]:
    """Return the law of the sum of independent copies, by repeated doubling."""
    total = np.ones(1)
    while times:
        if times & 1:
            total = np.convolve(total, law)
        law = np.convolve(law, law)
        times >>= 1
    return total


def _add(found: dict[BlockKey, _Block], call: PlannedCall, labels: dict[str, str]) -> None:
    block = found[call.judge, call.layer, call.item, call.order, call.repeat]
    block.payloads.add(call.payload_sha256)
    block.seeds.add(call.seed)
    block.labels[int(call.prompt.removeprefix("slot-"))] = labels.get(call.call_id)


def _wrong(key: BlockKey, block: _Block, *, width: int, seeds: int) -> list[str]:
    name = " / ".join(map(str, key))
    wrong = []
    if len(block.payloads) != 1:
        wrong.append(f"{name}: {len(block.payloads)} payloads in place of one")
    if len(block.seeds) != seeds:
        wrong.append(f"{name}: {len(block.seeds)} seeds for {width} calls")
    expected = {f"h{place}" for place in range(1, width + 1)}
    if set(block.labels.values()) != expected or len(block.labels) != width:
        wrong.append(f"{name}: the labels are not one each of {', '.join(sorted(expected))}")
    return wrong


def _coincidences(block: _Block) -> int:
    return sum(label == f"h{slot}" for slot, label in block.labels.items())
