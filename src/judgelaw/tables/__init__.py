"""The calls table: read any file or frame, write the canonical one."""

from judgelaw.tables._columns import ALIASES
from judgelaw.tables._read import Engine, read_tensor, read_tensors
from judgelaw.tables._write import write_calls

__all__ = ["ALIASES", "Engine", "read_tensor", "read_tensors", "write_calls"]
