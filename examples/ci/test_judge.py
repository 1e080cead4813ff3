"""A judge's limits as tests: `pytest` runs them by the rule of `judgelaw gate`."""

import pytest


@pytest.mark.judgelaw("runs/nightly", max={"prompt": 0.02, "invalid": 0.01})
def test_the_judge_does_not_care_how_it_is_asked() -> None:
    """The marker decides; the body may look at more."""


def test_the_judge_does_not_care_what_comes_first(judgelaw_audit) -> None:
    """The fixture reads a run or a calls table, and gives the estimates too."""
    audit = judgelaw_audit("runs/nightly")
    audit.require(max={"order": 0.05})
    assert audit.estimates()["call"] < 0.5
