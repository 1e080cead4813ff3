"""Ways to ask, in the report: the figure, and figures that can be followed back."""

from dataclasses import replace

import pytest

import judgelaw as jl
from judgelaw.analysis import analyze
from judgelaw.page.document import Folded, Number, Part, TableView, resolve
from judgelaw.page.what_to_do import (
    ADVICE,
    stability_figure,
    stability_points,
    what_to_do,
)
from judgelaw.streams import stream
from support import judges


@pytest.fixture(scope="module")
def tensor():
    laws = judges.pool("heavy tails", 4, 2, seed=1, size=40).laws
    found = judges.tensor(laws, 4, stream(1, "page"))
    return replace(found, orders=("AB", "BA"), judge="j", gold=("candidate_1",) * 40)


@pytest.fixture(scope="module")
def advice(tensor):
    return jl.advise(tensor)


@pytest.fixture(scope="module")
def parts(tensor):
    analysis = analyze({(None, "j"): tensor}, draws=50, permutations=0)
    return dict(Part(analysis).at(lambda a: a.judges).items())


def tables(blocks):
    for block in blocks:
        if isinstance(block, Folded):
            yield from tables(block.blocks)
        elif isinstance(block, TableView):
            yield block


def numbers(section):
    for table in tables(section.blocks):
        for row in table.rows:
            for cell in row:
                yield from (part for part in cell if isinstance(part, Number))


def test_every_figure_can_be_followed_back_to_the_advice(advice, parts):
    document = {ADVICE: advice.to_json()}
    shown = list(numbers(what_to_do(parts, advice)))
    assert len(shown) > 60
    for number in shown:
        assert number.path is not None
        assert resolve(document, number.path) == number.value, number


def test_the_section_holds_every_way_to_ask_and_no_advice_of_its_own(advice, parts):
    section = what_to_do(parts, advice)
    assert (section.id, section.title) == ("do", "Ways to ask")
    found = advice.judges["j"]
    assert section.blocks[0].paragraphs == ((found.wrong.in_words(),),)
    folded = section.blocks[1]
    assert [type(block).__name__ for block in folded.blocks] == ["FigureView", "TableView"]


def test_without_protocols_there_is_no_section(parts):
    assert what_to_do(parts) is None


def test_each_of_several_judges_has_its_ways_to_ask_closed(advice, parts):
    two = {"j": parts["j"], "k": parts["j"]}
    both = replace(advice, judges={"j": advice.judges["j"], "k": advice.judges["j"]})
    section = what_to_do(two, both)
    assert [b.summary for b in section.blocks if isinstance(b, Folded)] == [
        "j: ways to ask",
        "k: ways to ask",
    ]


def test_every_protocol_is_drawn(advice):
    judge = advice.judges["j"]
    points = stability_points(judge)
    assert {p.kind for p in points} == {0, 1, 2, 3}
    assert any(p.estimate is None for p in points), "a forecast is drawn without a point"
    spec = stability_figure(points, width=600)
    bands, dots = (layer["data"]["values"] for layer in spec["layer"])
    assert len(bands) == len(points)
    assert len(dots) == sum(p.estimate is not None for p in points)


def test_a_second_vote_that_adds_nothing_is_not_shown(advice):
    judge = advice.judges["j"]
    shown = [row.protocol for _, row in judge.worth_showing()]
    assert not any(p.repeats == 2 and p.prompts == "fixed:p1" and p.orders == "one" for p in shown)
    assert any(p.repeats == 2 for p in shown)
    assert {p.calls(4, 2) for p in shown} == {row.calls for row in judge.protocols} - {2} | {2}


def test_the_report_of_a_table_shows_the_ways_to_ask(tmp_path):
    from judgelaw.runs import analyze_source, read_source, report_page

    laws = judges.pool("heavy tails", 2, 1, seed=1, size=12).laws
    tensor = judges.tensor(laws, 4, stream(1, "page"))
    lines = ["judge,item,prompt,repeat,verdict"]
    for i in range(12):
        for k in range(2):
            lines += [
                f"j,i{i},p{k},{r},{tensor.verdicts[code]}"
                for r, code in enumerate(tensor.ranked[i, k, 0])
            ]
    path = tmp_path / "calls.csv"
    path.write_text("\n".join(lines) + "\n")
    calls = read_source(str(path))
    html = report_page(analyze_source(calls, draws=50, permutations=0), calls)
    assert html.count("<h2><bdi>Ways to ask</bdi></h2>") == 1
    assert 'data-path="advice.judges.j.protocols[0].stability.estimate"' in html
