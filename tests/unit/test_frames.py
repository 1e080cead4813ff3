"""Frames of the user's library, and what a notebook shows."""

import narwhals as nw
import numpy as np
import pytest

import judgelaw as jl
from judgelaw.frames import frame_of

TENSOR = jl.VerdictTensor.from_laws(
    np.full((3, 2, 2, 4), 0.25), repeats=3, seed=2, items=["<script>", "b", "c"]
)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_decomposition_becomes_a_frame(library):
    found = jl.decompose(TENSOR)
    frame = nw.from_native(found.to_frame(library))
    assert frame.shape == (15, 4)
    prompt = frame.filter(nw.col("component") == "prompt")
    assert prompt["estimate"].to_list() == found.prompt.tolist()


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_tensor_becomes_a_frame_of_counts(library):
    frame = nw.from_native(TENSOR.to_frame(library))
    assert frame.columns == ["item", "prompt", "order", "verdict", "count"]
    assert frame["count"].sum() == 3 * 2 * 2 * 3


def test_a_missing_library_is_named(monkeypatch):
    def absent(*_, **__):
        raise ModuleNotFoundError("No module named 'polars'")

    monkeypatch.setattr(nw, "from_dict", absent)
    with pytest.raises(jl.MissingExtraError, match="pip install polars"):
        frame_of({"a": [1]}, "polars")


def test_notebooks_show_estimates_and_plugin():
    shown = jl.decompose(TENSOR)._repr_html_()
    assert "<svg role='img'" in shown
    assert f"{jl.decompose(TENSOR).macro().prompt:.5f}" in shown
    absent = jl.decompose(TENSOR.select(orders=["o1"]))._repr_html_()
    assert "nan" in absent
    assert "aria-label='call" in absent


def test_hostile_names_are_escaped():
    tensor = jl.VerdictTensor.from_counts(TENSOR.counts, verdicts=("<b>", "x", "y", "z"))
    assert "<b>" not in tensor._repr_html_()
    assert "&lt;b&gt;" in tensor._repr_html_()
