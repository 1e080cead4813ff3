"""The frozen part of a run, derived once more: identities, bytes, seeds, controls."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from judgelaw.acquire.outputs import read_labels
from judgelaw.errors import JudgelawError
from judgelaw.steps import Advance
from judgelaw.study import (
    STUDY,
    Block,
    FrozenRun,
    PlannedCall,
    blocks,
    call_id,
    payload_for,
    request_for,
)
from judgelaw.wire import sha256_hex

_NAMED_AT_MOST = 5


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that was looked at, and what was found."""

    name: str
    ok: bool
    detail: str


@dataclass
class Problems:
    """Counts everything that is wrong, and keeps the first few in words."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, problem: str) -> None:
        """Take note of a problem."""
        self.count += 1
        if len(self.first) < _NAMED_AT_MOST:
            self.first.append(problem)

    def extend(self, problems: Iterable[str]) -> None:
        """Take note of several."""
        for problem in problems:
            self.add(problem)

    def check(self, name: str, good: str) -> Check:
        """Close the account: `good` says what was found in order."""
        if not self.count:
            return Check(name=name, ok=True, detail=good)
        more = f" (and {self.count - len(self.first)} more)" if self.count > len(self.first) else ""
        return Check(name=name, ok=False, detail="; ".join(self.first) + more)


_IMPROBABLE = 1e-6
_EXACT_UP_TO = 4_000
"""Blocks beyond which the count of coincidences is normal to any accuracy that matters here."""

BlockKey = tuple[str, str, str, str, int, str | None]


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
        own_slot = sum(label == f"h{slot}" for slot, label in block.labels.items())
        coincidences[width].append(own_slot)
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
    block = found[call.judge, call.layer, call.item, call.order, call.repeat, call.date]
    block.payloads.add(call.payload_sha256)
    block.seeds.add(call.seed)
    block.labels[int(call.prompt.removeprefix("slot-"))] = labels.get(call.call_id)


def _wrong(key: BlockKey, block: _Block, *, width: int, seeds: int) -> list[str]:
    name = " / ".join(str(part) for part in key if part is not None)
    wrong = []
    if len(block.payloads) != 1:
        wrong.append(f"{name}: {len(block.payloads)} payloads in place of one")
    if len(block.seeds) != seeds:
        wrong.append(f"{name}: {len(block.seeds)} seeds for {width} calls")
    expected = {f"h{place}" for place in range(1, width + 1)}
    if set(block.labels.values()) != expected or len(block.labels) != width:
        wrong.append(f"{name}: the labels are not one each of {', '.join(sorted(expected))}")
    return wrong


_APART = ("evaluation", "reference")


def check_record(frozen: FrozenRun) -> Check:
    """Compare manifest.json with the study, the judges and the prompts that it describes."""
    problems, record = Problems(), frozen.record
    if sha256_hex((frozen.path / STUDY).read_bytes()) != record.source_sha256:
        problems.add(f"{STUDY} is not the file that was frozen")
    for name, spec in frozen.judges.items():
        if record.judges.get(name) != spec.fingerprint:
            problems.add(f"judge {name} has another configuration than was frozen")
    if record.prompts != {key: template.sha256 for key, template in frozen.templates.items()}:
        problems.add("the prompts are not those that were frozen")
    return problems.check(
        "record", f"study, judges ({len(frozen.judges)}), prompts ({len(frozen.templates)}) match"
    )


@dataclass
class ManifestChecks:
    """One pass over the manifest; each account becomes a check.

    Payloads are rendered again unless `texts` says that the items' texts are not there.
    """

    frozen: FrozenRun
    texts: bool = True
    identity: Problems = field(default_factory=Problems)
    payloads: Problems = field(default_factory=Problems)
    seeds: Problems = field(default_factory=Problems)
    coverage: Problems = field(default_factory=Problems)
    streams: Problems = field(default_factory=Problems)

    def run(self, advance: Advance) -> Iterator[Check]:
        """Look at every row."""
        planned: dict[tuple[str, str], list[Block]] = {}
        for block in blocks(self.frozen.blueprint):
            planned.setdefault((block.judge.name, block.layer.name), []).append(block)
        seen = _Seen()
        for place, call in enumerate(self.frozen.iter_calls()):
            of_judge = planned.get((call.judge, call.layer))
            if of_judge is None:
                self.identity.add(f"call {call.call_id}: no judge {call.judge} in {call.layer}")
            else:
                self._identity(call, of_judge[0], place)
                if self.texts:
                    self._bytes(call)
            seen.add(call, self)
            advance(1)
        self._coverage(planned, seen)
        n = sum(seen.blocks.values())
        yield self.identity.check("identity", f"{n} calls are named by what they are")
        rendered = f"{n} payloads and requests render to their hashes"
        without = f"the texts of the items are left out: {n} payload hashes stand as they are"
        yield self.payloads.check("payloads", rendered if self.texts else without)
        yield self.seeds.check("seeds", f"{len(seen.seeds)} seeds, none twice")
        yield self.coverage.check(
            "coverage", f"every cell of {len(planned)} blocks, each rank once"
        )
        if self._roles_apart():
            yield self.streams.check("streams", "evaluation and reference share no id and no seed")

    def _identity(self, call: PlannedCall, block: Block, place: int) -> None:
        item = self.frozen.item_of(call) if call.item in self.frozen.items else None
        named = call_id(
            block.judge,
            layer=call.layer,
            item=call.item,
            prompt=call.prompt,
            order=call.order,
            repeat=call.repeat,
            date=call.date,
        )
        if call.call_id != named:
            self.identity.add(f"call {call.call_id} is not what its name says")
        if call.position != place:
            self.identity.add(f"call {call.call_id} stands at {place}, not at {call.position}")
        if call.judge_sha256 != block.judge.fingerprint:
            self.identity.add(f"call {call.call_id} was frozen for another configuration")
        if item is None or (item.stratum, item.gold) != (call.stratum, call.gold):
            self.identity.add(f"call {call.call_id}: stratum or gold is not that of its item")

    def _bytes(self, call: PlannedCall) -> None:
        try:
            request_for(self.frozen, call)
            if sha256_hex(payload_for(self.frozen, call)) != call.payload_sha256:
                self.payloads.add(f"call {call.call_id} has another payload than was frozen")
        except (JudgelawError, KeyError, StopIteration) as error:
            self.payloads.add(f"call {call.call_id} cannot be rendered: {error}")

    def _coverage(self, planned: dict[tuple[str, str], list[Block]], seen: "_Seen") -> None:
        for wave in self.frozen.record.dates or (None,):
            for key, of_judge in planned.items():
                found, count = seen.blocks[*key, wave], sum(block.count for block in of_judge)
                if found != count:
                    when = "" if wave is None else f", {wave}"
                    where = f"judge {key[0]}, layer {key[1]}{when}"
                    self.coverage.add(f"{where}: {found} calls of {count}")
        if (n := sum(seen.blocks.values())) != self.frozen.count:
            self.coverage.add(f"{n} calls in the manifest, {self.frozen.count} in manifest.json")

    def _roles_apart(self) -> bool:
        roles = {layer.role for layer in self.frozen.study.streams}
        return roles.issuperset(_APART)


@dataclass
class _Seen:
    """Ids and seeds so far, each with the layer that had it first."""

    ids: dict[str, str] = field(default_factory=dict)
    seeds: dict[int, str] = field(default_factory=dict)
    blocks: Counter[tuple[str, str, str | None]] = field(default_factory=Counter)

    def add(self, call: PlannedCall, into: ManifestChecks) -> None:
        self.blocks[call.judge, call.layer, call.date] += 1
        if call.call_id in self.ids:
            into.coverage.add(f"call {call.call_id} is there twice")
            self._shared(self.ids[call.call_id], call, f"id {call.call_id}", into)
        self.ids[call.call_id] = call.layer
        if call.seed in self.seeds:
            into.seeds.add(f"seed {call.seed} is used again by call {call.call_id}")
            self._shared(self.seeds[call.seed], call, f"seed {call.seed}", into)
        if call.seed is not None:
            self.seeds[call.seed] = call.layer

    def _shared(self, other: str, call: PlannedCall, what: str, into: ManifestChecks) -> None:
        if other != call.layer:
            into.streams.add(f"layers {other} and {call.layer} share {what}")
