"""What a question from Python may be told: its options, and the rule that each value keeps."""

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar

from judgelaw.errors import InputError
from judgelaw.tables import Said
from judgelaw.words import did_you_mean

if TYPE_CHECKING:
    from judgelaw.estimate import Design


P = ParamSpec("P")
T = TypeVar("T")
Rule = Callable[[str, Any], None]
"""Raises where a value, under the name of its option, is not what the option takes."""


class Which(Said, total=False):
    """Which calls of a run, table or tensor to read, and how: what every question takes.

    What `judgelaw.tables.said.Said` says of the columns of a table stands beside it.

    Attributes:
        judge: this judge only, or these.
        layer: this layer only.
        repeats: the frozen prefix of repeat ranks below this number.
        design: "census" if the prompts are all that matter, "sampled" if a generator drew them;
            by default as the run declares it, else "census".
        order_weights: how often each order is used, by name or in their sequence; by default as
            the run declares it, else equal.
        incomplete: "drop" leaves out items that lack two calls in a cell; "error" refuses them.
        scale: the scores from low to high, where the verdicts of a table are scores; or their
            ends, `{"from": 0, "to": 1}`, where they are continuous.
        date: this date only, where a table or run has several; by default the latest.
        criterion: this criterion only, or these, where a table or run has several.
    """

    judge: str | Iterable[str] | None
    layer: str | None
    repeats: int | None
    design: "Design | None"
    order_weights: Mapping[str, float] | Sequence[float] | None
    incomplete: Literal["error", "drop"]
    scale: Sequence[float] | Mapping[str, float] | None
    date: str | None
    criterion: str | Iterable[str] | None


def check_which(which: Mapping[str, Any]) -> None:
    """Refuse an option that no question takes, and a value that breaks the rule of its option."""
    there = {**Which.__annotations__, **Said.__annotations__}
    if unknown := [name for name in which if name not in there]:
        near = did_you_mean(unknown[0], there)
        known = ", ".join(there)
        raise InputError(f"no option is called {unknown[0]!r}{near}: {known}")
    for name, value in which.items():
        if value is not None and name in _RULES:
            _RULES[name](name, value)


