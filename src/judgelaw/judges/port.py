"""The port to whatever answers: what a judge is, and which one a provider names."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Protocol, Self

from judgelaw.errors import InputError
from judgelaw.study import FrozenRun, PlannedCall
from judgelaw.wire import WIRES, Answer, BatchClient, Failure, JudgeSpec, Reply

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


JudgeFunction = Callable[..., Any]
"""Takes a call, gives a text, a reply, or an awaitable of either."""


@dataclass(frozen=True, kw_only=True)
class JudgeContext:
    """What a judge may use: the frozen run, the shared HTTP session, the clock.

    And the functions that Python handed in, by the name of the judge that they answer for.
    """

    frozen: FrozenRun
    session: "aiohttp.ClientSession"
    clock: Callable[[], float]
    functions: Mapping[str, JudgeFunction] = field(default_factory=dict)


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


def _http(spec: JudgeSpec, around: JudgeContext) -> Judge:
    from judgelaw.judges.http import HttpJudge  # noqa: PLC0415 - aiohttp loads when a judge opens

    return HttpJudge(spec, around)


def _simulated(spec: JudgeSpec, around: JudgeContext) -> Judge:
    from judgelaw.judges.simulated import SimulatedJudge  # noqa: PLC0415 - loads NumPy

    return SimulatedJudge(spec, around)


def _embedded(spec: JudgeSpec, around: JudgeContext) -> Judge:
    from judgelaw.judges.embedded import EmbeddedJudge  # noqa: PLC0415 - needs the extra

    judge: Judge = EmbeddedJudge(spec, around)
    return judge


def _python(spec: JudgeSpec, around: JudgeContext) -> Judge:
    from judgelaw.judges.python import PythonJudge  # noqa: PLC0415 - loads when a judge opens

    return PythonJudge(spec, around)


def _command(spec: JudgeSpec, around: JudgeContext) -> Judge:
    from judgelaw.judges.command import CommandJudge  # noqa: PLC0415 - loads when a judge opens

    return CommandJudge(spec, around)


BUILT_IN: dict[str, JudgeFactory] = {
    **{name: _http for name, wire in WIRES.items() if wire.path is not None},
    "embedded": _embedded,
    "simulated": _simulated,
    "python": _python,
    "command": _command,
}


def open_judge(spec: JudgeSpec, around: JudgeContext) -> Judge:
    """Return the judge of a configuration, not yet entered."""
    return _factory(spec)(spec, around)


def _factory(spec: JudgeSpec) -> JudgeFactory:
    if spec.provider in BUILT_IN:
        return BUILT_IN[spec.provider]
    others = {point.name: point for point in entry_points(group=GROUP)}
    if spec.provider not in others:
        raise InputError(
            f"judge {spec.name}: provider {spec.provider!r} is unknown; there are "
            f"{', '.join([*BUILT_IN, *sorted(others)])}, and an entry point of the group {GROUP} "
            "adds one"
        )
    factory: JudgeFactory = others[spec.provider].load()
    return factory
