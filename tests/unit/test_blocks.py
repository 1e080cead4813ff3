import math

import pytest
from hypothesis import given, strategies as st

from judgelaw.blocks import (
    Bar,
    Details,
    Figure,
    Place,
    Span,
    Table,
    Value,
    figures_in,
    is_number,
    path,
    resolve,
    text_of,
    write,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.123456, "0.1235"),
        (-0.00123, "-0.0012"),
        (-0.00001, "0.0000"),
        (0.0, "0.0000"),
        (None, "-"),
        (math.nan, "-"),
        (math.inf, "-"),
    ],
)
def test_a_component_keeps_its_sign_and_four_digits(value, text):
    assert str(Value(value)) == text


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        (1234.0, "any", "1,234"),
        (0.25, "any", "0.2500"),
        (-3.9e-5, "any", "-3.9 × 10⁻⁵"),
        (6.1e-16, "any", "6.1 × 10⁻¹⁶"),
        (1653.27, "any", "1,653"),
        (2.25, "any", "2.25"),
        (0.00001, "p", "< 0.001"),
        (0.0495, "p", "0.050"),
        (0.786, "100", "79"),
        (1.0, "100", "100"),
        (0.0033, "100", "0.3"),
        (0.0, "100", "0"),
        (0.0002, "100", "< 0.1"),
        (0.5234, ".1%", "52.3%"),
        (-0.0001, ".1%", "0.0%"),
        (12345, ",d", "12,345"),
        (3.12, "+.1f", "+3.1"),
    ],
)
def test_numbers_are_written_by_their_form(value, form, text):
    assert write(value, form) == text


def test_words_of_ones_own_stand_for_a_number():
    place = Place({"lean": -0.125}, ("judges", "j"))
    said = place.at("lean").said("12")
    assert (str(said), said.value, said.path, said.unit) == ("12", -0.125, "judges.j.lean", "words")


def test_ends_are_written_in_brackets_or_in_words():
    span = Span(Value(0.1), Value(0.2))
    assert text_of(span) == "[0.1000, 0.2000]"
    assert text_of(Span(Value(0.1, "100"), Value(0.2, "100"), to=True)) == "10 to 20"
    assert text_of(Span(Value(None), Value(None))) == "-"
    assert text_of(("at ", Value(3, ",d"), " of ", span)) == "at 3 of [0.1000, 0.2000]"
    assert text_of(Bar(0.5)) == ""


def test_numbers_stand_flush_right_and_words_do_not():
    assert is_number(Value(1))
    assert is_number((Value(1), " of ", Value(2)))
    assert not is_number("1")
    assert not is_number(("of ", Value(2)))


@given(st.lists(st.text(min_size=1) | st.integers(0, 3), min_size=1, max_size=5))
def test_a_path_leads_back_to_its_value(keys):
    """Whatever a judge, a stratum or a table is called, its path resolves."""
    document = 42.0
    for key in reversed(keys):
        document = [document] * (key + 1) if isinstance(key, int) else {key: document}
    if isinstance(keys[0], int):
        document, keys = {"top": document}, ["top", *keys]
    assert resolve(document, path(*keys)) == 42.0
    found = Place(document).at(*keys)
    assert (found.found, found.path) == (42.0, path(*keys))


def test_plain_keys_make_the_dotted_path_of_the_contract():
    found = path("judges", "my-judge", "components", "prompt", "estimate")
    assert found == "judges.my-judge.components.prompt.estimate"
    assert path("judges", "gpt-5.4") == 'judges["gpt-5.4"]'


def test_a_place_reads_what_the_document_says_there():
    document = {"depths": {"2": {"prompt": {"interval": [0.1, 0.2], "band": None}}}}
    at = Place(document).at("depths", 2, "prompt")
    assert at.span("interval").high == Value(0.2, ".4f", "depths.2.prompt.interval[1]")
    assert at.span("band").absent
    assert at.value("no such key").value is None
    assert at.at("no", "such", "place").found is None


def test_figures_are_found_where_they_are_closed_too():
    figure = Figure(name="a", chart=lambda _: {}, label="a")
    table = Table(columns=("a",), rows=())
    assert figures_in([table, Details(summary="s", blocks=(figure,)), figure]) == [figure, figure]
