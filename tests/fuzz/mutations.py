"""Seeded mutations of a corpus: the same cases on every machine, without a fuzzer installed."""

import random
from collections.abc import Iterator, Sequence

_MOST_CHANGES = 6
_LONGEST = 4_000


def mutations(
    corpus: Sequence[bytes], words: Sequence[bytes], *, seed: int, count: int
) -> Iterator[bytes]:
    """Yield `count` inputs, each made of one of the corpus by a few changes."""
    rng = random.Random(seed)
    for _ in range(count):
        data = bytearray(rng.choice(corpus))
        for _ in range(rng.randint(1, _MOST_CHANGES)):
            _change(data, corpus, words, rng)
        yield bytes(data[:_LONGEST])


def _change(
    data: bytearray, corpus: Sequence[bytes], words: Sequence[bytes], rng: random.Random
) -> None:
    at, end = sorted(rng.choices(range(len(data) + 1), k=2))
    kind = rng.randrange(8)
    if kind == 0:
        del data[at : min(end, at + 40)]
    elif kind == 1:
        data[at:at] = rng.choice(words)
    elif kind == 2:  # noqa: PLR2004 - the number of the change
        data[at : min(end, at + 12)] = rng.choice(words)
    elif kind == 3:  # noqa: PLR2004 - same
        data[at:at] = data[at : min(end, at + 200)] * rng.randint(1, 3)
    elif kind == 4:  # noqa: PLR2004 - same
        other = rng.choice(corpus)
        data[at:] = other[rng.randrange(len(other) + 1) :]
    elif kind == 5:  # noqa: PLR2004 - same
        _replace_value(data, at, rng)
    elif data:
        place = min(at, len(data) - 1)
        data[place] = rng.randrange(256) if kind == 6 else data[place] ^ 1 << rng.randrange(8)  # noqa: PLR2004 - same


_VALUES = (
    b"null",
    b"true",
    b"-1",
    b"1e999",
    b"[]",
    b"{}",
    b'""',
    b"[[]]",
    b'[{"a": 1}]',
    b'"x"',
    b"0",
    b"18446744073709551616",
)


def _replace_value(data: bytearray, at: int, rng: random.Random) -> None:
    """Put another JSON or YAML value behind the next colon: the types change, the form stays."""
    colon = data.find(b":", at)
    if colon < 0:
        return
    start = colon + 1
    while start < len(data) and data[start] == ord(" "):
        start += 1
    data[start : _end_of_value(data, start)] = rng.choice(_VALUES)


def _end_of_value(data: bytearray, start: int) -> int:
    depth = 0
    quoted = False
    for place in range(start, min(len(data), start + 400)):
        byte = data[place]
        if byte == ord('"'):
            quoted = not quoted
        elif quoted:
            continue
        elif byte in b"[{":
            depth += 1
        elif byte in b"]}":
            depth -= 1
        if depth < 0 or (depth == 0 and byte in b",\n"):
            return place
    return start
