"""Keywords of the front door: shown with their types, checked by them, and explained."""

import inspect
from typing import Annotated, Literal, TypedDict, Unpack

import pytest

import judgelaw as jl
from judgelaw.errors import InputError
from judgelaw.option_types import Option, checked

ASKING = (
    *("advise", "analyze", "audit", "audit_async", "compare", "decompose", "gate", "plan"),
    *("report", "score", "validate", "watch"),
)


@pytest.mark.parametrize("name", ASKING)
def test_every_keyword_of_the_front_door_is_shown_with_its_type(name):
    ask = getattr(jl, name)
    for parameter in inspect.signature(ask).parameters.values():
        assert parameter.kind is not parameter.VAR_KEYWORD
        assert parameter.annotation is not parameter.empty
        assert " at 0x" not in repr(parameter.default)
        if name != "audit_async":  # it says that it does what `audit` does
            assert f"{parameter.name}:" in ask.__doc__


class Words(TypedDict, total=False):
    tone: Annotated[Literal["low", "high"], Option("How it sounds.", default="low")]
    times: Annotated[int | None, Option("How often.", least=1, why="none is nothing")]


@checked
def say(x: str, *, loud: bool = False, **words: Unpack[Words]) -> str:
    """Say it.

    Args:
        x: what.
        loud: whether aloud.
        words: the rest.
    """
    return f"{x} {loud} {words}"


def test_fields_are_keywords_with_type_default_and_meaning():
    shown = inspect.signature(say)
    assert str(shown) == (
        "(x: str, *, loud: bool = False, tone: Literal['low', 'high'] = 'low', "
        "times: int | None = None) -> str"
    )
    assert "        tone: how it sounds.\n        times: how often.\n" in say.__doc__
    assert say("a", times=2) == "a False {'times': 2}"
    assert say("a", times=None) == "a False {'times': None}"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"tune": "low"}, r"say\(\): no option is called 'tune' \(did you mean 'tone'\?\)"),
        ({"tone": "loud"}, "tone 'loud': it is 'low' or 'high'"),
        ({"times": 0}, "times = 0: none is nothing; use 1 or more"),
        ({"loud": 1}, "loud = 1: it is True or False"),
        ({"loud": None}, "loud = None: it is True or False"),
    ],
)
def test_a_value_that_breaks_its_rule_is_refused_before_any_work(given, told):
    with pytest.raises(InputError, match=told):
        say("a", **given)
