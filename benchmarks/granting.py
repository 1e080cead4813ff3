"""A local server that grants what a token bucket holds, and answers 429 for the rest.

`python -m benchmarks.granting SAYS RATE BURST HALVES` prints its port and serves until its input is
closed; then it prints what it granted, answered and refused. SAYS is `nothing`, `retry-after` (one
whole second) or `headers` (OpenAI's); HALVES says after how many answers the rate halves, 0 never.
"""

import asyncio
import contextlib
import json
import math
import sys
import time

from benchmarks.answering import Answering

DELAY_S = 0.05
SETTLED_S = 10.0


class Granting(Answering):
    """Answers while the bucket holds something."""

    says, rate, burst, halves = "nothing", 80.0, 40.0, 0
    level, at, granted = 40.0, 0.0, 40.0
    asked_late = refused = refused_late = 0

    def _answer(self) -> None:
        kind = Granting
        now = time.perf_counter() - DELAY_S
        kind.at = kind.at or now
        rate = kind.rate / 2 if kind.halves and Answering.served >= kind.halves else kind.rate
        gained = rate * (now - kind.at)
        kind.granted += gained
        kind.level, kind.at = min(kind.burst, kind.level + gained), now
        late = now > Answering.first + SETTLED_S
        kind.asked_late += late
        if kind.level >= 1.0:
            kind.level -= 1.0
            self._write(b"200 OK", self._left(rate), self._reply())
            return
        kind.refused += 1
        kind.refused_late += late
        body = b'{"error": {"message": "Rate limit reached", "code": "rate_limit_exceeded"}}'
        more = b"Retry-After: 1\r\n" if kind.says == "retry-after" else self._left(rate)
        self._write(b"429 Too Many Requests", more, body)

    def _left(self, rate: float) -> bytes:
        kind = Granting
        if kind.says != "headers":
            return b""
        lines = {
            "limit": f"{kind.burst:.0f}",
            "remaining": f"{math.floor(kind.level)}",
            "reset": f"{1000 * (kind.burst - kind.level) / rate:.0f}ms",
        }
        text = "".join(f"x-ratelimit-{k}-requests: {v}\r\n" for k, v in lines.items())
        return text.encode()


async def main(says: str, rate: float, burst: float, halves: int) -> None:
    kind = Granting
    kind.says, kind.rate, kind.burst, kind.halves = says, rate, burst, halves
    kind.level = kind.granted = burst
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Granting(DELAY_S), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()
    found = {
        "granted": kind.granted,
        "answered": Answering.served,
        "refused": kind.refused,
        "asked_late": kind.asked_late,
        "refused_late": kind.refused_late,
        "seconds": Answering.last - Answering.first,
    }
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(sys.argv[1], *map(float, sys.argv[2:4]), int(sys.argv[4])))
