"""Probes in an analysis: found by the names of layers, said in one sentence, held by a gate."""

import numpy as np
import pytest

import judgelaw as jl
from judgelaw.analysis import analyze, probe_sentence, where_largest
from judgelaw.analysis.probe_answers import _scores
from judgelaw.blocks import Place, text_of
from judgelaw.errors import InputError
from judgelaw.page import Report, build
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from judgelaw.words import probe_layer, probed_by

PULLED = "authority"
CALM = "identity"


def tensors(pull=0.3, N=24, R=4):
    rng = stream(5, "probed analysis")
    law = np.array([0.5, 0.4, 0.1, 0.0])
    found = {("audit", "j"): rng.multinomial(R, law, size=(N, 2, 2))}
    for probe, by in ((PULLED, pull), (CALM, 0.0)):
        for place, side in enumerate(("candidate_1", "candidate_2")):
            moved = law.copy()
            moved[1 - place] -= by
            moved[place] += by
            found[probe_layer(probe, side), "j"] = rng.multinomial(R, moved, size=(N, 2, 2))
    return {key: VerdictTensor.from_counts(n) for key, n in found.items()}


@pytest.fixture(scope="module")
def analysis():
    return analyze(tensors(), permutations=0, draws=200)


def test_layers_of_probes_are_known_by_name():
    assert probed_by("probe.my.own.candidate_2") == ("my.own", "candidate_2")
    for other in (None, "audit", "probe", "probe.x", "probe..candidate_1", "probes.x.candidate_1"):
        assert probed_by(other) is None


def test_probes_are_no_layers_of_their_own(analysis):
    assert list(analysis.layers) == ["audit"]
    assert set(analysis.judges["j"].probes) == {PULLED, CALM}


def said_of(judge):
    return text_of(probe_sentence(judge, Place(None)))


def test_the_sentence_says_what_moves_and_bounds_the_rest(analysis):
    effects = analysis.judges["j"].probes
    assert effects[PULLED].real
    assert not effects[CALM].real
    said = said_of(analysis.judges["j"])
    assert said.startswith("On these 24 items, adding an expert's name moves ")
    assert "of 100 verdicts toward the changed answer" in said
    assert "no effect is shown of changing nothing (the control): at most" in said


def test_json_has_every_probe_with_its_intervals(analysis):
    found = analysis.to_json()["judges"]["j"]["probes"][PULLED]
    assert found["shift"]["low"] <= found["shift"]["estimate"] <= found["shift"]["high"]
    assert found["change"]["estimate"] == pytest.approx(2 * 0.3**2 / 2, abs=0.05)
    assert len(found["by_prompt"]) == 2


def test_the_page_shows_them(analysis):
    page = build(Report(analysis=analysis, tensors=tensors()), title="t")
    assert "What pulls the verdict" in page
    assert page.index("What pulls the verdict") < page.index(">Statistics</h2>")
    assert "authority changes most under prompt" in page
    assert 'data-path="judges.j.probes.authority.shift.estimate"' in page


def test_a_gate_holds_a_probe_against_its_limit():
    found = tensors()
    assert jl.gate(found, {f"probe.{PULLED}": 0.05}).verdict == "fail"
    assert jl.gate(found, {f"probe.{PULLED}": 0.9}).verdict == "pass"
    assert jl.gate(found, {f"probe.{CALM}": 0.02}).verdict == "inconclusive"
    with pytest.raises(InputError, match="no probe is called 'typos'"):
        jl.gate(found, {"probe.typos": 0.1})


def test_scores_of_scales_and_labels():
    assert _scores(("1", "3", "5", "invalid"), "answer").tolist() == [0, 0.5, 1, 0]
    assert _scores(("fail", "pass", "invalid"), "answer").tolist() == [0, 1, 0]
    assert not _scores(("blue", "red"), "answer").any()


def test_labels_without_a_good_side_show_the_change_alone():
    rng = stream(6, "labels")
    laws = {"audit": [0.5, 0.5], probe_layer("longer", "answer"): [0.9, 0.1]}
    calls = {
        (layer, "j"): VerdictTensor.from_counts(
            rng.multinomial(4, law, size=(20, 2, 1)), verdicts=["blue", "red"], orders=["single"]
        )
        for layer, law in laws.items()
    }
    judge = analyze(calls, permutations=0, draws=200).judges["j"]
    effect = judge.probes["longer"]
    assert effect.real
    assert where_largest(effect, Place(None)) == ()
    assert np.isnan(effect.shift.estimate)
    assert effect.change.estimate == pytest.approx(0.16, abs=0.08)
    assert "in no direction that is shown" in said_of(judge)


def test_shifts_of_scores_are_said_in_points():
    rng = stream(8, "points")
    laws = {"audit": [0.5, 0.3, 0.2], probe_layer("longer", "answer"): [0.0, 0.3, 0.7]}
    calls = {
        (layer, "j"): VerdictTensor.from_counts(
            rng.multinomial(4, law, size=(20, 2, 1)), verdicts=["1", "3", "5"], orders=["single"]
        ).on_scale([1, 3, 5])
        for layer, law in laws.items()
    }
    said = said_of(analyze(calls, permutations=0, draws=200).judges["j"])
    assert "making an answer longer raises the score by 2." in said
    assert "verdicts" not in said


def test_where_a_real_shift_is_largest_is_said(analysis):
    effects = analysis.judges["j"].probes
    assert where_largest(effects[CALM], Place(None)) == ()
    said = text_of(where_largest(effects[PULLED], Place(None)))
    assert said.startswith("authority changes most under prompt ")


def test_judges_of_an_audit_are_one_family():
    one = tensors()
    two = one | {(layer, "k"): tensor for (layer, _), tensor in one.items()}
    p = {
        len(found.judges): found.judges["j"].probes[PULLED].p
        for found in (analyze(x, permutations=0, draws=200) for x in (one, two))
    }
    assert p[2] == pytest.approx(2 * p[1])
