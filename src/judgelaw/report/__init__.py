"""What people look at: figures, the HTML report, tables for a paper."""

from judgelaw.report.build import build, compose, page
from judgelaw.report.explorer import Completions
from judgelaw.report.tables import to_csv, to_json_text, to_latex, write_tables

__all__ = [
    "Completions",
    "build",
    "compose",
    "page",
    "to_csv",
    "to_json_text",
    "to_latex",
    "write_tables",
]
