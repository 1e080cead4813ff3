import pytest

from judgelaw.errors import InputError
from judgelaw.page import answer_html, components_svg, drawing, figure_view, page
from support.reports import analysed, tensor


@pytest.fixture(scope="module")
def analysis():
    return analysed({(None, "a<b"): tensor(), (None, "c"): tensor(seed=2)})


def test_a_judge_is_drawn_by_name(analysis):
    markup = components_svg(analysis, "c")
    assert markup.startswith("<svg xmlns=")
    assert markup.count('class="mark"') == 5


def test_the_sentence_stands_above_its_drawing(analysis):
    html = answer_html(analysis, "a<b")
    assert analysis.judges["a<b"].answer.headline.replace("'", "&#x27;") in html
    assert html.index("<p>") < html.index('<svg overflow="visible" xmlns=')


def test_several_judges_need_a_name(analysis):
    with pytest.raises(InputError, match="name one of"):
        components_svg(analysis)


def test_a_chart_of_any_origin_stands_in_a_page():
    spec = drawing.chart(drawing.layer([drawing.zero("x")], width=40, height=20))
    view = figure_view("bias", spec, label="bias by depth", caption="Bias.")
    html = page("Simulation", "", figures=[view], version="1")
    assert 'aria-label="bias by depth"' in html
    assert "<figcaption>Bias.</figcaption>" in html
