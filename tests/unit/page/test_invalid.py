"""Invalid outputs: tables where there are some, one line where there are none."""

import pytest

from judgelaw.blocks import Paragraph, Table
from judgelaw.page.sections.verdicts import invalid
from support.reports import bare, table, words


def source(rates, lost):
    sensitivity = table(
        "invalid_sensitivity",
        ("layer", "invalid_rate", "as_outcome"),
        [("audit", rate, 0.01) for rate in rates],
    )
    complete = table("complete_case", ("layer", "items", "lost"), [("audit", 16, n) for n in lost])
    return bare(tables={found.name: found for found in (sensitivity, complete)})


def test_one_line_where_nothing_is_invalid():
    (said,) = words(invalid(source([0.0, 0.0], [0, 0])))
    assert said.startswith("No output was invalid and no item is lost")


@pytest.mark.parametrize(
    ("rates", "lost"), [([0.0, 0.001], [0, 0]), ([0.0], [1]), ([], [0]), ([None], [0])]
)
def test_tables_where_something_is_invalid_or_not_known(rates, lost):
    kinds = [type(block) for block in invalid(source(rates, lost))]
    assert kinds[0] is Paragraph
    assert kinds.count(Table) == bool(rates) + bool(lost)


def test_nothing_without_tables():
    assert invalid(bare()) is None
