"""Fields of a record by dotted path."""

import pytest

from judgelaw.errors import TableError
from judgelaw.tables.importers.entries import MISSING, as_text, find, need, scalars

RECORD = {"scores": {"a.b": {"value": "A"}}, "list": [{"x": 1}, {"x": 2}], "n": 3.0, "none": None}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("scores.a.b.value", "A"),
        ("list.1.x", 2),
        ("n", 3.0),
        ("none", None),
        ("list.2.x", MISSING),
        ("list.x", MISSING),
        ("scores.a", MISSING),
        ("n.x", MISSING),
        ("", MISSING),
    ],
)
def test_a_path_descends_mappings_and_lists_and_finds_keys_with_dots(path, value):
    assert find(RECORD, path) == value


@pytest.mark.parametrize(
    ("value", "text"), [(True, "true"), (3.0, "3"), (2.5, "2.5"), (7, "7"), ([1], None), ({}, None)]
)
def test_single_values_have_a_text(value, text):
    assert as_text(value) == text


def test_a_missing_field_names_the_place_the_near_field_and_what_is_there():
    with pytest.raises(TableError) as error:
        need({"metadata": {"order": "AB"}}, "meta.order", part="order", place="log:3")
    assert str(error.value) == (
        "log:3: no field 'meta.order' for the order (did you mean 'metadata.order'?); "
        "there are metadata.order"
    )


@pytest.mark.parametrize(("path", "kind"), [("none", "empty"), ("list", "a list")])
def test_a_field_without_one_value_is_refused(path, kind):
    with pytest.raises(TableError, match=f"field '{path}' for the item is {kind}"):
        need(RECORD, path, part="item", place="log:3")


def test_blank_and_structured_values_are_no_metadata():
    record = {"item": " i1 ", "prompt": "", "order": ["AB"]}
    assert scalars(record, ["item", "prompt", "order", "gold"]) == {"item": "i1"}
    assert scalars(None, ["item"]) == {}
