"""A study as it would be frozen: what it asks, how much that is, and its first requests."""

from dataclasses import dataclass
from itertools import count as numbers
from math import gcd

from judgelaw.study.blueprint import Block, blocks, survey
from judgelaw.study.freezing import Choose, record_of, with_repeats
from judgelaw.study.loading import LoadedStudy
from judgelaw.study.manifest import FrozenRun, PlannedCall
from judgelaw.study.requests import call_id, payload
from judgelaw.study.schedule import distinct_seeds
from judgelaw.wire import request, sha256_hex

CHARACTERS_A_TOKEN = 4
"""A rule of thumb for English text, good enough to see a budget coming."""

_LOOKED_AT = 25
_SPREAD = 0.618


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


def preview(loaded: LoadedStudy, *, cells: int = 1, choose: Choose | None = None) -> Preview:
    """Read everything that a study names and render requests of every judge, of so many cells.

    Without `choose` repeats by item count as the most that they may be.
    """
    blueprint = survey(loaded)
    if choose is not None:
        blueprint = with_repeats(loaded, blueprint, choose)
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
        changed=blueprint.changed,
    )
    return Preview(
        run=run,
        planned=planned,
        examples=_examples(planned, blueprint.study.seed, cells),
        input_tokens=sum(_characters(block) for block in planned) // CHARACTERS_A_TOKEN,
    )


def _examples(
    planned: tuple[Block, ...], seed: int, count: int
) -> tuple[tuple[PlannedCall, bytes], ...]:
    """Return the first calls of so many cells of every judge, spread over its first block."""
    found: dict[str, list[tuple[PlannedCall, bytes]]] = {}
    first = 0
    for block in planned:
        if block.judge.name not in found:
            # A stride without a common factor visits every item, prompt and order alike.
            stride = next(
                n for n in numbers(int(_SPREAD * block.cells) + 1) if gcd(n, block.cells) == 1
            )
            found[block.judge.name] = [
                _call_of_cell(block, place * stride % block.cells, seed, first)
                for place in range(min(count, block.cells))
            ]
        first += block.count
    return tuple(example for examples in found.values() for example in examples)


def _call_of_cell(
    block: Block, cell: int, study_seed: int, first: int
) -> tuple[PlannedCall, bytes]:
    judge = block.judge
    rest, at_order = divmod(cell, len(block.orders))
    at_item, at_prompt = divmod(rest, len(block.prompts))
    item, prompt, order = block.items[at_item], block.prompts[at_prompt], block.orders[at_order]
    ordinal = first + cell * len(block.repeats)
    seed = int(distinct_seeds(study_seed, ordinal, ordinal + 1)[0])
    text = payload(block.templates[at_prompt], item, order)
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
