"""Reading within a time: parsers that are not ours work in a process that can be ended.

A pattern of a study may backtrack for years on one reply, and a thread cannot be stopped. Ours are
linear in the text and need no such care.
"""

import json
import os
import re
import select
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from judgelaw.errors import InputError, RunError
from judgelaw.wire.judge_spec import JudgeSpec
from judgelaw.wire.parsers import (
    READ_AT_MOST,
    build,
    foreign_part,
    parse,
    parser_name,
    ran_out,
)
from judgelaw.wire.reply import Completion, Verdict

SECONDS = 1.0
"""Processor time that a foreign parser has for one reply."""

_FEWEST, _SHARE = 3, 0.01


def too_slow(ran_out: int, read: int) -> bool:
    """Whether a parser ran out of time on too many of the texts that it read to go on with it."""
    return ran_out >= _FEWEST and ran_out > _SHARE * read


_CHILD = Path(__file__).with_name("parser_child.py")
_TICK_S = 1.0
_TICKS = 20
"""How long a parser that uses no processor time is waited for. Counted in ticks, since the clock
alone also runs while both processes are stopped."""
_CHUNK = 1 << 16
_ENDED = "the process of a parser ended without an answer; the reply is kept"


class ParserTimeoutError(Exception):
    """A parser had its time for one reply."""


Answer = str | Exception | None
"""What a parser found in a text, or why it found nothing."""


