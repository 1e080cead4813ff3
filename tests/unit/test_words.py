from hypothesis import given, strategies as st

from judgelaw.words import _UNSEEN, shortened, visible


def test_what_reorders_or_hides_text_is_shown_by_its_code_point():
    assert visible("a\u202eb\u2066c\x00d\ud800") == "a⟨U+202E⟩b⟨U+2066⟩c⟨U+0000⟩d⟨U+D800⟩"


def test_ordinary_text_of_any_language_stays():
    text = "naïve 判断 حكم \N{FAMILY} {{x}} <b>\ttab\nline"
    assert visible(text) == text


@given(st.text(alphabet=st.characters(codec=None), max_size=40))
def test_the_result_can_be_written_and_holds_no_control(text):
    shown = visible(text)
    shown.encode("utf-8")
    assert not any(ord(c) < 32 and c not in "\t\n" for c in shown)


def test_a_long_name_keeps_both_ends():
    assert shortened("abcdefghij", 6) == "abc…ij"
    assert shortened("short", 6) == "short"


def test_what_is_printable_is_shown_as_it_is_and_nothing_else_is():
    """The quick way out leaves no character in sight that the pattern would have replaced."""
    every = [chr(code) for code in range(0x11000)]
    assert [c for c in every if c.isprintable() and _UNSEEN.search(c)] == []
    assert visible("a\u202eb") == "a⟨U+202E⟩b"
    assert visible("plain ü") == "plain ü"
