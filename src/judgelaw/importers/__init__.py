"""Logs of other tools as calls tables, with what can be learnt from them and what cannot."""

from judgelaw.importers.assemble import Imported, assemble
from judgelaw.importers.reading import FORMATS, import_log, read_calls
from judgelaw.importers.rules import Rules
from judgelaw.importers.survey import JudgeSurvey, Survey
from judgelaw.importers.values import Entry, ImportedCall

__all__ = [
    "FORMATS",
    "Entry",
    "Imported",
    "ImportedCall",
    "JudgeSurvey",
    "Rules",
    "Survey",
    "assemble",
    "import_log",
    "read_calls",
]
