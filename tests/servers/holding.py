"""A provider in a process of its own that can hold its answers back, and notes when it was asked.

`python holding.py FOLDER SECONDS` prints its port and serves until its input is closed. A line of
FOLDER/requests is the SHA-256 of a request body and the time of its arrival. While FOLDER/hold
exists nothing is answered.
"""

import asyncio
import hashlib
import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

REPLY = {
    "model": "m",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "A"}, "finish_reason": "stop"}
    ],
    "usage": {"prompt_tokens": 100, "completion_tokens": 1},
}


class Provider:
    """The server as a test sees it."""

    def __init__(self, folder: Path, port: int) -> None:
        self._log, self._hold = folder / "requests", folder / "hold"
        self.port = port
        self.base_url = f"http://127.0.0.1:{port}/v1"

    @property
    def requests(self) -> list[tuple[str, float]]:
        """Body hash and arrival time of every request so far."""
        if not self._log.exists():
            return []
        lines = self._log.read_text().splitlines()
        return [(digest, float(at)) for digest, at in map(str.split, lines)]

    def hold(self) -> None:
        self._hold.touch()

    def release(self) -> None:
        self._hold.unlink()

    def until(self, count: int, timeout_s: float = 60.0) -> None:
        """Wait until so many requests have come."""
        deadline = time.monotonic() + timeout_s
        while len(self.requests) < count:
            assert time.monotonic() < deadline, f"{len(self.requests)} requests of {count}"
            time.sleep(0.005)


@contextmanager
def provider(folder: Path, delay_s: float = 0.005):
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, __file__, str(folder), str(delay_s)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield Provider(folder, int(process.stdout.readline()))
        process.stdin.close()


async def serve(folder: Path, delay_s: float) -> None:
    log = os.open(folder / "requests", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    count = 0

    async def answer(reader, writer) -> None:
        nonlocal count
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                body = await reader.readexactly(length)
                count += 1
                os.write(log, f"{hashlib.sha256(body).hexdigest()} {time.time():.6f}\n".encode())
                reply = json.dumps({"id": f"chatcmpl-{count}", **REPLY}).encode()
                await asyncio.sleep(delay_s)
                while (folder / "hold").exists():  # noqa: ASYNC110 - another process decides
                    await asyncio.sleep(0.005)
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                    b"Content-Length: %d\r\n\r\n" % len(reply) + reply
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client was killed, which is the point
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), float(sys.argv[2])))
