"""A table in the layout of the paper: grouped headers, fixed digits, bands in brackets."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from judgelaw.page import Sheet, escape, write_sheets
from judgelaw.words import inert

Pair = tuple[float, float]
NOT_THERE = "--"
_LONG = 40
"""Characters beyond which a text is wrapped."""
_THOUSANDS = re.compile(r"(?<![.\d])\d{4,}")
_REPEATS = re.compile(r"\bR\b(=\d+)?")


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A number as a table of the paper prints it.

    Attributes:
        value: the number, None where it cannot be had.
        digits: after the point.
        band: the ends of its band, None without one.
        short: without the zero before the point, as `.0245`.
    """

    value: float | None
    digits: int
    band: Pair | None = None
    short: bool = False

    @property
    def texts(self) -> tuple[str, str, str]:
        """The number and the ends of its band, empty where there is none."""
        low, high = self.band or (None, None)
        return self._text(self.value), self._text(low), self._text(high)

    def _text(self, value: float | None) -> str:
        if value is None or not isfinite(value):
            return ""
        # A number that rounds to zero has no sign left.
        text = f"{round(value, self.digits) + 0.0:.{self.digits}f}"
        return text.replace("0.", ".", 1) if self.short and abs(value) < 1 else text

    @property
    def latex(self) -> str:
        """The number with its band in brackets, in mathematics where it is negative."""
        grouped = (_THOUSANDS.sub(lambda m: f"{int(m[0]):,}", text) for text in self.texts)
        value, low, high = (f"${t}$" if t.startswith("-") else t for t in grouped)
        return f"{value or NOT_THERE} [{low}, {high}]" if low else value or NOT_THERE


Entry = str | int | Figure | None


@dataclass(frozen=True, kw_only=True)
class Layout:
    """One table.

    Attributes:
        label: of the paper's table.
        caption: what it shows, and of what.
        columns: the header.
        groups: the line above the header: words, and how many columns they span.
        rows: the cells; an empty first cell continues the row above.
    """

    label: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    groups: tuple[tuple[str, int], ...] = ()

    @property
    def name(self) -> str:
        """The name of its files."""
        name = self.label.removeprefix("tab:").removeprefix("supp_").removeprefix("s-")
        return name.removeprefix("qwen-").replace("-", "_")

    @property
    def headings(self) -> tuple[str, ...]:
        """The header in one line: words of the group, then of the column."""
        above = [words for words, span in self.groups for _ in range(span)]
        above += [""] * (len(self.columns) - len(above))
        return tuple(f"{a} {b}".strip() for a, b in zip(above, self.columns, strict=True))


def sheet_of(layout: Layout) -> Sheet:
    """Return a table as its files hold it.

    CSV has the digits of the paper, with the ends of bands in columns of their own; JSON the
    header, the text of every cell and the figures behind them; LaTeX the paper's label.
    """
    banded = [
        any(isinstance(row[i], Figure) and row[i].band for row in layout.rows)  # type: ignore[union-attr] # a figure, as was asked before
        for i in range(len(layout.columns))
    ]
    header: list[str] = []
    names = (words.removesuffix(" [band]") for words in layout.headings)
    for words, has_band in zip(names, banded, strict=True):
        header += [words, f"{words} low", f"{words} high"] if has_band else [words]
    rows = list(_repeated(layout.rows))
    return Sheet(
        name=layout.name,
        label=layout.label,
        caption=layout.caption,
        header=tuple(header),
        records=tuple(
            tuple(
                cell
                for entry, has_band in zip(row, banded, strict=True)
                for cell in _cells(entry, has_band)
            )
            for row in rows
        ),
        heads=tuple(map(_header, layout.columns)),
        body=tuple(tuple(map(_latex, row)) for row in layout.rows),
        align="".join(map(_alignment, zip(*layout.rows, strict=True))),
        above=tuple(_grouped(layout.groups)),
        document={
            "label": layout.label,
            "caption": layout.caption,
            "groups": [{"words": words, "columns": span} for words, span in layout.groups],
            "columns": list(layout.columns),
            "rows": [[_plain(entry) for entry in row] for row in rows],
        },
        wide=True,
    )


def _repeated(rows: Sequence[tuple[Entry, ...]]) -> Iterator[tuple[Entry, ...]]:
    """Yield the rows with the first cell written out where it continues the one above."""
    above: Entry = ""
    for first, *rest in rows:
        above = above if first == "" else first
        yield (above, *rest)


def _cells(entry: Entry, has_band: bool) -> list[str]:  # noqa: FBT001 - of the column
    if isinstance(entry, Figure):
        return list(entry.texts) if has_band else [entry.texts[0]]
    text = "" if entry is None else inert(entry) if isinstance(entry, str) else str(entry)
    return [text, "", ""] if has_band else [text]


def _alignment(column: Sequence[Entry]) -> str:
    """Return how a column stands: numbers to the right, long texts wrapped as in the paper."""
    if any(isinstance(entry, Figure | int) for entry in column):
        return "r"
    longest = max((len(entry) for entry in column if isinstance(entry, str)), default=0)
    return r"p{.3\textwidth}" if longest > _LONG else "l"


def _grouped(groups: Sequence[tuple[str, int]]) -> list[str]:
    if not groups:
        return []
    cells, rules, at = [], [], 1
    for words, span in groups:
        cells.append(
            rf"\multicolumn{{{span}}}{{c}}{{{_header(words)}}}" if words else "&" * (span - 1)
        )
        if words and span > 1:
            rules.append(rf"\cmidrule(lr){{{at}-{at + span - 1}}}")
        at += span
    return [" & ".join(cells) + r" \\", "".join(rules)]


def _header(words: str) -> str:
    """Return the words of a header, the number of repeats in mathematics."""
    return _REPEATS.sub(r"$\g<0>$", escape(words))


def _latex(entry: Entry) -> str:
    if isinstance(entry, Figure):
        return entry.latex
    if isinstance(entry, int):
        return f"{entry:,}"
    return NOT_THERE if entry is None else escape(entry)


def _plain(entry: Entry) -> Any:
    if not isinstance(entry, Figure):
        return entry
    known = entry.value is not None and isfinite(entry.value)
    value = {"value": entry.value if known else None, "text": entry.texts[0]}
    return {**value, "band": list(entry.band)} if entry.band else value


def write_layouts(layouts: Mapping[str, Layout], folder: Path) -> list[Path]:
    """Write every table in every format as `folder/NAME.EXT`; return the files."""
    return write_sheets({name: sheet_of(layout) for name, layout in layouts.items()}, folder)
