"""Values in the user's own tools: frames of their library, and what a notebook shows."""

from collections.abc import Mapping, Sequence
from html import escape
from math import isnan
from typing import Any, Literal

from judgelaw.errors import MissingExtraError

Library = Literal["pandas", "polars", "pyarrow"]


def frame_of(columns: Mapping[str, Any], library: Library) -> Any:
    """Return columns as a frame of pandas, polars or pyarrow."""
    import narwhals as nw  # noqa: PLC0415 - loads when a frame is asked for

    try:
        return nw.from_dict(dict(columns), backend=library).to_native()
    except ImportError as error:
        raise MissingExtraError(
            f"{library} is not installed: pip install {library}, or name another library"
        ) from error


def table_html(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a small HTML table; every text is escaped, cells may not hold markup."""
    cells = "".join(f"<th style='text-align:left'>{escape(name)}</th>" for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><caption>{escape(caption)}</caption><tr>{cells}</tr>{body}</table>"


def bars_svg(values: Mapping[str, float], hollow: Mapping[str, float]) -> str:
    """Return bars of named values around zero, with a ring where the `hollow` value lies."""
    shown = {name: value for name, value in values.items() if not isnan(value)}
    every = [0.0, *shown.values(), *(hollow[name] for name in shown)]
    low, high = min(every), max(every)
    span = (high - low) or 1.0
    left, width, step = 90, 260, 20

    def x(value: float) -> float:
        return left + width * (value - low) / span

    parts = []
    for i, (name, value) in enumerate(shown.items()):
        y = 6 + step * i
        start, size = min(x(0), x(value)), abs(x(value) - x(0))
        parts.append(
            f"<text x='0' y='{y + 10}' font-size='12' fill='currentColor'>{escape(name)}</text>"
            f"<rect x='{start:.1f}' y='{y}' width='{size:.1f}' height='12' fill='#0072B2'/>"
            f"<circle cx='{x(hollow[name]):.1f}' cy='{y + 6}' r='4' fill='none' stroke='#D55E00'/>"
        )
    axis = f"<line x1='{x(0):.1f}' x2='{x(0):.1f}' y1='0' y2='{step * len(shown)}' stroke='#888'/>"
    label = ", ".join(f"{name} {value:.4f}" for name, value in shown.items())
    return (
        f"<svg role='img' aria-label='{escape(label)}' width='{left + width + 10}' "
        f"height='{step * len(shown) + 6}'>{axis}{''.join(parts)}</svg>"
    )
