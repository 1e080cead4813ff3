"""Replies in every wire format with all that they may hold, and odd values to put in its place."""

import copy
import json
from collections.abc import Iterator
from typing import Any

from servers.provider import chat_body, completions_body, messages_body, responses_body

Path = tuple[str | int, ...]

_DIGITS = (16, 20, 100, 308, 309, 400, 4_299, 4_301, 5_000, 100_000)
_DEPTHS = (2, 3, 10, 50, 99, 100, 101, 102, 200, 500, 900, 990, 999, 1_000, 5_000, 100_000)
_NUMBERS = (
    *("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1e308", "-1e308", "1e-999", "-0.0"),
    *("0", "-1", "2", "0.5", "1.5", "-0.5", "-9999", "-9999.0", "-10000", "1000", "+1000"[1:]),
    *(str(n) for n in (2**31, 2**53 - 1, 2**53, 2**63 - 1, 2**63, 2**64, -(2**63) - 1)),
    *("9" * digits for digits in _DIGITS),
    *("-" + "9" * digits for digits in _DIGITS),
    *("0." + "9" * 400, "1" + "0" * 308 + ".0", "1e400", "-1e400", "1E+5", "1e-400"),
)
_TEXTS = (
    *("", " ", "\n", "NaN", "Infinity", "-1", "1e999", "null", "true", "[]", "{}", "12", "0x10"),
    *("\0", "A\0B", "\x1b[2J", "\u202e", "\ufeff", "\uffff", "\U0001f600", "é" * 40, "=1+1"),
    *("../../etc/passwd", "%s%n", "{instruction}", "<script>", "A" * 1_000, "A\n" * 500),
    *("'; DROP TABLE calls", "\\", '"', "ﬁ", "\u0301", "x" * 300_000),
)
_ESCAPED = (r'"\ud800"', r'"\udfff"', r'"\ude00\ud83d"', r'"A\ud800"', r'"\uffff0"', r'"\u0000"')
_LISTS = (
    *("[]", "[null]", "[[]]", "[{}]", "[NaN]", "[1, 2, 3]", '["a"]', "[1e999]", "[true]"),
    *("[" + "0," * 9_999 + "0]", '["A", NaN]', '[{"token": "A"}]', '[{"token": 1, "logprob": -1}]'),
    *('[{"token": "A", "logprob": %s}]' % n for n in _NUMBERS[:30]),  # noqa: UP031 - braces
    *('[{"token": "A", "logprob": -1, "top_logprobs": %s}]' % v for v in ("NaN", "{}", "[NaN]")),  # noqa: UP031 - braces
)
_OBJECTS = (
    *("{}", '{"": null}', '{"a": {}}', '{"a": 1, "a": 2}', '{"A": NaN}', '{"A": "x"}', '{"A": []}'),
    *('{"content": %s}' % v for v in ("NaN", "[]", "{}", '"A"', "[NaN]", "[[]]")),  # noqa: UP031 - braces
    *('{"cached_tokens": %s}' % v for v in ("NaN", "-1", "1e999", '"1"', "[]")),  # noqa: UP031 - braces
    *('{"prompt_tokens": %s}' % v for v in ("NaN", "-1", "1e9", "[]")),  # noqa: UP031 - braces
    *('{"reason": %s}' % v for v in ("NaN", "[]", "{}", "1")),  # noqa: UP031 - braces
    *('{"tokens": %s, "token_logprobs": [NaN], "top_logprobs": [{}]}' % v for v in ('["A"]', "1")),  # noqa: UP031 - braces
    "{" + ", ".join(f'"k{n}": {n}' for n in range(2_000)) + "}",
)
MISSING = "(missing)"
VALUES: tuple[str, ...] = tuple(
    dict.fromkeys(
        [
            MISSING,
            *("null", "true", "false"),
            *_NUMBERS,
            *map(json.dumps, _TEXTS),
            *_ESCAPED,
            *_LISTS,
            *_OBJECTS,
            *("[" * depth + "]" * depth for depth in _DEPTHS),
            *('{"a":' * depth + "1" + "}" * depth for depth in _DEPTHS),
        ]
    )
)
"""Values as JSON, and some that are none although every decoder of JSON takes them."""


