"""Colours: the Okabe-Ito set, which stays apart under every common colour blindness.

Charts are drawn in the light colours; the page repaints them by attribute (`[fill="#0072b2"]`)
from CSS variables, so that one SVG serves light, dark and print, and stands alone in a paper.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Colour:
    """One role with its colour on white and on a dark ground."""

    role: str
    light: str
    dark: str


INK = Colour(role="ink", light="#1d1f21", dark="#e9e7e3")
MUTED = Colour(role="muted", light="#666a6f", dark="#a3a7ad")
FAINT = Colour(role="faint", light="#a4a8ad", dark="#6c7178")
LINE = Colour(role="line", light="#dcdfe3", dark="#363b42")
PAPER = Colour(role="paper", light="#ffffff", dark="#15181c")
CALL = Colour(role="call", light="#0072b2", dark="#56a8e0")
PROMPT = Colour(role="prompt", light="#d55e00", dark="#f38b4a")
ORDER = Colour(role="order", light="#009e73", dark="#35c79b")
INTERACTION = Colour(role="interaction", light="#cc79a7", dark="#e39cc4")
FIRST = Colour(role="first", light="#56b4e9", dark="#6fc3f2")
SECOND = Colour(role="second", light="#e69f00", dark="#f0b52e")
TIE = Colour(role="tie", light="#b3b7bc", dark="#8b9097")
INVALID = Colour(role="invalid", light="#4a4e54", dark="#d6d3cd")

COLOURS = (
    INK,
    MUTED,
    FAINT,
    LINE,
    PAPER,
    CALL,
    PROMPT,
    ORDER,
    INTERACTION,
    FIRST,
    SECOND,
    TIE,
    INVALID,
)  # fmt: skip - one line a family
COMPONENT = {
    "call": CALL.light,
    "prompt": PROMPT.light,
    "order": ORDER.light,
    "interaction": INTERACTION.light,
    "total": INK.light,
}
_VERDICT = {
    "candidate_1": FIRST,
    "candidate_2": SECOND,
    "tie": TIE,
    "invalid": INVALID,
}
# other alphabets take these in turn, after the colours that the usual verdicts own
_OTHER = (FIRST, SECOND, ORDER, INTERACTION, CALL, PROMPT, TIE, FAINT)
SERIES = (CALL, PROMPT, ORDER, INTERACTION, FIRST, SECOND)


def verdict_colours(verdicts: Sequence[str]) -> dict[str, str]:
    """Give each verdict of an alphabet its colour; `invalid` is dark in all of them."""
    return {v: colour.light for v, colour in zip(verdicts, _of_verdicts(verdicts), strict=True)}


def verdict_roles(verdicts: Sequence[str]) -> list[str]:
    """Give each verdict of an alphabet the name of its colour."""
    return [colour.role for colour in _of_verdicts(verdicts)]


def _of_verdicts(verdicts: Sequence[str]) -> list[Colour]:
    spare = iter([c for c in _OTHER if c not in {_VERDICT[v] for v in verdicts if v in _VERDICT}])
    return [_VERDICT[v] if v in _VERDICT else next(spare, FAINT) for v in verdicts]


def stylesheet() -> str:
    """Declare every colour for light, dark and print, and repaint charts with them."""
    light = _variables("light")
    dark = _variables("dark")
    paint = "".join(
        f'svg.chart [{what}="{c.light}"]{{{what}:var(--{c.role})}}'
        for c in COLOURS
        for what in ("fill", "stroke")
    )
    roles = "".join(
        f".r-{c.role}{{background:var(--{c.role});fill:var(--{c.role})}}" for c in COLOURS
    )
    return (
        f":root{{color-scheme:light dark;{light}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
        f"{paint}{roles}"
    )


def _variables(scheme: str) -> str:
    return "".join(f"--{c.role}:{getattr(c, scheme)};" for c in COLOURS)
