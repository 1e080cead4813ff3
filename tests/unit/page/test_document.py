import math

import pytest
from hypothesis import given, strategies as st

from judgelaw.page import document as numbers
from support.reports import analysed, judge_part, tensor

MINUS = "\N{MINUS SIGN}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.123456, "0.1235"),
        (-0.00123, f"{MINUS}0.0012"),
        (-0.00001, "0.0000"),
        (0.0, "0.0000"),
        (None, "\N{EM DASH}"),
        (math.nan, "\N{EM DASH}"),
    ],
)
def test_a_component_keeps_its_sign_and_four_digits(value, text):
    assert numbers.decimal(value).text == text


def test_what_is_not_known_has_no_value():
    assert numbers.decimal(math.nan).value is None
    assert numbers.count(None).value is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234.0, "1,234"),
        (0.25, "0.2500"),
        (-3.9e-5, f"{MINUS}3.9 × 10⁻⁵"),
        (6.1e-16, "6.1 × 10⁻¹⁶"),
        (1653.27, "1,653"),
        (2.25, "2.25"),
    ],
)
def test_a_figure_of_unknown_scale_stays_readable(value, text):
    assert numbers.measured(value).text == text


def test_a_p_value_is_never_zero():
    assert numbers.p_value(0.00001).text == "< 0.001"
    assert numbers.p_value(0.0495).text == "0.050"


@given(st.lists(st.text(min_size=1) | st.integers(0, 3), min_size=1, max_size=5))
def test_a_path_leads_back_to_its_value(keys):
    """Whatever a judge, a stratum or a table is called, its path resolves."""
    document = 42.0
    for key in reversed(keys):
        document = [document] * (key + 1) if isinstance(key, int) else {key: document}
    if isinstance(keys[0], int):
        document, keys = {"top": document}, ["top", *keys]
    assert numbers.resolve(document, numbers.path(*keys)) == 42.0


def test_plain_keys_make_the_dotted_path_of_the_contract():
    found = numbers.path("judges", "my-judge", "components", "prompt", "estimate")
    assert found == "judges.my-judge.components.prompt.estimate"
    assert numbers.path("judges", "gpt-5.4") == 'judges["gpt-5.4"]'


@pytest.fixture(scope="module")
def judge():
    return judge_part(analysed({(None, "gpt-5.4"): tensor()}), "gpt-5.4")


def test_an_accessor_gives_the_value_and_the_path_of_one_expression(judge):
    found = judge.at(lambda j: j.depths[2]["prompt"].estimate)
    assert found.value == judge.value.depths[2]["prompt"].estimate
    assert found.path == 'judges["gpt-5.4"].depths.2.prompt.estimate'
    low = judge.at(lambda j: j.components["prompt"]).known(lambda c: c.interval).entries()[0]
    assert low.path == 'judges["gpt-5.4"].components.prompt.interval[0]'
    squared = judge.known(lambda j: j.prompt_distances).at(lambda d: d.squared).cell(2, 1)
    assert squared.value == judge.value.prompt_distances.squared[2, 1]
    assert squared.path == 'judges["gpt-5.4"].prompt_distances.squared[2][1]'


def test_an_accessor_that_names_nothing_fails_at_once(judge):
    with pytest.raises(AttributeError, match="leed"):
        judge.at(lambda j: j.leed)
    with pytest.raises(KeyError, match="propmt"):
        judge.at(lambda j: j.components["propmt"])


def test_what_is_absent_is_none_and_has_no_figure(judge):
    assert judge.known(lambda j: j.projection) is None
    assert judge.at(lambda j: j.strata).find("no such stratum") is None
    (dash,) = numbers.Part(None).interval(lambda pair: pair)
    assert (dash.value, dash.text) == (None, numbers.ABSENT)
