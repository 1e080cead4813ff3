"""What a study would run, with nothing written: counts, and the first call of every judge."""

from dataclasses import dataclass

from judgelaw.design.blueprint import Block, blocks, survey
from judgelaw.design.loading import LoadedStudy
from judgelaw.design.manifest import FrozenRun, PlannedCall
from judgelaw.design.model import sha256_hex
from judgelaw.design.seeds import distinct_seeds
from judgelaw.render.freeze import record_of
from judgelaw.render.hashing import call_id
from judgelaw.render.payload import payload
from judgelaw.render.wire import request

CHARACTERS_A_TOKEN = 4
"""A rule of thumb for English text, good enough to see a budget coming."""

_LOOKED_AT = 25


@dataclass(frozen=True, kw_only=True)
class Preview:
    """A study as it would be frozen.

    Attributes:
        run: what freezing would give; its folder holds nothing.
        planned: the blocks of calls.
        examples: the first call of every judge, with its request.
        input_tokens: about how many tokens all requests hold, from a few items of every block.
    """

    run: FrozenRun
    planned: tuple[Block, ...]
    examples: tuple[tuple[PlannedCall, bytes], ...]
    input_tokens: int


def preview(loaded: LoadedStudy) -> Preview:
    """Read everything that a study names and render one request of every judge."""
    blueprint = survey(loaded)
    planned = blocks(blueprint)
    record = record_of(loaded, blueprint, planned)
    run = FrozenRun(
        path=loaded.folder,
        study=blueprint.study,
        items={item.id: item for item in blueprint.items},
        templates={template.id: template for template in blueprint.templates},
        judges={judge.name: judge for judge in blueprint.study.judges},
        count=record.calls,
        record=record,
    )
    return Preview(
        run=run,
        planned=planned,
        examples=_examples(planned, blueprint.study.seed),
        input_tokens=sum(_characters(block) for block in planned) // CHARACTERS_A_TOKEN,
    )


def _examples(planned: tuple[Block, ...], seed: int) -> tuple[tuple[PlannedCall, bytes], ...]:
    found: dict[str, tuple[PlannedCall, bytes]] = {}
    first = 0
    for block in planned:
        if block.judge.name not in found:
            found[block.judge.name] = _first_call(
                block, int(distinct_seeds(seed, first, first + 1)[0])
            )
        first += block.count
    return tuple(found.values())


def _first_call(block: Block, seed: int) -> tuple[PlannedCall, bytes]:
    judge, item = block.judge, block.items[0]
    prompt, order = block.prompts[0], block.orders[0]
    text = payload(block.templates[0], item, order)
    body = request(judge, text, seed)
    name = call_id(
        judge, layer=block.layer.name, item=item.id, prompt=prompt, order=order, repeat=0
    )
    call = PlannedCall(
        call_id=name,
        judge=judge.name,
        layer=block.layer.name,
        item=item.id,
        stratum=item.stratum,
        prompt=prompt,
        order=order,
        repeat=0,
        seed=None if judge.seed == "none" else seed,
        position=0,
        request_sha256=sha256_hex(body),
        payload_sha256=sha256_hex(text),
        judge_sha256=judge.fingerprint,
        gold=item.gold,
    )
    return call, body


def _characters(block: Block) -> int:
    """Estimate the characters of all payloads of a block from a few evenly spaced items."""
    step = max(1, len(block.items) // _LOOKED_AT)
    looked_at = block.items[::step]
    total = sum(
        len(payload(template, item, order))
        for item in looked_at
        for template in block.templates
        for order in block.orders
    )
    return total * len(block.repeats) * len(block.items) // len(looked_at)
