"""Both ways of reading a table: the group-by of small ones, the one pass of big ones."""

import pytest


@pytest.fixture(params=["by cells", "one pass"])
def both_ways(request, monkeypatch):
    """Read every table in one of the two ways, whatever its size."""
    smallest = 1 if request.param == "one pass" else float("inf")
    monkeypatch.setattr("judgelaw.tables.read._BIG", smallest)
    return request.param
