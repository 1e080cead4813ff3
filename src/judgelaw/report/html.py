"""One self-contained page: text escaped, scripts and styles named by hash, nothing fetched."""

import base64
import hashlib
from functools import cache
from importlib.resources import files

import jinja2
from markupsafe import Markup

from judgelaw.report import palette
from judgelaw.report.document import Document
from judgelaw.report.sections.generic import is_number
from judgelaw.report.source import plain

_UNBROKEN = 18
"""A row heading up to so many characters is never broken over lines."""
_ASSETS = files("judgelaw.report") / "assets"


def render(document: Document) -> str:
    """Turn a document into HTML."""
    scripts = [asset("charts.js")]
    if document.explorer is not None:
        scripts.append(asset("explorer.js"))
    style = palette.stylesheet() + asset("page.css")
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            document=document,
            style=Markup(style),  # noqa: S704 - our own file
            scripts=[Markup(script) for script in scripts],  # noqa: S704 - our own files
            policy=policy(style, scripts),
        )
    )


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
    environment.tests["short_cell"] = lambda cell: len(plain(cell)) <= _UNBROKEN
    environment.filters["drawing"] = Markup  # an Svg's markup has been cleaned by svg.clean
    return environment


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
