"""Diagnostics: drift, replay, dependence, invalid outputs, rankings; one error rate for all."""

from judgelaw.diagnose.diagnosis import Diagnosis, Evidence, StreamDrift, diagnose
from judgelaw.diagnose.drift import Drift, drift_finding, rank_drift, time_drift, time_span
from judgelaw.diagnose.family import NOTICE, PROBLEM
from judgelaw.diagnose.finding import Cell, Finding, Resampled, Severity
from judgelaw.diagnose.independence import cells_finding, control_finding, same_rank_excess
from judgelaw.diagnose.invalid import (
    InvalidSensitivity,
    complete_items,
    invalid_finding,
    invalid_sensitivity,
)
from judgelaw.diagnose.leave_one_out import Drivers, LeftOut, drivers, drivers_finding
from judgelaw.diagnose.matching import Matched, cell_differences, match
from judgelaw.diagnose.ranking import (
    TAU,
    RankStability,
    ordering_finding,
    rank_stability,
    top_judge_finding,
)
from judgelaw.diagnose.recounting import check_document, recount
from judgelaw.diagnose.repeat_ranks import RankTest, exchange_finding, rank_test
from judgelaw.diagnose.replay import (
    Overlap,
    ReplyFacts,
    copies_finding,
    identical_texts,
    overlap,
    overlaps,
    replay_finding,
)

__all__ = [
    "NOTICE",
    "PROBLEM",
    "TAU",
    "Cell",
    "Diagnosis",
    "Drift",
    "Drivers",
    "Evidence",
    "Finding",
    "InvalidSensitivity",
    "LeftOut",
    "Matched",
    "Overlap",
    "RankStability",
    "RankTest",
    "ReplyFacts",
    "Resampled",
    "Severity",
    "StreamDrift",
    "cell_differences",
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
