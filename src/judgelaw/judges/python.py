"""A judge that is a Python function: one call in, a text or a reply out."""

import asyncio
import inspect
import json
import linecache
import math
import numbers
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass, fields
from enum import Enum
from functools import partial
from importlib import import_module
from time import monotonic, time
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from judgelaw.errors import InputError
from judgelaw.judges.port import LARGEST_ANSWER, JudgeContext, JudgeFunction, masked
from judgelaw.judges.transport_faults import transport_fault
from judgelaw.study import FrozenRun, PlannedCall, displayed
from judgelaw.wire import (
    Answer,
    Failure,
    FailureKind,
    JsonParser,
    JudgeSpec,
    Reply as StoredReply,
    Secrets,
    decode,
    environment_secrets,
)
from judgelaw.words import did_you_mean, joined, plain_number, shortened, words

if TYPE_CHECKING:
    from types import TracebackType

_NAME, _SAID, _CODE = 60, 400, 100
"""Characters that are shown of a name, of what was asked or answered, and of a line of code."""

_MOST_LEFT = 64
"""Calls without an end that may be left behind; a thread cannot be stopped from outside."""


class RateLimited(Exception):  # noqa: N818 - a judge function says what happened
    """Raised by a judge function: whoever answers asks to wait.

    Args:
        after: seconds to wait; by default the pauses of the study's transport.
    """

    def __init__(self, after: float | None = None) -> None:
        if after is not None and not 0 <= after < float("inf"):
            raise InputError(f"RateLimited(after={after!r}): seconds from 0 on are a time to wait")
        self.after = after
        super().__init__(f"asked to wait {after:g} s" if after is not None else "asked to wait")


class Invalid(Exception):  # noqa: N818 - a judge function says what happened
    """Returned or raised by a judge function: a reply came, and could not be read.

    It is a completion like any other: kept, counted as invalid, and never asked again.

    Args:
        text: what came, as a text or as a `jl.Reply`.
        reason: why it could not be read, in a few words; reports count replies by it.
    """

    def __init__(self, text: "str | Reply" = "", *, reason: str = "unreadable") -> None:
        self.text = text
        self.reason = reason
        super().__init__(reason)


class Refused(Exception):  # noqa: N818 - a judge function says what happened
    """Raised by a judge function: the key, the account or the model is refused; the run stops."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Call:
    """What a judge function is asked.

    Attributes:
        messages: the conversation, as chat formats write it.
        text: the prompt alone, without the system message.
        seed: the call's own; the study's `seed: none` gives None.
        item: id, instruction and candidates of the item, as displayed in this order, and every
            other field of it under its own name.
        prompt: the template that is rendered.
        order: `AB`, `BA`, or `single`.
        repeat: the rank of this call in its cell, from 0.
        decoding: the sampling parameters that the study declares.
        id: the call's own name, the same in every attempt.
        judge, model: as the study names them; the model is None where it names none.
    """

    messages: tuple[dict[str, str], ...]
    text: str
    seed: int | None
    item: Mapping[str, Any]
    prompt: str
    order: str
    repeat: int
    decoding: Mapping[str, Any]
    id: str = ""
    judge: str = ""
    model: str | None = None

    def __repr__(self) -> str:
        cell = (self.item.get("id", ""), self.prompt, self.order)
        names = " x ".join(shortened(name, _NAME) for name in cell)
        said = shortened(self.text, _SAID)
        return f"Call({names}, repeat {self.repeat}, seed {self.seed}: {said!r})"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Reply:
    """What a judge function may return in place of a text.

    Attributes:
        text: the answer.
        model: who answered, where that is known.
        id: the provider's own name of the reply.
        usage: `input_tokens` and `output_tokens`, for budgets.
        logprobs: `{label: log probability}`, or tokens as chat completions list them.
        finish_reason: why the answer ended; `length` means that it was cut.
    """

    text: str
    model: str | None = None
    id: str | None = None
    usage: Mapping[str, int] | None = None
    logprobs: Any = None
    finish_reason: str | None = None

    def __repr__(self) -> str:
        beside = [
            f", {name}={shortened(str(value), _NAME)!r}"
            for name in ("model", "id", "usage", "finish_reason", "logprobs")
            if (value := getattr(self, name)) is not None
        ]
        return f"Reply({shortened(str(self.text), _SAID)!r}{''.join(beside)})"


def call_of(frozen: FrozenRun, call: PlannedCall, body: bytes) -> Call:
    """Return a planned call as a function sees it; messages and decoding are the frozen bytes'."""
    asked = json.loads(body)
    messages = tuple(asked["messages"])
    return Call(
        messages=messages,
        text=messages[-1]["content"],
        seed=call.seed,
        item=displayed_item(frozen, call),
        # The slots of a control layer show one template, and nobody is told which slot it is.
        prompt=frozen.template_of(call).id,
        order=call.order,
        repeat=call.repeat,
        decoding=asked["decoding"],
        id=call.call_id,
        judge=call.judge,
        model=frozen.judges[call.judge].model or None,
    )


