"""From a frozen cell to request text, and from a completion back to a verdict."""

from judgelaw.render.completion import Completion, Verdict
from judgelaw.render.extend import extend
from judgelaw.render.freeze import freeze
from judgelaw.render.hashing import call_id
from judgelaw.render.payload import payload
from judgelaw.render.reading import display, parse, parser_name, restore
from judgelaw.render.requests import payload_for, request_for
from judgelaw.render.wire import request

__all__ = [
    "Completion",
    "Verdict",
    "call_id",
    "display",
    "extend",
    "freeze",
    "parse",
    "parser_name",
    "payload",
    "payload_for",
    "request",
    "request_for",
    "restore",
]
