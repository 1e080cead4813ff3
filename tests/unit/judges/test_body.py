"""A body that is larger than it may be is not read to its end."""

import asyncio

import pytest

from judgelaw.judges.http import read_body


class Body:
    """As much of a body as is read: chunks that come one by one, and a length that may lie."""

    def __init__(self, chunks, **headers):
        self.headers = headers
        self.sent = 0
        self._chunks = chunks

    async def iter_any(self):
        for chunk in self._chunks:
            self.sent += 1
            yield chunk

    async def read(self):
        return b"".join(self._chunks)


@pytest.mark.parametrize(
    "shown",
    [{}, {"Content-Length": "20"}, {"Content-Length": "5", "Content-Encoding": "gzip"}],
    ids=["none", "long", "packed"],
)
def test_reading_stops_where_it_is_too_much(shown):
    body = Body([b"12345"] * 4, **shown)
    assert asyncio.run(read_body(body, body.headers, most=10)) is None
    assert body.sent == 3


@pytest.mark.parametrize("shown", [{}, {"Content-Length": "10"}])
def test_what_just_fits_is_whole(shown):
    body = Body([b"12345"] * 2, **shown)
    assert asyncio.run(read_body(body, body.headers, most=10)) == b"1234512345"