def displayed_item(frozen: FrozenRun, call: PlannedCall) -> dict[str, Any]:
    """Return the fields of an item under their own names, its candidates as this order shows them.

    An answer that is judged alone is `candidate`.
    """
    item = frozen.item_of(call)
    shown = {"id": item.id, "instruction": item.instruction, **displayed(item, call.order)}
    return {**item.others, **shown}


def functions_for(judges: Mapping[str, JudgeSpec], given: Any) -> dict[str, JudgeFunction]:
    """Return which function answers for which judge.

    Args:
        judges: of a study, by name.
        given: one function for every `python` judge without `call:`, or functions by name.
    """
    if given is None:
        return {}
    open_names = [n for n, spec in judges.items() if spec.provider == "python" and not spec.call]
    if isinstance(given, Mapping):
        for name in given:
            if name not in open_names:
                raise InputError(
                    f"judge={{{name!r}: ...}}{did_you_mean(str(name), open_names)}: a function "
                    f"answers for a judge with provider: python and without call:; the study has "
                    f"{', '.join(open_names) or 'none'}"
                )
        found = dict(given)
    elif not open_names:
        raise InputError(
            "judge= answers for judges with provider: python and without call:, and the study has "
            "none; add one, or leave judge= out"
        )
    else:
        found = dict.fromkeys(open_names, given)
    from judgelaw.judges.functions import as_function  # noqa: PLC0415 - it reads this file

    return {name: as_function(function) for name, function in found.items()}


def find_function(spec: JudgeSpec) -> JudgeFunction:
    """Import the function that a study names; its own folder is looked into first."""
    target = spec.call or ""
    module, _, name = target.partition(":")
    where = f"judge {spec.name}: call {target!r}"
    if not module or not name:
        raise InputError(f"{where}: it is written package.module:function")
    if spec.folder is not None and spec.folder not in sys.path:
        sys.path.insert(0, spec.folder)
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit) as error:
        said = words(_said_of(error))
        raise InputError(
            f"{where}: {said}; modules are looked for in the study's folder and where Python "
            "looks: correct the name, or install what is missing"
        ) from error
    if not callable(found):
        raise InputError(f"{where}: {_shown(found)} cannot be called; name a function")
    function: JudgeFunction = found
    return function


CALLERS_LOOP: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("loop", default=None)
"""The loop of whoever awaits an audit: async functions run there, where their clients are."""


