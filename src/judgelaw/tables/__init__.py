"""The calls table: read any file or frame, write the canonical one."""

from judgelaw.tables.columns import ALIASES
from judgelaw.tables.labelled_rows import LabelledRows, read_rows
from judgelaw.tables.read import Engine, read_tensor, read_tensors
from judgelaw.tables.write import write_calls

__all__ = [
    "ALIASES",
    "Engine",
    "LabelledRows",
    "read_rows",
    "read_tensor",
    "read_tensors",
    "write_calls",
]
