"""Ways to ask, in the report: the figure, and figures that can be followed back."""

from dataclasses import replace

import pytest

import judgelaw as jl
from judgelaw.analysis import analyze
from judgelaw.blocks import Figure, Span, Table, Value, resolve
from judgelaw.page import Report
from judgelaw.page.sections.protocol_list import (
    SECTIONS,
    stability_figure,
    stability_points,
    ways_to_ask,
)
from judgelaw.page.subject import ADVICE
from judgelaw.streams import stream
from support import judges
from support.reports import named


@pytest.fixture(scope="module")
def tensor():
    laws = judges.pool("heavy tails", 4, 2, seed=1, size=40).laws
    found = judges.tensor(laws, 4, stream(1, "page"))
    return replace(found, orders=("AB", "BA"), judge="j", gold=("candidate_1",) * 40)


@pytest.fixture(scope="module")
def advice(tensor):
    return jl.advise(tensor)


@pytest.fixture(scope="module")
def source(tensor, advice):
    analysis = analyze({(None, "j"): tensor}, draws=50, permutations=0)
    return Report(analysis=analysis, tensors={(None, "j"): tensor}, advice=advice)


def numbers(table):
    for row in table.rows:
        for cell in row:
            if isinstance(cell, Value):
                yield cell
            elif isinstance(cell, Span):
                yield from (cell.low, cell.high)


def test_every_figure_can_be_followed_back_to_the_advice(advice, source):
    document = {ADVICE: advice.to_json()}
    (judge,) = source.judges
    shown = list(numbers(named(ways_to_ask(judge), Table)["protocols"]))
    assert len(shown) > 60
    for number in shown:
        assert number.path is not None
        assert resolve(document, number.path) == number.value, number


def test_the_section_holds_every_way_to_ask_and_no_advice_of_its_own(advice, source):
    (judge,) = source.judges
    blocks = ways_to_ask(judge)
    assert [type(block) for block in blocks[:2]] == [Figure, Table]
    assert len(blocks[1].rows) == len(advice.judges["j"].worth_showing())


def test_without_protocols_there_is_no_section(source):
    bare = Report(analysis=source.analysis, tensors=source.tensors)
    assert ways_to_ask(bare.judges[0]) is None


def test_each_of_several_judges_has_its_ways_to_ask_closed(advice, source):
    judge = source.analysis.judges["j"]
    two = replace(source.analysis, judges={"j": judge, "k": judge})
    both = replace(advice, judges={"j": advice.judges["j"], "k": advice.judges["j"]})
    tensors = {key: t for key in ((None, "j"), (None, "k")) for t in source.tensors.values()}
    found = Report(analysis=two, tensors=tensors, advice=both)
    (kind,) = SECTIONS
    section = kind.section(found)
    assert (section.id, section.title, section.folded) == ("do", "Ways to ask", True)
    assert [block.summary for block in section.blocks] == ["j", "k"]


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
    assert html.count("<h3><bdi>Ways to ask</bdi></h3>") == 1
    assert 'data-path="advice.judges.j.protocols[0].stability.estimate"' in html
