"""A provider in a process of its own that misbehaves by a seed, and writes down what it did.

`python faulty.py LOG SEED` prints its port and serves until its input is closed. A line of the log
is written when a request has come, and another when it was served: the SHA-256 of the request, the
name of the reply, and `came`, or the mode in which it was answered. Of 100 requests some twenty
meet a fault; `whole` is a reply that was sent to its last byte.
"""

import asyncio
import hashlib
import json
import os
import random
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

MODES = ("whole", "odd", "slow", "500", "429", "cut", "no JSON", "reset", "error beside")
WEIGHTS = (74, 6, 4, 3, 3, 3, 2, 3, 2)
ANSWERS = ("whole", "odd", "slow")
"""Modes that are an answer; the others are failed attempts."""
SLOW_S = 0.3


class Served:
    """What the server wrote down."""

    def __init__(self, log: Path, port: int) -> None:
        self._log = log
        self.base_url = f"http://127.0.0.1:{port}/v1"

    def lines(self) -> list[list[str]]:
        """Return what it wrote, whole lines only."""
        text = self._log.read_text() if self._log.exists() else ""
        return [line.split(" ", 2) for line in text.split("\n")[:-1]]

    @property
    def requests(self) -> Counter:
        """How often each request came."""
        return Counter(digest for digest, _, what in self.lines() if what == "came")

    def answers(self) -> dict[str, set[str]]:
        """Return the replies that were sent whole, by request."""
        found: dict[str, set[str]] = {}
        for digest, name, what in self.lines():
            if what in ANSWERS:
                found.setdefault(digest, set()).add(name)
        return found


@contextmanager
def faulty(log: Path, seed: int):
    command = [sys.executable, __file__, str(log), str(seed)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield Served(log, int(process.stdout.readline()))
        process.stdin.close()


def body(name: str, mode: str) -> bytes:
    """Write a chat completion."""
    choice = {"index": 0, "message": {"content": "A"}, "finish_reason": "stop"}
    whole = {"id": name, "model": "m", "choices": [choice]}
    if mode == "error beside":
        whole["error"] = {"message": "and yet"}
    text = json.dumps(whole)
    if mode == "odd":
        text = text[:-1] + ', "usage": {"prompt_tokens": NaN, "completion_tokens": 1e999}}'
    return b"<html>" if mode == "no JSON" else text.encode()


def head(status: str, length: int) -> bytes:
    lines = (f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {length}")
    return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n"


async def serve(path: str, seed: int) -> None:
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    chance, number = random.Random(seed), 0

    def note(*said: str) -> None:
        os.write(log, " ".join(said).encode() + b"\n")

    async def answer(reader, writer) -> None:
        nonlocal number
        try:
            while True:
                asked = await reader.readuntil(b"\r\n\r\n")
                length = int(asked.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                digest = hashlib.sha256(await reader.readexactly(length)).hexdigest()
                number += 1
                name, (mode,) = f"chatcmpl-{number}", chance.choices(MODES, WEIGHTS)
                note(digest, name, "came")
                content = body(name, mode)
                await asyncio.sleep(SLOW_S if mode == "slow" else 0.005)
                status = {"500": "500 Busy", "429": "429 Slow down"}.get(mode, "200 OK")
                if mode == "reset":
                    note(digest, name, mode)
                    writer.transport.abort()
                    return
                writer.write(head(status, len(content)))
                writer.write(content[: len(content) // 2] if mode == "cut" else content)
                await writer.drain()
                note(digest, name, mode)
                if mode == "cut":
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client was killed, which is the point
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], int(sys.argv[2])))
