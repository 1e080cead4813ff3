"""Numbers as the page shows them: one text, the exact value, and where the analysis holds it.

A `Number` carries the path of its value in the JSON of the analysis (`judges.NAME.components.
prompt.estimate`), so that a reader, and a test, can follow any figure in the page back to it.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

MINUS = "\N{MINUS SIGN}"
ABSENT = "\N{EM DASH}"
_PLAIN_KEY = re.compile(r"[\w\-/+@ ]+")
_STEP = re.compile(r'\[("(?:[^"\\]|\\.)*"|\d+)\]|([^.\[\]]+)')
_SMALLEST_P = 0.001
_SMALLEST_FIXED = 0.001
_EXACT = 1e15


@dataclass(frozen=True, kw_only=True)
class Number:
    """One figure of the page.

    Attributes:
        value: the exact value; None where it is absent or cannot be estimated.
        text: what a person reads.
        path: where the analysis JSON holds the value; None for a figure that is counted here.
    """

    value: float | int | None
    text: str
    path: str | None = None


def path(*keys: str | int) -> str:
    """Join keys of the analysis JSON: `judges.q.components`, `judges["gpt-5.4"]` where needed."""
    joined = ""
    for key in keys:
        if isinstance(key, str) and _PLAIN_KEY.fullmatch(key):
            joined += f".{key}" if joined else key
        else:
            joined += f"[{json.dumps(key)}]"
    return joined


def resolve(document: Mapping[str, Any], where: str) -> Any:
    """Return the value that a path names in the JSON of an analysis."""
    value: Any = document
    for quoted, plain in _STEP.findall(where):
        key = json.loads(quoted) if quoted else plain
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def decimal(value: float | None, digits: int = 4, *, where: str | None = None) -> Number:
    """Show a component or a rate; raw, with its sign."""
    known = _known(value)
    return Number(value=known, text=_fixed(known, digits), path=where)


def percent(value: float | None, digits: int = 0, *, where: str | None = None) -> Number:
    """Show a share of one."""
    known = _known(value)
    text = ABSENT if known is None else _fixed(100 * known, digits) + "%"
    return Number(value=known, text=text, path=where)


def count(value: float | None, *, where: str | None = None) -> Number:
    """Show a whole number with its thousands apart."""
    known = _known(value)
    text = ABSENT if known is None else f"{int(known):,}".replace("-", MINUS)
    return Number(value=None if known is None else int(known), text=text, path=where)


def p_value(value: float | None, *, where: str | None = None) -> Number:
    """Show a p value; never as zero."""
    known = _known(value)
    if known is None or known >= _SMALLEST_P:
        return Number(value=known, text=_fixed(known, 3), path=where)
    return Number(value=known, text=f"< {_SMALLEST_P}", path=where)


def measured(value: float | None, *, where: str | None = None) -> Number:
    """Show a figure of unknown scale: whole numbers whole, the rest in four significant digits."""
    known = _known(value)
    if known is None:
        return Number(value=None, text=ABSENT, path=where)
    if float(known).is_integer() and abs(known) < _EXACT:
        return count(known, where=where)
    if abs(known) < _SMALLEST_FIXED:
        digits, power = f"{known:.1e}".replace("-", MINUS, 1 if known < 0 else 0).split("e")
        return Number(value=known, text=f"{digits} × 10{_raised(int(power))}", path=where)
    text = _fixed(known, 4) if abs(known) < 1 else f"{known:,.4g}".replace("-", MINUS)
    return Number(value=known, text=text, path=where)


def _raised(power: int) -> str:
    return str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _fixed(value: float | None, digits: int) -> str:
    if value is None:
        return ABSENT
    text = f"{value:.{digits}f}"
    if float(text) == 0:
        return text.lstrip("-")
    return text.replace("-", MINUS)


def _known(value: float | None) -> float | None:
    return None if value is None or not isfinite(value) else value
