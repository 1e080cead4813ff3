"""How much of a planned table is there."""

import re

from judgelaw.tensor import VerdictTensor

_DROPPED = re.compile(r"dropped (\d+) of (\d+) items")


def coverage(tensor: VerdictTensor) -> float:
    """Return the share of calls that are there, of a full table at the deepest cell's depth.

    Items that were dropped as incomplete count as missing altogether.
    """
    items, prompts, orders, _ = tensor.counts.shape
    notes = [match for note in tensor.notes if (match := _DROPPED.search(note))]
    lost = sum(int(match[1]) for match in notes)
    planned: int = (items + lost) * prompts * orders * tensor.depth[1]
    return int(tensor.counts.sum()) / planned
