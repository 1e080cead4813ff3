"""How much a command says beside its answer: `-q`, `-v`, and the log of the package."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from judgelaw.cli.terminal import QUIET, echo

C = TypeVar("C", bound=click.Command)
_LOG = logging.getLogger("judgelaw")
_LEVELS = (logging.INFO, logging.DEBUG)
SHARED = ("--quiet", "--verbose")
"""Options that every command has."""


class _OnStderr(logging.Handler):
    """Shows the log on stderr, with nothing in it that a terminal would obey."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        echo(f"{record.levelname.lower()}: {record.getMessage()}", err=True)


def with_volume(command: C) -> C:
    """Give a command the options -q and -v, once."""
    if not any(isinstance(p, click.Option) and "--quiet" in p.opts for p in command.params):
        command.params += [
            _option("-q", "--quiet", is_flag=True, help="Say nothing beside the answer."),
            _option("-v", "--verbose", count=True, help="Log what happens; -vv everything."),
        ]
    return command


def _option(*names: str, **settings: Any) -> click.Option:
    return click.Option(names, expose_value=False, callback=_set, **settings)


def _set(ctx: click.Context, option: click.Parameter, value: int) -> None:
    """Remember what was asked for; the log is heard until the command ends."""
    if option.name == "quiet":
        ctx.meta[QUIET] = bool(value) or ctx.meta.get(QUIET, False)
        return
    if value:
        ctx.with_resource(_heard(_LEVELS[min(value, len(_LEVELS)) - 1]))


@contextmanager
def _heard(level: int) -> Iterator[None]:
    handler, before = _OnStderr(), _LOG.level
    _LOG.addHandler(handler)
    _LOG.setLevel(level)
    try:
        yield
    finally:
        _LOG.removeHandler(handler)
        _LOG.setLevel(before)
