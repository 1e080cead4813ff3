"""The frozen part of a run, derived once more: identities, bytes, seeds, coverage, streams."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from judgelaw.acquire.verify.check import Check, Problems
from judgelaw.design.blueprint import Block, blocks
from judgelaw.design.manifest import STUDY, FrozenRun, PlannedCall
from judgelaw.design.model import sha256_hex
from judgelaw.errors import JudgelawError
from judgelaw.render import call_id, payload_for, request_for

Tick = Callable[[int], None]

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
    """One pass over the manifest; each account becomes a check."""

    frozen: FrozenRun
    identity: Problems = field(default_factory=Problems)
    payloads: Problems = field(default_factory=Problems)
    seeds: Problems = field(default_factory=Problems)
    coverage: Problems = field(default_factory=Problems)
    streams: Problems = field(default_factory=Problems)

    def run(self, tick: Tick) -> Iterator[Check]:
        """Look at every row."""
        planned = {(b.judge.name, b.layer.name): b for b in blocks(self.frozen.blueprint)}
        seen = _Seen()
        for place, call in enumerate(self.frozen.iter_calls()):
            block = planned.get((call.judge, call.layer))
            if block is None:
                self.identity.add(f"call {call.call_id}: no judge {call.judge} in {call.layer}")
            else:
                self._identity(call, block, place)
                self._bytes(call)
            seen.add(call, self)
            tick(1)
        self._coverage(planned, seen)
        n = sum(seen.blocks.values())
        yield self.identity.check("identity", f"{n} calls are named by what they are")
        yield self.payloads.check("payloads", f"{n} payloads and requests render to their hashes")
        yield self.seeds.check("seeds", f"{len(seen.seeds)} seeds, none twice")
        yield self.coverage.check(
            "coverage", f"every cell of {len(planned)} blocks, each rank once"
        )
        if self._roles_apart():
            yield self.streams.check("streams", "evaluation and reference share no id and no seed")

    def _identity(self, call: PlannedCall, block: Block, place: int) -> None:
        item = self.frozen.items.get(call.item)
        named = call_id(
            block.judge,
            layer=call.layer,
            item=call.item,
            prompt=call.prompt,
            order=call.order,
            repeat=call.repeat,
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

    def _coverage(self, planned: dict[tuple[str, str], Block], seen: "_Seen") -> None:
        for key, block in planned.items():
            if seen.blocks[key] != block.count:
                where = f"judge {key[0]}, layer {key[1]}"
                self.coverage.add(f"{where}: {seen.blocks[key]} calls of {block.count}")
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
    blocks: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, call: PlannedCall, into: ManifestChecks) -> None:
        self.blocks[call.judge, call.layer] += 1
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
