"""The body of a response, no larger than it may be."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import aiohttp


async def read_body(response: "aiohttp.ClientResponse", *, most: int) -> bytes | None:
    """Return the body, None where it is larger than `most` bytes; then no more is read."""
    length = response.content_length
    if length is not None and length <= most and not response.headers.get("Content-Encoding"):
        return await response.read()
    chunks, size = [], 0
    async for chunk in response.content.iter_any():
        chunks.append(chunk)
        size += len(chunk)
        if size > most:
            response.close()
            return None
    return b"".join(chunks)
