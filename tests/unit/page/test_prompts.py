"""Prompts side by side, and the map of their distances, which claims no more than its test."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from judgelaw.acquire import acquire
from judgelaw.analysis import PromptDistances
from judgelaw.blocks import Details, Table, text_of
from judgelaw.page import OPENS_WITH, PROMPTS_PART, TEXT, Report, opening
from judgelaw.page.sections.position_bias import position
from judgelaw.page.sections.prompt_list import prompts
from judgelaw.page.sections.similarity import distance_map, distances, prompts_differ, similarity
from judgelaw.runs import RunFolder
from judgelaw.tensor import VerdictTensor
from servers.study import frozen_study, simulated_judge
from support.reports import analysed, judge_of, named, report, tensor, words


@cache
def source():
    return report({(None, "j"): tensor()})


def with_judge(p=None, names=None, **changes):
    """Return the report with other distances and another p value."""
    analysis = source().analysis
    found = analysis.judges["j"]
    if names is not None:
        n = len(names)
        squared = np.array(
            [[0.0 if i == j else 0.01 * (i + j) for j in range(n)] for i in range(n)]
        )
        changes["prompt_distances"] = PromptDistances(prompts=tuple(names), squared=squared)
    test = None if p is None else replace(found.permutation["prompt"], p=p)
    found = replace(found, permutation={**found.permutation, "prompt": test}, **changes)
    changed = replace(analysis, judges={"j": found})
    return Report(analysis=changed, tensors=source().tensors)


def strengths(judge, **how):
    spec = distance_map(distances(judge.found.prompt_distances), width=500, **how)
    layers = spec.get("layer") or spec["concat"][0]["layer"]
    return [row["strength"] for row in layers[0]["data"]["values"]]


def test_the_lean_of_every_prompt_is_shown_with_its_interval():
    """One prompt that leans to the answer shown first, among prompts that do not."""
    laws = np.full((20, 3, 2, 4), [0.45, 0.45, 0.1, 0.0])
    laws[:, 1, 0], laws[:, 1, 1] = [0.75, 0.15, 0.1, 0.0], [0.15, 0.75, 0.1, 0.0]
    calls = VerdictTensor.from_laws(laws, repeats=4, seed=1, orders=("AB", "BA"))
    judge = judge_of(calls)
    table = named(position(judge), Table)["prompt_leans"]
    assert [row[3] for row in table.rows] == ["neither", "first", "neither"]
    lean = judge.found.prompt_leans[1]
    number = table.rows[1][1]
    assert (number.value, number.path) == (lean.lean, "judges.j.prompt_leans[1].lean")
    assert text_of(table.rows[1][2]) == "[{:.3f}, {:.3f}]".format(*lean.interval)
    assert lean.interval[0] < 0.6 < lean.interval[1]


def test_one_prompt_has_no_table_of_leans_and_nothing_beside_it():
    judge = judge_of(tensor(prompts=1))
    assert named(position(judge), Table) == {}
    assert similarity(judge) is None
    assert prompts(judge.report) is None


@pytest.mark.parametrize(
    ("p", "said"),
    [
        (0.324, "No pair is told apart from the others by these calls"),
        (0.05, "Furthest apart are prompt 1 and prompt 2"),
        (0.001, "Furthest apart are prompt 1 and prompt 2"),
        (None, "Furthest apart are prompt 1 and prompt 2"),
    ],
)
def test_a_pair_is_named_only_where_the_test_tells_prompts_apart(p, said):
    (judge,) = with_judge(p, ("prompt 0", "prompt 1", "prompt 2")).judges
    assert words(similarity(judge))[0].startswith(said)
    assert prompts_differ(judge.found) is said.startswith("Furthest")


def test_what_may_be_noise_is_drawn_pale():
    (judge,) = source().judges
    strong, pale = strengths(judge), strengths(judge, pale=True)
    assert max(strong) == pytest.approx(0.8)
    assert max(pale) < 0.2
    assert [s / max(strong) for s in strong] == pytest.approx([s / max(pale) for s in pale])


def test_prompts_stand_the_least_right_first_with_what_to_do_and_their_first_words():
    """One of four prompts turns every second right verdict: it is to be left out."""
    laws = np.zeros((60, 4, 2, 4))
    gold = np.arange(60) % 2
    laws[np.arange(60), :, :, gold] = 1
    laws[:, 2] = [0.5, 0.5, 0, 0]
    calls = VerdictTensor.from_laws(
        laws,
        repeats=4,
        seed=1,
        prompts=["plain", "xml", "odd", "role"],
        orders=("AB", "BA"),
        gold=[f"candidate_{g + 1}" for g in gold],
    )
    frozen = {PROMPTS_PART: {"odd": {OPENS_WITH: "You are\u202e", TEXT: "You are a judge."}}}
    found = report({(None, "j"): calls}, frozen=frozen)
    table = named(prompts(found), Table)["by_prompt"]
    assert table.columns[:3] == ("Prompt", "Right of 100", "")
    first = table.rows[0]
    assert text_of(first[0]) == "odd (leave out)"
    assert first[-1] == "You are⟨U+202E⟩"
    right = found.analysis.judges["j"].right_by_prompt["odd"]
    assert first[1].value == right.estimate
    assert first[1].path == "judges.j.right_by_prompt.odd.estimate"
    assert (first[3].low.value, first[3].high.value) == right.interval
    assert [text_of(row[1]) for row in table.rows[1:]] == ["100"] * 3
    (texts,) = [b for b in prompts(found) if isinstance(b, Details)]
    assert texts.blocks[0].pairs == (("odd", "You are a judge."),)


def test_every_prompt_has_its_row_and_each_number_its_place():
    found = report({(None, "j"): replace(tensor(), gold=None)})
    table = named(prompts(found), Table)["by_prompt"]
    assert table.columns == (
        "Prompt",
        "Invalid of 100",
        "Change when asked again, of 100",
    )
    own = found.analysis.judges["j"].by_prompt
    for k, (row, each) in enumerate(zip(table.rows, own, strict=True)):
        assert text_of(row[0]) == each.prompt
        for number, key in zip(row[1:], ("invalid", "call"), strict=True):
            assert (number.value, number.path) == (
                getattr(each, key),
                f"judges.j.by_prompt[{k}].{key}",
            )


def test_a_table_of_many_prompts_is_closed():
    found = report({(None, "j"): tensor(items=4, prompts=20)})
    (closed,) = [b for b in prompts(found) if isinstance(b, Details)]
    assert closed.summary == "All 20 prompts"


def test_an_opening_is_one_line_of_whole_words():
    assert opening(" Say\n\nA or  B ") == "Say A or B"
    cut = opening("word " * 40)
    assert len(cut) <= 74
    assert set(cut.split()) == {"word", "…"}


@pytest.mark.parametrize(
    ("frozen", "openings"),
    [
        ({PROMPTS_PART: {"a": {OPENS_WITH: "Decide"}, "b": {"sha256": "1"}}}, {"a": "Decide"}),
        ({PROMPTS_PART: "none"}, {}),
        ({}, {}),
        (None, {}),
    ],
)
def test_openings_are_found_in_a_configuration_and_only_there(frozen, openings):
    found = Report(analysis=source().analysis, tensors={}, frozen=frozen)
    assert found.openings == openings


def test_a_run_knows_how_its_prompts_read(tmp_path):
    frozen = frozen_study(tmp_path, [simulated_judge()])
    acquire(frozen).raise_if_open()
    found = Report(
        analysis=source().analysis, tensors={}, frozen=RunFolder(frozen.path).configuration()
    )
    assert found.openings == {name: opening(t.text) for name, t in frozen.templates.items()}
    assert found.prompt_texts == {name: t.text for name, t in frozen.templates.items()}
    assert all(found.openings.values())


def test_single_answers_hear_nothing_of_a_lean():
    """Scores of one answer have no answer shown first, and their chance is no share of changes."""
    rng = np.random.default_rng(4)
    counts = rng.multinomial(4, [0.2, 0.3, 0.5], size=(12, 3, 1))
    calls = VerdictTensor.from_counts(counts, verdicts=["1", "2", "3"], orders=["single"])
    tensors = {(None, "j"): calls.on_scale([1, 2, 3])}
    found = Report(analysis=analysed(tensors), tensors=tensors)
    table = named(prompts(found), Table)["by_prompt"]
    assert table.columns == ("Prompt", "Invalid of 100", "Chance")
    assert table.caption == ""
