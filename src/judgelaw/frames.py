"""Values in the user's own tools: frames of their library, JSON, and what a notebook shows."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, get_args

from judgelaw.errors import InputError, MissingExtraError, writing
from judgelaw.words import by_criterion, counted, shortened, visible

Library = Literal["pandas", "polars", "pyarrow"]

_ROWS = 12
"""Rows that a result shows of itself; all of them are in `to_frame()`."""
_CELL = 48
_WORDS = 1_200
_SHOWN = 2_900
"""Characters of a repr: what is printed by accident stays on one screen."""


class Result:
    """What every answer offers, whatever it is about: a short repr, HTML, a frame, JSON.

    A subclass is a frozen dataclass made with `repr=False`. It says its `schema`, what was found
    (`in_words`) and its rows (`records`); `to_json` it writes itself where the document is not
    simply its fields.
    """

    schema: ClassVar[str]
    """Name and version of the JSON document, `judgelaw.gate/1`."""

    brief: ClassVar[tuple[str, ...]] = ()
    """Columns that it shows of itself; all of them where none are named."""

    passes: ClassVar[str | None] = None
    """The only verdict that is true: `assert jl.gate(...)` holds on it alone."""

    def __bool__(self) -> bool:
        return self.passes is None or getattr(self, "verdict", None) == self.passes

    def in_words(self) -> str:
        """Say what was found, in a sentence or a few."""
        raise NotImplementedError

    def records(self) -> Sequence[Mapping[str, Any]]:
        """Return the rows of `to_frame()`: plain values by column, the same columns in each."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """Return a document of plain values, None for what is nan."""
        return {"schema": self.schema, **plain(self)}

    def to_frame(self, library: Library = "pandas") -> Any:
        """Return the rows in a frame of pandas, polars or pyarrow."""
        rows = self.records()
        names = list(rows[0]) if rows else []
        return frame_of({name: [row[name] for row in rows] for name in names}, library)

    def __repr__(self) -> str:
        head, *rows = self._shown()
        said = _cut(visible(self.in_words()), _WORDS)
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        lines = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in (head, *rows)]
        more = f"... {self._more()}" if self._more() else ""
        text = "\n".join(filter(None, [said, *lines, more]))
        return _cut(text, _SHOWN)

    def _repr_html_(self) -> str:
        head, *rows = self._shown()
        more = f"<p>{escape(self._more())}</p>" if self._more() else ""
        return table_html(visible(self.in_words()), head, rows) + more

    def _shown(self) -> list[list[str]]:
        """Return the names of the columns, and the first rows as text."""
        rows = self.records()
        names = list(self.brief or (rows[0] if rows else ()))
        cells = [
            [shortened(visible(_cell(row[name])), _CELL) for name in names] for row in rows[:_ROWS]
        ]
        return [names, *cells]

    def _more(self) -> str:
        more = len(self.records()) - _ROWS
        return f"and {counted(more, 'row')} more in to_frame()" if more > 0 else ""


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A drawn figure: a notebook shows it, and `save` writes it.

    Attributes:
        name: of the figure, as `--figures` calls it.
        svg: the drawing.
        drawn: makes the bytes of a format.
    """

    name: str
    svg: str
    drawn: "Callable[[str], bytes]" = field(repr=False, compare=False)

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"{self.name}: {len(self.svg):,} characters of SVG; save it with .save(path)"

    def save(self, path: str | PathLike[str]) -> Path:
        """Write it as SVG, PDF or PNG, by the ending of the path."""
        target = Path(path)
        with writing(target):
            target.write_bytes(self.drawn(target.suffix.removeprefix(".").lower()))
        return target


class _OfJudge(Protocol):
    @property
    def sentence(self) -> str: ...
    def to_json(self) -> dict[str, Any]: ...


class ByJudge(Result):
    """An answer with a part for each judge, by name, that says itself in a sentence."""

    judges: Mapping[str, _OfJudge]

    def to_json(self) -> dict[str, Any]:
        """Return the document: every judge by name, its criteria below it."""
        found = {name: judge.to_json() for name, judge in self.judges.items()}
        return {"schema": self.schema, "judges": by_criterion(found)}

    def in_words(self) -> str:
        """Say what was found, judge by judge."""
        several = len(self.judges) > 1
        return "\n".join(
            f"{name}: {judge.sentence}" if several else judge.sentence
            for name, judge in self.judges.items()
        )


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]} ..."


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def plain(value: Any) -> Any:
    """Turn frozen values into what JSON can hold; a number that does not exist becomes None."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):  # an array or a scalar of NumPy
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def frame_of(columns: Mapping[str, Any], library: Library) -> Any:
    """Return columns as a frame of pandas, polars or pyarrow."""
    import narwhals as nw  # noqa: PLC0415 - loads when a frame is asked for

    if library not in get_args(Library):
        raise InputError(
            f"library {library!r}: a frame is one of {', '.join(get_args(Library))}; for another "
            "library take pyarrow and convert"
        )
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
    shown = {name: value for name, value in values.items() if not math.isnan(value)}
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
