"""The map of prompts claims no more than the shuffling test, and says how prompts begin."""

from dataclasses import replace
from functools import cache
from unittest.mock import patch

import numpy as np
import pytest

from judgelaw.acquire import acquire
from judgelaw.analysis import PromptDistances
from judgelaw.page import OPENS_WITH, PROMPTS_PART, opening
from judgelaw.page.document import Part, TableView, plain
from judgelaw.page.explorer import openings
from judgelaw.page.prompts_and_orders import distance_map, distances, order, prompts, told_apart
from judgelaw.runs import RunFolder
from judgelaw.tensor import VerdictTensor
from servers.study import frozen_study, simulated_judge
from support.reports import analysed, tensor

EMPTY = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'


@cache
def analysed_judge():
    return analysed({(None, "j"): tensor()}).judges["j"]


def judge(p, names=("a", "b", "c")):
    n = len(names)
    squared = np.array([[0.0 if i == j else 0.01 * (i + j) for j in range(n)] for i in range(n)])
    found = analysed_judge()
    test = None if p is None else replace(found.permutation["prompt"], p=p)
    return Part(
        replace(
            found,
            prompt_distances=PromptDistances(prompts=tuple(names), squared=squared),
            permutation={**found.permutation, "prompt": test},
            by_prompt=tuple(replace(found.by_prompt[0], prompt=name) for name in names),
        )
    )


def shown(*args):
    with patch("vl_convert.vegalite_to_svg", return_value=EMPTY):
        return prompts(*args)


def strengths(source, **how):
    spec = distance_map(distances(source.value.prompt_distances), width=500, **how)
    layers = spec.get("layer") or spec["concat"][0]["layer"]
    return [row["strength"] for row in layers[0]["data"]["values"]]


def test_the_lean_of_every_prompt_is_shown_with_its_interval():
    """One prompt that leans to the answer shown first, among prompts that do not."""
    laws = np.full((20, 3, 2, 4), [0.45, 0.45, 0.1, 0.0])
    laws[:, 1, 0], laws[:, 1, 1] = [0.75, 0.15, 0.1, 0.0], [0.15, 0.75, 0.1, 0.0]
    calls = VerdictTensor.from_laws(laws, repeats=4, seed=1, orders=("AB", "BA"))
    found = analysed({(None, "j"): calls}).judges["j"]
    with patch("vl_convert.vegalite_to_svg", return_value=EMPTY):
        section = order(Part(found), calls)
    (table,) = [b for b in section.blocks if isinstance(b, TableView)]
    assert [plain(row[3]) for row in table.rows] == ["neither", "first", "neither"]
    lean = found.prompt_leans[1]
    number = table.rows[1][1][0]
    assert (number.value, number.path) == (lean.lean, "prompt_leans[1].lean")
    assert plain(table.rows[1][2]) == "[{:.3f}, {:.3f}]".format(*lean.interval)
    assert lean.interval[0] < 0.6 < lean.interval[1]


def test_one_prompt_has_no_table_of_leans():
    calls = tensor(prompts=1)
    found = analysed({(None, "j"): calls}).judges["j"]
    with patch("vl_convert.vegalite_to_svg", return_value=EMPTY):
        section = order(Part(found), calls)
    assert not [b for b in section.blocks if isinstance(b, TableView)]


@pytest.mark.parametrize(
    ("p", "words"),
    [
        (0.324, "No pair is told apart from the others by these calls"),
        (0.05, "Furthest apart are b and c"),
        (0.001, "Furthest apart are b and c"),
        (None, "Furthest apart are b and c"),
    ],
)
def test_a_pair_is_named_only_where_the_test_tells_prompts_apart(p, words):
    section = shown(judge(p))
    assert plain(section.blocks[0].paragraphs[0]).startswith(words)
    assert told_apart(judge(p).value) is words.startswith("Furthest")


