"""Diagnostics: drift, replay, dependence, invalid outputs, rankings; one error rate for all."""

from judgelaw.diagnose.cells import cells_finding, same_rank_excess
from judgelaw.diagnose.control import control_finding
from judgelaw.diagnose.drift import Drift, drift_finding, rank_drift, time_drift, time_span
from judgelaw.diagnose.drivers import Drivers, LeftOut, drivers, drivers_finding
from judgelaw.diagnose.exchange import RankTest, exchange_finding, rank_test
from judgelaw.diagnose.finding import Cell, Finding, Severity
from judgelaw.diagnose.invalid import (
    InvalidSensitivity,
    complete_items,
    invalid_finding,
    invalid_sensitivity,
)
from judgelaw.diagnose.matching import Matched, match
from judgelaw.diagnose.ranking import (
    RankStability,
    ordering_finding,
    rank_stability,
    top_judge_finding,
)
from judgelaw.diagnose.recount import check_document, recount
from judgelaw.diagnose.replay import (
    Overlap,
    ReplyFacts,
    copies_finding,
    identical_texts,
    overlap,
    overlaps,
    replay_finding,
)
from judgelaw.diagnose.resampled import How, Resampled
from judgelaw.diagnose.streams import Diagnosis, Evidence, diagnose

__all__ = [
    "Cell",
    "Diagnosis",
    "Drift",
    "Drivers",
    "Evidence",
    "Finding",
    "How",
    "InvalidSensitivity",
    "LeftOut",
    "Matched",
    "Overlap",
    "RankStability",
    "RankTest",
    "ReplyFacts",
    "Resampled",
    "Severity",
    "cells_finding",
    "check_document",
    "complete_items",
    "control_finding",
    "copies_finding",
    "diagnose",
    "drift_finding",
    "drivers",
    "drivers_finding",
    "exchange_finding",
    "identical_texts",
    "invalid_finding",
    "invalid_sensitivity",
    "match",
    "ordering_finding",
    "overlap",
    "overlaps",
    "rank_drift",
    "rank_stability",
    "rank_test",
    "recount",
    "replay_finding",
    "same_rank_excess",
    "time_drift",
    "time_span",
    "top_judge_finding",
]
