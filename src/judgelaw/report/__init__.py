"""What people look at: figures, the HTML report, tables for a paper."""

from judgelaw.report.build import build, compose, figure_view, page
from judgelaw.report.explorer import Completions
from judgelaw.report.export import figures, write_figures
from judgelaw.report.notebook import answer_html, components_svg
from judgelaw.report.tables import to_csv, to_json_text, to_latex, write_tables

__all__ = [
    "Completions",
    "answer_html",
    "build",
    "components_svg",
    "compose",
    "figure_view",
    "figures",
    "page",
    "to_csv",
    "to_json_text",
    "to_latex",
    "write_figures",
    "write_tables",
]
