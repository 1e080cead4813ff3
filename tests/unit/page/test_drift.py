"""What the page says of drift is what the checks say, and no slope passes for a test it is not."""

from judgelaw.blocks import Details, Figure, Table
from judgelaw.diagnose import Finding
from judgelaw.page.sections.checks import drift, streams
from support.reports import bare, table, words

ADJACENT = "The time between adjacent repeats depends on how long the answers are."
COLUMNS = ("gap_from", "gap_to", "pairs", "agreement", "agreement_low", "agreement_high")
ROWS = ((0.5, 1.5, 9, 0.4, 0.3, 0.5), (1.5, 2.5, 9, 0.5, 0.4, 0.6))


def check(name, verdict, subject, advice="Nothing to do.", headline="It changes by +0.1410."):
    return Finding(
        name=name,
        verdict=verdict,
        subject=subject,
        headline=headline,
        advice=advice,
        figures={"slope": 0.141},
        columns=COLUMNS,
        rows=ROWS,
    )


def slopes():
    columns = ("layer", "judge", "log_seconds_slope")
    return {"time_drift": table("time_drift", columns, [("a", "j", 0.141)])}


def source(*checks):
    return bare(checks, slopes())


def test_what_cannot_be_tested_is_said_first_and_its_slope_is_neither_told_nor_drawn():
    found = source(
        check("elapsed_time", "unknown", "j / a", ADJACENT),
        check("elapsed_time", "unknown", "j / b", ADJACENT),
    )
    blocks = drift(found)
    assert words(blocks) == [
        f"Drift by elapsed time is not testable with these calls (j / a, j / b). {ADJACENT}"
    ]
    assert streams(found.analysis, "elapsed_time") == []
    folded = [b for b in blocks if isinstance(b, Details)]
    assert len(blocks) == 2
    assert "even if untestable" in folded[0].summary


def test_each_verdict_stands_with_its_reason_before_the_drawing():
    found = source(
        check("elapsed_time", "unknown", "j / a", ADJACENT),
        check("rank_gap", "ok", "j / a", headline="Band [0.0021, 0.0677]."),
        check("rank_gap", "problem", "j / b", advice="Look for caching."),
    )
    blocks = drift(found)
    assert words(blocks)[0].startswith("Drift by elapsed time is not testable")
    assert words(blocks)[-3:-1] == [
        "j / a: Band [0.0021, 0.0677]. Nothing to do.",
        "j / b: It changes by +0.1410. Look for caching.",
    ]
    assert [stream.name for stream in streams(found.analysis, "rank_gap")] == ["j / a", "j / b"]
    figures = [b.name for b in blocks if isinstance(b, Figure)]
    assert figures == ["drift-rank_gap"]


def test_why_a_band_without_zero_may_find_nothing_is_explained():
    blocks = drift(source(check("rank_gap", "ok", "j")))
    assert any("all checks of the audit taken together" in text for text in words(blocks))
    assert any(isinstance(b, Table) for b in blocks), "all is tested: nothing to fold"


def test_without_checks_and_slopes_there_is_no_section():
    assert drift(bare()) is None
