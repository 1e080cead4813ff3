"""Flags of the command line, made from types that carry an `Option`."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin

import click

from judgelaw.errors import InputError
from judgelaw.option_types import Option, option_in, value_type

F = TypeVar("F", bound=Callable[..., Any])


def add_options(command: F, hints: Mapping[str, Any], *, into: str = "") -> F:
    """Add the flag of every type that carries an `Option`, in the order given.

    Args:
        command: the function that gets the values.
        hints: types by name.
        into: begins the names under which the command gets the values.
    """
    for name, hint in reversed([*hints.items()]):
        command = _flag(name, hint, f"{into}{name}")(command)
    return command


def has_flag(hint: Any) -> bool:
    """Whether the command line has a flag for what a type describes."""
    option = option_in(hint)
    return option is not None and option.flag != ""


def _flag(name: str, hint: Any, into: str) -> Callable[[F], F]:
    """Return the click option of a type that carries an `Option`."""
    option, kind = option_in(hint) or Option(), value_type(hint)
    flag = option.flag or f"--{name.replace('_', '-')}"
    how: dict[str, Any] = {"help": option.in_help, "metavar": option.metavar}
    if kind is bool:
        return click.option(flag, into, is_flag=True, help=option.help)
    if get_origin(kind) is Literal:
        how["type"] = click.Choice(get_args(kind))
    elif kind is int:
        how["type"] = click.IntRange(_whole(option.least), _whole(option.most))
    elif kind is float:
        how["type"] = click.FloatRange(option.least, option.most)
    if option.default is not None:
        how |= {"default": option.default, "show_default": True}
    if option.typed is not None:
        how["callback"] = _reading_what_was_typed(option.typed)
    return click.option(flag, into, multiple=option.many, **how)


def _whole(bound: float | None) -> int | None:
    return None if bound is None else int(bound)


def _reading_what_was_typed(typed: Callable[[Any], Any]) -> Callable[..., Any]:
    def read(_context: click.Context, parameter: click.Parameter, given: Any) -> Any:
        if given is None or given == ():
            return None
        try:
            return typed(given)
        except InputError:
            raise
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint=parameter.opts[0]) from error

    return read
