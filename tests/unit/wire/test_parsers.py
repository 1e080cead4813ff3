from importlib.metadata import EntryPoint, EntryPoints

import pytest
from hypothesis import given, strategies as st

from judgelaw.errors import InputError
from judgelaw.wire import (
    Completion,
    JsonParser,
    JudgeSpec,
    display,
    parse,
    parser_name,
    parsers as parsers_module,
    restore,
    wanted,
)
from judgelaw.wire.parsers import first_line, json_field


def judge(**fields) -> JudgeSpec:
    base = {"name": "j", "provider": "openai-chat", "base_url": "http://h", "model": "m"}
    return JudgeSpec.model_validate({**base, **fields})


def read(spec: JudgeSpec, text: str | None, order: str = "AB", **fields) -> tuple[str, str]:
    completion = Completion(text=text, **{"finish_reason": "stop", **fields})
    verdict = parse(spec, completion, order)
    return verdict.verdict, verdict.reason


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("A", "candidate_1"),
        ("B", "candidate_2"),
        ("TIE", "tie"),
        ("\n \n B \nbecause", "candidate_2"),
        ("A\r\nB", "candidate_1"),
        ("a", "invalid"),
        ("A.", "invalid"),
        ("Tie", "invalid"),
        ("The answer is A", "invalid"),
        ("A B", "invalid"),
        ("", "invalid"),
        (" \n\t", "invalid"),
        ("**A**", "invalid"),
    ],
)
def test_the_first_line_rule_of_the_paper(text, verdict):
    assert read(judge(), text)[0] == verdict


def test_candidates_are_restored_by_order():
    assert read(judge(), "A", "BA") == ("candidate_2", "parsed")
    assert read(judge(), "B", "BA") == ("candidate_1", "parsed")
    assert read(judge(), "TIE", "BA") == ("tie", "parsed")


@given(st.sampled_from(["A", "B", "TIE"]), st.sampled_from(["AB", "BA"]))
def test_restoration_and_display_undo_each_other(label, order):
    verdict = restore(label, order)
    assert display(verdict, order) == label


@given(st.sampled_from(["A", "B", "TIE"]))
def test_swapping_the_candidates_twice_is_no_swap(label):
    """Show the restored verdict in the other order: an involution on labels."""

    def swap(one: str) -> str:
        return display(restore(one, "AB"), "BA")

    assert swap(swap(label)) == label
    assert swap("A") == "B"
    assert swap("TIE") == "TIE"


def test_an_unknown_order_is_refused():
    with pytest.raises(InputError, match="'CD', must be AB, BA or single"):
        restore("A", "CD")


@pytest.mark.parametrize(
    ("fields", "completion", "expected"),
    [
        ({}, {"text": "A", "finish_reason": "length"}, ("invalid", "truncated")),
        ({}, {"text": "A", "finish_reason": "max_tokens"}, ("invalid", "truncated")),
        (
            {"truncated": "parse"},
            {"text": "A", "finish_reason": "length"},
            ("candidate_1", "parsed"),
        ),
        (
            {"truncated_on": ["cut"]},
            {"text": "A", "finish_reason": "length"},
            ("candidate_1", "parsed"),
        ),
        (
            {"truncated_on": ["cut"]},
            {"text": "A", "finish_reason": "cut"},
            ("invalid", "truncated"),
        ),
        (
            {"complete_on": ["end_turn"]},
            {"text": "A", "finish_reason": "refusal"},
            ("invalid", "unexpected finish"),
        ),
        (
            {"complete_on": ["end_turn"]},
            {"text": "A", "finish_reason": "end_turn"},
            ("candidate_1", "parsed"),
        ),
        (
            {"complete_on": ["end_turn"], "truncated": "parse"},
            {"text": "A", "finish_reason": "max_tokens"},
            ("candidate_1", "parsed"),
        ),
        ({}, {"text": None, "refusal": "no"}, ("invalid", "refusal")),
        ({}, {"text": None}, ("invalid", "empty")),
        ({}, {"text": "A", "content_filtered": True}, ("invalid", "content filtered")),
        ({}, {"text": "A", "finish_reason": None}, ("candidate_1", "parsed")),
        ({}, {"text": "C"}, ("invalid", "no label")),
    ],
)
def test_terminal_rules(fields, completion, expected):
    assert read(judge(**fields), **completion) == expected


