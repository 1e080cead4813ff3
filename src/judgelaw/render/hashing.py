"""Hashes of every call of a block, in one pass over its cells."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgelaw.design import Item, JudgeSpec, Template
from judgelaw.design.blueprint import Block
from judgelaw.errors import InputError
from judgelaw.render.payload import payload
from judgelaw.render.wire import Frame, frame

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
    judge: JudgeSpec, *, layer: str, item: str, prompt: str, order: str, repeat: int
) -> str:
    """Name a call by what it is: 32 hexadecimal digits of a SHA-256."""
    digest = _identity(judge.fingerprint, layer, item, prompt, order)
    digest.update(b"%d" % repeat)
    return digest.digest()[:ID_BYTES].hex()


def _identity(*parts: str) -> "hashlib._Hash":
    # Each part is prefixed by its length, so that ("ab", "c") and ("a", "bc") differ.
    return hashlib.sha256("".join(f"{len(part)}:{part}" for part in parts).encode())


def digest_block(block: Block, seeds: NDArray[np.int64], tick: Callable[[int], None]) -> Digests:
    """Render each distinct request of a block once and hash it with the seed of every call.

    Args:
        block: the calls.
        seeds: one seed a call, in the block's own sequence.
        tick: told how many calls were hashed, item by item.
    """
    ids, requests, payloads = bytearray(), bytearray(), bytearray()
    shape = frame(block.judge)
    numbers = seeds.tolist()
    start, width = 0, len(block.prompts) * len(block.orders) * len(block.repeats)
    for item in block.items:
        _digest_item(block, item, shape, numbers[start : start + width], (ids, requests, payloads))
        start += width
        tick(width)
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
            cell = _identity(judge, layer, item.id, prompt, order)
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