class BoundedParser:
    """A foreign parser in a process of its own, which is started when it is first needed."""

    def __init__(self, task: dict[str, Any], *, seconds: float | None = None) -> None:
        self._task = {**task, "seconds": seconds or SECONDS}
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False
        self._busy = threading.Lock()

    def __call__(self, text: str) -> str | None:
        """Return what the parser finds in a text.

        Raises:
            ParserTimeoutError: it ran out of time.
            InputError: it raised.
            RunError: its process died twice on this text, or was closed meanwhile.
        """
        (answer,) = self.read_all([text])
        return _given(answer)

    def read_all(self, texts: Sequence[str]) -> list[Answer]:
        """Return what the parser finds in each text; together they take one way to the process."""
        lines = [json.dumps(text).encode() + b"\n" for text in texts]
        answers: list[Answer] = []
        died = -1
        with self._busy:
            while len(answers) < len(lines):
                found, stuck = self._ask(lines[len(answers) :])
                answers += map(_answer, found)
                if len(answers) == len(lines):
                    break
                # What stands next in the sequence is what the process did not get past.
                self._end()
                if stuck:
                    answers.append(ParserTimeoutError())
                elif died == len(answers) or self._closed:
                    answers.append(RunError(_ENDED))
                else:
                    died = len(answers)
        return answers

    def close(self) -> None:
        """End the process, whatever it is doing; a thread that waits for it goes on."""
        self._closed = True
        if (process := self._process) is not None:
            process.kill()
        with self._busy:
            self._end()

    def _ask(self, lines: Sequence[bytes]) -> tuple[list[bytes], bool]:
        """Send texts; return the answers that came, and whether the next one takes too long."""
        found: list[bytes] = []
        if self._closed:
            return found, False
        try:
            process = self._process or self._start()
            return found, self._exchange(process, b"".join(lines), len(lines), found)
        except OSError:
            return found, False

    def _start(self) -> subprocess.Popen[bytes]:
        # -P: the folder of the script holds modules whose names a parser may import elsewhere.
        command = [sys.executable, "-P", str(_CHILD)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._process = process
        if self._closed:  # while it was being started, so that nobody else has ended it
            process.kill()
        # Shorter than any pipe, so it never waits for the process.
        os.write(_fd(process.stdin), json.dumps(self._task).encode() + b"\n")
        os.set_blocking(_fd(process.stdin), False)
        return process

    def _exchange(
        self, process: subprocess.Popen[bytes], content: bytes, count: int, found: list[bytes]
    ) -> bool:
        """Write lines and read as many into `found`; return whether the process stands still."""
        left, rest, ticks = memoryview(content), b"", 0
        into, out = _fd(process.stdin), _fd(process.stdout)
        while len(found) < count:
            reads, writes, _ = select.select([out], [into] if left else [], [], _TICK_S)
            if writes:
                left = left[os.write(into, left[:_CHUNK]) :]
            if reads:
                if not (part := os.read(out, _CHUNK)):
                    return False
                *whole, rest = (rest + part).split(b"\n")
                found += whole
                ticks = 0
            elif not writes:
                ticks += 1
                if ticks == _TICKS:
                    return True
        return False

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

    >>> from judgelaw.wire import JudgeSpec
    >>> spec = JudgeSpec(name="j", provider="simulated", model="m", parser={"regex": "(A+)+$"})
    >>> with Reader(spec) as reader:
    ...     reader.read(Completion(text="A" * 60 + "!"), "AB").reason
    'parser timeout'
    """

    def __init__(self, judge: JudgeSpec, *, seconds: float | None = None) -> None:
        self.judge = judge
        self._parts = {
            criterion: Reader(part, seconds=seconds)
            for criterion, part in judge.by_criterion.items()
        }
        task = None if self._parts else foreign_part(judge)
        self._bounded = None if task is None else BoundedParser(task, seconds=seconds)
        self._shown: list[str] = []
        self._answers: deque[Answer] = deque()
        # Two passes: the first hears what the foreign part is shown, the second has its answers.
        self._listening = build(judge, self._shown.append if self._bounded else None)
        self._parser = build(judge, self._next_answer if self._bounded else None)

    @property
    def foreign(self) -> bool:
        """Whether reading takes as long as somebody else's code likes, within its time."""
        return self._bounded is not None or any(part.foreign for part in self._parts.values())

    def read(self, completion: Completion, order: str) -> Verdict:
        """Read one completion; a parser that runs out of time makes it invalid."""
        (verdict,) = self.read_all([(completion, order)])
        return verdict

    def read_all(self, some: Sequence[tuple[Completion, str]]) -> list[Verdict]:
        """Read completions shown in these orders."""
        if self._parts:
            read = {criterion: part.read_all(some) for criterion, part in self._parts.items()}
            return [
                Verdict.joined(dict(zip(read, said, strict=True)), parser_name(self.judge))
                for said in zip(*read.values(), strict=True)
            ]
        if self._bounded is not None:
            self._shown.clear()
            for completion, order in some:
                parse(self.judge, completion, order, self._listening)
            self._answers = deque(self._bounded.read_all(self._shown))
        return [self._read(completion, order) for completion, order in some]

    def _read(self, completion: Completion, order: str) -> Verdict:
        try:
            return parse(self.judge, completion, order, self._parser)
        except ParserTimeoutError:
            return ran_out(self.judge)

    def _next_answer(self, _: str) -> str | None:
        return _given(self._answers.popleft())

    def close(self) -> None:
        """End the process of a foreign parser."""
        for part in self._parts.values():
            part.close()
        if self._bounded is not None:
            self._bounded.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _given(answer: Answer) -> str | None:
    if isinstance(answer, Exception):
        raise answer
    return answer


def _answer(line: bytes) -> Answer:
    said = json.loads(line)
    if "error" in said:
        return InputError(f"the parser raised {said['error']}; the reply is kept")
    if "ran_out" in said:
        return ParserTimeoutError()
    found: str | None = said["found"]
    return found


def _fd(pipe: Any) -> int:
    number: int = pipe.fileno()
    return number


_SHORT = (60, 2_500)
"""Lengths of texts on which a pattern may never run out: the first takes exponential time for
ever, the second cubic."""
_COMMON = ("a", "A", "1", " ", "\n", "_", "-", ".", '"', "aA1 ", " \n")
_MOST_ATOMS = 24
_WORD = re.compile(r"\\.|[A-Za-z0-9_]+")
_META = re.compile(r"\(\?[^)]*?[:>)]|[()\[\]{}*+?|^$]")


@dataclass(frozen=True, kw_only=True)
class Slow:
    """A pattern that ran out of time; `refused` where a short reply is enough for that."""

    words: str
    refused: bool


def try_pattern(judge: JudgeSpec) -> Slow | None:
    """Try a judge's pattern; None where it has none, or none that is slow."""
    for part in judge.by_criterion.values():
        if (slow := try_pattern(part)) is not None:
            return slow
    task = None if judge.criteria else foreign_part(judge)
    if task is None or "regex" not in task:
        return None
    with closing(BoundedParser(task)) as parser:
        for text in _texts(task["regex"]):
            if _runs_out(parser, text):
                return _slow(task["regex"], text)
    return None


def _texts(pattern: str) -> Iterator[str]:
    """Yield texts, the short ones first: something the pattern likes, repeated, then a surprise."""
    prefixes, atoms = _prefixes(pattern), _atoms(pattern)
    for length in _SHORT:
        for prefix in prefixes:
            for atom in atoms:
                yield prefix + atom * (length // len(atom)) + "\x00"
    for atom in atoms:
        text = prefixes[-1] + atom * (READ_AT_MOST // len(atom)) + "\x00"
        yield text[: READ_AT_MOST - 1] + "\x00"


def _atoms(pattern: str) -> list[str]:
    """Return what to repeat: usual characters, and words and characters of the pattern."""
    words = [word for word in _WORD.findall(pattern) if not word.startswith("\\")]
    own = [character for character in pattern if not character.isalnum()]
    return list(dict.fromkeys([*_COMMON, *words, *own]))[:_MOST_ATOMS]


def _prefixes(pattern: str) -> list[str]:
    """Return what may have to stand before the part that repeats: nothing, or literal beginnings.

    A guess: classes and escapes of classes are left out, so that what is literal remains.
    """
    literal = ""
    found = [""]
    plain = re.sub(r"\\[wWdDsSbBAZ]|\[[^\]]*\]", "*", pattern)
    for part in _META.split(re.sub(r"\\(.)", r"\1", plain)):
        literal += part
        found.append(literal)
    return list(dict.fromkeys(found))[:4]


def _runs_out(parser: BoundedParser, text: str) -> bool:
    try:
        parser(text)
    except ParserTimeoutError:
        return True
    return False


def _slow(pattern: str, text: str) -> Slow:
    if len(text) >= READ_AT_MOST:
        words = (
            f"its pattern ran out of time on a reply of {len(text):,} characters; replies like "
            "that count as invalid (parser timeout)"
        )
        return Slow(words=words, refused=False)
    words = (
        f"{pattern!r}, takes more than {SECONDS:g} s for a reply of {len(text)} characters "
        f"({text[:12]!r}...): it backtracks, and such a reply could not be read; let no repeated "
        "part hold another one that matches the same characters, as (a+)+ does"
    )
    return Slow(words=words, refused=True)
