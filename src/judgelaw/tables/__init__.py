"""The calls table: read any file or frame, write the canonical one."""

from judgelaw.tables._write import write_calls

__all__ = ["write_calls"]
