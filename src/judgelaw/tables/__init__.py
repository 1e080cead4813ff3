"""The calls table: read any file or frame, write the canonical one."""
