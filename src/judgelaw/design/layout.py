"""Which call goes when, with which seed, and which hidden label: arrays, no files."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgelaw.design.blueprint import Block
from judgelaw.streams import stream

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
            together, rank by rank.
        seed: the study's seed.
        session: 0 for the first freeze, then the number of the extension.
    """
    random = stream(seed, "schedule", session)
    if kind == "random":
        return random.permutation(sum(block.count for block in blocks))
    groups: list[Places] = []
    ranks: list[Places] = []
    first = 0
    for block in blocks:
        where = locate(block, np.arange(block.count))
        # Slots of a control block share one request, so they stay together like repeats.
        group = where.item * len(block.orders) + where.order if block.hides_labels else where.cell
        rank = where.repeat * len(block.prompts) + where.prompt
        groups.append(first + group)
        ranks.append(rank)
        first += int(group.max(initial=-1)) + 1
    shuffled = random.permutation(first)
    return np.lexsort((np.concatenate(ranks), shuffled[np.concatenate(groups)]))


def hidden_labels(block: Block, seed: int) -> Places:
    """Assign the labels of a control block: one entry a call, counted from 0.

    Inside every item-order-repeat block each label goes to one slot, without replacement.
    """
    shape = (len(block.items), len(block.orders), len(block.repeats), len(block.prompts))
    name = (block.judge.name, block.layer.name, block.repeats.start)
    labels = stream(seed, "control", *name).permuted(
        np.broadcast_to(np.arange(shape[-1]), shape), axis=-1
    )
    return np.ascontiguousarray(labels.transpose(0, 3, 1, 2)).reshape(-1)
