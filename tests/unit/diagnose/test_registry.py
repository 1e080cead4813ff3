"""Diagnostics are found where they stand; `tests/architecture/test_one_file.py` plants one."""

from judgelaw.diagnose import worthless
from judgelaw.diagnose.registry import diagnostics


def test_every_diagnostic_has_a_name_and_a_place_of_its_own():
    listed = diagnostics()
    assert len({each.name for each in listed}) == len(listed) == len({x.place for x in listed})
    assert {"rank_gap", "replay", "control", "drivers"} <= {each.name for each in listed}


def test_what_makes_an_answer_worthless_is_said_where_it_is_looked_for():
    assert {"rank_gap", "replay", "model", "control", "copied_streams"} <= {*worthless()}
    assert "drivers" not in worthless()
