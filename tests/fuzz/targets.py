"""What is fuzzed: each target takes bytes, and ends with a value or an error of ours.

Whatever else comes out of a target is a finding. Inputs are files that people can read: a first
line that says what the rest is, then the content as the outside world would send it.
"""

import json
import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from judgelaw.errors import JudgelawError
from judgelaw.study import load_study, preview
from judgelaw.tables import read_tensors
from judgelaw.tables.importers import Rules, import_log
from judgelaw.wire import (
    Answer,
    BatchStatus,
    Completion,
    Failure,
    JudgeSpec,
    Reply,
    decode,
    parse,
    read_json,
)
from judgelaw.wire.providers import anthropic, openai
from judgelaw.wire.reply import replayed, retry_after
from judgelaw.wire.wires import WIRES as FORMATS

CORPUS = Path(__file__).parent / "corpus"
ITEMS = '{"id": "i1", "stratum": "s", "instruction": "x", "candidate_1": "a", "candidate_2": "b"}\n'
TIMES = (0.0, 1.7e9, 253402300799.0)
WIRES = tuple(FORMATS)
_STATUSES = range(100, 600)


@dataclass(frozen=True, kw_only=True)
class Target:
    """One door to the outside world.

    Attributes:
        run: takes an input; raises what it must not only where something is wrong.
        words: pieces that the content is made of, for mutations.
        replays: mutations that `make test` tries.
        light: whether a case costs microseconds, so that a million can be tried.
    """

    run: Callable[[bytes], None]
    words: tuple[bytes, ...] = field(repr=False)
    replays: int
    light: bool = False


def reply(data: bytes) -> None:
    """Decode a reply: `WIRE STATUS`, header lines, an empty line, the body."""
    head, _, body = data.partition(b"\n\n")
    first, _, lines = head.decode("utf-8", "surrogateescape").partition("\n")
    wire, _, status = first.partition(" ")
    came = Reply(status=_status(status), body=body, headers=_headers(lines))
    name = wire if wire in WIRES else WIRES[len(wire) % len(WIRES)]
    _check(decode(name, came, content_filter=("content_filter", "flagged"), now=TIMES[1]))


def batch(data: bytes) -> None:
    """Read what batch interfaces send: a batch object, and a line of results."""
    wire, _, body = data.partition(b"\n")
    value = read_json(Reply(status=200, body=body))
    if isinstance(value, Failure):
        _check(value)
        return
    reader = anthropic if wire == b"anthropic" else openai
    look = reader.read_batch(value)
    if isinstance(look, BatchStatus):
        look.words.encode()
        assert look.results is None or 0 <= look.results < 2**63
    else:  # a status that nobody knows
        _check(look)
    line = reader.read_line(value)
    if isinstance(line, Reply):
        line = decode("anthropic" if wire == b"anthropic" else "openai-chat", line, now=TIMES[1])
    _check(line)


def headers(data: bytes) -> None:
    """Read the headers that decide something, as lines of `name: value`."""
    came = Reply(status=429, body=b"", headers=_headers(data.decode("utf-8", "surrogateescape")))
    for now in TIMES:
        seconds = retry_after(came, now)
        assert seconds is None or (math.isfinite(seconds) and seconds >= 0)
        _check(decode("openai-chat", came, now=now))
    assert replayed(came) in (True, False)


def parser(data: bytes) -> None:
    """Read a completion: a line with the number of the contract and the order, then the text."""
    head, _, text = data.partition(b"\n")
    number, _, order = head.decode("latin-1").partition(" ")
    judges = contracts()
    judge = judges[int(number) % len(judges) if number.isdecimal() and len(number) < 9 else 0]
    completion = Completion(text=text.decode("utf-8", "replace"), finish_reason=order[2:] or None)
    read = parse(judge, completion, order[:2] if order[:2] in ("AB", "BA") else "single")
    assert read.verdict
    assert read.reason
    f"{read.verdict}{read.displayed}".encode()


def study(data: bytes) -> None:
    """Do with a study what `judgelaw check` does, up to the first request of every judge."""
    path = scratch() / "study.yaml"
    path.write_bytes(data)
    (scratch() / "items.jsonl").write_text(ITEMS)
    for _, body in preview(load_study(path)).examples:
        assert json.loads(body)


def importer(data: bytes) -> None:
    """Import a log: a line with format, parser and suffix, then the file."""
    head, _, content = data.partition(b"\n")
    source, rule, suffix = [*head.decode("latin-1").split(" "), "", "", ""][:3]
    path = scratch() / f"log{suffix if suffix in SUFFIXES else '.jsonl'}"
    path.write_bytes(content)
    found = import_log(source, [path], rules=Rules(parser=rule or None), drop_copies=True)
    for column in found.columns.values():
        for value in column:
            str(value).encode()


def table(data: bytes) -> None:
    """Read a calls table: a line with the suffix, then the file."""
    head, _, content = data.partition(b"\n")
    suffix = head.decode("latin-1")
    path = scratch() / f"calls{suffix if suffix in SUFFIXES else '.csv'}"
    path.write_bytes(content)
    for tensor in read_tensors(path, incomplete="drop").values():
        assert (tensor.counts >= 0).all()


SUFFIXES = (".eval", ".json", ".json.gz", ".jsonl", ".jsonl.gz", ".csv", ".csv.gz", ".parquet")


