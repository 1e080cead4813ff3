"""What people look at: the HTML page, its figures, tables for a paper."""

from judgelaw.page.ci_summary import (
    asked,
    bounds,
    junit,
    levels,
    markdown,
    number,
    reasons,
    said,
    target,
    write,
)
from judgelaw.page.explorer import CUT, OPENS, PART, Completions, Place, opening
from judgelaw.page.export import answer_html, components_svg, drawn, figures, write_figures
from judgelaw.page.table_forms import to_csv, to_json_text, to_latex, write_tables
from judgelaw.page.whole_page import build, compose, figure_view, page

__all__ = [
    "CUT",
    "OPENS",
    "PART",
    "Completions",
    "Place",
    "answer_html",
    "asked",
    "bounds",
    "build",
    "components_svg",
    "compose",
    "drawn",
    "figure_view",
    "figures",
    "junit",
    "levels",
    "markdown",
    "number",
    "opening",
    "page",
    "reasons",
    "said",
    "target",
    "to_csv",
    "to_json_text",
    "to_latex",
    "write",
    "write_figures",
    "write_tables",
]
