"""The view model: everything that a page shows, in order, already formatted.

A page is a title, a sentence and sections; a section is a list of blocks. Sections are built by
pure functions from the analysis; one template turns any document into HTML.
"""

from dataclasses import dataclass
from typing import ClassVar

from judgelaw.report.numbers import Number
from judgelaw.report.svg import Svg

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
    """

    kind: ClassVar[str] = "table"
    columns: tuple[str, ...]
    rows: tuple[tuple[Inline, ...], ...]
    caption: str = ""
    name: str = ""


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
    """Symbols of the drawing by CSS class, with what they mean, where no label is direct."""


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
    """Terms with what they are: a configuration, a glossary, an integrity record."""

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
    nested: bool = False
    """Whether it belongs to the titled part before it, and so stays out of the contents."""


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
    """

    title: str
    kicker: str
    ledes: tuple[Lede, ...]
    facts: Inline
    sections: tuple[Section, ...]
    payload: str | None
    version: str
    alarms: tuple[FindingView, ...] = ()

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
