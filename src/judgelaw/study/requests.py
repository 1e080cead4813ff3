"""From a frozen call to the bytes of its request, and to the hash that was frozen.

The requests of one judge, with everything that no call changes looked up once.

What `judgelaw.study.request_for` does for any call; a lane does it thousands of times a second.
"""

import hashlib
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from judgelaw.errors import InputError, IntegrityError
from judgelaw.steps import Advance
from judgelaw.study.blueprint import Block
from judgelaw.study.items import Item
from judgelaw.study.manifest import FrozenRun, PlannedCall
from judgelaw.study.prompts import Template, candidate_field
from judgelaw.tensor import SINGLE
from judgelaw.wire import Frame, JudgeSpec, frame, request, sha256_hex
from judgelaw.words import LETTERS


def payload(template: Template, item: Item, order: str) -> str:
    """Fill a template with an item in one pass; nothing inside an item's text is interpreted.

    >>> t = Template(id="p", parts=("Which? ", "candidate_a", " or ", "candidate_b", ""))
    >>> i = Item(id="1", stratum=None, instruction="", candidate_1="{candidate_b}",
    ...          candidate_2="y", gold=None)
    >>> payload(t, i, "BA")
    'Which? y or {candidate_b}'
    """
    shown = {"instruction": item.instruction, **displayed(item, order)}
    values = {**item.texts, **shown} if item.fields else shown
    parts = list(template.parts)
    parts[1::2] = [values[name] for name in parts[1::2]]
    return "".join(parts)


def displayed(item: Item, order: str) -> dict[str, str]:
    """Return the candidates of an item by the field that shows them: `candidate_a` comes first."""
    if order == SINGLE:
        return {"candidate": item.candidate_1}
    texts = item.candidates
    return {
        candidate_field(slot): texts[LETTERS.index(letter)] for slot, letter in enumerate(order)
    }


def payload_for(frozen: FrozenRun, call: PlannedCall) -> str:
    """Render the text that the model sees in a frozen call."""
    return payload(frozen.template_of(call), frozen.item_of(call), call.order)


def request_for(frozen: FrozenRun, call: PlannedCall) -> bytes:
    """Render the body of a frozen call; bytes that differ from the frozen ones are never sent."""
    body = request(frozen.judges[call.judge], payload_for(frozen, call), call.seed)
    if sha256_hex(body) != call.request_sha256:
        raise IntegrityError(
            f"{frozen.path}: call {call.call_id} renders to other bytes than were frozen; the "
            "inputs of the run or the installed judgelaw were changed, restore them"
        )
    return body


class Requests:
    """Renders the frozen calls of one judge."""

    def __init__(self, frozen: FrozenRun, spec: JudgeSpec) -> None:
        self._frozen = frozen
        self._frame = frame(spec)
        self._templates: dict[tuple[str, str], Template] = {}

    def body(self, call: PlannedCall) -> bytes:
        """Render the body of a call; bytes that differ from the frozen ones are never sent."""
        cell = (call.layer, call.prompt)
        template = self._templates.get(cell)
        if template is None:
            template = self._templates[cell] = self._frozen.template_of(call)
        text = payload(template, self._frozen.item_of(call), call.order)
        body = self._frame.head(text) + self._frame.tail(call.seed)
        if sha256(body).hexdigest() != call.request_sha256:
            return request_for(self._frozen, call)  # raises, and says what to do
        return body


ID_BYTES = 16
_HASH_BYTES = 32

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class Digests:
    """Digest bytes of a block: `call_id` and `request` a call, `payload` a cell."""

    call_id: Bytes
    request: Bytes
    payload: Bytes


def call_id(
    judge: JudgeSpec,
    *,
    layer: str,
    item: str,
    prompt: str,
    order: str,
    repeat: int,
    date: str | None = None,
) -> str:
    """Name a call by what it is: 32 hexadecimal digits of a SHA-256."""
    digest = _identity(judge.fingerprint, layer, item, prompt, order, *_dated(date))
    digest.update(b"%d" % repeat)
    return digest.digest()[:ID_BYTES].hex()


def _dated(date: str | None) -> tuple[str, ...]:
    """Return what a date adds to the name of a call: nothing where there is none."""
    return () if date is None else (date,)


def _identity(*parts: str) -> "hashlib._Hash":
    # Each part is prefixed by its length, so that ("ab", "c") and ("a", "bc") differ.
    return hashlib.sha256("".join(f"{len(part)}:{part}" for part in parts).encode())


def digest_block(block: Block, seeds: NDArray[np.int64], advance: Advance) -> Digests:
    """Render each distinct request of a block once and hash it with the seed of every call.

    Args:
        block: the calls.
        seeds: one seed a call, in the block's own sequence.
        advance: told how many calls were hashed, item by item.
    """
    ids, requests, payloads = bytearray(), bytearray(), bytearray()
    shape = frame(block.judge)
    numbers = seeds.tolist()
    start, width = 0, len(block.prompts) * len(block.orders) * len(block.repeats)
    for item in block.items:
        _digest_item(block, item, shape, numbers[start : start + width], (ids, requests, payloads))
        start += width
        advance(width)
    return Digests(
        call_id=_rows(ids, ID_BYTES),
        request=_rows(requests, _HASH_BYTES),
        payload=_rows(payloads, _HASH_BYTES),
    )


def _rows(content: bytearray, width: int) -> Bytes:
    return np.frombuffer(content, dtype=np.uint8).reshape(-1, width)


def _digest_item(
    block: Block,
    item: Item,
    shape: Frame,
    seeds: list[int],
    out: tuple[bytearray, bytearray, bytearray],
) -> None:
    ids, requests, payloads = out
    rendered: dict[tuple[str, str], tuple[bytes, hashlib._Hash]] = {}
    ranks = [b"%d" % rank for rank in block.repeats]
    numbers = iter(seeds)
    judge, layer = block.judge.fingerprint, block.layer.name
    for prompt, template in zip(block.prompts, block.templates, strict=True):
        for order in block.orders:
            key = (template.id, order)
            if key not in rendered:
                rendered[key] = _render(template, item, order, shape)
            shown, head = rendered[key]
            payloads += shown
            cell = _identity(judge, layer, item.id, prompt, order, *_dated(block.date))
            for rank in ranks:
                name = cell.copy()
                name.update(rank)
                ids += name.digest()[:ID_BYTES]
                body = head.copy()
                body.update(shape.tail(next(numbers)))
                requests += body.digest()


def _render(
    template: Template, item: Item, order: str, shape: Frame
) -> "tuple[bytes, hashlib._Hash]":
    text = payload(template, item, order)
    try:
        head = shape.head(text)
    except InputError as error:
        raise InputError(f"item {item.id!r}: {error}") from None
    return hashlib.sha256(text.encode()).digest(), hashlib.sha256(head)
