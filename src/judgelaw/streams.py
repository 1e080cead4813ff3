"""Named random streams: every random choice says which stream it draws from.

A stream depends on the seed and on its own name only, so adding one analysis never shifts another.
"""

import hashlib

import numpy as np


def stream(seed: int, *name: str | int) -> np.random.Generator:
    """Return the generator of the stream `name` under `seed`.

    >>> stream(7, "bands", "Natural").integers(100) == stream(7, "bands", "Natural").integers(100)
    np.True_
    """
    # Each part is prefixed by its length, so that ("ab", "c") and ("a", "bc") differ.
    parts = (f"{len(str(part))}:{part}" for part in (seed, *name))
    digest = hashlib.sha256("".join(parts).encode()).digest()
    return np.random.default_rng(np.frombuffer(digest, dtype=np.uint32))
