"""The port to whatever answers: one small protocol, so that judges can be added from outside."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

from judgelaw.design.judge import JudgeSpec
from judgelaw.design.manifest import FrozenRun, PlannedCall
from judgelaw.judges.reply import Answer, Failure, Reply

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


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What a judge may use: the frozen run, the shared HTTP session, the clock."""

    frozen: FrozenRun
    session: "aiohttp.ClientSession"
    clock: Callable[[], float]


JudgeFactory = Callable[[JudgeSpec, Surroundings], Judge]
"""What an entry point of the group `judgelaw.judges` gives."""
