"""The embedded judge: a model of our own, asked in one state of its prompt cache.

A call that finds its prompt in the cache evaluates the last token alone; one that does not
evaluates it in a batch, and the two laws differ (see `embedded_server`). So a prompt that is not
the one in the slot is first sent with a cap of one token, and that reply is thrown away: every
call that counts then finds the whole prompt cached, in any schedule. The price is one evaluation
of one token for each change of prompt; `schedule: cells` changes it once a cell.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Self

import aiohttp

from judgelaw.design.judge import JudgeSpec
from judgelaw.design.manifest import PlannedCall
from judgelaw.errors import InputError, RunError
from judgelaw.judges.embedded_server import EmbeddedServer
from judgelaw.judges.http import HttpJudge
from judgelaw.judges.protocol import Surroundings
from judgelaw.judges.reply import Answer, Failure, Reply

_OK = 200


class EmbeddedJudge:
    """Serves the model of a judge while the context is open, and asks it one call at a time."""

    def __init__(self, spec: JudgeSpec, around: Surroundings) -> None:
        if spec.prime and spec.n_parallel > 1:
            raise InputError(
                f"judge {spec.name}: n_parallel = {spec.n_parallel} evaluates several prompts in "
                "one batch, which shifts their laws, and slots cannot be primed then: leave "
                "n_parallel out, or write prime: false to accept the shift"
            )
        self._spec = spec
        self._around = around
        self._server = EmbeddedServer(spec)
        self._session: aiohttp.ClientSession | None = None
        self._http: HttpJudge | None = None
        self._turn = asyncio.Semaphore(spec.n_parallel)
        self._primed: str | None = None

    async def __aenter__(self) -> Self:
        try:
            await _in_thread_to_the_end(self._server.start)
        except BaseException:
            await _in_thread_to_the_end(self._server.stop)
            raise
        # The server closes idle connections after five seconds; a new one costs nothing here,
        # while a stale one would cost a failed attempt.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(force_close=True),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
            trust_env=False,
        )
        around = replace(self._around, session=self._session)
        self._http = HttpJudge(self._spec, around, base_url=self._server.base_url)
        return self

    async def __aexit__(self, *exception: object) -> None:
        if self._session is not None:
            await self._session.close()
        await _in_thread_to_the_end(self._server.stop)

    async def ask(self, call: PlannedCall, body: bytes) -> Reply | Failure:
        """Send the exact bytes once, after a discarded request if the prompt is another one."""
        async with self._turn:
            if self._spec.prime and call.payload_sha256 != self._primed:
                # Until the reply is there the slot is in no known state.
                self._primed = None
                primer = await self._send(call, primer_request(body))
                if isinstance(primer, Failure) or primer.status != _OK:
                    return primer
            reply = await self._send(call, body)
            self._primed = call.payload_sha256 if isinstance(reply, Reply) else None
            return reply

    def decode(self, reply: Reply) -> Answer | Failure:
        """Read a reply, without effects."""
        return self._asker().decode(reply)

    async def _send(self, call: PlannedCall, body: bytes) -> Reply | Failure:
        try:
            reply = await self._asker().ask(call, body)
        except BaseException:
            self._primed = None
            raise
        if isinstance(reply, Failure) and not self._server.alive:
            raise RunError(
                f"judge {self._spec.name}: the embedded model is gone, {self._server.last_words()}"
                "\nWhat was answered is safe: the same command resumes."
            )
        return reply

    def _asker(self) -> HttpJudge:
        if self._http is None:
            raise RunError(f"judge {self._spec.name} is not open: enter its context first")
        return self._http


def primer_request(body: bytes) -> bytes:
    """Return the request that puts the prompt of `body` into the cache: a cap of one token.

    >>> primer_request(b'{"messages":[],"max_tokens":8}')
    b'{"messages": [], "max_tokens": 1}'
    """
    fields = json.loads(body)
    fields.pop("max_completion_tokens", None)
    return json.dumps({**fields, "max_tokens": 1}).encode()


async def _in_thread_to_the_end(work: Callable[[], None]) -> None:
    """Run blocking work in a thread; a cancellation waits for it, so no process is left behind."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        await running
        raise
