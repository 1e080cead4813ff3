"""What people are shown, as values: sections of blocks, drawn by the page and by the terminal.

A block never holds a number inside a text. A `Value` is a number with the way it is written and its
place in the JSON; whoever draws it decides what it looks like. `Place` reads a document, so that
what is shown there is what the document says there.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

from judgelaw.quantities import Estimate, Pair
from judgelaw.words import in_document

Key = str | int
Spec = dict[str, Any]
"""A Vega-Lite specification, or a part of one."""

ABSENT: Final = "-"
_PLAIN_KEY = re.compile(r"[\w\-/+@ ]+")
_STEP = re.compile(r'\[("(?:[^"\\]|\\.)*"|\d+)\]|([^.\[\]]+)')
_SMALLEST = 0.001
_EXACT = 1e15
_WHOLE_FROM = 0.95
_LEAST_OF_100 = 0.05


@dataclass(frozen=True, slots=True)
class Value:
    """One number.

    Attributes:
        value: exact; None where it is absent or cannot be estimated.
        form: how it is written: a format of Python, `100` of a hundred, `p` a p value, `any` of
            unknown scale.
        path: where the JSON holds it; None for what is counted here.
        text: how it is written, where that is decided elsewhere.
    """

    value: float | int | None
    form: str = ".4f"
    path: str | None = None
    text: str | None = None

    def __str__(self) -> str:
        return write(self.value, self.form) if self.text is None else self.text

    @property
    def unit(self) -> str:
        """What the text is in, where it is not the value itself: hundredths, or words."""
        return "hundredths" if self.form == "100" else "words" if self.form == "" else ""


@dataclass(frozen=True, slots=True)
class Span:
    """Two ends: `[low, high]`, or `low to high`."""

    low: Value
    high: Value
    to: bool = False

    @property
    def absent(self) -> bool:
        """Whether there are no ends."""
        return self.low.value is None

    def parts(self) -> "Run":
        """Return the ends with the signs between them."""
        if self.absent:
            return (Value(None),)
        if self.to:
            return (self.low, " to ", self.high)
        return ("[", self.low, ", ", self.high, "]")


@dataclass(frozen=True, slots=True)
class Bar:
    """A part of a whole, or an estimate with its range, to be drawn as a bar from 0 to 1."""

    at: float
    low: float | None = None
    high: float | None = None


Run = tuple["str | Value | Span", ...]
"""Text with numbers in it."""
Cell = str | Value | Span | Bar | Run


def write(value: float | None, form: str) -> str:
    """Write a number; nothing is shown as minus zero, and no p value as zero."""
    if value is None or not isfinite(value):
        return ABSENT
    if form == "p":
        return f"{value:.3f}" if value >= _SMALLEST else f"< {_SMALLEST}"
    if form == "any":
        return _any(value)
    if form == "100":
        return _of_100(100 * value)
    if form.endswith("d"):
        return f"{int(value):{form}}"
    return _unsigned(f"{value:{form}}")


def _of_100(hundredths: float) -> str:
    """Write so many of a hundred: whole ones, and what is less to one digit."""
    if not 0 < abs(hundredths) < _WHOLE_FROM:
        return _unsigned(f"{hundredths:.0f}")
    return f"{hundredths:.1f}" if abs(hundredths) >= _LEAST_OF_100 else "< 0.1"


def _unsigned(text: str) -> str:
    """Leave out the sign of what is rounded to zero."""
    return text.lstrip("-") if not text.strip("-0.%") else text


def _any(value: float) -> str:
    """Write a number of unknown scale: a whole one as it is, others to four digits."""
    if float(value).is_integer() and abs(value) < _EXACT:
        return f"{int(value):,}"
    if abs(value) < _SMALLEST:
        digits, power = f"{value:.1e}".split("e")
        return f"{digits} × 10{_raised(int(power))}"
    return _unsigned(f"{value:.4f}") if abs(value) < 1 else f"{value:,.4g}"


def _raised(power: int) -> str:
    return str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def path(*keys: Key) -> str:
    """Join keys of a document: `judges.q.components`, `judges["gpt-5.4"]` where needed."""
    joined = ""
    for key in (step for each in keys for step in in_document(each)):
        if isinstance(key, str) and _PLAIN_KEY.fullmatch(key):
            joined += f".{key}" if joined else key
        else:
            joined += f"[{json.dumps(key)}]"
    return joined


def resolve(document: Any, where: str) -> Any:
    """Return the value that a path names in a document."""
    value = document
    for quoted, plain in _STEP.findall(where):
        key = json.loads(quoted) if quoted else plain
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


@dataclass(frozen=True, slots=True)
class Place:
    """A part of a document and where it is; what is not there is None."""

    found: Any
    where: tuple[Key, ...] = ()

    def at(self, *keys: Key) -> "Place":
        """Go down."""
        found, where = self.found, [*self.where]
        for key in (step for each in keys for step in in_document(each)):
            if isinstance(found, Mapping):
                where.append(str(key))
                found = found.get(str(key))
            else:
                where.append(key)
                found = found[int(key)] if isinstance(found, Sequence) else None
        return Place(found, tuple(where))

    def __iter__(self) -> Any:
        """Yield the places of a list."""
        return (self.at(i) for i in range(len(self.found or ())))

    @property
    def path(self) -> str:
        """Where it is."""
        return path(*self.where)

    def value(self, *keys: Key, form: str = ".4f") -> Value:
        """Return a number."""
        here = self.at(*keys)
        return Value(here.found, form, here.path)

    def said(self, text: str) -> Value:
        """Return the number in words of one's own: without its sign, rounded outwards."""
        return Value(self.found, "", self.path, text)

    def span(
        self, *keys: Key, form: str = ".4f", to: bool = False, ends: tuple[Key, Key] = (0, 1)
    ) -> Span:
        """Return two ends of a list, or of an object that names them."""
        here = self.at(*keys)
        low, high = (here.value(end, form=form) for end in ends)
        return Span(low, high, to)


