"""Reading within a time: parsers that are not ours work in a process that can be ended.

A pattern of a study may backtrack for years on one reply, and a thread cannot be stopped. Ours are
linear in the text and need no such care.
"""

import json
import os
import select
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Self

from judgelaw.design import JudgeSpec
from judgelaw.errors import InputError, RunError
from judgelaw.render.completion import Completion, Verdict
from judgelaw.render.parsers import build, foreign_part
from judgelaw.render.reading import parse, ran_out

SECONDS = 1.0
"""Processor time that a foreign parser has for one reply."""

_CHILD = Path(__file__).with_name("parser_child.py")
_TICK_S = 1.0
_TICKS = 20
"""How long a parser that uses no processor time is waited for. Counted in ticks, since the clock
alone also runs while both processes are stopped."""
_CHUNK = 1 << 16


class ParserTimeoutError(Exception):
    """A parser had its time for one reply."""


class BoundedParser:
    """A foreign parser in a process of its own, which is started when it is first needed."""

    def __init__(self, task: dict[str, Any], *, seconds: float | None = None) -> None:
        self._task = {**task, "seconds": seconds or SECONDS}
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = b""
        self._closed = False
        self._busy = threading.Lock()

    def __call__(self, text: str) -> str | None:
        """Return what the parser finds in a text.

        Raises:
            ParserTimeoutError: it ran out of time.
            InputError: it raised.
            RunError: its process died twice on this text, or was closed meanwhile.
        """
        line = json.dumps(text).encode() + b"\n"
        with self._busy:
            answer = self._ask(line) or self._ask(line)
        if answer is None:
            raise RunError("the process of a parser ended without an answer; the reply is kept")
        if "error" in answer:
            raise InputError(f"the parser raised {answer['error']}; the reply is kept")
        if "ran_out" in answer:
            raise ParserTimeoutError
        found = answer["found"]
        return None if found is None else str(found)

    def close(self) -> None:
        """End the process, whatever it is doing; a thread that waits for it goes on."""
        self._closed = True
        if (process := self._process) is not None:
            process.kill()
        with self._busy:
            self._end()

    def _ask(self, line: bytes) -> dict[str, Any] | None:
        """Send one text; return the answer, None where the process died over it."""
        if self._closed:
            return None
        try:
            process = self._process or self._start()
            self._write(process, line)
            answer = self._read(process)
        except OSError:
            answer = b""
        if answer is None:
            self._end()
            return {"ran_out": True}
        if not answer:
            self._end()
            return None
        said: dict[str, Any] = json.loads(answer)
        return said

    def _start(self) -> subprocess.Popen[bytes]:
        # -P: the folder of the script holds modules whose names a parser may import elsewhere.
        command = [sys.executable, "-P", str(_CHILD)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._process, self._rest = process, b""
        if self._closed:  # while it was being started, so that nobody else has ended it
            process.kill()
        os.set_blocking(_fd(process.stdin), False)
        self._write(process, json.dumps(self._task).encode() + b"\n")
        return process

    def _write(self, process: subprocess.Popen[bytes], line: bytes) -> None:
        left = memoryview(line)
        while left:
            select.select([], [_fd(process.stdin)], [], _TICK_S)
            try:
                left = left[os.write(_fd(process.stdin), left) :]
            except BlockingIOError:
                if process.poll() is not None:
                    raise BrokenPipeError from None

    def _read(self, process: subprocess.Popen[bytes]) -> bytes | None:
        """Return a line, empty where the process ended, None where it takes too long."""
        parts = [self._rest]
        for _ in range(_TICKS):
            while select.select([_fd(process.stdout)], [], [], _TICK_S)[0]:
                part = os.read(_fd(process.stdout), _CHUNK)
                if not part:
                    return b""
                before, newline, self._rest = part.partition(b"\n")
                parts.append(before)
                if newline:
                    return b"".join(parts)
        return None

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


class Reader:
    """Reads the completions of one judge, each in bounded time.

    >>> from judgelaw.design import JudgeSpec
    >>> spec = JudgeSpec(name="j", provider="simulated", model="m", parser={"regex": "(A+)+$"})
    >>> with Reader(spec) as reader:
    ...     reader.read(Completion(text="A" * 60 + "!"), "AB").reason
    'parser timeout'
    """

    def __init__(self, judge: JudgeSpec, *, seconds: float | None = None) -> None:
        self.judge = judge
        task = foreign_part(judge)
        self._bounded = None if task is None else BoundedParser(task, seconds=seconds)
        self._parser = build(judge, self._bounded)

    @property
    def foreign(self) -> bool:
        """Whether reading takes as long as somebody else's code likes, within its time."""
        return self._bounded is not None

    def read(self, completion: Completion, order: str) -> Verdict:
        """Read one completion; a parser that runs out of time makes it invalid."""
        try:
            return parse(self.judge, completion, order, self._parser)
        except ParserTimeoutError:
            return ran_out(self.judge)

    def close(self) -> None:
        """End the process of a foreign parser."""
        if self._bounded is not None:
            self._bounded.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _fd(pipe: Any) -> int:
    number: int = pipe.fileno()
    return number
