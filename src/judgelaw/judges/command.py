"""A judge that is a command: JSON lines to a process for each slot, or one process a call."""

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from judgelaw.errors import InputError
from judgelaw.judges.port import LARGEST_ANSWER, JudgeContext, masked
from judgelaw.judges.python import Call, call_of
from judgelaw.processes import TREE, kill_tree
from judgelaw.study import PlannedCall
from judgelaw.wire import (
    Answer,
    Failure,
    FailureKind,
    JudgeSpec,
    Reply,
    Secrets,
    decode,
    environment_secrets,
    json_value,
)
from judgelaw.words import words

_CHUNK = 2**16
_TAIL = 2_000
"""Bytes of what a command says on stderr that are kept for a message."""
_LEAVING_S = 2.0
"""How long a process may take to end once its input is closed."""
_LAST_WORDS_S = 0.5
"""How long the rest of stderr is waited for once a process has ended; somebody may hold it open."""
_INTERPRETERS = ("python", "python3")


class CommandJudge:
    """Asks a command in the study's folder.

    A time-out, or a line that cannot be understood, ends the process and all that it started; the
    next call starts another.
    """

    def __init__(self, spec: JudgeSpec, around: JudgeContext) -> None:
        self._spec = spec
        self._frozen = around.frozen
        self._clock = around.clock
        self._folder = Path(spec.folder) if spec.folder else Path.cwd()
        self._program = find_program(spec, self._folder)
        self._idle: list[_Process] = []
        self._ended: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        leaving = [process.leave() for process in self._idle]
        self._idle = []
        await asyncio.gather(*leaving, *self._ended)

    async def ask(self, call: PlannedCall, body: bytes) -> Reply | Failure:
        """Ask once: an idle process of `lines`, or a new one."""
        asked = call_of(self._frozen, call, body)
        try:
            process = self._idle.pop() if self._idle else await self._start(asked)
        except OSError as error:
            why = f"cannot start {self._program[0]}: {error.strerror or error}"
            return self._failure(FailureKind.CRASHED, why)
        keep = False
        try:
            if self._spec.mode == "once":
                reply = await self._once(process, asked)
                process.answered = isinstance(reply, Reply)
                return reply
            reply = await self._line(process, asked)
            keep = isinstance(reply, Reply) or reply.kind not in _BROKEN
            return reply
        finally:
            if keep:
                self._idle.append(process)
            else:
                self._end(process)

    def decode(self, reply: Reply) -> Answer | Failure:
        """Read a reply, without effects."""
        return decode("command", reply, now=self._clock())

    async def _start(self, asked: Call) -> "_Process":
        # A Python script whose output is kept back in a buffer would never seem to answer.
        mark = uuid4().hex
        environment = {**os.environ, "PYTHONUNBUFFERED": "1", TREE: mark}
        if self._spec.mode == "once":
            environment |= _told(asked)
        return await _Process.start(self._program, self._folder, environment, mark)

    def _end(self, process: "_Process") -> None:
        # Where it failed, or its time is over, all that it started goes with it.
        if not process.answered:
            process.kill()
        task = asyncio.ensure_future(process.reap())
        self._ended.add(task)
        task.add_done_callback(self._ended.discard)

    async def _once(self, process: "_Process", asked: Call) -> Reply | Failure:
        """Hand over the prompt, close the input, and take everything that is printed."""
        printed = await process.whole(asked.text.encode())
        if printed is None:
            return self._failure(FailureKind.TOO_LARGE, f"more than {LARGEST_ANSWER} bytes")
        code = await process.code()
        if code != 0:
            return self._failure(FailureKind.CRASHED, f"{_ending(code)}{process.last_words()}")
        try:
            text = printed.decode().removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError as error:
            rule = "an answer is UTF-8 text"
            return self._failure(FailureKind.UNUSABLE, f"{rule}, and this is not: {error}")
        if not text:
            rule = "it printed nothing and ended well; print the answer on stdout"
            return self._failure(FailureKind.UNUSABLE, f"{rule}{process.last_words()}")
        return await self._reply({"id": asked.id, "text": text})

    async def _line(self, process: "_Process", asked: Call) -> Reply | Failure:
        """Write one line and read the line that answers it."""
        try:
            await process.write(_written(asked))
            line = await process.line()
        except (ConnectionError, BrokenPipeError):
            line = b""
        except ValueError:
            return self._failure(FailureKind.TOO_LARGE, f"a line of over {LARGEST_ANSWER} bytes")
        if not line:
            code = await process.code()
            return self._failure(FailureKind.CRASHED, f"{_ending(code)}{process.last_words()}")
        said = _object(line)
        if said is None:
            rule = "a line of output is one JSON object; print everything else on stderr"
            return self._failure(FailureKind.UNUSABLE, f"it printed {_shown(line)}: {rule}")
        if said.get("id") != asked.id:
            rule = "a line answers the id of a line that was read, once"
            told = f"it answered id {said.get('id')!r} where {asked.id} was asked"
            return self._failure(FailureKind.UNUSABLE, f"{told}: {rule}")
        if process.has_more():
            rule = "two lines for one call; print one line for each line that was read"
            return self._failure(FailureKind.UNUSABLE, rule)
        return await self._answer(said)

    async def _answer(self, said: dict[str, Any]) -> Reply | Failure:
        error, after = said.get("error"), said.get("retry_after")
        if error or after is not None:
            if isinstance(after, int | float) and not isinstance(after, bool) and after >= 0:
                seconds = min(after, sys.float_info.max)  # longer than anybody waits
                return self._failure(FailureKind.THROTTLED, str(error or ""), after=float(seconds))
            return self._failure(FailureKind.ERROR_OBJECT, f"it says: {error}")
        if isinstance(said.get("invalid"), str):
            said = {"text": "", **said}
        if not isinstance(said.get("text"), str):
            rule = 'a line holds {"id": ..., "text": "..."}, or an "error"'
            return self._failure(FailureKind.NO_COMPLETION, f"a line without text: {rule}")
        return await self._reply(said)

    async def _reply(self, said: dict[str, Any]) -> Reply:
        content = json.dumps(said, separators=(",", ":")).encode()
        return Reply(status=200, body=await masked(self._secrets(), content))

    def _failure(self, kind: FailureKind, said: str, *, after: float | None = None) -> Failure:
        shown = " ".join(self._spec.command or ())
        # Masked before it is cut: the half of a key is no less a secret.
        detail = words(self._secrets().redact(f"{shown}: {said}"))
        return Failure(kind=kind, detail=detail, retry_after=after)

    def _secrets(self) -> Secrets:
        return environment_secrets(self._frozen.judges.values())


