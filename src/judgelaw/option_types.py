"""An option is declared once, as a type with a description.

    layer: Annotated[str | None, Option("Read this layer only.")]

Python keywords and the check of their values, flags of the command line, help and reference are
all made from it: see `checked` here, and `cli/options.py`.
"""

import inspect
import types
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from os import PathLike
from textwrap import fill
from typing import (
    Annotated,
    Any,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

from judgelaw.errors import InputError
from judgelaw.words import did_you_mean

P = ParamSpec("P")
T = TypeVar("T")
Rule = Callable[[str, Any], None]
"""Raises where a value, under the name of its option, is not what the option takes."""


@dataclass(frozen=True, slots=True)
class Option:
    """What an option means, and how it is written on the command line.

    Attributes:
        help: a sentence, as the command line shows it.
        python: the same for Python without a full stop, where it reads otherwise there.
        flag: how the command line spells it, by default as Python; "" keeps it to Python.
        metavar: what stands for its value in a help text.
        selects: the part of a call whose names it selects, as "layer".
        many: whether the command line takes it several times.
        default: what the command line gives where it is not said.
        least: the least number that it takes.
        most: the largest number that it takes.
        why: why there is a least number.
        example: a mapping or a sequence that it takes, as Python writes it.
        rule: what its values keep, where the type alone does not say it.
        typed: makes the value of what was typed; a `ValueError` says what is wrong with it.
    """

    help: str = ""
    python: str = ""
    flag: str | None = None
    metavar: str | None = None
    selects: str = ""
    many: bool = False
    default: Any = None
    least: int | float | None = None
    most: int | float | None = None
    why: str = ""
    example: str = ""
    rule: Rule | None = None
    typed: Callable[[Any], Any] | None = None

    @property
    def in_python(self) -> str:
        """What it means, as a docstring says it."""
        return f"{self.python or self.help[:1].lower() + self.help[1:].rstrip('.')}."

    @property
    def in_help(self) -> str:
        """What it means, as the command line says it."""
        return f"{self.help.rstrip('.')}; may be repeated." if self.many else self.help


def option_in(hint: Any) -> Option | None:
    """Return the description that a type carries."""
    found = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return next((each for each in found if isinstance(each, Option)), None)


def plain_type(hint: Any) -> Any:
    """Return a type without its description."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def value_type(hint: Any) -> Any:
    """Return what a value is where it is not None."""
    plain = plain_type(hint)
    if get_origin(plain) not in (Union, types.UnionType):
        return plain
    kinds = tuple(kind for kind in get_args(plain) if kind is not types.NoneType)
    return kinds[0] if len(kinds) == 1 else Union[kinds]  # noqa: UP007 - made of a tuple


def checked(ask: Callable[P, T]) -> Callable[P, T]:
    """Check the values of a question before any work, and show every keyword that it takes.

    What `**reading: Unpack[Reading]` takes stands in the signature and in the docstring, where a
    line begins with its name. None asks for nothing where it is the default of an option.
    """
    signature = inspect.signature(ask)
    own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    rest = next((p for p in signature.parameters.values() if p.kind is p.VAR_KEYWORD), None)
    fields: Mapping[str, Any] = {} if rest is None else get_args(rest.annotation)[0].__annotations__
    may_be_none = {p.name for p in own if p.default is None} | set(fields)
    hints = {p.name: p.annotation for p in own} | dict(fields)
    rules = {name: rule for name, hint in hints.items() if (rule := rule_of(hint)) is not None}

    @wraps(ask)
    def asked(*args: P.args, **given: P.kwargs) -> T:
        if unknown := [name for name in given if name not in hints]:
            raise InputError(
                f"{ask.__name__}(): no option is called {unknown[0]!r}"
                f"{did_you_mean(unknown[0], hints)}: {', '.join(hints)}"
            )
        named = signature.bind(*args, **given).arguments
        named |= named.pop(rest.name, {}) if rest else {}
        for name, value in named.items():
            if name in rules and not (value is None and name in may_be_none):
                rules[name](name, value)
        return ask(*args, **given)

    keywords = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=(option_in(hint) or Option()).default,
            annotation=hint,
        )
        for name, hint in fields.items()
    ]
    shown = [p.replace(annotation=plain_type(p.annotation)) for p in (*own, *keywords)]
    asked.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]  # PEP 362
    if rest is not None:
        asked.__doc__ = _with_fields(ask.__doc__, rest.name, fields)
    return asked


def _with_fields(text: str | None, name: str, fields: Mapping[str, Any]) -> str | None:
    """Say in a docstring what each field means, in place of the line about all of them."""
    lines = []
    for line in (text or "").splitlines(keepends=True):
        indent = line[: len(line) - len(line.lstrip())]
        if not line.lstrip().startswith(f"{name}:"):
            lines.append(line)
            continue
        for field, hint in fields.items():
            said = f"{field}: {(option_in(hint) or Option()).in_python}"
            lines.append(fill(said, 100, initial_indent=indent, subsequent_indent=f"{indent}    "))
            lines.append("\n")
    return "".join(lines) or None


def check_keywords(model: type, given: Mapping[str, Any]) -> None:
    """Refuse a keyword that a model does not have, and a value that breaks the rule of its own."""
    fields = model.__annotations__
    for name, value in given.items():
        if name not in fields:
            near = did_you_mean(name, fields)
            raise InputError(f"no option is called {name!r}{near}: {', '.join(fields)}")
        rule = rule_of(fields[name])
        if rule is not None and value is not None:
            rule(name, value)


def rule_of(hint: Any) -> Rule | None:
    """Return the rule that the values of a type keep, None where it takes anything."""
    option, kind = option_in(hint) or Option(), value_type(hint)
    if option.rule is not None:
        return option.rule
    if get_origin(kind) is Literal:
        return one_of(*get_args(kind))
    if kind is int and option.least is not None:
        return whole(int(option.least), option.why)
    if get_origin(kind) is Mapping and option.example:
        return by_name(_OF_TYPE[get_args(kind)[1]], option.example)
    return _OF_TYPE.get(kind)


def one_of(*choices: str) -> Rule:
    """Return the rule that a value is one of the choices."""

    def check(name: str, value: Any) -> None:
        if not (isinstance(value, str) and value in choices):
            known = f"{', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}"
            near = did_you_mean(value, choices) if isinstance(value, str) else ""
            raise InputError(f"{name} {value!r}: it is {known}{near}")

    return check


def whole(low: int, why: str) -> Rule:
    """Return the rule that a value is a whole number from `low` on; `why` tells the reason."""

    def check(name: str, value: Any) -> None:
        from judgelaw.arrays import check_at_least

        check_at_least(name, value, low, why)

    return check


def number(name: str, value: Any) -> None:
    """Refuse what is no finite number."""
    from judgelaw.arrays import check_number

    check_number(name, value)


def text(name: str, value: Any) -> None:
    """Refuse what is not text."""
    if not isinstance(value, str):
        raise InputError(f"{name} = {value!r}: a name is needed, in quotes")


def path(name: str, value: Any) -> None:
    """Refuse what is no path."""
    if not isinstance(value, str | PathLike):
        raise InputError(f"{name} = {value!r}: the path of a file is needed")


def _truth(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise InputError(f"{name} = {value!r}: it is True or False")


def names(name: str, value: Any) -> None:
    """Refuse what is neither one name nor several; an iterator is not used up by a look at it."""
    if isinstance(value, str):
        return
    if not isinstance(value, Iterable) or isinstance(value, bytes | Mapping):
        raise InputError(f"{name} = {value!r}: one name or a list of names is needed")
    for one in value if isinstance(value, Collection) else ():
        text(name, one)


def by_name(rule: Rule, example: str) -> Rule:
    """Return the rule that a value holds values by name, each of which keeps a rule."""

    def check(name: str, value: Any) -> None:
        if not isinstance(value, Mapping):
            raise InputError(f"{name} = {value!r}: write {name}={example}")
        for key, one in value.items():
            text(f"a name in {name}", key)
            rule(f"{name} {key}", one)

    return check


def each(rule: Rule, example: str) -> Rule:
    """Return the rule that a value holds several values, each of which keeps a rule."""

    def check(name: str, value: Any) -> None:
        if not isinstance(value, Iterable) or isinstance(value, str | bytes | Mapping):
            raise InputError(f"{name} = {value!r}: write {name}={example}")
        for one in value:
            rule(name, one)

    return check


def share(name: str, value: Any) -> None:
    """Refuse what is no share of calls."""
    number(name, value)
    if not 0 < value <= 1:
        raise InputError(f"{name} = {value!r}: a share above 0, at most 1; 0.9 is 90 of 100")


def called(name: str, value: Any) -> None:
    """Refuse what cannot be called."""
    if not callable(value):
        raise InputError(f"{name} = {value!r}: a function is needed")


_OF_TYPE: Mapping[Any, Rule] = {
    bool: _truth,
    float: number,
    str: text,
    str | PathLike[str]: path,
}


def typed_words(typed: str) -> tuple[str, ...]:
    """Split what was typed at its commas."""
    return tuple(word.strip() for word in typed.split(","))


def typed_pairs(typed: Iterable[str]) -> dict[str, str]:
    """Split VALUE=MEANING at the last equals sign: values may hold some themselves."""
    found = {}
    for word in typed:
        value, equals, meaning = word.rpartition("=")
        if not (value and equals and meaning):
            raise ValueError(f"{word!r}: write VALUE=MEANING")
        found[value] = meaning
    return found