def test_only_the_final_channel_is_read():
    channel = {"start": "<|channel|>final<|message|>", "end": ["<|return|>", "<|end|>"]}
    spec = judge(final_channel=channel)
    thought = "<|channel|>analysis<|message|>A<|end|>"
    assert read(spec, thought + "<|channel|>final<|message|>B<|return|>")[0] == "candidate_2"
    assert read(spec, thought) == ("invalid", "no final channel")
    assert read(spec, "A") == ("invalid", "no final channel")


@pytest.mark.parametrize(
    ("parser", "text", "verdict"),
    [
        (
            {"regex": r"\[\[(A|B|C)\]\]", "labels": {"A": "A", "B": "B", "C": "TIE"}},
            "x [[C]]",
            "tie",
        ),
        ({"regex": r"\[\[(A|B)\]\]"}, "so [[B]] not [[A]]", "candidate_2"),
        ({"regex": r"(?P<why>\w+) (?P<verdict>A|B)"}, "since B", "candidate_2"),
        ({"regex": "tie|a|b", "ignore_case": True}, "Tie", "tie"),
        ({"regex": "(A)?x"}, "x", "invalid"),
        ({"regex": "C"}, "C", "invalid"),
        ({"json": "winner"}, '```json\n{"winner": "A"}\n```', "candidate_1"),
        ({"json": "out.winner"}, '{no} {"out": {"winner": " B "}}', "candidate_2"),
        ({"json": "winner", "labels": {"1": "A"}}, '{"winner": 1}', "candidate_1"),
        ({"json": "winner"}, '{"winner": true}', "invalid"),
        ({"json": "winner"}, '{"winner": null}', "invalid"),
        ({"json": "winner"}, '{"loser": "A"}', "invalid"),
        ({"json": "winner"}, "[" * 5000, "invalid"),
        ({"json": "winner"}, "{" * 2000, "invalid"),
    ],
)
def test_expressions_and_fields(parser, text, verdict):
    assert read(judge(parser=parser), text)[0] == verdict


@pytest.mark.parametrize(
    ("score", "text", "verdict"),
    [
        ({"min": 1, "max": 10}, "Rating: 7", "7"),
        ({"min": 1, "max": 10}, "7.0", "7"),
        ({"min": 1, "max": 10}, "11", "invalid"),
        ({"min": 1, "max": 10}, "7.5", "invalid"),
        ({"min": 1, "max": 10, "step": 0.5}, "7.5", "7.5"),
        ({"min": -2, "max": 2}, "-1", "-1"),
        ({"min": 1, "max": 10, "regex": r"Score: (\S+)"}, "of 3. Score: 8", "8"),
        ({"min": 1, "max": 10, "regex": r"Score: (\S+)"}, "Score: nan", "invalid"),
        ({"min": 1, "max": 10, "regex": r"Score: (\S+)"}, "Score: high", "invalid"),
        ({"min": 1, "max": 10}, "none", "invalid"),
    ],
)
def test_scores_of_single_answers(score, text, verdict):
    assert read(judge(parser={"score": score}), text, "single")[0] == verdict


def test_names_of_parsers_carry_version_and_contract():
    names = {
        parser_name(spec)
        for spec in (
            judge(),
            judge(truncated="parse"),
            judge(parser={"regex": "A"}),
            judge(parser={"regex": "B"}),
            judge(final_channel={"start": "x"}),
        )
    }
    assert len(names) == 5
    assert parser_name(judge()).startswith("first-line/1#")
    assert parser_name(judge(parser={"regex": "A"})).startswith("regex/1#")
    assert parser_name(judge()) == parser_name(judge(name="k", model="n", price=None))


