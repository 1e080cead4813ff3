"""The port to whatever answers: what a judge is, and which one a provider names."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, Protocol, Self

from judgelaw.errors import InputError
from judgelaw.study import FrozenRun, PlannedCall
from judgelaw.wire import PROVIDERS, WIRES, Answer, BatchClient, Failure, JudgeSpec, Reply, Secrets

if TYPE_CHECKING:
    import aiohttp


class Judge(Protocol):
    """One judge, ready to be asked while its context is open."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *exception: object) -> None: ...

    async def ask(self, call: PlannedCall, body: bytes) -> Reply | Failure:
        """Send the exact bytes once and return what came back; never retry, never raise for it."""
        ...

    def decode(self, reply: Reply) -> Answer | Failure:
        """Read a reply, without effects."""
        ...


def idle_of(judge: Judge) -> Callable[[PlannedCall], float]:
    """Return what says for how long a call has waited for other calls of its judge.

    A judge whose calls hold each other up has a method `idle_s`; such time is not theirs.
    """
    found: Callable[[PlannedCall], float] = getattr(judge, "idle_s", lambda _: 0.0)
    return found


JudgeFunction = Callable[..., Any]
"""Takes a call, gives a text, a reply, or an awaitable of either."""


@dataclass(frozen=True, kw_only=True)
class JudgeContext:
    """What a judge may use: the frozen run, the shared HTTP session, the clock.

    And the functions that Python handed in, by the name of the judge that they answer for; and
    whether a request may still leave, asked right before it does: a process that was stopped in
    between may have lost its calls to others.
    """

    frozen: FrozenRun
    session: "aiohttp.ClientSession"
    clock: Callable[[], float]
    functions: Mapping[str, JudgeFunction] = field(default_factory=dict)
    may_send: Callable[[], bool] = lambda: True


LARGEST_ANSWER = 64 * 2**20
"""Characters or bytes of one answer; larger ones are not taken."""
_SMALL = 2**20


async def masked(secrets: Secrets, body: bytes) -> bytes:
    """Mask a body; a large one beside the event loop, which others wait for."""
    if not secrets or len(body) <= _SMALL:
        return secrets.redact_body(body)
    return await asyncio.to_thread(secrets.redact_body, body)


JudgeFactory = Callable[[JudgeSpec, JudgeContext], Judge]
"""What an entry point of the group `judgelaw.judges` gives."""


def open_batch_client(spec: JudgeSpec, around: JudgeContext) -> BatchClient:
    """Return the batch client of a judge, not yet entered."""
    from judgelaw.judges.http import BatchLink  # noqa: PLC0415 - aiohttp loads when a judge opens

    batches = WIRES[spec.body].batches if spec.body else None
    if batches is None:
        raise InputError(f"judge {spec.name}: its format {spec.body} has no batches; leave it out")
    return batches(BatchLink(spec, around))


GROUP = "judgelaw.judges"


def open_judge(spec: JudgeSpec, around: JudgeContext) -> Judge:
    """Return the judge of a configuration, not yet entered."""
    return _factory(spec)(spec, around)


def _factory(spec: JudgeSpec) -> JudgeFactory:
    # HTTP, NumPy or a model load with the class that asks.
    if provider := PROVIDERS.get(spec.provider):
        point = EntryPoint(spec.provider, provider.opens, GROUP)
    else:
        others = {point.name: point for point in entry_points(group=GROUP)}
        if spec.provider not in others:
            raise InputError(
                f"judge {spec.name}: provider {spec.provider!r} is unknown; there are "
                f"{', '.join([*PROVIDERS, *sorted(others)])}, and an entry point of the group "
                f"{GROUP} adds one"
            )
        point = others[spec.provider]
    factory: JudgeFactory = point.load()
    return factory
