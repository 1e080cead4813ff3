"""What people look at: the HTML page, its figures, tables for a paper."""

from judgelaw.page.ci_summary import (
    gate_junit,
    gate_markdown,
    gate_reasons,
    levels,
    limit_bounds,
    limit_estimate,
    limit_sentence,
    limit_text,
    target,
    write_gate_file,
)
from judgelaw.page.drawing import stylesheet
from judgelaw.page.explorer import (
    COMPLETION_CUT,
    OPENS_WITH,
    PROMPTS_PART,
    Completions,
    Place,
    opening,
)
from judgelaw.page.export import answer_html, components_svg, drawn, figures, write_figures
from judgelaw.page.table_forms import to_csv, to_json_text, to_latex, write_tables
from judgelaw.page.whole_page import build, compose, figure_view, page

__all__ = [
    "COMPLETION_CUT",
    "OPENS_WITH",
    "PROMPTS_PART",
    "Completions",
    "Place",
    "answer_html",
    "build",
    "components_svg",
    "compose",
    "drawn",
    "figure_view",
    "figures",
    "gate_junit",
    "gate_markdown",
    "gate_reasons",
    "levels",
    "limit_bounds",
    "limit_estimate",
    "limit_sentence",
    "limit_text",
    "opening",
    "page",
    "stylesheet",
    "target",
    "to_csv",
    "to_json_text",
    "to_latex",
    "write_figures",
    "write_gate_file",
    "write_tables",
]
