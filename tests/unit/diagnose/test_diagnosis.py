"""All diagnostics together: problems first, each stream named, nothing skipped in silence."""

import numpy as np

from judgelaw.diagnose import Evidence, ReplyFacts, diagnose
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import Resampling
from support.streams import drawn, reused_seeds

HOW = Resampling(draws=200, seed=1)
EACH = {
    "rank_gap",
    "elapsed_time",
    "exchangeable_repeats",
    "cell_dependence",
    "cached",
    "replay",
    "invalid_outputs",
    "drivers",
}


def test_every_stream_gets_every_diagnostic():
    tensors = {
        ("audit", "a"): drawn(judge="a", layer="audit"),
        ("audit", "b"): drawn(judge="b", layer="audit", seed=1),
    }
    found = diagnose(tensors, main="audit", how=HOW).findings
    for subject in ("a / audit", "b / audit"):
        assert {f.name for f in found if f.subject == subject} == EACH
    together = {f.name for f in found if not f.subject}
    assert together == {"copied_streams", "ordering", "top_judge"}
    assert all(f.headline and f.advice for f in found)


def test_problems_come_first():
    tensors = {(None, "good"): drawn(), (None, "bad"): reused_seeds(strata=2)}
    found = diagnose(tensors, main=None, how=HOW).findings
    rank = {"problem": 0, "notice": 1, "unknown": 2, "ok": 3}
    severities = [rank[f.verdict] for f in found]
    assert severities == sorted(severities)
    assert any(f.name == "cell_dependence" and f.subject == "bad" for f in found[:3])


def test_what_makes_the_rest_doubtful_leads_the_problems():
    """Seeds used again break independence, and half of the calls say nothing: that comes first."""
    bad = reused_seeds(strata=2)
    ranked = bad.ranked.copy()
    ranked[..., ::2] = bad.verdicts.index("invalid")
    half = VerdictTensor.from_ranked(ranked, verdicts=bad.verdicts, strata=bad.strata)
    found = diagnose({(None, "bad"): half}, main=None, how=HOW).findings
    problems = [f.name for f in found if f.verdict == "problem"]
    assert len(problems) > 1
    assert problems[0] == "invalid_outputs"


def test_evidence_of_a_run_is_used():
    tensor = drawn()
    seconds = np.broadcast_to(np.arange(6.0), tensor.ranked.shape)
    ids = np.full((4, 2), "same", dtype=object)
    evidence = Evidence(
        seconds={(None, "a"): seconds},
        replies={(None, "a"): ReplyFacts(response_ids=ids)},
        adjacent=True,
    )
    found = {
        f.name: f
        for f in diagnose({(None, "a"): tensor}, main=None, how=HOW, evidence=evidence).findings
    }
    assert found["replay"].verdict == "problem"
    assert found["elapsed_time"].verdict == "unknown"
    assert "adjacent" in found["elapsed_time"].headline


def test_judges_that_cannot_be_matched_are_said_to_be():
    tensors = {(None, "a"): drawn(), (None, "b"): drawn(prompts=4)}
    (finding,) = [f for f in diagnose(tensors, main=None, how=HOW).findings if f.name == "ordering"]
    assert finding.verdict == "unknown"
    assert "same cells" in finding.headline