def _chat() -> dict[str, Any]:
    body = chat_body("A", refusal=None)
    body["choices"][0] |= {"seed": 7, "logprobs": {"content": [_token("A"), _token("\n")]}}
    body["usage"] |= {"total_tokens": 102, "prompt_tokens_details": {"cached_tokens": 64}}
    return {**body, "created": 1, "service_tier": "default", "seed": 7}


def _token(text: str) -> dict[str, Any]:
    top = [{"token": text, "logprob": -0.1, "bytes": [65]}, {"token": "B", "logprob": -3}]
    return {"token": text, "logprob": -0.1, "bytes": [65], "top_logprobs": top}


def _completions() -> dict[str, Any]:
    body = completions_body("A")
    body["choices"][0]["logprobs"] = {
        "tokens": ["A", "\n"],
        "token_logprobs": [-0.1, -0.2],
        "top_logprobs": [{"A": -0.1, "B": -3.0}, {"\n": -0.2}],
        "text_offset": [0, 1],
    }
    return body


def _messages() -> dict[str, Any]:
    body = messages_body("A")
    body["usage"] |= {"cache_creation_input_tokens": 3, "service_tier": "standard"}
    return {**body, "stop_sequence": None}


def _responses() -> dict[str, Any]:
    return responses_body("A", finish="incomplete", why="max_output_tokens")


def _local() -> dict[str, Any]:
    return {
        "text": "A",
        "id": "r1",
        "model": "m",
        "finish_reason": "stop",
        "usage": {"input_tokens": 9, "output_tokens": 1, "cached_tokens": 2},
        "logprobs": {"A": -0.1, "B": -3.0},
    }


SAMPLES: dict[str, dict[str, Any]] = {
    "openai-chat": _chat(),
    "openai-completions": _completions(),
    "openai-responses": _responses(),
    "anthropic": _messages(),
    "simulated": _chat(),
    "python": _local(),
    "command": _local(),
}
"""One reply of every wire format, with each field that somebody sends."""

_CHOICE: tuple[Path, ...] = (("choices",), ("choices", 0), ("choices", 0, "index"))
_CHAT: tuple[Path, ...] = (*_CHOICE, ("choices", 0, "message"))
REQUIRED: dict[str, tuple[Path, ...]] = {
    "openai-chat": _CHAT,
    "openai-completions": (*_CHOICE, ("choices", 0, "text")),
    "openai-responses": (
        ("error",),  # an error beside an answer is no optional field of an answer
        ("output",),
        ("output", 1),
        ("output", 1, "type"),
        ("output", 1, "content"),
        ("output", 1, "content", 0),
        ("output", 1, "content", 0, "type"),
    ),
    "anthropic": (("content",), ("content", 0), ("content", 0, "type")),
    "simulated": _CHAT,
    "python": (("text",),),
    "command": (("text",), ("id",)),  # the id says which call a line answers
}
"""Without which there is no answer."""


def optional_paths(wire: str) -> list[Path]:
    """Return the place of every value in the reply of a format that is no answer by itself."""
    return [path for path in _paths(SAMPLES[wire]) if path not in REQUIRED[wire]]


def _paths(value: Any, path: Path = ()) -> Iterator[Path]:
    inner: Any = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    for key, item in inner:
        yield (*path, key)
        yield from _paths(item, (*path, key))


def replaced(sample: dict[str, Any], path: Path, value: str) -> bytes:
    """Return a reply with another value in one place, which need not be JSON."""
    body = copy.deepcopy(sample)
    holder: Any = body
    for key in path[:-1]:
        holder = holder[key]
    if value == MISSING:
        del holder[path[-1]]
        return json.dumps(body).encode()
    mark = "a value to be replaced"
    holder[path[-1]] = mark
    return json.dumps(body).replace(json.dumps(mark), value).encode()
