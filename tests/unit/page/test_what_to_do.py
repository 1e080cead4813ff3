"""What to do, in the report: the sentence, the figure, and figures that can be followed back."""

from dataclasses import replace

import pytest

import judgelaw as jl
from judgelaw.page.document import Number, resolve
from judgelaw.page.what_to_do import (
    ADVICE,
    stability_figure,
    stability_points,
    what_to_do,
)
from judgelaw.streams import stream
from support import judges


@pytest.fixture(scope="module")
def advice():
    laws = judges.pool("heavy tails", 4, 2, seed=1, size=40).laws
    tensor = judges.tensor(laws, 4, stream(1, "page"))
    tensor = replace(tensor, orders=("AB", "BA"), judge="j", gold=("candidate_1",) * 40)
    return jl.advise(tensor)


def numbers(section):
    for block in section.blocks:
        for row in getattr(block, "rows", ()):
            for cell in row:
                yield from (part for part in cell if isinstance(part, Number))


def test_every_figure_can_be_followed_back_to_the_advice(advice):
    document = {ADVICE: advice.to_json()}
    shown = list(numbers(what_to_do("j", advice.judges["j"])))
    assert len(shown) > 60
    for number in shown:
        assert number.path is not None
        assert resolve(document, number.path) == number.value, number


def test_the_section_opens_with_the_sentence_and_draws_every_protocol(advice):
    judge = advice.judges["j"]
    section = what_to_do("j", judge)
    assert section.title == "What to do"
    assert section.blocks[0].paragraphs == ((judge.sentence,),)
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


def test_the_report_of_a_table_says_what_to_do(tmp_path):
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
    assert "What to do" in html
    assert 'data-path="advice.judges.j.protocols[0].stability.estimate"' in html
