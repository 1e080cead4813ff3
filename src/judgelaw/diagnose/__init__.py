"""Diagnostics: drift, replay, dependence, invalid outputs, rankings; one error rate for all."""

from judgelaw.diagnose.diagnosis import (
    Diagnosis as Diagnosis,
    diagnose as diagnose,
    worthless as worthless,
)
from judgelaw.diagnose.drift import (
    Drift as Drift,
    StreamDrift as StreamDrift,
    drift_finding as drift_finding,
    rank_drift as rank_drift,
    time_drift as time_drift,
    time_span as time_span,
)
from judgelaw.diagnose.evidence import Evidence as Evidence, ReplyFacts as ReplyFacts
from judgelaw.diagnose.family import NOTICE as NOTICE, PROBLEM as PROBLEM
from judgelaw.diagnose.finding import Cell as Cell, Finding as Finding
from judgelaw.diagnose.independence import (
    cells_finding as cells_finding,
    same_rank_excess as same_rank_excess,
)
from judgelaw.diagnose.invalid import (
    complete_items as complete_items,
    invalid_finding as invalid_finding,
    invalid_sensitivity as invalid_sensitivity,
)
from judgelaw.diagnose.leave_one_out import drivers as drivers, drivers_finding as drivers_finding
from judgelaw.diagnose.probing import (
    Changed as Changed,
    ProbeEffect as ProbeEffect,
    Where as Where,
    probe_effects as probe_effects,
    probe_p_values as probe_p_values,
    shift_interval as shift_interval,
)
from judgelaw.diagnose.ranking import (
    TAU as TAU,
    Matched as Matched,
    RankStability as RankStability,
    cell_differences as cell_differences,
    match as match,
    ordering_finding as ordering_finding,
    rank_stability as rank_stability,
    top_judge_finding as top_judge_finding,
)
from judgelaw.diagnose.recounting import check_document as check_document, recount as recount
from judgelaw.diagnose.repeat_ranks import rank_test as rank_test
from judgelaw.diagnose.replay import (
    identical_texts as identical_texts,
    overlap as overlap,
    replay_finding as replay_finding,
)
from judgelaw.diagnose.vectors import check_vectors as check_vectors
