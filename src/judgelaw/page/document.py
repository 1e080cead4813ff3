"""Everything that a page shows, in order and already formatted, and where its figures come from.

A page is a title, a sentence and sections of blocks. Sections are built by pure functions from the
analysis; one template turns any document into HTML. They read typed values, each wrapped in a
`Part` that knows the path of its value in the JSON of the analysis. A `Number` made from a part
carries that path (`judges.NAME.components.prompt.estimate`), so that any figure can be followed.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from judgelaw.page.drawing import NARROW, WIDE, Spec, Svg, draw
from judgelaw.words import in_document

if TYPE_CHECKING:
    from judgelaw.analysis import Screen
    from judgelaw.arrays import Floats

MINUS = "\N{MINUS SIGN}"
ABSENT = "\N{EM DASH}"
_PLAIN_KEY = re.compile(r"[\w\-/+@ ]+")
_STEP = re.compile(r'\[("(?:[^"\\]|\\.)*"|\d+)\]|([^.\[\]]+)')
_SMALLEST = 0.001
_EXACT = 1e15


@dataclass(frozen=True, kw_only=True)
class Number:
    """One figure of the page.

    Attributes:
        value: the exact value; None where it is absent or cannot be estimated.
        text: what a person reads.
        path: where the analysis JSON holds the value; None for a figure that is counted here.
        of_100: whether the text is the value times a hundred.
    """

    value: float | int | None
    text: str
    path: str | None = None
    of_100: bool = False


def path(*keys: str | int) -> str:
    """Join keys of the analysis JSON: `judges.q.components`, `judges["gpt-5.4"]` where needed."""
    joined = ""
    for key in (step for each in keys for step in in_document(each)):
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
    """Show a component or a rate as it is, with its sign."""
    known = finite(value)
    return Number(value=known, text=_fixed(known, digits), path=where)


def percent(value: float | None, digits: int = 0, *, where: str | None = None) -> Number:
    """Show a share as a percentage."""
    known = finite(value)
    text = ABSENT if known is None else _fixed(100 * known, digits) + "%"
    return Number(value=known, text=text, path=where)


def count(value: float | None, *, where: str | None = None) -> Number:
    """Show a whole number, with commas between thousands."""
    known = finite(value)
    text = ABSENT if known is None else f"{int(known):,}".replace("-", MINUS)
    return Number(value=None if known is None else int(known), text=text, path=where)


def p_value(value: float | None, *, where: str | None = None) -> Number:
    """Show a p value; a tiny one is shown as below a limit, never as zero."""
    known = finite(value)
    if known is None or known >= _SMALLEST:
        return Number(value=known, text=_fixed(known, 3), path=where)
    return Number(value=known, text=f"< {_SMALLEST}", path=where)


def measured(value: float | None, *, where: str | None = None) -> Number:
    """Show a figure of unknown scale: a whole number as it is, others to four digits."""
    known = finite(value)
    if known is None:
        return Number(value=None, text=ABSENT, path=where)
    if float(known).is_integer() and abs(known) < _EXACT:
        return count(known, where=where)
    if abs(known) < _SMALLEST:
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


def finite(value: float | None) -> float | None:
    """Return a figure, None where there is none: what is nan here is null in the JSON."""
    return None if value is None or not isfinite(value) else value


Inline = tuple[str | Number, ...]
"""A run of text with figures in it."""


@dataclass(frozen=True, kw_only=True)
class Prose:
    """Paragraphs; a note stands in the margin where there is one."""

    kind: ClassVar[str] = "prose"
    paragraphs: tuple[Inline, ...]
    note: bool = False


@dataclass(frozen=True, kw_only=True)
class TableView:
    """A table of figures and words.

    Attributes:
        columns: headings.
        rows: cells; a heading cell is the first of a row.
        caption: one line above it, or empty.
        name: what the table is called in exports, or empty.
        beside: whether it stands beside the figure of its section, where there is room.
    """

    kind: ClassVar[str] = "table"
    columns: tuple[str, ...]
    rows: tuple[tuple[Inline, ...], ...]
    caption: str = ""
    name: str = ""
    beside: bool = False


@dataclass(frozen=True, kw_only=True)
class FigureView:
    """A drawing for wide windows, and one for narrow ones where the first would not fit."""

    kind: ClassVar[str] = "figure"
    name: str
    caption: Inline
    wide: Svg
    narrow: Svg | None = None
    title: str = ""
    key: tuple[tuple[str, str], ...] = ()
    """Symbols of the drawing by CSS class, with what they mean."""


@dataclass(frozen=True, kw_only=True)
class FindingView:
    """One diagnostic: what was found, what to do, the evidence."""

    name: str
    verdict: str
    subject: str
    headline: str
    advice: str
    figures: tuple[tuple[str, Number], ...] = ()
    table: TableView | None = None


@dataclass(frozen=True, kw_only=True)
class Findings:
    """A list of diagnostics, problems first."""

    kind: ClassVar[str] = "findings"
    findings: tuple[FindingView, ...]


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Terms with what they mean or hold: a configuration, a glossary."""

    kind: ClassVar[str] = "facts"
    pairs: tuple[tuple[str, Inline], ...]
    code: bool = False
    """Whether the values are machine text, set in a fixed pitch."""


