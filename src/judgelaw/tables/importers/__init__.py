"""Logs of other tools as calls tables, with what can be learnt from them and what cannot."""

from judgelaw.tables.importers.assembly import Imported, JudgeSurvey, Survey, assemble
from judgelaw.tables.importers.entries import Entry, ImportedCall, Rules
from judgelaw.tables.importers.formats import FORMATS, detect, import_log, read_calls

__all__ = [
    "FORMATS",
    "Entry",
    "Imported",
    "ImportedCall",
    "JudgeSurvey",
    "Rules",
    "Survey",
    "assemble",
    "detect",
    "import_log",
    "read_calls",
]
