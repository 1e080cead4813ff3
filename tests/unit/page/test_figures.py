"""Every chart is valid Vega-Lite, drawn in the palette, for every shape of study."""

import re

import altair as alt
import numpy as np
import pytest

from judgelaw.page import drawing, figures, write_figures
from judgelaw.page.drawing import draw
from judgelaw.page.sections.depth import DepthPoint, over_depth
from judgelaw.page.sections.laws import corners_of
from judgelaw.tensor import VerdictTensor
from support.reports import report, tensor, unanimous


def two_verdicts() -> VerdictTensor:
    laws = np.random.default_rng(0).dirichlet([1, 1], size=(5, 3, 1))
    return VerdictTensor.from_laws(laws, repeats=4, seed=1, verdicts=("no", "yes"))


WORLDS = {
    "crossed": lambda: {(None, "j"): tensor()},
    "one order": lambda: {(None, "j"): tensor(orders=1)},
    "one prompt, three repeats": lambda: {(None, "j"): tensor(prompts=1, repeats=3)},
    "twenty prompts": lambda: {(None, "j"): tensor(items=4, prompts=20)},
    "two verdicts": lambda: {(None, "j"): two_verdicts()},
    "unanimous": lambda: {(None, "j"): unanimous()},
    "layers and judges": lambda: {
        ("evaluation", "a"): tensor(repeats=8),
        ("reference", "a"): tensor(repeats=16, seed=2),
        ("control", "a"): tensor(seed=3, lean=0),
        ("evaluation", "b"): tensor(seed=4, repeats=8),
    },
}


@pytest.fixture(scope="module")
def layered():
    tensors = WORLDS["layers and judges"]()
    return figures(report(tensors))


@pytest.mark.parametrize("world", [name for name in WORLDS if name != "layers and judges"])
def test_every_figure_of_every_design_is_drawn_in_the_palette(world):
    tensors = WORLDS[world]()
    for name, spec in figures(report(tensors)).items():
        markup = draw(spec, label=name).markup
        used = set(re.findall(r'(?:fill|stroke)="([^"]+)"', markup)) - {"none", "transparent"}
        assert used <= {colour.light for colour in drawing.COLOURS}, name
        assert "NaN" not in markup, name


def test_every_figure_keeps_the_schema(layered):
    """Charts are plain values; the schema that altair carries keeps them honest."""
    for name, spec in layered.items():
        if not name.endswith(("-2", "-b")):
            alt.Chart.from_dict(spec)


def test_the_figures_of_the_paper_have_counterparts(layered):
    assert {
        "laws-1",
        "shares-1",
        "depth-1",
        "judges-prompt",
        "judges-shares",
        "drift-rank_gap",
        "control-control-a",
        "reference-a",
    } <= set(layered)


def test_an_absent_facet_has_no_figure():
    tensors = WORLDS["one order"]()
    names = set(figures(report(tensors)))
    assert "order" not in names
    assert "prompts" in names


def test_the_curve_ends_in_the_deepest_plugin_and_doubles_its_excess_at_half_the_depth():
    points = [
        DepthPoint(component="prompt", repeats=r, estimate=0.01, plugin=0.01 + 0.08 / r,
                   low=None, high=None, label="", plugin_label="")
        for r in (2, 4, 8)
    ]  # fmt: skip
    panel = over_depth(points, width=300, columns=1)["vconcat"][0]
    curve = {row["repeats"]: row["value"] for row in panel["layer"][1]["data"]["values"]}
    assert curve[8] == pytest.approx(0.02)
    assert curve[4] == pytest.approx(0.03)
    assert curve[2] == pytest.approx(0.05)


def test_the_simplex_is_linear_so_the_barycentre_is_the_mean_of_the_points():
    verdicts = ("candidate_1", "candidate_2", "tie", "invalid")
    corners = corners_of(verdicts, np.ones(4))
    laws = np.random.default_rng(3).dirichlet(np.ones(4), size=9)
    assert corners.place(laws.mean(axis=0), verdicts) == pytest.approx(
        corners.place(laws, verdicts).mean(axis=0)
    )
    assert corners.top == ("tie", "invalid")
    assert corners.place(np.array([0.0, 1, 0, 0]), verdicts) == pytest.approx([1, 0])


def test_other_alphabets_stand_on_their_two_commonest_verdicts():
    assert corners_of(("1", "2", "3"), np.array([5.0, 1, 9])).left == "1"
    assert corners_of(("1", "2", "3"), np.array([5.0, 1, 9])).right == "3"


def test_figures_are_written_as_svg_pdf_and_png(tmp_path):
    tensors = WORLDS["crossed"]()
    spec = figures(report(tensors))["components"]
    files = write_figures({"components": spec, "a/b": spec}, tmp_path)
    starts = {".svg": b"<svg", ".pdf": b"%PDF", ".png": b"\x89PNG"}
    assert {file.name for file in files} >= {"components.pdf", "a_b.png"}
    assert all(file.read_bytes().startswith(starts[file.suffix]) for file in files)
