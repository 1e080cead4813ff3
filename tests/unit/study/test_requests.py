from hypothesis import given, strategies as st

from judgelaw.study import Item, Template, payload
from judgelaw.study.prompts import PAIR_FIELDS, paper_six, split

texts = st.text(st.characters(exclude_categories=["Cs"]))


def item(instruction="q", first="one", second="two") -> Item:
    return Item(
        id="i",
        stratum=None,
        instruction=instruction,
        candidate_1=first,
        candidate_2=second,
        gold=None,
    )


def test_the_order_decides_which_candidate_stands_where():
    template = Template(id="t", parts=split("{candidate_a}|{candidate_b}", PAIR_FIELDS))
    assert payload(template, item(), "AB") == "one|two"
    assert payload(template, item(), "BA") == "two|one"


@given(texts, texts, texts)
def test_item_text_is_never_interpreted(instruction, first, second):
    """Each field arrives once, whole, whatever it holds: braces, placeholders, escapes."""
    template = paper_six()[0]
    hostile = item(instruction + "{candidate_b}", first + "{instruction}", second + "{0}%s{{")
    text = payload(template, hostile, "AB")
    before, after = template.parts[0], template.parts[-1]
    assert text == (
        before
        + hostile.instruction
        + template.parts[2]
        + hostile.candidate_1
        + template.parts[4]
        + (hostile.candidate_2 or "")
        + after
    )


def test_a_field_may_stand_twice_and_single_answers_have_one():
    template = Template(id="t", parts=split("{candidate}-{candidate}", ("candidate",)))
    assert payload(template, item(first="x"), "single") == "x-x"
