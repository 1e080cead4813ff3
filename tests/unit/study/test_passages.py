"""Which sentences of a template may be reworded, and which have to stay."""

import pytest

from judgelaw.study.passages import Labels, instructions, outline, outline_at, sentences
from judgelaw.study.prompts import PAIR_FIELDS, paper_six, split
from servers.rewording import TEMPLATE

LABELS = Labels(("A", "B", "TIE"))


def passages(text, labels=LABELS):
    parts = split(text, PAIR_FIELDS)
    found = outline(parts, labels)
    assert found.filled(found.passages) == parts
    return list(found.passages)


def test_a_rubric_is_free_and_what_says_how_to_reply_stays():
    first, criteria = passages(TEMPLATE)
    assert first == (
        "You are an impartial judge. Read the question and the two answers\ncarefully, and decide "
        "which one serves the user better."
    )
    assert criteria == (
        "Does the answer follow the instruction?\n- Is every fact in it correct?\n"
        "- Is it easy to read, e.g. by a child?\n\nA candidate that is longer is not better."
    )


def test_the_papers_prompt_keeps_its_heading_and_its_output_contract():
    (free,) = passages(paper_six()[1].text)
    assert free.startswith("Decide which candidate better follows")
    assert "PAIRWISE JUDGMENT" not in free
    assert "Return" not in free


@pytest.mark.parametrize(
    "sentence",
    [
        "Reply with A, B or TIE.",
        "Choose A if the first one wins.",
        "Return your verdict as JSON.",
        "Give your answer on one line.",
        'Write {"verdict": "A"} and nothing else.',
        "Put the word in <answer> tags.",
        "See https://example.org for the rules.",
        "Do not add an explanation.",
        "The verdict stands on the first line.",
        "Answer with one word.",
    ],
)
def test_sentences_that_say_how_to_reply_stay(sentence):
    assert passages(f"Judge the two answers fairly. {sentence}") == [
        "Judge the two answers fairly."
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "Penalise answers that invent facts.",
        "A good reply stays on the question.",
        "If both are equally good, prefer TIE.",
        "Length does not matter by itself.",
    ],
)
def test_sentences_of_the_rubric_are_free(sentence):
    assert passages(sentence) == [sentence]


@pytest.mark.parametrize(
    "line",
    [
        "## Task",
        "CRITERIA",
        "Question:",
        "[BEGIN]",
        "<rubric>",
        "**Rules**",
        "-----",
        "The answers",
    ],
)
def test_headings_stay(line):
    text = f"Judge the two answers fairly.\n\n{line}\n\nLook at every claim in them."
    assert passages(text) == ["Judge the two answers fairly.", "Look at every claim in them."]


def test_the_a_of_a_sentence_is_no_label():
    text = "A candidate is better. Is candidate A better? A and B differ. (A word of care.)"
    assert dict(LABELS.count(text)) == {"A": 2, "B": 1}
    assert dict(LABELS.count("- A longer answer\n1. A\n(a) TIE")) == {"A": 1, "TIE": 1}
    assert dict(Labels(("1", "5", "10")).count("1. from 1 to 10, not 5.5")) == {
        "1": 1,
        "5": 2,
        "10": 1,
    }
    assert dict(Labels(("pass", "fail")).count("passes fail; fail-safe")) == {"fail": 2}


def test_sentences_end_where_they_end():
    text = 'See e.g. Smith et al. Is it so? Yes, vs. No. It is 3.5 long! "Quoted." Done.'
    assert sentences(text) == [
        "See e.g. Smith et al.",
        "Is it so?",
        "Yes, vs. No.",
        "It is 3.5 long!",
        '"Quoted."',
        "Done.",
    ]


def test_text_at_declared_sentences_alone():
    parts = split("One two three. {instruction} Four five six. Seven.", PAIR_FIELDS)
    found = outline_at(parts, ["Four five six.", "One two three."])
    assert found.passages == ("Four five six.", "One two three.")
    filled = found.filled(["4 5 6.", "1 2 3."])
    assert filled == ("1 2 3. ", "instruction", " 4 5 6. Seven.")


def test_instructions_reach_from_the_first_sentence_to_the_last():
    parts = split(TEMPLATE, PAIR_FIELDS)
    place, start, end = instructions(parts, LABELS)
    text = parts[2 * place][start:end]
    assert text.startswith("You are an impartial judge.")
    assert text.endswith("choose TIE.")
