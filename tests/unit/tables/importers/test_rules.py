"""What the fields of an entry mean."""

import pytest

from judgelaw.errors import InputError, TableError
from judgelaw.tables.importers import Entry, Rules, entries


def interpret(entry, rules):
    with rules.reading() as reader:
        return entries.interpret(entry, rules, reader)


def entry(text="A", *, order="AB", finish_reason="stop", **record):
    known = {"judge": "j", "item": "i", "prompt": "p", **({"order": order} if order else {})}
    return Entry(place="log:1", record=record, known=known, text=text, finish_reason=finish_reason)


@pytest.mark.parametrize(
    ("text", "order", "verdict"),
    [
        ("A", "AB", "candidate_1"),
        ("A", "BA", "candidate_2"),
        ("B\nsince ...", "BA", "candidate_1"),
        ("TIE", "BA", "tie"),
        ("the first", "AB", "invalid"),
        ("A", None, "A"),
    ],
)
def test_a_parser_reads_the_completion_and_restores_candidates(text, order, verdict):
    call = interpret(entry(text, order=order), Rules(parser="first-line"))
    assert (call.verdict, call.order, call.displayed) == (verdict, order, False)


@pytest.mark.parametrize(
    ("parser", "labels", "text", "verdict"),
    [
        (r"regex:\[\[(A|B|C)\]\]", {"A": "A", "B": "B", "C": "TIE"}, "so [[C]]", "tie"),
        (r"regex:\[\[(.)\]\]", {}, "so [[X]]", "invalid"),
        ("json:winner", {"first": "A"}, '{"winner": "first"}', "candidate_1"),
        ("score:1..10", {}, "I give 7.", "7"),
        ("score:1..10", {}, "I give 11.", "invalid"),
    ],
)
def test_parsers_are_those_of_a_study(parser, labels, text, verdict):
    assert interpret(entry(text), Rules(parser=parser, labels=labels)).verdict == verdict


def test_the_terminal_rule_decides_about_cut_completions():
    cut = entry("A", finish_reason="length")
    call = interpret(cut, Rules(parser="first-line"))
    assert (call.verdict, call.reason) == ("invalid", "truncated")
    assert interpret(cut, Rules(parser="first-line", truncated="parse")).verdict == "candidate_1"


def test_a_stored_verdict_is_taken_as_displayed_with_its_label():
    rules = Rules(fields={"verdict": "scores.m.value"}, labels={"1": "A"})
    call = interpret(entry(scores={"m": {"value": 1}}), rules)
    assert (call.verdict, call.displayed) == ("A", True)


def test_fields_constants_and_orders_are_mapped():
    rules = Rules(
        fields={"judge": "=gpt", "order": "meta.swapped", "repeat": "epoch", "item": "id"},
        parser="first-line",
        orders={"true": "BA", "false": "AB"},
    )
    call = interpret(entry(meta={"swapped": True}, epoch=2, id=17), rules)
    assert (call.judge, call.order, call.repeat, call.item) == ("gpt", "BA", 2, "17")
    assert call.verdict == "candidate_2"


def test_entries_are_chosen_by_value():
    rules = Rules(where={"filter": "strict"})
    assert rules.keeps(entry(filter="strict"))
    assert not rules.keeps(entry(filter="loose"))


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        ({"order": "swapped"}, "--map-order swapped=BA"),
        ({"order": None, "known": {"prompt": None}}, "--prompt FIELD or --prompt =NAME"),
    ],
)
def test_what_has_no_meaning_is_refused_with_its_place(given, remedy):
    made = entry(order=given["order"])
    known = {k: v for k, v in made.known.items() if k not in given.get("known", {})}
    bare = Entry(place="log:1", record={}, known=known, text="A")
    with pytest.raises(TableError, match="log:1: ") as error:
        interpret(bare, Rules(parser="first-line"))
    assert remedy in str(error.value)


def test_a_log_without_verdicts_says_how_to_get_them():
    with pytest.raises(TableError, match=r"log:1: nothing says .* --parser first-line"):
        interpret(entry(), Rules())


def test_a_rank_is_a_whole_number():
    with pytest.raises(TableError, match="repeat 'two' is no whole number"):
        interpret(entry(n="two"), Rules(parser="first-line", fields={"repeat": "n"}))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"fields": {"epoch": "x"}}, "'epoch' is no part of a call"),
        ({"orders": {"x": "BC"}}, "a display order is AB or BA"),
        ({"parser": "first-line", "fields": {"verdict": "x"}}, "leave one of them out"),
        ({"parser": "last-line"}, "write first-line, regex:PATTERN"),
        ({"parser": "regex:("}, "no regular expression"),
        ({"parser": "score:1..high"}, "parser 'score:1..high'"),
        ({"parser": "first-line", "labels": {"x": "A"}}, "labels go with regex"),
    ],
)
def test_rules_that_contradict_themselves_are_refused(given, words):
    with pytest.raises(InputError, match=words):
        Rules(**given)
