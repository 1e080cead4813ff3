"""Built-in probes: what each does to ordinary, empty and hostile text, and that code is kept."""

import pytest
from pydantic import ValidationError

from judgelaw.errors import InputError
from judgelaw.study.transforms import BUILT_IN, INJECTIONS, NEUTRAL, Probe

CODE = "```python\nx  =  1\n\n\n\n- **kept**  # `as is`\n```"
ANSWER = (
    "# Title\n\nSome  words that are **bold** and `short`.\n\n\n\n- one\n- two\n\n"
    f"{CODE}\n\nAnd ending words."
)
HOSTILE = (
    "{candidate_a} {{instruction}} </script><script>alert(1)</script>",
    "\x00\u202e\ud7ff\n``` never closed",
    "**" * 5_000,
    "[" * 5_000 + "](",
    "# " * 3_000,
    "\\1 \\g<0> $1 %s {}",
    "\r\n\r\n\r\n",
)


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_probe_bears_hostile_and_empty_text(name):
    probe = Probe(name=name)
    for place, text in enumerate(("", " \n", *HOSTILE)):
        changed = probe.apply(text, place)
        assert isinstance(changed, str)
        assert changed == probe.apply(text, place)


BLOCKS = (
    CODE,
    "1. Write\n\n   ```py\n   long_name  =  1\n\n\n\n   - kept\n   ```",
    "````\n```\nlong_name  =  1\n```\n- **kept**\n````",
    "~~~\n```\nlong_name  =  1\n~~~",
    "```\r\nlong_name  =  1\r\n```",
    "```\nlong_name  =  1  \n\n\n- **open to the end**  \n",
)


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("block", BLOCKS)
def test_code_blocks_stay_as_they_are(name, block):
    code = block.removeprefix("1. Write\n\n")
    assert code in Probe(name=name).apply(f"# Title\n\nSome  words\n\n{block}", 0)


def test_what_follows_a_block_of_code_is_changed_again():
    for block in BLOCKS[:-1]:
        text = f"{block}\n\nwords  and  **more**\n\n\n\nwords  "
        assert (
            Probe(name="shorter-whitespace").apply(text, 0).endswith("words and **more**\n\nwords")
        )
        assert (
            Probe(name="strip-markdown")
            .apply(text, 0)
            .rstrip()
            .endswith("words  and  more\n\n\n\nwords")
        )


def test_typos_reach_every_alphabet():
    assert Probe(name="typos").apply("Москва большая", 0) == "Мсоква большая"


def test_longer_is_half_as_long_again_by_a_neutral_sentence():
    changed = Probe(name="longer").apply(ANSWER, 0)
    assert changed.startswith(ANSWER)
    assert len(changed) >= 1.5 * len(ANSWER)
    assert changed[len(ANSWER) :].replace(NEUTRAL, "").strip() == ""


def test_whitespace_goes_and_words_stay():
    changed = Probe(name="shorter-whitespace").apply(ANSWER, 0)
    assert "Some words" in changed
    assert "\n\n\n" not in changed.replace(CODE, "code")
    assert changed.split() == ANSWER.split()


def test_markdown_is_added_and_stripped():
    added = Probe(name="add-markdown").apply("First line.\nSecond line.", 0)
    assert added == "## Answer\n\n- First line.\n- Second line."
    stripped = Probe(name="strip-markdown").apply(ANSWER, 0)
    assert stripped.startswith("Title\n\nSome  words that are bold and short.")
    assert "\none\ntwo\n" in stripped


def test_typos_exchange_letters_of_some_words():
    text = "Several ordinary words stand together without any mistakes inside"
    changed = Probe(name="typos").apply(text, 0)
    assert changed != text
    assert sorted(changed) == sorted(text)


def test_injections_take_turns():
    found = {Probe(name="injection").apply("x", place) for place in range(10)}
    assert found == {f"x\n\n{wording}" for wording in INJECTIONS}


def test_identity_changes_nothing():
    assert Probe(name="identity").apply(ANSWER, 3) == ANSWER


def test_own_probes_prefix_append_replace_and_call():
    probe = Probe(name="own", prefix="<", append=">", replace={"regex": "a+", "by": "b"})
    assert probe.apply("caat", 0) == "<cbt>"
    assert Probe(name="upper", python="string:capwords").apply("two words", 0) == "Two Words"


def test_an_own_function_that_fails_or_returns_no_text_is_named():
    with pytest.raises(InputError, match="no_such_module"):
        Probe(name="own", python="no_such_module:f").apply("x", 0)
    with pytest.raises(InputError, match="must be text"):
        Probe(name="own", python="builtins:len").apply("x", 0)


def test_bad_declarations_say_what_to_do():
    for wrong, words in (
        ({"name": "lnoger"}, "must be one of longer"),
        ({"name": "longer", "prefix": "x"}, "another name"),
        ({"name": "own", "replace": {"regex": "("}}, "mend it"),
    ):
        with pytest.raises(ValidationError, match=words):
            Probe(**wrong)


def test_a_probe_is_hashed_by_what_it_does():
    assert Probe(name="longer").sha256 == Probe(name="longer").sha256
    assert Probe(name="own", prefix="a").sha256 != Probe(name="own", prefix="b").sha256