def test_what_may_be_noise_is_drawn_pale():
    strong, pale = strengths(judge(0.01)), strengths(judge(0.5), pale=True)
    assert max(strong) == pytest.approx(0.8)
    assert max(pale) < 0.2
    assert [s / max(strong) for s in strong] == pytest.approx([s / max(pale) for s in pale])


def test_first_words_stand_beside_the_ids_that_are_known():
    section = shown(judge(0.5), {"a": "Decide which", "c": "You are\u202e", "z": "unused"})
    table = section.blocks[-1]
    assert isinstance(table, TableView)
    assert table.columns[:2] == ("Prompt", "First words")
    assert [row[:2] for row in table.rows] == [
        (("a",), ("Decide which",)),
        (("b",), ("",)),
        (("c",), ("You are⟨U+202E⟩",)),
    ]


def test_every_prompt_has_its_row_and_each_figure_its_path():
    found = analysed_judge()
    table = shown(Part(found)).blocks[-1]
    assert table.columns == ("Prompt", "Noise", "Invalid", "Lean", "Accuracy", "Distance", "Keep")
    for k, (row, own) in enumerate(zip(table.rows, found.by_prompt, strict=True)):
        assert plain(row[0]) == own.prompt
        keys = ("call", "invalid", "lean", "accuracy", "distance")
        for (number,), key in zip(row[1:6], keys, strict=True):
            assert (number.value, number.path) == (getattr(own, key), f"by_prompt[{k}].{key}")
        assert plain(row[6]) == ("yes" if own.keep else "no")


def test_what_is_not_known_of_any_prompt_has_no_column():
    calls = replace(tensor(), gold=None)
    bare = replace(calls.select(orders=calls.orders[:1]), gold=None)
    table = shown(Part(analysed({(None, "j"): bare}).judges["j"])).blocks[-1]
    assert table.columns == ("Prompt", "Noise", "Invalid", "Distance", "Keep")


def test_a_table_of_many_prompts_is_closed():
    assert [b.kind for b in shown(judge(0.5)).blocks] == ["prose", "figure", "table"]
    names = [f"p{k}" for k in range(20)]
    section = shown(judge(0.5, names), dict.fromkeys(names, "text"))
    assert section.blocks[-1].summary == "What each of 20 prompts is like"


def test_an_opening_is_one_line_of_whole_words():
    assert opening(" Say\n\nA or  B ") == "Say A or B"
    cut = opening("word " * 40)
    assert len(cut) <= 74
    assert set(cut.split()) == {"word", "…"}


def test_openings_are_found_in_a_configuration_and_only_there():
    frozen = {PROMPTS_PART: {"a": {"sha256": "0", OPENS_WITH: "Decide"}, "b": {"sha256": "1"}}}
    assert openings(frozen) == {"a": "Decide"}
    assert openings({PROMPTS_PART: "none"}) == openings({}) == openings(None) == {}


def test_a_run_knows_how_its_prompts_begin(tmp_path):
    frozen = frozen_study(tmp_path, [simulated_judge()])
    acquire(frozen).raise_if_open()
    found = openings(RunFolder(frozen.path).configuration())
    assert found == {name: opening(t.text) for name, t in frozen.templates.items()}
    assert all(found.values())


def test_single_answers_hear_nothing_of_a_lean():
    """Scores of one answer have no answer shown first, and their noise is no share of changes."""
    rng = np.random.default_rng(4)
    counts = rng.multinomial(4, [0.2, 0.3, 0.5], size=(12, 3, 1))
    calls = VerdictTensor.from_counts(counts, verdicts=["1", "2", "3"], orders=["single"])
    found = analysed({(None, "j"): calls.on_scale([1, 2, 3])}).judges["j"]
    (table,) = (x for x in shown(Part(found)).blocks if isinstance(x, TableView))
    assert "Lean" not in (*table.columns, table.caption)
    assert "shown first" not in table.caption
    assert table.caption.startswith("Noise: how far two of its calls are apart")
