"""A body that is larger than it may be is not read to its end."""

import asyncio

import pytest

from judgelaw.judges.http import read_body


class Response:
    """As much of a response as is read: chunks that come one by one, and a length that may lie."""

    def __init__(self, chunks, *, length=None, encoding=None):
        self.content_length = length
        self.headers = {} if encoding is None else {"Content-Encoding": encoding}
        self.content = self
        self.closed = False
        self.sent = 0
        self._chunks = chunks

    async def iter_any(self):
        for chunk in self._chunks:
            self.sent += 1
            yield chunk

    async def read(self):
        return b"".join(self._chunks)

    def close(self):
        self.closed = True


@pytest.mark.parametrize(
    "shown", [{}, {"length": 20}, {"length": 5, "encoding": "gzip"}], ids=["none", "long", "packed"]
)
def test_reading_stops_where_it_is_too_much(shown):
    response = Response([b"12345"] * 4, **shown)
    assert asyncio.run(read_body(response, most=10)) is None
    assert response.closed
    assert response.sent == 3


@pytest.mark.parametrize("shown", [{}, {"length": 10}])
def test_what_just_fits_is_whole(shown):
    response = Response([b"12345"] * 2, **shown)
    assert asyncio.run(read_body(response, most=10)) == b"1234512345"
    assert not response.closed
