from hypothesis import given, strategies as st

from judgelaw.words import shortened, visible


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
