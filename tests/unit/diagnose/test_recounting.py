"""Pair counting: an independent second path to every reported estimate."""

import ast
import inspect
from pathlib import Path

import numpy as np
import pytest

from judgelaw.analysis import analyze
from judgelaw.diagnose import check_document, recount
from judgelaw.estimate import COMPONENTS, decompose
from judgelaw.streams import stream
from support.streams import drawn, of_codes


def ragged():
    """Unequal repeats, with gaps in the ranks."""
    codes = stream(1, "ragged").integers(0, 4, size=(6, 3, 2, 5))
    codes[stream(2, "ragged").random(codes.shape) < 0.2] = -1
    codes[..., :2] = np.abs(codes[..., :2])
    return of_codes(codes, strata=2)


@pytest.mark.parametrize("design", ["census", "sampled"])
@pytest.mark.parametrize("weights", [None, {"AB": 0.7, "BA": 0.3}])
@pytest.mark.parametrize("tensor", [drawn(items=5), ragged()], ids=["balanced", "ragged"])
def test_counting_pairs_gives_the_estimates(tensor, weights, design):
    again = recount(tensor, design=design, order_weights=weights)
    found = decompose(tensor, design=design, order_weights=weights).macro()
    for name in COMPONENTS:
        assert again.corrected[name] == pytest.approx(float(found[name]), abs=1e-12)
        assert again.plugin[name] == pytest.approx(float(found.plugin[name]), abs=1e-12)


def test_absent_facets_are_nan():
    again = recount(drawn(items=4, prompts=1))
    assert np.isnan(again.corrected["prompt"])
    assert np.isnan(again.corrected["interaction"])
    assert again.corrected["order"] == pytest.approx(
        float(decompose(drawn(items=4, prompts=1)).macro().order)
    )


def streams():
    return {
        ("evaluation", "a"): drawn(items=6, repeats=4, layer="evaluation"),
        ("reference", "a"): drawn(items=6, repeats=6, layer="reference", seed=3),
    }


def test_a_whole_document_is_confirmed():
    tensors = streams()
    document = analyze(tensors, draws=50, permutations=0).to_json()
    found = check_document(document, tensors)
    assert found.ok
    # Per stream: all calls and each depth, two strata, six items; two figures of five components.
    # The evaluation is the main layer, so it stands twice in the document.
    assert found.compared == 10 * (2 * (1 + 2 + 2 + 6) + (1 + 3 + 2 + 6))
    assert found.largest < 1e-12


@pytest.mark.parametrize(
    ("where", "words"),
    [
        (("components", "prompt", "estimate"), "prompt: reported"),
        (("depths", "2", "order", "plugin"), "R = 2, plug-in order"),
        (("strata", "s1", "call", "estimate"), "stratum s1, call"),
    ],
)
def test_a_changed_figure_is_named(where, words):
    tensors = streams()
    document = analyze(tensors, draws=50, permutations=0).to_json()
    part = document["layers"]["reference"]["a"]
    for key in where[:-1]:
        part = part[key]
    part[where[-1]] += 1e-6
    found = check_document(document, tensors)
    assert not found.ok
    assert len(found.mismatches) == 1
    assert words in found.mismatches[0]


def test_a_facet_reported_as_zero_where_it_is_absent_is_named():
    tensors = {(None, "a"): drawn(items=4, prompts=1)}
    document = analyze(tensors, draws=50, permutations=0).to_json()
    document["judges"]["a"]["components"]["prompt"] = {"estimate": 0.0, "plugin": 0.0}
    assert any(
        ", prompt: reported 0.0" in text for text in check_document(document, tensors).mismatches
    )


def test_missing_calls_of_a_report_are_named():
    tensors = streams()
    document = analyze(tensors, draws=50, permutations=0).to_json()
    extra = {**tensors, ("control", "a"): drawn(layer="control")}
    assert "control" in check_document(document, extra).mismatches[-1]


def test_it_shares_no_code_with_the_estimators():
    tree = ast.parse(Path(inspect.getsourcefile(recount)).read_text(encoding="utf-8"))
    imported = {
        node.module if isinstance(node, ast.ImportFrom) else alias.name
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    ours = {name for name in imported if name.startswith("judgelaw")}
    assert ours == {"judgelaw.tensor", "judgelaw.words"}, "calls and names, no estimate"
    assert "numpy" not in imported
