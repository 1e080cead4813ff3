"""The form in which a function or a command is asked here: no vendor's, and no HTTP.

A request holds the messages, the decoding and the seed. A reply holds a text, and what else the
function or the command says of it: `id`, `model`, `usage`, `logprobs`, `finish_reason`; and under
`invalid` why the text could not be read, where it could not.
"""

from collections.abc import Iterator
from typing import Any

from judgelaw.wire.form import Fault, Provider, Shape, WireFormat, decoding_of, dumps, stops_of
from judgelaw.wire.judge_spec import JudgeSpec
from judgelaw.wire.reply import (
    SAID_INVALID,
    Answer,
    Completion,
    Failure,
    FailureKind,
    Reply,
    without,
)
from judgelaw.wire.reply_json import FieldReader
from judgelaw.wire.token_probabilities import local_tokens
from judgelaw.words import shortened, storable, words

_INPUT = ("input_tokens", "prompt_tokens")
_OUTPUT = ("output_tokens", "completion_tokens")
_REASON = 80
"""Characters of a reason: reports count replies by it."""


def _encode(judge: JudgeSpec) -> Shape:
    system = ""
    if judge.system is not None:
        system = dumps({"role": "system", "content": judge.system}) + ","
    asked = {} if judge.logprobs is None else {"logprobs": judge.logprobs}
    decoding = {**decoding_of(judge), **asked, **stops_of(judge, "stop"), **judge.extra}
    return f',"messages":[{system}{{"role":"user","content":', "}]", {"decoding": decoding}


def local(reply: Reply, body: dict[str, Any]) -> Answer | Failure:
    """Decode what a function or a command answered."""
    text = body.get("text")
    if not isinstance(text, str):
        return without(reply, FailureKind.NO_COMPLETION, "no text")
    read = FieldReader()
    for name, why in read.object(body, "unread").items():
        read.cannot(name, str(why))
    usage = read.object(body, "usage")
    reason = read.text(body, "finish_reason")
    if (invalid := read.text(body, "invalid")) is not None:
        reason = SAID_INVALID + (shortened(words(invalid), _REASON) or "no reason given")
    return Answer(
        completion=Completion(
            text=storable(text),
            finish_reason=reason,
            content_filtered=reason == "content_filter",
        ),
        input_tokens=_first(read, usage, _INPUT),
        output_tokens=_first(read, usage, _OUTPUT),
        cached_tokens=read.count(usage, "cached_tokens", "usage."),
        model=read.text(body, "model"),
        response_id=read.text(body, "id"),
        tokens=local_tokens(body.get("logprobs"), text, read),
        unread=read.unread,
    )


def _first(read: FieldReader, usage: dict[str, Any], names: tuple[str, ...]) -> int | None:
    return next((read.count(usage, name, "usage.") for name in names if name in usage), None)


def _not_sent(judge: JudgeSpec) -> Iterator[Fault]:
    """Refuse what only a server could use."""
    if judge.api_key is not None:
        yield ("api_key",), f"provider {judge.provider} sends no key; read it where it is used"
    if judge.headers:
        yield ("headers",), f"provider {judge.provider} sends no headers; leave them out"


def _python_faults(judge: JudgeSpec) -> Iterator[Fault]:
    yield from _not_sent(judge)
    if judge.call is not None:
        module, colon, function = judge.call.partition(":")
        names = (*module.split("."), *function.split("."))
        if not colon or not all(name.isidentifier() for name in names):
            text = f"{judge.call!r}, is written package.module:function; name both"
            yield ("call",), text


def _command_faults(judge: JudgeSpec) -> Iterator[Fault]:
    yield from _not_sent(judge)
    if not judge.command:
        text = "missing, it is what answers; write program and arguments: [python, judge.py]"
        yield ("command",), text
    if judge.mode == "once" and judge.system is not None:
        text = "mode: once hands over one text; write it into the prompts, or use mode: lines"
        yield ("system",), text


PYTHON = WireFormat(
    name="python", encode=_encode, decode=local, faults=_python_faults, probabilities=True
)
COMMAND = WireFormat(
    name="command", encode=_encode, decode=local, faults=_command_faults, probabilities=True
)
PROVIDERS = (
    Provider(
        name="python",
        place=60,
        wire=PYTHON,
        opens="judgelaw.judges.python:PythonJudge",
        local=True,
        own_code=True,
        fields=("call",),
    ),
    Provider(
        name="command",
        place=61,
        wire=COMMAND,
        opens="judgelaw.judges.command:CommandJudge",
        local=True,
        own_code=True,
        fields=("command", "mode"),
    ),
)
