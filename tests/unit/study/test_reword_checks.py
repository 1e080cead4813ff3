"""What a rewording must not lose; every check is broken once."""

import pytest

from judgelaw.study.passages import Labels
from judgelaw.study.reword_checks import Kept, chosen, hints, refusal

ORIGINAL = (
    'Judge by NASA rules, at least 3 of "the five". If `x` and y are alike, choose TIE.\n'
    "- First, facts.\n- Then, style."
)
GOOD = (
    'Use the NASA rules: 3 or more of "the five". Choose TIE where `x` equals y.\n'
    "- Facts first.\n- Style then."
)
KEPT = Kept(labels=Labels(("A", "B", "TIE")), texts=("style",))


def test_a_rewording_that_keeps_all_passes():
    original, good = ORIGINAL, GOOD.replace("Style then", "Then style")
    assert refusal(original, good, KEPT) is None
    assert refusal(original, original, KEPT) is None


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (("Choose TIE", "Choose a draw"), "labels: 'TIE' 0 times, was 1"),
        (("Choose TIE", "Choose TIE, not A,"), "labels: 'A' 1 times, was 0"),
        (("3 or", "4 or"), "numbers: '3' 0 times, was 1, '4' 1 times, was 0"),
        (('"the five"', "the five"), "quoted words: 'the five' 0 times, was 1"),
        (("`x`", "x"), "quoted words: 'x' 0 times, was 1"),
        (("NASA", "agency"), "words in capitals: NASA not in both"),
        (("Use", "ONLY use"), "words in capitals: ONLY not in both"),
        (("- Style", "* Style"), "lists: 2 entries in place of 2, or other marks"),
        (("\n- Then style.", ""), "kept text: 'style' 0 times, was 1"),
        (("equals y", "equals {y}"), "placeholder: it holds a brace"),
        (("Use the", "Sure! Here is it: use the"), "talk: it speaks of the rewording"),
        (("Use the", "Reworded text: use the"), "talk: it speaks of the rewording"),
        (("Use the", "Use the " + "very " * 60), "length: "),
        (("equals y.", "equals y?"), "questions: '?' 1 times, was 0"),
    ],
)
def test_what_is_lost_or_added_is_refused(changed, why):
    good = GOOD.replace("Style then", "Then style")
    assert changed[0] in good.replace("Style then", "Then style") or changed[0] == "- Style"
    reply = (
        good.replace("- Then style", "* Then style")
        if changed[0] == "- Style"
        else good.replace(*changed)
    )
    assert reply != good
    found = refusal(ORIGINAL, reply, KEPT)
    assert found is not None
    assert found.startswith(why)


def test_nothing_and_next_to_nothing_are_refused():
    kept = Kept(labels=Labels(()))
    text = "Compare the two answers with each other, and say which of them helps the user more."
    assert refusal(text, " \n", kept) == "empty: nothing was written"
    assert refusal(text, "Compare.", kept) == "length: 1 words in place of 16"
    strange = "Many people in the north of this country like to go for a walk in autumn."
    assert refusal(text, strange, kept) == "subject: it shares 0 of 5 longer words with the text"


def test_hints_say_where_to_look():
    assert hints("Do not reward length.", "Reward length.") == ("words of negation: 0, was 1",)
    assert hints("One is so. Two is not.", "One is so, two isn't.") == ("sentences: 1, was 2",)
    assert hints("Do not reward length.", "Never reward length.") == ()


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ("a\nd", ((0, 1), "")),
        (" b \n\nc\n", ((1, 0), "")),
        ("a", (None, "alternatives: 1 lines in place of 2")),
        ("a\ne", (None, "alternatives: line 2 is none of the 2 listed")),
    ],
)
def test_choices_are_read_line_by_line(reply, found):
    assert chosen(reply, [["a", "b"], ["c", "d"]]) == found
