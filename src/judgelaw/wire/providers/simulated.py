"""A judge whose law is declared: no network, and yet parser and restoration do their work."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Self

from judgelaw.errors import InputError
from judgelaw.streams import stream
from judgelaw.tensor import DEFAULT_VERDICTS
from judgelaw.wire.form import Fault, Provider, WireFormat
from judgelaw.wire.judge_spec import JsonParser, JudgeSpec, Law
from judgelaw.wire.parsers import display
from judgelaw.wire.providers.openai import CHAT, COMPLETIONS
from judgelaw.wire.reply import Answer, Failure, Reply
from judgelaw.words import MOST_CANDIDATES, candidate_names, is_permutation

if TYPE_CHECKING:
    from judgelaw.judges import JudgeContext
    from judgelaw.study import FrozenRun, PlannedCall

_GARBAGE = "?"
_INVALID = "invalid"
_CELLS_KEPT = 4096
_TOLERANCE = 1e-9


class SimulatedJudge:
    """Answers each call with a draw from its cell's law, by the seed of the call."""

    def __init__(self, spec: JudgeSpec, around: "JudgeContext") -> None:
        if spec.law is None:
            raise InputError(f"judge {spec.name}: a simulated judge answers from a law; declare it")
        self._spec = spec
        self._law = _laws_of(spec.law, around.frozen)
        self._clock = around.clock

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        pass

    async def ask(self, call: "PlannedCall", body: bytes) -> Reply | Failure:
        """Draw a verdict and say it as a model would, in the labels that it was shown."""
        verdict = draw(self._law(call), call)
        text = _said(self._spec, verdict, call.order)
        tokens = len(body) // 4
        reply = {
            "id": f"simulated-{call.call_id}",
            "model": self._spec.model,
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"content": text}},
            ],
            "usage": {"prompt_tokens": tokens, "completion_tokens": 1},
        }
        return Reply(status=200, body=json.dumps(reply, separators=(",", ":")).encode())

    def decode(self, reply: Reply) -> Answer | Failure:
        """Read a reply, without effects."""
        return CHAT.read(reply, now=self._clock())


CellLaw = Callable[["PlannedCall"], Mapping[str, float]]


def _laws_of(law: Law, frozen: "FrozenRun") -> CellLaw:
    """Return what gives each call the law of its cell."""
    # A control layer shows one template in all its slots.
    shown = _control_prompts(frozen)
    if law.world is None:
        return lambda call: _written_law(law, call, shown.get(call.layer) or call.prompt)
    from judgelaw.worlds import World  # noqa: PLC0415 - numpy loads for a world only

    world = World.from_spec(law.world)
    prompts, orders = list(frozen.templates), list(frozen.study.order_labels)

    @lru_cache(maxsize=_CELLS_KEPT)
    def cell(item: str, prompt: str, order: str) -> Mapping[str, float]:
        at = prompts.index(prompt), orders.index(order)
        p = world.cell_law(item, *at, len(prompts), len(orders))
        return dict(zip(world.verdicts, p.tolist(), strict=True))

    return lambda call: cell(call.item, shown.get(call.layer) or call.prompt, call.order)


def _written_law(law: Law, call: "PlannedCall", prompt: str) -> Mapping[str, float]:
    cell = {"item": call.item, "prompt": prompt, "order": call.order}
    for candidate in law.cells:
        if all(getattr(candidate, key) in (None, value) for key, value in cell.items()):
            return candidate.verdicts
    return law.verdicts or {}


def draw(law: Mapping[str, float], call: "PlannedCall") -> str:
    """Draw a verdict; the call's seed alone decides, or its identity where it has none."""
    name = call.call_id if call.seed is None else call.judge
    u = float(stream(call.seed or 0, "simulated", name).random())
    drawn, below = "", 0.0
    for verdict, share in law.items():
        # Shares sum to one up to rounding: beyond the last edge lies the last possible verdict.
        if share > 0 and u >= below:
            drawn = verdict
        below += share
    return drawn


def _said(spec: JudgeSpec, verdict: str, order: str) -> str:
    label = _GARBAGE if verdict == _INVALID else display(verdict, order)
    labels = getattr(spec.parser, "labels", None) or {}
    word = next((said for said, meant in labels.items() if meant == label), label)
    if isinstance(spec.parser, JsonParser):
        value: object = word
        for key in reversed(spec.parser.field.split(".")):
            value = {key: value}
        return json.dumps(value)
    return word


def _control_prompts(frozen: "FrozenRun") -> dict[str, str]:
    """Return, by layer, the one template that a control layer shows in all its slots."""
    first = next(iter(frozen.templates))
    return {
        layer.name: layer.prompt or first
        for layer in frozen.study.streams
        if layer.role == "control"
    }


def _faults(judge: JudgeSpec, task: str) -> Iterator[Fault]:
    law = judge.law
    if law is None:
        yield ("law",), "missing, a simulated judge answers from it; give verdicts with shares"
        return
    if (law.world is None) == (law.verdicts is None):
        yield ("law",), "declares its laws once; give verdicts with shares, or a world"
        return
    if law.world is not None:
        yield from _world(law, task)
        return
    tables: list[tuple[tuple[str | int, ...], Mapping[str, float]]] = [
        (("law", "verdicts"), law.verdicts or {})
    ]
    for place, cell in enumerate(law.cells):
        tables.append((("law", "cells", place, "verdicts"), cell.verdicts))
        if cell.order not in (None, "single") and not is_permutation(cell.order):
            words = "must be AB or BA" if task == "pairwise" else "must name every candidate once"
            yield ("law", "cells", place, "order"), f"{cell.order!r}, {words}"
    for path, verdicts in tables:
        if (wrong := _strange(verdicts, task)) is not None:
            yield path, wrong
        total = sum(verdicts.values())
        if abs(total - 1) > _TOLERANCE:
            yield path, f"shares sum to {total:.6g}, must sum to 1; correct them"


def _world(law: Law, task: str) -> Iterator[Fault]:
    from judgelaw.worlds import World  # noqa: PLC0415 - numpy loads for a simulated judge only

    if law.cells:
        yield ("law", "cells"), "a world gives every cell its law; leave them out"
    try:
        world = World.from_spec(law.world or {})
    except InputError as error:
        yield ("law", "world"), str(error)
        return
    if words := _strange(world.verdicts, task):
        yield ("law", "world", "verdicts"), words


def _strange(verdicts: Iterable[str], task: str) -> str | None:
    """Say which verdict a judge of candidates cannot give; None where it can give all."""
    if task == "pointwise":
        return None
    known: tuple[str, ...] = DEFAULT_VERDICTS
    if task == "choose":
        known = (*candidate_names(MOST_CANDIDATES), *DEFAULT_VERDICTS[2:])
    strange = sorted(set(verdicts) - set(known))
    listed = (
        ", ".join(known) if task == "pairwise" else "candidate_1, candidate_2, ..., tie, invalid"
    )
    return f"{strange[0]!r}, must be one of {listed}; choose one" if strange else None


PROVIDERS = (
    Provider(
        name="simulated",
        place=40,
        wire=WireFormat(name="simulated", encode=COMPLETIONS.encode, decode=CHAT.decode),
        opens=f"{__name__}:SimulatedJudge",
        local=True,
        fields=("law",),
        faults=_faults,
    ),
)