@dataclass(frozen=True, kw_only=True)
class Folded:
    """Blocks that stay closed until asked for."""

    kind: ClassVar[str] = "folded"
    summary: str
    blocks: tuple["Block", ...]


@dataclass(frozen=True, kw_only=True)
class GridRow:
    """Verdict counts of one prompt, one tuple for each order."""

    prompt: str
    cells: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, kw_only=True)
class ItemView:
    """One item of the explorer, as it reads without JavaScript."""

    item: str
    stratum: str
    values: tuple[Number, ...]
    belief: str
    grid: tuple[GridRow, ...]


@dataclass(frozen=True, kw_only=True)
class ExplorerView:
    """The item explorer: a plain list for everybody, data for the script.

    Attributes:
        judges: names, in the order of `payloads`.
        components: which components are shown, with their labels.
        items: the plain list of the first judge, largest total first.
        listed, total: how many items the plain list holds, of how many.
        payloads: element id and base64 of gzip data.
    """

    kind: ClassVar[str] = "explorer"
    judges: tuple[str, ...]
    components: tuple[tuple[str, str], ...]
    verdicts: tuple[str, ...]
    orders: tuple[str, ...]
    items: tuple[ItemView, ...]
    total: int
    cut: int | None
    payloads: tuple[tuple[str, str], ...]


Block = Prose | TableView | FigureView | Findings | Facts | Folded | ExplorerView


@dataclass(frozen=True, kw_only=True)
class Section:
    """A titled part of the page."""

    id: str
    title: str
    blocks: tuple[Block, ...]
    level: int = 2
    folded: bool = False
    """Whether it stays closed, below everything that is open."""


@dataclass(frozen=True, kw_only=True)
class Lede:
    """The answer in one sentence, and whose it is (empty for the only judge)."""

    who: str
    sentence: str
    path: str | None = None


@dataclass(frozen=True, kw_only=True)
class Document:
    """A whole page.

    Attributes:
        title: what was audited.
        kicker: one line above the title.
        ledes: the sentence, one a judge.
        facts: size of the study, in one line.
        sections: the rest, in reading order.
        payload: the analysis JSON as base64 of gzip, or None.
        version: of the software.
        alarms: diagnostics that found a problem, shown right under the answer.
        first: what is read first; None for pages that are no report.
    """

    title: str
    kicker: str
    ledes: tuple[Lede, ...]
    facts: Inline
    sections: tuple[Section, ...]
    payload: str | None
    version: str
    alarms: tuple[FindingView, ...] = ()
    first: "Screen | None" = None

    @property
    def explorer(self) -> ExplorerView | None:
        """The item explorer, if the page has one."""
        for section in self.sections:
            for block in section.blocks:
                if isinstance(block, ExplorerView):
                    return block
        return None


def paragraph(*parts: str | Number, note: bool = False) -> Prose:
    """Return one paragraph."""
    return Prose(paragraphs=(parts,), note=note)


def note(*parts: str | Number) -> Prose:
    """Return one paragraph for the margin."""
    return paragraph(*parts, note=True)


def figure(
    name: str,
    drawn: Callable[[int], Spec],
    *,
    label: str,
    caption: Inline | str = (),
    title: str = "",
    key: tuple[tuple[str, str], ...] = (),
    widths: tuple[int, int] = (WIDE, NARROW),
) -> FigureView:
    """Draw a chart for wide and for narrow windows; `label` says what it shows."""
    wide, narrow = (draw(drawn(width), label=label) for width in widths)
    said = (caption,) if isinstance(caption, str) else caption
    return FigureView(name=name, caption=said, wide=wide, narrow=narrow, title=title, key=key)


