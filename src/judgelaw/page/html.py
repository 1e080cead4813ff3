"""Sections as HTML: one template, charts drawn, a policy that lets nothing else in."""

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

from judgelaw.blocks import (
    Bar,
    Block,
    Details,
    Explorer,
    Facts,
    Figure,
    Finding,
    Findings,
    Paragraph,
    Section,
    Table,
    Value,
    is_number,
    path,
    run_of,
    text_of,
)
from judgelaw.page import drawing
from judgelaw.page.drawing import Svg, draw
from judgelaw.words import unbroken

if TYPE_CHECKING:
    from judgelaw.analysis import Row, Screen

_UNBROKEN = 18
"""A row heading up to so many characters is never broken over lines."""
_ASSETS = files("judgelaw.page") / "assets"
_MINUS = "\N{MINUS SIGN}"
_KINDS: dict[type, str] = {
    Paragraph: "prose",
    Table: "table",
    Figure: "figure",
    Findings: "findings",
    Facts: "facts",
    Details: "details",
    Explorer: "explorer",
}


@dataclass(frozen=True, kw_only=True)
class Page:
    """A whole page.

    Attributes:
        title: what it is about.
        sections: in reading order.
        version: of the software.
        sentence: the answer, on pages that are no report.
        payload: the analysis JSON as base64 of gzip, or None.
        alarms: diagnostics that found a problem, shown right under the answer.
        first: what is read first; None for pages that are no report.
    """

    title: str
    sections: tuple[Section, ...]
    version: str
    sentence: str = ""
    payload: str | None = None
    alarms: tuple[Finding, ...] = ()
    first: "Screen | None" = None

    @property
    def has_items(self) -> bool:
        """Whether items can be explored."""
        return any(isinstance(b, Explorer) for s in self.sections for b in s.blocks)


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A figure on its way: every drawing is begun before the first is waited for."""

    figure: Figure
    wide: Svg
    narrow: Svg | None


def render(page: Page) -> str:
    """Turn a page into HTML."""
    scripts = [asset("charts.js"), *([asset("explorer.js")] if page.has_items else [])]
    style = drawing.stylesheet() + asset("page.css") + asset("answer.css")
    sections = [_begun(section) for section in page.sections]
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            document=page,
            opened=[s for s in sections if not s["folded"]],
            closed=[s for s in sections if s["folded"]],
            style=Markup(style),  # noqa: S704 - our own file
            scripts=[Markup(script) for script in scripts],  # noqa: S704 - our own files
            policy=policy(style, scripts),
        )
    )


def _begun(section: Section) -> dict[str, Any]:
    """Return a section with its notes gathered: they stand together, beside all the rest."""
    notes = [b for b in section.blocks if isinstance(b, Paragraph) and b.note]
    others = [b for b in section.blocks if not (isinstance(b, Paragraph) and b.note)]
    return {
        "id": section.id,
        "title": section.title,
        "folded": section.folded,
        "blocks": [_begin(block) for block in others],
        "notes": notes,
    }


def _begin(block: Block) -> Any:
    if isinstance(block, Figure):
        widths = block.widths or (drawing.WIDE, drawing.NARROW)
        drawn = [draw(block.chart(width), label=block.label) for width in widths]
        return Drawn(figure=block, wide=drawn[0], narrow=drawn[1] if len(drawn) > 1 else None)
    if isinstance(block, Details):
        return {"summary": block.summary, "blocks": [_begin(inner) for inner in block.blocks]}
    return block


def policy(style: str, scripts: list[str]) -> str:
    """Allow exactly these inline scripts and styles, and nothing from anywhere else."""
    allowed = " ".join(_digest(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_digest(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


@cache
def asset(name: str) -> str:
    """Read one of the files that ship with the package."""
    return (_ASSETS / name).read_text(encoding="utf-8")


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["figure_cell"] = is_number
    environment.tests["bar_cell"] = lambda cell: isinstance(cell, Bar)
    environment.tests["short_cell"] = lambda cell: len(text_of(cell)) <= _UNBROKEN
    environment.filters["kind"] = _kind
    environment.filters["run"] = run_of
    environment.filters["shown"] = shown
    environment.filters["number_of"] = number_of
    environment.filters["unbroken"] = unbroken
    environment.filters["drawing"] = Markup  # an Svg's markup has been cleaned by svg.clean
    return environment


def _kind(block: Any) -> str:
    if isinstance(block, Drawn):
        return "figure"
    return "details" if isinstance(block, dict) else _KINDS[type(block)]


def shown(value: Value) -> str:
    """Write a number with a true minus sign."""
    text = str(value)
    return text.replace("-", _MINUS) if text[:1] == "-" or "e-" in text else text


def number_of(row: "Row") -> Value:
    """Return the number measured that a bar of the first screen shows."""
    where = path(*row.key, "estimate") if row.key else None
    of_100 = not row.text.count(".") or row.text.endswith("%")
    value = row.values[0]
    known = None if value is None or value != value else value  # noqa: PLR0124 - nan
    return Value(known, "100" if of_100 else "", where, row.text)


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
