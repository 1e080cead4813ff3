"""Seeded mutations of a corpus: the same cases on every machine, without a fuzzer installed."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

_MOST_CHANGES = 6
_LONGEST = 4_000
_VALUES = (
    *(b"null", b"true", b"-1", b"0", b"1e999", b"18446744073709551616", b'""', b'"x"'),
    *(b"[]", b"{}", b"[[]]", b'[{"a": 1}]'),
)


def mutations(
    corpus: Sequence[bytes], words: Sequence[bytes], *, seed: int, count: int
) -> Iterator[bytes]:
    """Yield `count` inputs, each made of one of the corpus by a few changes."""
    rng = random.Random(seed)
    for _ in range(count):
        yield changed(rng.choice(corpus), corpus, words, rng)[:_LONGEST]


def changed(
    data: bytes, corpus: Sequence[bytes], words: Sequence[bytes], rng: random.Random
) -> bytes:
    """Return the input with a few changes."""
    draft = _Draft(bytearray(data), corpus, words, rng)
    for _ in range(rng.randint(1, _MOST_CHANGES)):
        at, end = sorted(rng.choices(range(len(draft.data) + 1), k=2))
        rng.choice(_CHANGES)(draft, at, end)
    return bytes(draft.data)


@dataclass
class _Draft:
    data: bytearray
    corpus: Sequence[bytes]
    words: Sequence[bytes]
    rng: random.Random


def _cut(draft: _Draft, at: int, end: int) -> None:
    del draft.data[at : min(end, at + 40)]


def _insert(draft: _Draft, at: int, _end: int) -> None:
    draft.data[at:at] = draft.rng.choice(draft.words)


def _overwrite(draft: _Draft, at: int, end: int) -> None:
    draft.data[at : min(end, at + 12)] = draft.rng.choice(draft.words)


def _repeat(draft: _Draft, at: int, end: int) -> None:
    draft.data[at:at] = draft.data[at : min(end, at + 200)] * draft.rng.randint(1, 3)


def _splice(draft: _Draft, at: int, _end: int) -> None:
    other = draft.rng.choice(draft.corpus)
    draft.data[at:] = other[draft.rng.randrange(len(other) + 1) :]


def _byte(draft: _Draft, at: int, _end: int) -> None:
    draft.data[at : at + 1] = bytes([draft.rng.randrange(256)])


def _bit(draft: _Draft, at: int, _end: int) -> None:
    if at < len(draft.data):
        draft.data[at] ^= 1 << draft.rng.randrange(8)


def _value(draft: _Draft, at: int, _end: int) -> None:
    """Put another JSON or YAML value behind the next colon: the type changes, the form stays."""
    data = draft.data
    colon = data.find(b":", at)
    if colon < 0:
        return
    start = colon + 1
    while data[start : start + 1] == b" ":
        start += 1
    data[start : _end_of_value(data, start)] = draft.rng.choice(_VALUES)


_CHANGES: tuple[Callable[[_Draft, int, int], None], ...] = (
    *(_cut, _insert, _overwrite, _repeat, _splice, _byte, _bit, _value),
)


def _end_of_value(data: bytearray, start: int) -> int:
    depth, quoted = 0, False
    for place in range(start, min(len(data), start + 400)):
        byte = data[place]
        if byte == ord('"'):
            quoted = not quoted
        if quoted:
            continue
        depth += (byte in b"[{") - (byte in b"]}")
        if depth < 0 or (depth == 0 and byte in b",\n"):
            return place
    return start
