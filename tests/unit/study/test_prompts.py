import pytest
from hypothesis import given, strategies as st

from judgelaw.errors import InputError, StudyError
from judgelaw.study import load_study
from judgelaw.study.prompt_models import Generator, Grammar
from judgelaw.study.prompts import (
    CRITERION,
    PAIR_BLOCK,
    PAIR_FIELDS,
    generate,
    sentences,
    split,
    templates_of,
)


def policy(**fields) -> Generator:
    return Generator(policy="generator", **{"count": 40, **fields})


def drawn(count: int, seed: int = 7):
    return generate(policy(count=count), seed, PAIR_BLOCK, PAIR_FIELDS)


def test_a_generator_draws_distinct_prompts_named_by_content():
    templates = drawn(40)
    assert len({template.parts for template in templates}) == 40
    assert len({template.id for template in templates}) == 40
    by_id = {template.id: template.parts for template in drawn(60, seed=8)}
    for template in templates:
        assert by_id.get(template.id, template.parts) == template.parts


def test_a_larger_sample_begins_with_the_smaller_one():
    assert drawn(60)[:40] == drawn(40)
    assert drawn(40, seed=8) != drawn(40)


def test_every_prompt_holds_the_criterion_and_the_item_once():
    for template in drawn(len(sentences(policy()))):
        assert template.text.count(CRITERION) == 1
        assert template.parts[1::2] == PAIR_FIELDS


def test_a_grammar_of_ones_own_is_all_that_is_drawn_from():
    grammar = Grammar(
        headings=("rate",), cases=("upper",), styles=("xml", "rule"), separators=("|",)
    )
    assert set(sentences(policy(grammar=grammar, criterion="C"))) == {
        "<RATE>|C|</RATE>",
        "RATE\n----|C",
    }
    with pytest.raises(InputError, match="count 3 exceeds the 2 distinct prompts"):
        generate(policy(grammar=grammar, count=3), 1, PAIR_BLOCK, PAIR_FIELDS)


def census(make_study, prompts: str):
    return templates_of(load_study(make_study(("prompts: paper-six", f"prompts: {prompts}"))))


def test_prefix_and_suffix_surround_the_invariant_block(make_study):
    (one,) = census(
        make_study, '{policy: census, templates: [{id: p, prefix: "{json}:", suffix: "{"}]}'
    )
    # Braces in prefix and suffix are text; only the block has fields.
    assert one.parts[0] == "{json}:USER INSTRUCTION:\n"
    assert one.parts[1::2] == PAIR_FIELDS
    assert one.parts[-1] == "{"


def test_free_templates_come_from_files_byte_for_byte(make_study, tmp_path):
    folder = tmp_path / "prompts"
    folder.mkdir()
    (folder / "b.txt").write_bytes(b'{"json": 1} {candidate_b}\r\n{candidate_a}\n')
    (folder / "a.txt").write_text("{candidate_a}{candidate_b}{instruction}")
    for path in ("prompts/*.txt", "prompts", str(folder / "*.txt")):
        first, second = census(make_study, f"{{policy: census, path: '{path}'}}")
        assert (first.id, second.id) == ("a", "b")
        assert second.parts == ('{"json": 1} ', "candidate_b", "\r\n", "candidate_a", "\n")


@pytest.mark.parametrize(
    ("prompts", "words"),
    [
        ("{policy: census, path: 'none/*.txt'}", "7: prompts.path: 'none/*.txt', no such files"),
        (
            "{policy: census, templates: [{id: p, text: '{candidate_a}'}]}",
            "7: prompts.templates[0]: 'p' does not name {candidate_b}",
        ),
        (
            "{policy: census, templates: [{id: p, prefix: '{instruction}'}]}",
            "'p' has {instruction} in a prefix or suffix, where it would be sent as it stands",
        ),
        (
            "{policy: census, templates: [{id: p, text: '{candidate_a} {candidat_b}'}]}",
            "did you mean {candidate_b}?",
        ),
        (
            "{policy: census, templates: [{id: p, prefix: x}, {id: q, prefix: x}]}",
            "'q', the same prompt as 'p'",
        ),
        ("{policy: census, templates: [{id: p, prefix: x}, {id: p, prefix: y}]}", "already used"),
        ("{policy: census, templates: [{id: p}]}", "prefix and suffix, or text"),
        ("{policy: generator, count: 1000}", "7: prompts.count: count 1000 exceeds"),
        ("{policy: generator, count: 2, block: x}", "7: prompts.block: does not name"),
        (
            "{policy: generator, count: 2, grammar: {headings: ['a\\nb']}}",
            "one printable line",
        ),
    ],
)
def test_a_bad_policy_is_named_with_its_line(make_study, prompts, words):
    prompts = prompts.replace("'a\\nb'", '"a\\nb"')
    with pytest.raises(StudyError) as caught:
        census(make_study, prompts)
    assert words in str(caught.value)


@given(st.text())
def test_splitting_loses_nothing(text):
    parts = split(text, PAIR_FIELDS)
    joined = "".join(p if n % 2 == 0 else "{" + p + "}" for n, p in enumerate(parts))
    assert joined == text