Key = str | int
T_co = TypeVar("T_co", covariant=True)
K = TypeVar("K", bound=Key)
U = TypeVar("U")
V = TypeVar("V")


@dataclass(frozen=True)
class Part(Generic[T_co]):
    """A part of an analysis, and the keys under which the JSON of the analysis holds it.

    A part of a part is named by an accessor, `judge.at(lambda j: j.lead)`, which the type checker
    sees and which notes the path.
    """

    value: T_co
    where: tuple[Key, ...] = ()

    @property
    def path(self) -> str:
        """The path of this part."""
        return path(*self.where)

    def at(self, get: Callable[[T_co], U]) -> "Part[U]":
        """Go down to what the accessor reads."""
        trail = cast("_Trail", get(cast("T_co", _Trail(self.value, self.where))))
        return Part(cast("U", trail.trail_value), trail.trail_where)

    def known(self, get: Callable[[T_co], U | None]) -> "Part[U] | None":
        """Go down to what may be absent; None where it is."""
        found = self.at(get)
        return None if found.value is None else Part(found.value, found.where)

    def item(self: "Part[Mapping[K, V]]", key: K) -> "Part[V]":
        """Go down to the value of a key."""
        return Part(self.value[key], (*self.where, key if isinstance(key, str) else str(key)))

    def find(self: "Part[Mapping[K, V]]", key: K) -> "Part[V] | None":
        """Go down to the value of a key that may be absent; None where it is."""
        return self.item(key) if key in self.value else None

    def items(self: "Part[Mapping[K, V]]") -> "list[tuple[K, Part[V]]]":
        """Return every key with its value."""
        return [(key, self.item(key)) for key in self.value]

    def entries(self: "Part[Sequence[V]]") -> "list[Part[V]]":
        """Return the parts of a list."""
        return [Part(value, (*self.where, i)) for i, value in enumerate(self.value)]

    def cell(self: "Part[Floats]", *place: int) -> "Part[float]":
        """Go down to one figure of an array."""
        return Part(float(self.value[place]), (*self.where, *place))

    def decimal(self, get: Callable[[T_co], float | None], digits: int = 4) -> Number:
        """Return a component or a rate."""
        found = self.at(get)
        return decimal(found.value, digits, where=found.path)

    def percent(self, get: Callable[[T_co], float | None], digits: int = 0) -> Number:
        """Return a share."""
        found = self.at(get)
        return percent(found.value, digits, where=found.path)

    def count(self, get: Callable[[T_co], float | None]) -> Number:
        """Return a whole number."""
        found = self.at(get)
        return count(found.value, where=found.path)

    def p_value(self, get: Callable[[T_co], float | None]) -> Number:
        """Return a p value."""
        found = self.at(get)
        return p_value(found.value, where=found.path)

    def measured(self, get: Callable[[T_co], float | None]) -> Number:
        """Return a figure of unknown scale."""
        found = self.at(get)
        return measured(found.value, where=found.path)

    def interval(
        self, get: Callable[[T_co], tuple[float, float] | None], digits: int = 4
    ) -> Inline:
        """Return an interval as `[low, high]`, or a dash."""
        found = self.known(get)
        if found is None:
            return (Number(value=None, text=ABSENT),)
        low, high = (decimal(x.value, digits, where=x.path) for x in found.entries())
        return ("[", low, ", ", high, "]")


class _Trail:
    """Stands for a value while an accessor reads it, and notes the keys on the way down."""

    def __init__(self, value: Any, where: tuple[Key, ...]) -> None:
        self.trail_value = value
        self.trail_where = where

    def __getattr__(self, name: str) -> "_Trail":
        return _Trail(getattr(self.trail_value, name), (*self.trail_where, name))

    def __getitem__(self, key: Key) -> "_Trail":
        numbered = isinstance(self.trail_value, Mapping) and isinstance(key, int)
        noted = str(key) if numbered else key
        return _Trail(self.trail_value[key], (*self.trail_where, noted))


def plain(parts: Inline) -> str:
    """Return text and the figures in it as one string."""
    return "".join(part.text if isinstance(part, Number) else part for part in parts)
