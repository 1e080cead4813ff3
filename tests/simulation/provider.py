"""A provider and the network before it, in the process and the time of the simulation.

It takes the place of the HTTP session, so that everything from the rendered bytes to the stored
row is the program's own. What reaches it, what it answers and what arrives is noted in the history.
"""

import asyncio
import hashlib
import json
import math
import random
from dataclasses import dataclass

import aiohttp
from multidict import CIMultiDict

from servers.provider import chat_body
from simulation.history import History


@dataclass(frozen=True, kw_only=True)
class Weather:
    """How often what goes wrong, as shares of all requests; `slow_s` is the longest delay."""

    unreachable: float = 0.0
    lost: float = 0.0
    late: float = 0.0
    reply_lost: float = 0.0
    reset: float = 0.0
    cut: float = 0.0
    doubled: float = 0.0
    stale: float = 0.0
    throttled: float = 0.0
    broken: float = 0.0
    nonsense: float = 0.0
    rejected: float = 0.0
    refused: float = 0.0
    slow_s: float = 1.0


FAIR = Weather()
_RARE = ("rejected", "refused")
_COMMON = (
    *("unreachable", "lost", "late", "reply_lost", "reset", "cut"),
    *("doubled", "stale", "throttled", "broken", "nonsense"),
)
_ERRORS = {
    "throttled": (429, b'{"error": {"code": "rate_limit"}}'),
    "broken": (503, b"<html>upstream</html>"),
    "nonsense": (200, b'{"choices": ['),
    "rejected": (400, b'{"error": {"message": "no such model"}}'),
    "refused": (401, b'{"error": {"message": "no such key"}}'),
}


def draw_weather(dice: random.Random, timeout_s: float) -> Weather:
    """Draw what goes wrong in one session: usually a few things, sometimes many."""
    often = dice.choice((0.0, 0.02, 0.1))
    shares = {name: often * dice.random() for name in _COMMON if dice.random() < 0.6}
    rare = dict.fromkeys((name for name in _RARE if dice.random() < 0.1), 0.01)
    return Weather(**shares, **rare, slow_s=timeout_s * dice.choice((0.05, 0.5, 1.5)))


class Provider:
    """Stands where the HTTP session stands."""

    def __init__(self, history: History, calls: dict[str, str]) -> None:
        self.begin(FAIR, random.Random(0))
        self._history = history
        self._calls = calls
        self._answers: dict[str, list[bytes]] = {}
        self._askers: dict[str, str] = {}
        self._count = 0

    def begin(self, weather: Weather, dice: random.Random) -> None:
        """Begin a session."""
        self._weather, self._dice = weather, dice

    async def __aenter__(self):
        return self

    async def __aexit__(self, *exception):
        pass

    def post(self, _url, *, data: bytes, **_options):
        """Send a request; the context gives the response."""
        return _Exchange(self, data)

    async def exchange(self, body: bytes) -> "_Response":
        """Carry a request there and a reply back, as far as the weather lets them."""
        call = self._calls[hashlib.sha256(body).hexdigest()]
        if self._history.dead:
            raise aiohttp.ClientConnectionError("the process is dead")
        self._history.send(call)
        await self.delay()
        if self.happens("unreachable"):
            raise aiohttp.ClientConnectionError("unreachable")
        if self.happens("lost"):
            await _for_ever()
        self._history.arrive(call)
        if self.happens("doubled"):  # the network sends it twice: answered and paid twice
            self.answer(call)
        status, content, headers = self._respond(call)
        await self.delay()
        if self.happens("reply_lost"):
            await _for_ever()
        if self.happens("reset"):
            raise aiohttp.ServerDisconnectedError
        whole = not self.happens("cut")
        if whole and content in self._answers.get(call, ()):
            self._history.deliver(call)
        if not whole:
            raise aiohttp.ClientPayloadError("the body ended early")
        return _Response(status, content, headers)

    def _respond(self, call: str) -> tuple[int, bytes, dict[str, str]]:
        for name, (status, body) in _ERRORS.items():
            if self.happens(name):
                return status, body, {"Retry-After": "2"} if status == 429 else {}
        if self._answers.get(call) and self.happens("stale"):
            return 200, self._dice.choice(self._answers[call]), {"Age": "7"}
        return 200, self.answer(call), {}

    def answer(self, call: str) -> bytes:
        """Answer as a model does: anew each time, whatever it said before."""
        self._count += 1
        text = self._dice.choice(("A", "B", "TIE", "", "I cannot say"))
        text = f"{text}\nreply {self._count}"
        said = json.dumps(chat_body(text, number=self._count)).encode()
        self._askers[text] = call
        self._answers.setdefault(call, []).append(said)
        self._history.answer(call, said)
        return said

    def asked_by(self, text: str) -> str:
        """Return the call that this text answers."""
        return self._askers[text]

    def happens(self, fault: str) -> bool:
        """Draw whether something goes wrong this time."""
        return self._dice.random() < getattr(self._weather, fault)

    def draw(self, low: float, high: float) -> float:
        """Draw a number."""
        return self._dice.uniform(low, high)

    def send(self, call: str) -> None:
        """Note that a call leaves the process in a batch."""
        if not self._history.dead:
            self._history.send(call)

    def arrive(self, call: str) -> None:
        """Note that a call is there in a batch, whoever is still alive."""
        self._history.arrive(call)

    def deliver(self, call: str) -> None:
        """Note that an answer from a batch is with the process."""
        if not self._history.dead:
            self._history.deliver(call)

    async def delay(self) -> None:
        """Take some time, spread over orders of magnitude: replies overtake each other."""
        await asyncio.sleep(math.exp(self._dice.uniform(math.log(1e-3), math.log(self._slow_s))))

    @property
    def _slow_s(self) -> float:
        return max(2e-3, self._weather.slow_s)


class _Exchange:
    """What `async with session.post(...)` enters."""

    def __init__(self, provider: Provider, body: bytes) -> None:
        self._provider, self._body = provider, body

    async def __aenter__(self):
        return await self._provider.exchange(self._body)

    async def __aexit__(self, *exception):
        pass


class _Response:
    """As much of a response as is read."""

    def __init__(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.status = status
        self.headers = CIMultiDict({**headers, "Content-Length": str(len(body))})
        self.content = self
        self._body = body

    async def read(self) -> bytes:
        return self._body


async def _for_ever() -> None:
    await asyncio.get_running_loop().create_future()
