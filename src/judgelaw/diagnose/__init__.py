"""Diagnostics that fire: drift, replay, dependence, invalid outputs, unstable rankings."""

from judgelaw.diagnose.finding import Cell, Finding, Severity

__all__ = ["Cell", "Finding", "Severity"]
