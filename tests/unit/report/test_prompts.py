"""The map of prompts claims no more than the shuffling test, and says how prompts begin."""

from unittest.mock import patch

import pytest

from judgelaw.acquire import acquire
from judgelaw.report import prepare
from judgelaw.report.document import TableView
from judgelaw.report.figures.distance import distance_map
from judgelaw.report.run import read_run
from judgelaw.report.sections.facets import prompts
from judgelaw.report.source import Source, plain
from judgelaw.report.wording import OPENS, PART, opening, openings
from servers.study import frozen_study, simulated_judge

EMPTY = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'


def judge(p, names=("a", "b", "c")):
    squared = [
        [0.0 if i == j else 0.01 * (i + j) for j in range(len(names))] for i in range(len(names))
    ]
    return Source.of(
        {
            "prompt_distances": {"prompts": list(names), "squared": squared},
            "permutation": {"prompt": {"p": p}},
        }
    )


def shown(*args):
    with patch("vl_convert.vegalite_to_svg", return_value=EMPTY):
        return prompts(*args)


def strengths(source, **how):
    spec = distance_map(prepare.distances(source), width=500, **how)
    layers = spec.get("layer") or spec["concat"][0]["layer"]
    return [row["strength"] for row in layers[0]["data"]["values"]]


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
    assert prepare.told_apart(judge(p)) is words.startswith("Furthest")


def test_what_may_be_noise_is_drawn_pale():
    strong, pale = strengths(judge(0.01)), strengths(judge(0.5), pale=True)
    assert max(strong) == pytest.approx(0.8)
    assert max(pale) < 0.2
    assert [s / max(strong) for s in strong] == pytest.approx([s / max(pale) for s in pale])


def test_first_words_stand_beside_the_ids_that_are_known():
    section = shown(judge(0.5), {"a": "Decide which", "c": "You are\u202e", "z": "unused"})
    table = section.blocks[-1]
    assert isinstance(table, TableView)
    assert table.rows == ((("a",), ("Decide which",)), (("c",), ("You are⟨U+202E⟩",)))


def test_without_texts_there_is_no_table_and_with_many_it_is_closed():
    assert [b.kind for b in shown(judge(0.5)).blocks] == ["prose", "figure"]
    names = [f"p{k}" for k in range(20)]
    section = shown(judge(0.5, names), dict.fromkeys(names, "text"))
    assert section.blocks[-1].summary == "How 20 prompts begin"


def test_an_opening_is_one_line_of_whole_words():
    assert opening(" Say\n\nA or  B ") == "Say A or B"
    cut = opening("word " * 40)
    assert len(cut) <= 74
    assert set(cut.split()) == {"word", "…"}


def test_openings_are_found_in_a_configuration_and_only_there():
    frozen = {PART: {"a": {"sha256": "0", OPENS: "Decide"}, "b": {"sha256": "1"}}}
    assert openings(frozen) == {"a": "Decide"}
    assert openings({PART: "none"}) == openings({}) == openings(None) == {}


def test_a_run_knows_how_its_prompts_begin(tmp_path):
    frozen = frozen_study(tmp_path, [simulated_judge()])
    acquire(frozen).raise_if_open()
    found = openings(read_run(frozen.path, None).configuration)
    assert found == {name: opening(t.text) for name, t in frozen.templates.items()}
    assert all(found.values())
