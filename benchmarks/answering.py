"""A local server that answers every request after a fixed time, as cheaply as Python can.

`python -m benchmarks.answering SECONDS` prints its port and serves until its input is closed; then
it prints how many it answered, and the seconds from the first request to the last answer. It speaks
OpenAI's chat format and remembers nothing of what it was asked.
"""

import asyncio
import contextlib
import json
import sys
import time

_REPLY = {
    "id": "chatcmpl-%012d",
    "object": "chat.completion",
    "created": 1763251200,
    "model": "bench",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "A"},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 180, "completion_tokens": 1, "total_tokens": 181},
}
_BODY = json.dumps(_REPLY).replace("chatcmpl-%012d", "chatcmpl-%s")


class Answering(asyncio.Protocol):
    """Reads requests by their Content-Length and answers each after `delay` seconds."""

    served = 0
    first = last = 0.0

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._buffer = b""

    def connection_made(self, transport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        Answering.first = Answering.first or time.perf_counter()
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end].lower()
            at = head.find(b"content-length:")
            length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self._buffer) < end + 4 + length:
                return
            self._buffer = self._buffer[end + 4 + length :]
            asyncio.get_running_loop().call_later(self._delay, self._answer)

    def _answer(self) -> None:
        self._write(b"200 OK", b"", self._reply())

    def _reply(self) -> bytes:
        Answering.served += 1
        Answering.last = time.perf_counter()
        return (_BODY % f"{Answering.served:012d}").encode()

    def _write(self, status: bytes, headers: bytes, body: bytes) -> None:
        head = b"HTTP/1.1 %s\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n"
        self._transport.write(head % (status, headers, len(body)) + body)


async def main(delay: float) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Answering(delay), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()
    print(json.dumps([Answering.served, Answering.last - Answering.first]), flush=True)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(float(sys.argv[1])))