def keeps_rules(**rules: Rule) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return what makes a question refuse a value that breaks a rule, before any work.

    None asks for nothing where it is the default of an option.

    Args:
        rules: of options that mean something else in this question.
    """
    known = {**_RULES, **rules}

    def keeping(ask: Callable[P, T]) -> Callable[P, T]:
        signature = inspect.signature(ask)

        @wraps(ask)
        def asked(*args: P.args, **given: P.kwargs) -> T:
            for name, value in signature.bind(*args, **given).arguments.items():
                left_out = value is None and signature.parameters[name].default is None
                if name in known and not left_out:
                    known[name](name, value)
            return ask(*args, **given)

        return asked

    return keeping


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


def _number(name: str, value: Any) -> None:
    from judgelaw.arrays import check_number

    check_number(name, value)


def check_text(name: str, value: Any) -> None:
    """Refuse what is not text; None asks for nothing."""
    if value is not None and not isinstance(value, str):
        raise InputError(f"{name} = {value!r}: a name is needed, in quotes")


def _path(name: str, value: Any) -> None:
    if not isinstance(value, str | PathLike):
        raise InputError(f"{name} = {value!r}: the path of a file is needed")


def _truth(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise InputError(f"{name} = {value!r}: it is True or False")


def _names(name: str, value: Any) -> None:
    """One name or several; an iterator would be used up by being looked at."""
    if isinstance(value, str):
        return
    if not isinstance(value, Iterable) or isinstance(value, bytes | Mapping):
        raise InputError(f"{name} = {value!r}: one name or a list of names is needed")
    for one in value if isinstance(value, Collection) else ():
        check_text(name, one)


def _by_name(rule: Rule, example: str) -> Rule:
    """Values by name, each of which keeps a rule."""

    def check(name: str, value: Any) -> None:
        if not isinstance(value, Mapping):
            raise InputError(f"{name} = {value!r}: write {name}={example}")
        for key, one in value.items():
            check_text(f"a name in {name}", key)
            rule(f"{name} {key}", one)

    return check


def _each(rule: Rule, example: str) -> Rule:
    """Several values, each of which keeps a rule."""

    def check(name: str, value: Any) -> None:
        if not isinstance(value, Iterable) or isinstance(value, str | bytes | Mapping):
            raise InputError(f"{name} = {value!r}: write {name}={example}")
        for one in value:
            rule(name, one)

    return check


def _weights(name: str, value: Any) -> None:
    """Weights by order, or one for each in their sequence."""
    by_name = isinstance(value, Mapping) or not isinstance(value, Iterable)
    (_by_name if by_name else _each)(_number, "{'AB': 0.5, 'BA': 0.5}")(name, value)


def _protocol(name: str, value: Any) -> None:
    """One way to ask: in words, or as the value that they stand for."""
    if not hasattr(value, "rule"):
        check_text(name, value)


_SCORED = ("prompts", "orders", "repeats", "items", "draw")


def _score_protocol(name: str, value: Any) -> None:
    _by_name(lambda *_: None, "{'prompts': 1, 'items': 500}")(name, value)
    for part in value:
        one_of(*_SCORED)(f"a part of {name}", part)


def _margin(name: str, value: Any) -> None:
    rule = _by_name(_number, "{'call': 0.02}") if isinstance(value, Mapping) else _number
    rule(name, value)


def _share(name: str, value: Any) -> None:
    _number(name, value)
    if not 0 < value <= 1:
        raise InputError(f"{name} = {value!r}: a share above 0, at most 1; 0.9 is 90 of 100")


def _called(name: str, value: Any) -> None:
    if not callable(value):
        raise InputError(f"{name} = {value!r}: a function is needed")


def _scale(name: str, value: Any) -> None:
    """All scores, or the two ends."""
    if not isinstance(value, Mapping):
        _each(_number, "[1, 2, 3, 4, 5]")(name, value)
        return
    if set(value) != {"from", "to"}:
        raise InputError(f"{name} = {value!r}: write the two ends, {{'from': 0, 'to': 1}}")
    _by_name(_number, "{'from': 0, 'to': 1}")(name, value)


_RULES: Mapping[str, Rule] = {
    "at_least": _share,
    "blank": one_of("error", "invalid", "drop"),
    "budget": whole(1, "no call is no budget"),
    "by": check_text,
    "certify": _by_name(_number, "{'kappa': 0.6}"),
    "criterion": _names,
    "component": one_of("call", "prompt", "order", "interaction", "total"),
    "date": check_text,
    "design": one_of("census", "sampled"),
    "draws": whole(2, "percentiles need two draws, usually 20,000"),
    "gold": check_text,
    "human": _names,
    "incomplete": one_of("error", "drop"),
    "items": one_of("fixed", "new"),
    "judge": _names,
    "law": _each(_number, "(0.6, 0.3, 0.1, 0)"),
    "layer": check_text,
    "level": _number,
    "limits": _by_name(_number, "{'prompt': 0.02}"),
    "looks": whole(1, "a watch looks at least once"),
    "margin": _margin,
    "match": _by_name(check_text, "{'old': 'new'}"),
    "minimum": _by_name(_number, "{'recall': 0.8}"),
    "order_weights": _weights,
    "path": _path,
    "permutations": whole(0, "0 leaves the tests out"),
    "positions": _names,
    "positive": check_text,
    "price": _number,
    "progress": _called,
    "prompts": _names,
    "protocol": _score_protocol,
    "protocols": _each(_protocol, "['drawn:3 both 2 random']"),
    "repeats": whole(1, "the calls of no rank are none"),
    "roles": _by_name(check_text, "{'second': 'reference'}"),
    "scale": _scale,
    "seed": whole(0, "a seed is not negative"),
    "soft": one_of("auto", "never", "only"),
    "strict": _truth,
    "threshold": _number,
    "title": check_text,
    "values": _by_name(_number, "{'pass': 1}"),
    "verdicts": _names,
    "worth": _number,
}