@cache
def contracts() -> tuple[JudgeSpec, ...]:
    """The reading contracts that completions are read under."""
    labels = {"a": "A", "b": "B", "[[C]]": "TIE"}
    parsers: list[Any] = [
        "first-line",
        {"regex": r"\[\[([ABC])\]\]", "labels": labels},
        {"regex": r"(?P<verdict>A|B|TIE)|(x)", "ignore_case": True},
        {"json": "verdict"},
        {"json": "a.b", "labels": labels, "ignore_case": True},
        {"score": {"min": 0, "max": 10, "step": 0.5}},
        {"score": {"min": -1e300, "max": 1e300, "step": 1e-300}},
        {"score": {"min": 1, "max": 5, "regex": r"(?:score|rating):?\s*(\S+)?"}},
    ]
    shared: dict[str, Any] = {"provider": "simulated", "model": "m"}
    channel = {"final_channel": {"start": "<|final|>", "end": ["<|end|>"]}}
    plain = [JudgeSpec(name=f"j{i}", parser=p, **shared) for i, p in enumerate(parsers)]
    strict = [JudgeSpec(name="c", truncated="parse", complete_on=("stop",), **shared, **channel)]
    return (*plain, *strict)


@cache
def scratch() -> Path:
    """A folder for the files of one process."""
    _HOLDERS.append(tempfile.TemporaryDirectory(prefix="judgelaw-fuzz-"))
    return Path(_HOLDERS[0].name)


_HOLDERS: list[tempfile.TemporaryDirectory[str]] = []
"""Kept alive until the process ends."""


def attempt(target: Target, data: bytes) -> None:
    """Run one case; an error of ours is a fine end, and says something."""
    try:
        target.run(data)
    except JudgelawError as error:
        if type(error) is JudgelawError or not str(error):  # the bare root means exit code 70
            raise


def _status(text: str) -> int:
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else len(text)
    return _STATUSES[number % len(_STATUSES)] if number not in _STATUSES else number


def _headers(text: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in text.split("\n"))
    return {name.strip().lower(): value.strip() for name, colon, value in pairs if colon}


def _check(found: object) -> None:
    """What is stored must be storable: text in UTF-8, times finite, counts that fit."""
    if isinstance(found, Failure):
        found.detail.encode()
        assert found.detail.isprintable()
        wait = found.retry_after
        assert wait is None or (math.isfinite(wait) and wait >= 0)
        return
    assert isinstance(found, Answer)
    said = found.completion
    texts = (said.text, said.finish_reason, said.refusal, found.model, found.fingerprint)
    for text in (*texts, found.response_id):
        assert text is None or text.encode() is not None
    for number in (found.input_tokens, found.output_tokens, found.cached_tokens):
        assert number is None or 0 <= number < 2**63


_JSON = (
    b'{"',
    b'":',
    b"[",
    b"]",
    b"}",
    b",",
    b"null",
    b"true",
    b"1e999",
    b"-1",
    b"NaN",
    b'"\\ud800"',
)
_WIRE = (
    *(name.encode() for name in WIRES),
    *(
        b"choices",
        b"message",
        b"content",
        b"text",
        b"error",
        b"usage",
        b"prompt_tokens",
        b"refusal",
    ),
    *(
        b"finish_reason",
        b"type",
        b"code",
        b"seed",
        b"status_code",
        b"body",
        b"result",
        b"succeeded",
    ),
)
_HEADERS = (
    *(b"retry-after: ", b"retry-after-ms: ", b"age: ", b"x-cache: ", b"location: ", b"\n", b"hit"),
    *(
        b"Wed, 21 Oct 2015 07:28:00 GMT",
        b"Fri, 31 Dec 9999 23:59:59 -2359",
        b"inf",
        b"1e400",
        b"-0",
    ),
    *(b"99999999999999999999", b"+9999", b"Mon, 99 Foo", b"\xff", b"0 0 0 0:0:0"),
)
_YAML = (
    *(
        b"judges:\n  - ",
        b"repeats: ",
        b"prompts: ",
        b"layers: ",
        b"parser: ",
        b"grid: ",
        b"preset: ",
    ),
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b"null",
        b"&a ",
        b"*a",
        b"!!binary ",
        b"<<: ",
        b".nan",
        b".inf",
        b"-1",
    ),
    *(
        b"99999999999999999999",
        b"2001-01-01",
        b"~",
        b"? ",
        b"- ",
        b": ",
        b"\n",
        b"  ",
        b"|",
        b">",
        b"'",
    ),
)
_LOGS = (
    *(b"custom_id", b"response", b"resps", b"doc_id", b"samples", b"epoch", b"vars", b"provider"),
    *(b"inspect ", b"promptfoo ", b"lm-eval ", b"openai-batch ", b"anthropic-batch ", b"csv "),
    *(b"choices", b"output", b"metadata", b"results", b"PK\x01\x02", b"PK\x05\x06"),
)
_ROWS = (
    *(b"judge", b"item", b"prompt", b"order", b"repeat", b"verdict", b"layer", b"stratum", b"gold"),
    *(b",", b"\n", b'"', b'""', b"\r\n", b"\x00", b";", b"\xef\xbb\xbf", b"tie", b"AB", b"BA"),
)

TARGETS = {
    "reply": Target(run=reply, words=(*_JSON, *_WIRE, *_HEADERS), replays=20_000, light=True),
    "batch": Target(run=batch, words=(*_JSON, *_WIRE), replays=10_000, light=True),
    "headers": Target(run=headers, words=_HEADERS, replays=10_000, light=True),
    "parser": Target(
        run=parser, words=(*_JSON, b"A", b"B", b"TIE", b"\n", b"[["), replays=20_000, light=True
    ),
    "study": Target(run=study, words=_YAML, replays=300),
    "importer": Target(run=importer, words=(*_JSON, *_LOGS, *_ROWS), replays=1_200),
    "table": Target(run=table, words=(*_JSON, *_ROWS), replays=100),
}