class PythonJudge:
    """Asks a function: an async one in a loop of its own, a plain one in a thread for each call.

    Where somebody awaits the audit, an async one runs in the loop of that caller.

    Neither can hold up the run: a call that does not end is left behind when its time is over.
    """

    def __init__(self, spec: JudgeSpec, around: JudgeContext) -> None:
        self._spec = spec
        self._frozen = around.frozen
        self._clock = around.clock
        function = find_function(spec) if spec.call else around.functions.get(spec.name)
        if function is None:
            raise InputError(
                f"judge {spec.name}: provider python without call: answers with a function that "
                "Python hands in, jl.audit(study, judge=function); for the command line write "
                "call: package.module:function"
            )
        self._function = function
        self._file, self._line = _place_of(function)
        self._read_of = partial(_returned, keys=_declared_keys(spec))
        self._loop: asyncio.AbstractEventLoop | None = None
        self._left: set[Future[Any]] = set()
        self._steps = _Steps(around.frozen.study.transport.timeout_s)
        self._under_way: dict[str, _Measured] = {}

    async def __aenter__(self) -> Self:
        if _is_async(self._function) and (callers := CALLERS_LOOP.get()) is not None:
            self._loop = callers
        elif _is_async(self._function):
            self._loop = asyncio.new_event_loop()
            name = f"judgelaw {self._spec.name}"
            threading.Thread(target=_serve, args=(self._loop,), name=name, daemon=True).start()
        return self

    async def __aexit__(self, *exception: object) -> None:
        if self._loop is not None and self._loop is not CALLERS_LOOP.get():
            self._loop.call_soon_threadsafe(self._loop.stop)

    async def ask(self, call: PlannedCall, body: bytes) -> StoredReply | Failure:
        """Ask the function once."""
        if len(self._left) >= _MOST_LEFT:
            return self._failure(
                FailureKind.REJECTED,
                f"{len(self._left)} calls had no end, and their threads still run; let the "
                "function give up by itself, or raise timeout_s under transport",
            )
        asked = call_of(self._frozen, call, body)
        if self._loop is not None:
            begin = partial(_a_wait, self._function, asked, self._file, self._read_of)
            measured = _Measured(begin, self._steps)
            self._under_way[call.call_id] = measured
            under_way = asyncio.run_coroutine_threadsafe(_wait(measured), self._loop)
        else:
            under_way = _in_thread(self._function, asked, self._file, self._read_of)
        try:
            outcome = await asyncio.wrap_future(under_way)
        except asyncio.CancelledError:
            if not under_way.done():
                self._left.add(under_way)
                under_way.add_done_callback(self._left.discard)
            raise
        finally:
            self._under_way.pop(call.call_id, None)
        return await self._read(outcome, asked)

    def idle_s(self, call: PlannedCall) -> float:
        """Return for how long a call has waited while others held up the loop of them all."""
        measured = self._under_way.get(call.call_id)
        return 0.0 if measured is None else measured.idle_s

    async def _read(self, outcome: "_Outcome", asked: Call) -> StoredReply | Failure:
        """Turn what a function returned or raised into a reply, or say why there is none."""
        if outcome.kind is None:
            return StoredReply(status=200, body=await masked(self._secrets(), outcome.body))
        said = outcome.said
        if outcome.kind in _OWN:
            item = shortened(asked.item.get("id", ""), _NAME)
            said = f"item {item!r}, prompt {asked.prompt}, repeat {asked.repeat}: {said}"
        return self._failure(outcome.kind, said, after=outcome.after, line=outcome.line)

    def _failure(
        self, kind: FailureKind, said: str, *, after: float | None = None, line: int | None = None
    ) -> Failure:
        place = f"{os.path.basename(self._file)}:{line or self._line}: " if self._file else ""  # noqa: PTH119 - a name, no path
        if line and kind is FailureKind.RAISED and (code := _code_at(self._file, line)):
            place += f"`{code}`: "
        # Masked before it is cut: the half of a key is no less a secret.
        detail = words(self._secrets().redact(f"{place}{said}"))
        return Failure(kind=kind, detail=detail, retry_after=after)

    def _secrets(self) -> Secrets:
        return environment_secrets(self._frozen.judges.values())

    def decode(self, reply: StoredReply) -> Answer | Failure:
        """Read a reply, without effects."""
        return decode("python", reply, now=self._clock())


class _Outcome(NamedTuple):
    """What became of a call, in plain values: nothing of the function's own leaves its thread.

    Attributes:
        kind: of the failure; None where it answered.
        said: why it failed.
        after: seconds that it asks to wait.
        line: where in its file it failed.
        body: its answer.
    """

    kind: FailureKind | None
    said: str = ""
    after: float | None = None
    line: int | None = None
    body: bytes = b""


_BESIDE = tuple(field.name for field in fields(Reply) if field.name != "text")
"""What a reply may say beside its text."""

_OWN = (FailureKind.RAISED, FailureKind.WRONG_TYPE)
"""Errors of the function's own, which stop its judge."""


def _declared_keys(spec: JudgeSpec) -> tuple[str, ...]:
    """Return the keys of a dict that the parsers of a judge read."""
    rules = spec.criteria.values() if spec.criteria else (spec.parser,)
    found = [rule.field.partition(".")[0] for rule in rules if isinstance(rule, JsonParser)]
    return tuple(dict.fromkeys(found))


def _returned(value: Any, *, keys: tuple[str, ...] = ()) -> _Outcome:
    """Read what a function returned: a reply, or what stands for the text of one."""
    if isinstance(value, Invalid):
        return _invalid(value)
    given = value.text if isinstance(value, Reply) else value
    text = _text_of(given, keys)
    if text is None:
        return _Outcome(FailureKind.WRONG_TYPE, _wrong_type(given, keys))
    return _written(value if isinstance(value, Reply) else Reply(text=text), text)


def _invalid(error: Invalid) -> _Outcome:
    reply = error.text if isinstance(error.text, Reply) else Reply(text=error.text)
    said: Any = reply.text
    text = said if isinstance(said, str) else _shown(said)
    return _written(reply, str.__str__(text), invalid=_plain(lambda: str(error.reason), ""))


