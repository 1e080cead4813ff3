"""Items that lie in clusters: from a column or a field of a study to the bounds of an answer."""

import pytest

import judgelaw as jl
from judgelaw.errors import TableError
from judgelaw.tables import read_tensors
from judgelaw.tables.read import read_all
from judgelaw.tables.said import wishes


def rows(key="cluster", items=24, size=3, repeats=2):
    """Return calls on items of which three lie in one cluster."""
    return [
        {"judge": "j", "item": f"i{i:02}", key: f"d{i // size}", "repeat": r,
         "verdict": "pass" if (i // size + (r if i % size == 0 else 0)) % 2 else "fail"}
        for i in range(items)
        for r in range(repeats)
    ]  # fmt: skip


def only(tensors):
    (tensor,) = tensors.values()
    return tensor


def test_a_column_puts_items_into_clusters():
    tensor = only(read_tensors(rows()))
    assert tensor.clusters == tuple(f"d{i // 3}" for i in range(24))
    assert jl.analyze(rows(), permutations=0, draws=50).judges["j"].answer.clusters == 8


def test_any_column_can_be_the_cluster():
    tensor = only(read_tensors(rows("document"), columns={"cluster": "document"}))
    assert len(set(tensor.clusters)) == 8


def test_a_cluster_of_each_item_says_nothing():
    assert only(read_tensors(rows(size=1))).clusters is None


def test_items_without_a_cluster_stand_alone():
    found = rows()
    for row in found:
        if row["cluster"] == "d0":
            row["cluster"] = ""
    tensor = only(read_tensors(found))
    assert len(set(tensor.clusters)) == 7 + 3


def test_an_item_lies_in_one_cluster():
    found = rows()
    found[1]["cluster"] = "d7"
    # A cluster that differs inside an item is none: the column is asked about, or refused.
    with pytest.raises(TableError, match="cluster"):
        read_tensors(found, columns={"cluster": "cluster"})


def test_clusters_hold_in_big_tables_too(monkeypatch):
    from judgelaw.tables import read

    slow = only(read_tensors(rows()))
    monkeypatch.setattr(read, "_BIG", 1)
    assert only(read_tensors(rows())).clusters == slow.clusters


@pytest.mark.parametrize("name", ["document", "question_id", "Conversation ID"])
def test_a_column_that_items_share_is_named(name):
    _, reading = read_all(rows(name), wishes())
    assert any(f"items share '{name}' (8 values)" in note for note in reading.notes)
    told, again = read_all(rows(name), wishes(columns={"cluster": name}))
    assert again.notes == ()
    assert len(set(only(told).clusters)) == 8


def test_a_column_that_is_the_items_own_is_not_named():
    _, reading = read_all(rows("document", size=1), wishes())
    assert reading.notes == ()
