"""Rewordings as people read them: each text once, what differs marked."""

from judgelaw.live import rewordings_to_read
from judgelaw.live.approvals import compared
from judgelaw.study import Draw


def draws(*texts):
    return [Draw(number=n, parts=(text,)) for n, text in enumerate(texts, 1)]


def test_each_text_is_read_once_and_hints_come_first(tmp_path):
    drawn = draws("one two", "one three", "one two")
    hints = {drawn[1].wording: ("words of negation: 1, was 0",)}
    found = rewordings_to_read(tmp_path, "one two", drawn, hints)
    assert set(found.items) == {drawn[0].wording, drawn[1].wording}
    assert found.labels == ("same meaning", "strike")
    shown = found.shown(drawn[1].wording, "ann")
    assert shown["texts"] == [["Look here first", "words of negation: 1, was 0"]]
    assert shown["answers"] == [
        ["Your prompt", [["one ", False], ["two", True]]],
        ["Reworded", [["one ", False], ["three", True]]],
    ]


def test_everybody_reads_in_a_sequence_of_their_own_and_keeps_it(tmp_path):
    drawn = draws(*(f"text {n}" for n in range(9)))
    found = rewordings_to_read(tmp_path, "text", drawn, {})
    assert found.sequence("ann") == found.sequence("ann") != found.sequence("bob")


def test_words_are_compared_whole_and_every_character_is_there():
    before, after = compared("Do not  reward\nlength.", "Do reward\nlong texts.\n")
    assert "".join(text for text, _ in before) == "Do not  reward\nlength."
    assert "".join(text for text, _ in after) == "Do reward\nlong texts.\n"
    assert [text for text, marked in before if marked] == ["not  ", "length."]
    assert [text for text, marked in after if marked] == ["long texts.\n"]
    assert compared("same", "same") == ((("same", False),), (("same", False),))


def test_what_cannot_be_seen_is_shown(tmp_path):
    drawn = draws("a \u202e b")
    shown = rewordings_to_read(tmp_path, "a", drawn, {}).shown(drawn[0].wording, "ann")
    assert "⟨U+202E⟩" in "".join(text for text, _ in shown["answers"][1][1])
