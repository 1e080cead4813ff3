"""A provider in a process of its own that writes down every request before it answers.

`python counting.py LOG SECONDS [WORDS]` prints its port and serves until its input is closed. A
line of the log is the SHA-256 of a request body, in the sequence of arrival. It says WORDS, else A.
"""

import asyncio
import hashlib
import json
import os
import sys

REPLY = {
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": (sys.argv[3:] or ["A"])[0]},
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 100, "completion_tokens": 1},
}


class Counting:
    def __init__(self, log: int, delay: float) -> None:
        self._log, self._delay, self._count = log, delay, 0

    async def serve(self, reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                body = await reader.readexactly(length)
                self._count += 1
                os.write(self._log, hashlib.sha256(body).hexdigest().encode() + b"\n")
                answer = json.dumps({"id": f"chatcmpl-{self._count}", **REPLY}).encode()
                await asyncio.sleep(self._delay)
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                    b"Content-Length: %d\r\n\r\n" % len(answer) + answer
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client was killed, which is the point
        finally:
            writer.close()


async def main(path: str, delay: float) -> None:
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    server = await asyncio.start_server(Counting(log, delay).serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2])))