def span_of(ends: Pair | None, form: str = ".4f", *, to: bool = False) -> Span:
    """Return two ends that no document holds, or a dash."""
    low, high = ends or (None, None)
    return Span(Value(low, form), Value(high, form), to)


def with_ends(estimate: Estimate, form: str = ".4f") -> Cell:
    """Return an estimate with its interval in brackets, `0.52 (0.40 to 0.63)`; a dash for none."""
    if estimate.interval is None:
        return Value(estimate.estimate, form)
    return (Value(estimate.estimate, form), " (", span_of(estimate.interval, form, to=True), ")")


@dataclass(frozen=True, kw_only=True)
class Paragraph:
    """Words; a note stands in the margin where there is one.

    Attributes:
        run: what it says.
        note: whether it stands in the margin.
        brief: whether a terminal shows it too.
    """

    run: Run
    note: bool = False
    brief: bool = True


@dataclass(frozen=True, kw_only=True)
class Table:
    """Numbers and words in rows; a heading cell is the first of a row.

    Attributes:
        columns: headings.
        rows: cells.
        caption: one line above it, or empty.
        name: what it is called in exports, or empty.
        beside: whether it stands beside the figure of its section, where there is room.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    name: str = ""
    beside: bool = False


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A chart as a function of its width, drawn when somebody looks.

    Attributes:
        name: of its file.
        chart: returns the specification at a width.
        label: what it shows, for who cannot see it.
        caption, title: below and above it.
        key: symbols of the drawing by CSS class, with what they mean.
        widths: for wide windows and for narrow ones.
    """

    name: str
    chart: Callable[[int], Spec]
    label: str
    caption: Cell = ""
    title: str = ""
    key: tuple[tuple[str, str], ...] = ()
    widths: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One diagnostic: what was found, what to do, the evidence."""

    name: str
    verdict: str
    subject: str
    headline: str
    advice: str
    evidence: "tuple[Block, ...]" = ()


@dataclass(frozen=True, kw_only=True)
class Findings:
    """A list of diagnostics, problems first."""

    findings: tuple[Finding, ...]


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Terms with what they mean or hold: a configuration, a glossary.

    Attributes:
        pairs: terms and values.
        code: whether the values are machine text, set in a fixed pitch.
    """

    pairs: tuple[tuple[str, Cell], ...]
    code: bool = False