def _text_of(value: Any, keys: tuple[str, ...]) -> str | None:
    """Return the text that a value stands for; None where it is no verdict."""
    if isinstance(value, Enum):
        value = value.value
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        value = value.item()
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, numbers.Real):
        return plain_number(float(value)) if math.isfinite(value) else None
    if isinstance(value, Mapping) and any(key in value for key in keys):
        try:
            return json.dumps({str(name): _json_value(each) for name, each in value.items()})
        except (TypeError, ValueError):
            return None
    return None


def _json_value(value: Any) -> Any:
    return value.item() if type(value).__module__ == "numpy" else value


def _wrong_type(value: Any, keys: tuple[str, ...]) -> str:
    what = f"it returned {_shown(value)}, of type {_plain(lambda: type(value).__name__, '?')}"
    takes = "a judge function returns text, a number, true or false, or a jl.Reply"
    if isinstance(value, Mapping):
        named = joined([repr(key) for key in keys], "or") if keys else ""
        remedy = (
            f"of a dict the keys {named} are read, with values that JSON holds"
            if keys
            else "a dict is read where its keys are declared, as parser: {json: KEY}, or criteria"
        )
        return f"{what}: {takes}; {remedy}"
    return f"{what}: {takes}"


def _written(reply: Reply, text: str, *, invalid: str | None = None) -> _Outcome:
    if len(text) > LARGEST_ANSWER:
        rule = f"an answer has at most {LARGEST_ANSWER:,}; return the part that is read"
        return _Outcome(FailureKind.TOO_LARGE, f"{len(text):,} characters: {rule}")
    parts, unread = [f'"text":{json.dumps(text)}'], dict[str, str]()
    parts += [] if invalid is None else [f'"invalid":{json.dumps(invalid)}']
    for name in _BESIDE:
        try:
            value = getattr(reply, name)
            shown = json.dumps(value) if value is not None else ""
            if len(shown) > LARGEST_ANSWER:
                unread[name] = f"{len(shown):,} characters, where {LARGEST_ANSWER:,} may be"
            elif shown:
                parts.append(f'"{name}":{shown}')
        except Exception as error:  # noqa: BLE001 - values of foreign classes raise whatever they like
            # The answer is there, and was perhaps paid for: what stands beside it does not end it.
            unread[name] = f"not what JSON holds ({words(_words_of(error))}); convert it"
    parts += [f'"unread":{json.dumps(unread)}'] if unread else []
    return _Outcome(None, body=f"{{{','.join(parts)}}}".encode())


def _raised(error: BaseException, file: str) -> _Outcome:
    if isinstance(error, Invalid):
        return _invalid(error)
    if isinstance(error, RateLimited):
        after = getattr(error, "after", None)
        known = isinstance(after, int | float) and 0 <= after < float("inf")
        return _Outcome(
            FailureKind.THROTTLED, _words_of(error), after=float(after or 0) if known else None
        )
    if isinstance(error, Refused):
        return _Outcome(FailureKind.REFUSED, _words_of(error) or "refused")
    line = _line_of(error, file)
    if (fault := transport_fault(error, time())) is not None:
        said = _said_of(error)
        if fault.error is not error:
            said = f"{said} (from {_said_of(fault.error)})"
        return _Outcome(fault.kind, said, after=fault.after, line=line)
    return _Outcome(FailureKind.RAISED, _said_of(error), line=line)


def _safely(read: Callable[[], _Outcome]) -> _Outcome:
    """Read what a function gave, whose class may raise at every touch."""
    try:
        return read()
    except BaseException:  # noqa: BLE001 - as above
        rule = "its class raises where it is read; return text, or raise an exception of Python's"
        return _Outcome(FailureKind.WRONG_TYPE, f"what it gave cannot be read: {rule}")


def _plain(said: Callable[[], str], instead: str) -> str:
    """Return the words of something foreign as they are, or what stands in their place."""
    try:
        # Of a subclass of str, the characters alone.
        return str.__str__(said())
    except BaseException:  # noqa: BLE001 - as above
        return instead


def _shown(value: object) -> str:
    name = _plain(lambda: type(value).__name__, "something")
    return words(_plain(lambda: repr(value), f"a {name} (its repr fails)"))


def _words_of(error: BaseException) -> str:
    return _plain(lambda: str(error), "(its words cannot be had: str of it fails)")


def _said_of(error: BaseException) -> str:
    return f"{_plain(lambda: type(error).__name__, 'an exception')}: {_words_of(error)}"


_Read = Callable[[Any], _Outcome]


