"""What the page says of drift is what the checks say, and no slope passes for a test it is not."""

from unittest.mock import patch

import pytest

from judgelaw.diagnose import Finding
from judgelaw.page.document import Findings, Folded, Prose, TableView, plain
from judgelaw.page.trust import drift, streams
from support.reports import bare, table

ADJACENT = "The time between adjacent repeats depends on how long the answers are."
EMPTY = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'
COLUMNS = ("gap_from", "gap_to", "pairs", "agreement", "agreement_low", "agreement_high")
ROWS = ((0.5, 1.5, 9, 0.4, 0.3, 0.5), (1.5, 2.5, 9, 0.5, 0.4, 0.6))


@pytest.fixture(autouse=True)
def undrawn():
    with patch("vl_convert.vegalite_to_svg", return_value=EMPTY):
        yield


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


def words(section):
    return [plain(p) for b in section.blocks if isinstance(b, Prose) for p in b.paragraphs]


def test_what_cannot_be_tested_is_said_first_and_its_slope_is_neither_told_nor_drawn():
    found = source(
        check("elapsed_time", "unknown", "j / a", ADJACENT),
        check("elapsed_time", "unknown", "j / b", ADJACENT),
    )
    section = drift(found)
    assert words(section) == [
        f"Drift by elapsed time is not testable with these calls (j / a, j / b). {ADJACENT}"
    ]
    assert streams(found.value, "elapsed_time") == []
    folded = [b for b in section.blocks if isinstance(b, Folded)]
    assert [b.kind for b in section.blocks] == ["prose", "folded"]
    assert "test nothing" in folded[0].summary


def test_each_verdict_stands_with_its_reason_before_the_drawing():
    found = source(
        check("elapsed_time", "unknown", "j / a", ADJACENT),
        check("rank_gap", "ok", "j / a", headline="Band [0.0021, 0.0677]."),
        check("rank_gap", "problem", "j / b", advice="Look for caching."),
    )
    section = drift(found)
    assert words(section)[0].startswith("Drift by elapsed time is not testable")
    (said,) = [b for b in section.blocks if isinstance(b, Findings)]
    assert [(f.verdict, f.subject, f.headline, f.advice) for f in said.findings] == [
        ("ok", "j / a", "Band [0.0021, 0.0677].", "Nothing to do."),
        ("problem", "j / b", "It changes by +0.1410.", "Look for caching."),
    ]
    assert [stream.name for stream in streams(found.value, "rank_gap")] == ["j / a", "j / b"]
    figures = [b.name for b in section.blocks if b.kind == "figure"]
    assert figures == ["drift-rank_gap"]


def test_why_a_band_without_zero_may_find_nothing_is_explained():
    section = drift(source(check("rank_gap", "ok", "j")))
    assert any("all checks of the audit taken together" in text for text in words(section))
    assert any(isinstance(b, TableView) for b in section.blocks), "all is tested: nothing to fold"


def test_without_checks_and_slopes_there_is_no_section():
    assert drift(bare()) is None