@dataclass(frozen=True, kw_only=True)
class Details:
    """Blocks that stay closed until asked for.

    Attributes:
        summary: what they are.
        blocks: in reading order.
        brief: whether a terminal shows them.
    """

    summary: str
    blocks: "tuple[Block, ...]"
    brief: bool = False


@dataclass(frozen=True, kw_only=True)
class ItemCard:
    """One item as it reads without JavaScript.

    Attributes:
        item, stratum: its labels.
        tags: `mostly wrong`, `changes often`, ...
        question, answers: what was asked; answers by label, marked where they are right.
        told: how often it was right, and what came out.
        values: estimates by title.
        belief: how far these can be believed.
        grid: verdict counts in a row for each prompt.
    """

    item: str
    stratum: str
    tags: tuple[str, ...]
    question: str
    answers: tuple[tuple[str, str, bool], ...]
    told: str
    values: tuple[tuple[str, Value], ...]
    belief: str
    grid: tuple[tuple[str, tuple[tuple[int, ...], ...]], ...]


@dataclass(frozen=True, kw_only=True)
class Explorer:
    """Items one by one: a plain list for everybody, data for the script.

    Attributes:
        judges: names, in the order of the data.
        verdicts, orders: of the first judge.
        items: the first ones of the first judge.
        total: how many there are.
        cut: characters of a reply that are kept; None without replies.
        payloads: element id and base64 of gzip data.
    """

    judges: tuple[str, ...]
    verdicts: tuple[str, ...]
    orders: tuple[str, ...]
    items: tuple[ItemCard, ...]
    total: int
    cut: int | None
    payloads: tuple[tuple[str, str], ...]


Block = Paragraph | Table | Figure | Findings | Facts | Details | Explorer


@dataclass(frozen=True, kw_only=True)
class Section:
    """A titled part.

    Attributes:
        id: its anchor.
        title: its heading.
        blocks: in reading order.
        folded: whether it stays closed, below everything that is open.
        brief: whether a terminal shows it.
    """

    id: str
    title: str
    blocks: tuple[Block, ...]
    folded: bool = False
    brief: bool = True


def paragraph(*run: "str | Value | Span", note: bool = False) -> Paragraph:
    """Return one paragraph."""
    return Paragraph(run=run, note=note)


def note(*run: "str | Value | Span", brief: bool = True) -> Paragraph:
    """Return one paragraph for the margin."""
    return Paragraph(run=run, note=True, brief=brief)


def run_of(cell: Cell) -> Run:
    """Return a cell as text with numbers, its intervals spelt out; a bar is nothing in words."""
    if isinstance(cell, Bar):
        return ()
    parts = cell if isinstance(cell, tuple) else (cell,)
    found: list[str | Value | Span] = []
    for part in parts:
        found += part.parts() if isinstance(part, Span) else (part,)
    return tuple(found)


def joined(parts: Sequence[Run], between: str = ", ", last: str = " and ") -> Run:
    """Return runs one after the other, with words between them."""
    found: Run = ()
    for i, part in enumerate(parts):
        sign = "" if not i else last if i == len(parts) - 1 else between
        found += (sign, *part) if sign else part
    return found


def text_of(cell: Cell) -> str:
    """Return a cell as plain text."""
    return "".join(map(str, run_of(cell)))


def markdown(table: Table) -> str:
    """Write a table as Markdown, numbers flush right."""
    rows = [[text_of(cell) for cell in row] for row in table.rows]
    right = [all(is_number(row[i]) for row in table.rows) for i in range(len(table.columns))]
    lines = [
        list(table.columns),
        ["---:" if number else "---" for number in right],
        *([safe(text) for text in row] for row in rows),
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def safe(text: str) -> str:
    """Return foreign text as Markdown shows it."""
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def is_number(cell: Cell) -> bool:
    """Tell whether a cell reads as a number, so that it is set flush right."""
    return isinstance(cell, Value | Span) or (
        isinstance(cell, tuple) and bool(cell) and isinstance(cell[0], Value | Span)
    )


def figures_in(blocks: Sequence[Block]) -> list[Figure]:
    """Return every figure among blocks, those that are closed included."""
    found: list[Figure] = []
    for block in blocks:
        if isinstance(block, Figure):
            found.append(block)
        elif isinstance(block, Details):
            found += figures_in(block.blocks)
    return found
