"""What a study declares, and the manifest that freezes it before the first request."""

from judgelaw.study.blueprint import Block, blocks, survey
from judgelaw.study.freezing import Preview, extend, freeze, preview
from judgelaw.study.items import Item, records
from judgelaw.study.loading import LoadedStudy, load_study
from judgelaw.study.manifest import (
    ITEMS,
    LABELS,
    MANIFEST,
    PROMPTS,
    STUDY,
    FrozenRun,
    PlannedCall,
    open_run,
    reading,
)
from judgelaw.study.models import Analysis, Budget, Gate, Layer, Study, Transport, study_schema
from judgelaw.study.prompts import Template, instruction_blocks
from judgelaw.study.record import RECORD
from judgelaw.study.requests import Requests, call_id, payload, payload_for, request_for
from judgelaw.study.run_files import SUMS, durable, file_sha256, read_sums, write_sums

__all__ = [
    "ITEMS",
    "LABELS",
    "MANIFEST",
    "PROMPTS",
    "RECORD",
    "STUDY",
    "SUMS",
    "Analysis",
    "Block",
    "Budget",
    "FrozenRun",
    "Gate",
    "Item",
    "Layer",
    "LoadedStudy",
    "PlannedCall",
    "Preview",
    "Requests",
    "Study",
    "Template",
    "Transport",
    "blocks",
    "call_id",
    "durable",
    "extend",
    "file_sha256",
    "freeze",
    "instruction_blocks",
    "load_study",
    "open_run",
    "payload",
    "payload_for",
    "preview",
    "read_sums",
    "reading",
    "records",
    "request_for",
    "study_schema",
    "survey",
    "write_sums",
]
