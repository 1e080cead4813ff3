"""Seeds: distinct 31-bit integers, by a keyed permutation instead of a truncated hash.

A truncated hash of 31 bits collides after some 50,000 calls; a permutation never does. The
permutation is a four-round Feistel network on 32 bits; values outside the domain are walked on
along their cycle until they fall inside.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

SMALLEST = 1
LARGEST = 2**31 - 1
"""Zero is left out: servers take it for "no seed given"."""

CAPACITY = LARGEST - SMALLEST + 1

_ROUNDS = 4
_HALF = np.uint32(16)
_LOW = np.uint32(0xFFFF)


def distinct_seeds(key: int, start: int, stop: int) -> NDArray[np.int64]:
    """Return the seeds of the ordinals `start` to `stop - 1` under a study's seed.

    The same ordinal always gives the same seed; two ordinals never do.
    """
    if not 0 <= start <= stop <= CAPACITY:
        raise ValueError(f"ordinals {start} to {stop} leave the {CAPACITY} distinct seeds")
    keys = _round_keys(key)
    # The walk starts inside the domain, so the permutation of 32 bits restricts to one of it.
    values = _permute(np.arange(start + SMALLEST, stop + SMALLEST, dtype=np.uint32), keys)
    outside = _outside(values)
    while outside.any():
        values[outside] = _permute(values[outside], keys)
        outside = _outside(values)
    return values.astype(np.int64)


def _outside(values: NDArray[np.uint32]) -> NDArray[np.bool_]:
    return (values < SMALLEST) | (values > LARGEST)


def _round_keys(key: int) -> tuple[np.uint32, ...]:
    digest = hashlib.sha256(f"judgelaw.seeds/1:{key}".encode()).digest()
    return tuple(np.frombuffer(digest, dtype="<u4")[:_ROUNDS])


def _permute(values: NDArray[np.uint32], keys: tuple[np.uint32, ...]) -> NDArray[np.uint32]:
    left, right = values >> _HALF, values & _LOW
    for key in keys:
        left, right = right, left ^ (_mix(right ^ key) & _LOW)
    return (left << _HALF) | right


def _mix(values: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Scramble 32 bits (Wellons' low-bias multiply and xor-shift hash)."""
    values = values ^ (values >> np.uint32(16))
    values = values * np.uint32(0x7FEB352D)
    values = values ^ (values >> np.uint32(15))
    values = values * np.uint32(0x846CA68B)
    return values ^ (values >> np.uint32(16))