@given(st.text(), st.sampled_from(["first-line", {"regex": "A|B"}, {"json": "x"}]))
def test_any_text_has_a_verdict_and_the_same_one_again(text, parser):
    spec = judge(parser=parser)
    first = read(spec, text)
    assert first == read(spec, text)
    assert first[0] in ("candidate_1", "candidate_2", "tie", "invalid")


def test_ten_megabytes_of_text_do_not_stall():
    assert read(judge(parser={"regex": "(a+)+$"}), "b" * 10_000_000)[0] == "invalid"
    assert read(judge(), "x" * 10_000_000)[0] == "invalid"


def last_line(text: str) -> str | None:
    return text.strip().splitlines()[-1]


def test_third_parties_add_parsers_through_entry_points(monkeypatch):
    point = EntryPoint("last-line", f"{__name__}:last_line", "judgelaw.parsers")
    monkeypatch.setattr(EntryPoint, "load", lambda _point: last_line)

    def entry_points(**choice):
        return EntryPoints([point]).select(**choice)

    monkeypatch.setattr(parsers_module, "entry_points", entry_points)
    assert read(judge(parser="last-line"), "why\nB")[0] == "candidate_2"
    with pytest.raises(InputError, match="'no-such' is not installed"):
        read(judge(parser="no-such"), "B")


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ('{"v": "a"}', "A"),
        ('{"v": "[[B]]"}', "B"),
        ('```json\n{"v": "**Tie**"}\n```', "TIE"),
        ('{"v": "\'A\'."}', "A"),
        ('{"v": "neither"}', None),
    ],
)
def test_labels_match_without_regard_to_case_and_marks_unless_strict(said, meant):
    labels = {"A": "A", "B": "B", "Tie": "TIE"}
    forgiving = JsonParser(field="v", labels=labels, strict=False)
    assert json_field(forgiving)(said) == meant
    strict = JsonParser(field="v", labels=labels)
    assert json_field(strict)('{"v": "a"}') is None
    assert json_field(strict)('{"v": "A"}') == "A"


def test_the_papers_rule_stays_strict():
    assert first_line("a") is None
    assert first_line("[[A]]") is None
    assert first_line("A") == "A"


@pytest.mark.parametrize(
    ("text", "order", "expected"),
    [
        ("C", "ABCD", ("candidate_3", "parsed")),
        ("C\nbecause", "DABC", ("candidate_2", "parsed")),
        ("A", "CAB", ("candidate_3", "parsed")),
        ("TIE", "CAB", ("tie", "parsed")),
        ("D", "CAB", ("invalid", "no label")),
        ("c", "ABCD", ("invalid", "no label")),
        ("C", "AB", ("invalid", "no label")),
        ("AB", "ABCD", ("invalid", "no label")),
    ],
)
def test_the_first_line_names_a_letter_that_was_shown(text, order, expected):
    assert read(judge(), text, order) == expected


def test_other_parsers_read_letters_without_regard_to_case_unless_strict():
    spoken = judge(parser={"json": "best", "strict": False})
    assert read(spoken, '{"best": "(d)"}', "BCDA") == ("candidate_1", "parsed")
    assert read(spoken, '{"best": "e"}', "BCDA") == ("invalid", "unknown label")
    strict = judge(parser={"json": "best", "strict": True})
    assert read(strict, '{"best": "d"}', "BCDA") == ("invalid", "unknown label")
    assert read(strict, '{"best": "D"}', "BCDA") == ("candidate_1", "parsed")


@given(st.permutations("ABCDE"), st.sampled_from(["A", "C", "E", "TIE"]))
def test_restoration_of_several_candidates_is_undone_by_display(order, label):
    assert display(restore(label, "".join(order)), "".join(order)) == label


def test_what_is_wanted_names_the_letters_that_were_shown():
    assert wanted(judge(), "BA") == "first-line wants exactly A, B or TIE in the first line"
    assert "exactly A, B, C or TIE" in wanted(judge(), "CAB")