_BROKEN = frozenset({FailureKind.CRASHED, FailureKind.UNUSABLE, FailureKind.TOO_LARGE})
"""After these nobody knows what the next line of a process would answer."""


class _Protocol(asyncio.subprocess.SubprocessStreamProtocol):
    """Tells when a process itself has ended.

    `Process.wait` of some Python versions also waits for the ends of its pipes, which a child may
    hold open, and which nobody sees who does not read on.
    """

    def __init__(self, *, limit: int, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(limit=limit, loop=loop)
        self.ended = asyncio.Event()

    def process_exited(self) -> None:
        """Note the end."""
        super().process_exited()
        self.ended.set()


class _Process:
    """A process in a group of its own, and what it says on stderr."""

    def __init__(self, child: asyncio.subprocess.Process, ended: asyncio.Event, mark: str) -> None:
        self._child = child
        self._ended = ended
        self._mark = mark
        self._said = b""
        self._rest = bytearray()
        self._until: float | None = None
        self.answered = False
        self._listening = asyncio.ensure_future(self._listen())

    @classmethod
    async def start(
        cls, program: list[str], folder: Path, environment: Mapping[str, str], mark: str
    ) -> "_Process":
        """Start a program; nothing of the terminal reaches it."""
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.subprocess_exec(
            lambda: _Protocol(limit=_CHUNK, loop=loop),
            *program,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
        return cls(asyncio.subprocess.Process(transport, protocol, loop), protocol.ended, mark)

    async def write(self, line: bytes) -> None:
        """Write to its input."""
        assert self._child.stdin is not None  # noqa: S101 - opened above
        self._child.stdin.write(line)
        await self._child.stdin.drain()

    async def line(self) -> bytes:
        """Return the next line that is not blank; nothing where the output has ended.

        Raises:
            ValueError: the line is too long.
        """
        seen = 0
        while True:
            end = self._rest.find(b"\n", seen)
            if end >= 0:
                line = bytes(self._rest[:end])
                del self._rest[: end + 1]
                seen = 0
                if line.strip():
                    return line
                continue
            if len(self._rest) > LARGEST_ANSWER:
                raise ValueError(len(self._rest))
            # What has no end of a line is not looked at again: a long line stays cheap.
            seen = len(self._rest)
            chunk = await self._chunk()
            if not chunk:
                # A last line may lack its end.
                line = bytes(self._rest)
                self._rest.clear()
                return line if line.strip() else b""
            self._rest += chunk

    def has_more(self) -> bool:
        """Whether something is there that nobody asked for."""
        return bool(self._rest.strip())

    async def whole(self, given: bytes) -> bytes | None:
        """Hand over an input and return the whole output; None where it is too large."""
        assert self._child.stdin is not None  # noqa: S101 - opened above
        feeding = asyncio.ensure_future(self._feed(given))
        chunks, size = [], 0
        try:
            while chunk := await self._chunk():
                chunks.append(chunk)
                size += len(chunk)
                if size > LARGEST_ANSWER:
                    return None
        finally:
            feeding.cancel()
        return b"".join(chunks)

    async def _chunk(self) -> bytes:
        """Return what comes next of its output; nothing once it has ended and all of it is read.

        Something that it left behind may hold the output open, and even write to it: what counts
        is what was there when the process itself ended.
        """
        assert self._child.stdout is not None  # noqa: S101 - opened above
        read = asyncio.ensure_future(self._child.stdout.read(_CHUNK))
        ended = asyncio.ensure_future(self._ended.wait())
        try:
            await asyncio.wait({read, ended}, return_when=asyncio.FIRST_COMPLETED)
            if not read.done():
                self._until = self._until or asyncio.get_running_loop().time() + _LAST_WORDS_S
            if self._until is not None:
                left_s = self._until - asyncio.get_running_loop().time()
                await asyncio.wait({read}, timeout=max(0.0, left_s))
            return read.result() if read.done() else b""
        finally:
            read.cancel()
            ended.cancel()

    async def _feed(self, given: bytes) -> None:
        assert self._child.stdin is not None  # noqa: S101 - opened above
        try:
            await self.write(given)
        except (ConnectionError, BrokenPipeError):
            return  # a command may answer without reading all of its input
        finally:
            self._child.stdin.close()

    async def code(self) -> int:
        """Return how the process ended."""
        await self._ended.wait()
        code = self._child.returncode
        if code != 0:
            self.kill()  # what it left behind would keep its last words from ending
        await asyncio.wait({self._listening}, timeout=_LAST_WORDS_S)
        return code or 0

    def last_words(self) -> str:
        """Return the end of what it said on stderr."""
        said = self._said.decode(errors="replace").strip()
        return f"; its last words: {said}" if said else ""

    async def _listen(self) -> None:
        assert self._child.stderr is not None  # noqa: S101 - opened above
        while chunk := await self._child.stderr.read(_CHUNK):
            self._said = (self._said + chunk)[-_TAIL:]

    def kill(self) -> None:
        """End the process, and whatever it started, at once."""
        kill_tree(self._child.pid, self._mark)

    async def reap(self) -> None:
        """Wait for the end, so that nothing of it is left."""
        await self._ended.wait()
        self._listening.cancel()
        # The pipes stay open as long as somebody else holds their other ends.
        self._child._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001 - there is no other way

    async def leave(self) -> None:
        """Close its input and let it end; not for long."""
        assert self._child.stdin is not None  # noqa: S101 - opened above
        self._child.stdin.close()
        try:
            await asyncio.wait_for(self._ended.wait(), _LEAVING_S)
        except TimeoutError:
            self.kill()
        await self.reap()


def find_program(spec: JudgeSpec, folder: Path) -> list[str]:
    """Return the command with its program found: in the study's folder, or on the path."""
    first, *others = spec.command or ("",)
    found = shutil.which(first)
    if os.sep in first:
        found = shutil.which(folder / first)
    elif found is None and first in _INTERPRETERS:
        found = sys.executable
    if found is None:
        raise InputError(
            f"judge {spec.name}: command {first!r}: no such program in {folder} or on the PATH, or "
            "it may not be executed; correct the name, or install it"
        )
    return [found, *others]


def _written(asked: Call) -> bytes:
    """Return a call as a line of JSON."""
    line = {
        "id": asked.id,
        "messages": asked.messages,
        "seed": asked.seed,
        "decoding": asked.decoding,
        "item": asked.item,
        "prompt": asked.prompt,
        "order": asked.order,
        "repeat": asked.repeat,
    }
    return json.dumps(line).encode() + b"\n"


def _told(asked: Call) -> dict[str, str]:
    """Return what a process of `mode: once` may read of its call from the environment."""
    values = {
        "ID": asked.id,
        "SEED": "" if asked.seed is None else str(asked.seed),
        "ITEM": asked.item["id"],
        "PROMPT": asked.prompt,
        "ORDER": asked.order,
        "REPEAT": str(asked.repeat),
        "MODEL": asked.model or "",
        "DECODING": json.dumps(asked.decoding),
    }
    return {f"JUDGELAW_{name}": value for name, value in values.items() if "\0" not in value}


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = json_value(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _shown(line: bytes) -> str:
    return repr(words(line[:200].decode(errors="replace")))


def _ending(code: int) -> str:
    if code < 0:
        return f"it was ended by signal {-code} before it answered"
    return f"it ended with code {code} before it answered"
