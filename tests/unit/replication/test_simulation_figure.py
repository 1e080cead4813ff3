"""Figure `simulation`: its marks are the rows at truth zero, and it renders without a network."""

import re

import altair as alt
import pytest

from judgelaw.errors import InputError
from judgelaw.page import drawing
from judgelaw.replication import figure, figure_marks, simulate_point


@pytest.fixture(scope="module")
def study():
    return simulate_point(items=300, seed=1)


def test_marks_are_the_null_rows(study):
    marks = figure_marks(study)
    assert [m.panel for m in marks[::4]] == ["a", "a", "a", "b", "b", "b"]
    assert {(m.panel, m.prompts) for m in marks} == {("a", 5), ("b", 6), ("c", 5), ("d", 6)}
    row = next(r for r in study.rows if (r.prompts, r.truth, r.repeats) == (6, 0.0, 4))
    chosen = {m.series: m for m in marks if m.prompts == 6 and m.repeats == 4}
    assert chosen["simulated"].value == row.plugin_bias
    assert chosen["exact"].low == chosen["exact"].high == row.analytic_bias
    assert chosen["complete"].value == pytest.approx(1e4 * row.debiased_bias)
    half = 1.96e4 * row.panel_se
    assert chosen["two-repeat panels"].high == pytest.approx(1e4 * row.panel_bias + half)


def test_the_figure_keeps_the_schema_and_the_colours_of_the_page(study):
    alt.Chart.from_dict(figure(study))
    markup = drawing.draw(figure(study), label="simulation").markup
    used = set(re.findall(r'(?:fill|stroke)="([^"]+)"', markup)) - {"none", "transparent"}
    assert used <= {colour.light for colour in drawing.COLOURS}
    for text in ("(a) K = 5", "(d) K = 6", "two-repeat panels", "Bias of the plug-in"):
        assert text in markup


@pytest.mark.parametrize(
    ("suffix", "magic"), [(".svg", b"<svg"), (".pdf", b"%PDF"), (".png", b"\x89PNG")]
)
def test_figure_is_written_in_the_format_of_its_name(study, suffix, magic, tmp_path):
    from judgelaw.cli.simulate import save_figure

    target = tmp_path / f"simulation{suffix}"
    save_figure(figure(study), target)
    assert target.read_bytes().startswith(magic)


def test_other_formats_are_refused(study, tmp_path):
    from judgelaw.cli.simulate import save_figure

    with pytest.raises(InputError, match=r"\.svg, \.pdf, \.png"):
        save_figure(figure(study), tmp_path / "figure.jpg")
