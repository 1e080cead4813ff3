"""From a frozen cell to request text, and from a completion back to a verdict."""

from judgelaw.render.completion import Completion, Verdict
from judgelaw.render.payload import payload
from judgelaw.render.reading import display, parse, parser_name, restore
from judgelaw.render.wire import request

__all__ = [
    "Completion",
    "Verdict",
    "display",
    "parse",
    "parser_name",
    "payload",
    "request",
    "restore",
]