def _outcome(function: JudgeFunction, asked: Call, file: str, read: _Read) -> _Outcome:
    """Call a plain function; an awaitable that it returns is waited for in the same thread."""
    try:
        found = function(asked)
        found = asyncio.run(_wait(found)) if inspect.isawaitable(found) else found
    except BaseException as error:  # noqa: BLE001 - SystemExit in a function is its failure, no more
        failed = error  # the name of the clause ends with it
        return _safely(lambda: _raised(failed, file))
    return _safely(lambda: read(found))


async def _wait(found: Awaitable[Any]) -> Any:
    return await found


class _Steps:
    """The time that the calls of one loop have held it up, step by step.

    Written in the thread of the loop, and read from outside.
    """

    def __init__(self, longest_s: float) -> None:
        self._longest_s = longest_s
        self._total_s = 0.0
        self._now: tuple[_Measured, float] | None = None

    def begin(self, call: "_Measured") -> None:
        """Note that a call runs."""
        self._now = call, monotonic()

    def end(self) -> None:
        """Note that it has let the others run."""
        if self._now is not None:
            call, since = self._now
            self._now = None
            took_s = monotonic() - since
            call.own_s += took_s
            self._total_s += took_s

    def of_others_s(self, call: "_Measured") -> float:
        """Return how long the others have run.

        One that runs for longer than any call may has had its time, and is no excuse any more.
        """
        now, others_s = self._now, self._total_s - call.own_s
        if now is not None and now[0] is not call:
            others_s += min(monotonic() - now[1], self._longest_s)
        return others_s


class _Measured:
    """An awaitable that notes for how long each of its steps holds up the loop."""

    def __init__(self, begin: Callable[[], Coroutine[Any, Any, Any]], steps: _Steps) -> None:
        self._begin = begin
        self._steps = steps
        self.own_s = 0.0
        self._before_s = steps.of_others_s(self)

    @property
    def idle_s(self) -> float:
        """For how long others have kept this one from running."""
        return self._steps.of_others_s(self) - self._before_s

    def __await__(self) -> Generator[Any, Any, Any]:
        work = self._begin()
        step = partial(work.send, None)
        while True:
            self._steps.begin(self)
            try:
                waits_for = step()
            except StopIteration as ended:
                return ended.value
            finally:
                self._steps.end()
            try:
                step = partial(work.send, (yield waits_for))
            except BaseException as error:  # noqa: BLE001 - a cancellation is handed on too
                step = partial(work.throw, error)


async def _a_wait(function: JudgeFunction, asked: Call, file: str, read: _Read) -> _Outcome:
    """Await an async function; what it raises is handed over, so that nothing stops its loop."""
    try:
        found = await function(asked)
    except BaseException as error:  # noqa: BLE001 - SystemExit in a function is its failure, no more
        failed = error
        return _safely(lambda: _raised(failed, file))
    return _safely(lambda: read(found))


def _in_thread(function: JudgeFunction, asked: Call, file: str, read: _Read) -> "Future[_Outcome]":
    """Call a function in a thread that nobody waits for when the program ends."""
    future: Future[_Outcome] = Future()
    future.set_running_or_notify_cancel()
    work = threading.Thread(
        target=lambda: future.set_result(_outcome(function, asked, file, read)), daemon=True
    )
    work.start()
    return future


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop until somebody stops it, then end what it still holds."""
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def _is_async(function: JudgeFunction) -> bool:
    called = getattr(function, "__call__", None)  # noqa: B004 - an object may have an async one
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)


def _code_of(function: Callable[..., Any]) -> Any:
    """Return the code of a function, or of what makes an object callable."""
    plain = inspect.unwrap(getattr(function, "func", function))
    if not hasattr(plain, "__code__"):
        plain = type(plain).__call__
    return getattr(plain, "__code__", None)


def _place_of(function: JudgeFunction) -> tuple[str, int]:
    """Return file and line of a function; no file where its class does not tell."""
    try:
        code = _code_of(function)
        return str(getattr(code, "co_filename", "")), int(getattr(code, "co_firstlineno", 0))
    except Exception:  # noqa: BLE001 - wrappers of wrappers, and classes that raise
        return "", 0


def _code_at(file: str, line: int) -> str:
    """Return a line of a source file as it was read; empty where no file is."""
    return shortened(_plain(lambda: linecache.getline(file, line).strip(), ""), _CODE)


def _line_of(error: BaseException, file: str) -> int | None:
    """Return the last line of a file that an error came through."""
    found = None
    # The interpreter's own word: a class may have another __traceback__.
    step: TracebackType | None = BaseException.__dict__["__traceback__"].__get__(error)
    while step is not None:
        found = step.tb_lineno if step.tb_frame.f_code.co_filename == file else found
        step = step.tb_next
    return found
