"""What a study declares, and the manifest that freezes it before the first request."""

from judgelaw.design.items import Item
from judgelaw.design.judge import (
    ChatTemplate,
    Decoding,
    FinalChannel,
    JudgeSpec,
    Law,
    LawCell,
    Price,
)
from judgelaw.design.loading import LoadedStudy, load_study
from judgelaw.design.manifest import FrozenRun, PlannedCall, open_run
from judgelaw.design.parser_spec import JsonParser, RegexParser, ScoreParser
from judgelaw.design.store import read_sums, write_sums
from judgelaw.design.study import Analysis, Budget, Gate, Layer, Study, Transport
from judgelaw.design.templates import Template

__all__ = [
    "Analysis",
    "Budget",
    "ChatTemplate",
    "Decoding",
    "FinalChannel",
    "FrozenRun",
    "Gate",
    "Item",
    "JsonParser",
    "JudgeSpec",
    "Law",
    "LawCell",
    "Layer",
    "LoadedStudy",
    "PlannedCall",
    "Price",
    "RegexParser",
    "ScoreParser",
    "Study",
    "Template",
    "Transport",
    "load_study",
    "open_run",
    "read_sums",
    "write_sums",
]
