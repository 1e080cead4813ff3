"""What scores say: known laws come out again, gold fits, and nobody speaks of an order."""

import json
from dataclasses import replace

import numpy as np
import pytest

import judgelaw as jl
from judgelaw.analysis import analyze
from judgelaw.estimate import population
from judgelaw.tensor import VerdictTensor

SCALE = (1, 2, 3, 4, 5)
VERDICTS = ("1", "2", "3", "4", "5", "invalid")
ORDER_WORDS = ("order", "swap", "interaction")
LAWS = np.array(
    [
        [0.05, 0.1, 0.2, 0.4, 0.24, 0.01],
        [0.05, 0.15, 0.25, 0.35, 0.2, 0.0],
        [0.2, 0.3, 0.3, 0.1, 0.08, 0.02],
    ]
)
"""Of three prompts, on every item."""


def drawn(kind="ordinal", *, items=40, repeats=8, seed=5, **labels):
    laws = np.broadcast_to(LAWS[None, :, None, :], (items, 3, 1, 6))
    calls = VerdictTensor.from_laws(
        laws, repeats=repeats, seed=seed, verdicts=VERDICTS, orders=["single"], **labels
    )
    return calls.on_scale(SCALE, kind)


def analysed(tensor, **options):
    options = {"permutations": 0, "draws": 200, **options}
    return analyze({(None, "judge"): tensor}, **options).judges["judge"]


@pytest.mark.parametrize("kind", ["ordinal", "numeric"])
def test_a_known_law_is_recovered_within_four_call_errors(kind):
    x = drawn(kind)
    found = analysed(x)
    truth = population(LAWS[:, None, :], dissimilarity=x.scale.distances(VERDICTS))
    for part in ("call", "prompt", "total"):
        c = found.components[part]
        assert abs(c.estimate - float(truth[part])) < 4 * c.call_se, part
        assert c.call_interval[0] < float(truth[part]) < c.call_interval[1], part
    valid = LAWS[:, :5] / LAWS[:, :5].sum(axis=1, keepdims=True)
    mean = float((valid @ np.array(SCALE)).mean())
    assert abs(found.scores.mean.estimate - mean) < 4 * found.scores.mean.call_se
    points = x.scale.points(VERDICTS)
    again = float(np.mean([p @ points @ p for p in LAWS]))
    low, high = found.changes["ask_again"].call_interval
    assert low < again < high
    other = np.mean([a @ points @ b for i, a in enumerate(LAWS) for b in LAWS[:i]])
    assert found.changes["reword"].call_interval[0] < other < found.changes["reword"].interval[1]
    assert found.components["order"].absent
    assert found.components["interaction"].absent


def test_points_are_the_mean_distance_of_distinct_calls():
    x = drawn("nominal", items=3, repeats=3)
    rate = analysed(x).changes["ask_again"].estimate
    far = []
    for cell in x.ranked.reshape(-1, 3):
        pairs = [(a, b) for i, a in enumerate(cell) for j, b in enumerate(cell) if i != j]
        far.append(np.mean([x.scale.points(VERDICTS)[a][b] for a, b in pairs]))
    assert rate == pytest.approx(np.mean(far))


@pytest.mark.parametrize("kind", ["ordinal", "numeric", "nominal"])
@pytest.mark.parametrize("laws", ["open", "settled"])
def test_nothing_is_said_about_an_order(kind, laws):
    x = drawn(kind, items=12, repeats=4)
    if laws == "settled":
        still = np.zeros_like(x.counts)
        still[..., 3] = 4
        x = replace(x, counts=still, ranked=None)
    found = analysed(x, permutations=99)
    said = [found.answer.headline, *found.warnings]
    said += [f"{x.text} {x.why}" for x in found.answer.actions]
    said += [m.note for m in found.other_metrics]
    assert [text for text in said for word in ORDER_WORDS if word in text.lower()] == []
    assert "point" in found.answer.says or "known" in found.answer.says
    assert len(found.answer.says.split()) <= 22
    assert found.to_json()["changes"]["swap"] is None
    assert found.to_json()["components"]["order"] is None


def test_mean_and_distribution_of_every_prompt():
    counts = np.zeros((2, 2, 1, 6), dtype=int)
    counts[0, 0, 0] = [0, 0, 0, 2, 0, 2]  # replies without a score are left out
    counts[1, 0, 0] = [4, 0, 0, 0, 0, 0]
    counts[:, 1, 0] = [0, 0, 4, 0, 0, 0]
    x = VerdictTensor.from_counts(counts, verdicts=VERDICTS, prompts=["a", "b"]).on_scale(SCALE)
    found = analysed(x).scores
    first, second = found.by_prompt
    assert (first.mean.estimate, second.mean.estimate) == (2.5, 3.0)
    assert found.mean.estimate == pytest.approx((3.5 + 2) / 2)
    assert first.counts == {"1": 4, "2": 0, "3": 0, "4": 2, "5": 0, "invalid": 2}
    assert found.mean.call_interval[0] < 2.75 < found.mean.call_interval[1]


def test_a_judge_that_never_gives_a_score_has_no_mean():
    counts = np.zeros((3, 2, 1, 6), dtype=int)
    counts[..., -1] = 4
    found = analysed(VerdictTensor.from_counts(counts, verdicts=VERDICTS).on_scale(SCALE)).scores
    assert np.isnan(found.mean.estimate)
    assert found.mean.interval is None


def test_scores_against_gold():
    counts = np.zeros((5, 1, 1, 6), dtype=int)
    for i, (score, other) in enumerate([(0, 0), (1, 1), (1, 2), (3, 3), (4, 5)]):
        counts[i, 0, 0, score] += 2
        counts[i, 0, 0, other] += 2
    gold = ["1", "2", "3", "4", "5"]
    x = VerdictTensor.from_counts(counts, verdicts=VERDICTS, gold=gold).on_scale(SCALE)
    found = analysed(x).scores.gold
    assert found.items == 5
    assert found.exact == pytest.approx((4 + 4 + 2 + 4 + 2) / 20)
    assert found.mae.estimate == pytest.approx(0.5 / 5)
    assert found.bias.estimate == pytest.approx(-0.5 / 5)
    assert found.rank_correlation.estimate == pytest.approx(1)
    assert analysed(drawn(items=4, repeats=2)).scores.gold is None


def study(kind, laws, **fields):
    return {
        "version": 1,
        "name": "scores",
        "seed": 3,
        "task": "pointwise",
        "items": {"source": "jsonl", "path": "items.jsonl"},
        "prompts": {
            "policy": "census",
            "templates": [{"id": f"p{k}", "text": f"{k} {{candidate}}"} for k in range(3)],
        },
        "repeats": 4,
        "judges": [
            {
                "name": "sim",
                "provider": "simulated",
                "model": "law",
                "law": {
                    "verdicts": laws[0],
                    "cells": [{"prompt": f"p{k}", "verdicts": law} for k, law in enumerate(laws)],
                },
            }
        ],
        "analysis": {"draws": 200, "permutations": 99},
        **kind,
        **fields,
    }


def written(folder, gold):
    rows = [
        {"id": f"i{n}", "instruction": "q", "candidate_1": "a", "gold": gold} for n in range(30)
    ]
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_a_simulated_judge_that_scores_is_audited_end_to_end(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, 4)
    laws = [dict(zip(VERDICTS, map(float, law), strict=True)) for law in LAWS]
    run = jl.audit(study({"scale": [1, 2, 3, 4, 5]}, laws), out=tmp_path / "run")
    found = jl.analyze(run).judges["sim"]
    r = VerdictTensor.from_counts(np.full((1, 1, 1, 6), 2), verdicts=VERDICTS).on_scale(SCALE)
    truth = population(LAWS[:, None, :], dissimilarity=r.scale.distances(VERDICTS))
    for part in ("call", "prompt", "total"):
        c = found.components[part]
        assert abs(c.estimate - float(truth[part])) < 4 * c.call_se, part
    assert found.scores.gold.items == 30
    page = (tmp_path / "run" / "report.html").read_text()
    assert "points apart" in page
    from judgelaw.cli import program

    capsys.readouterr()
    assert program._run(["analyze", str(tmp_path / "run")]) == 0
    said = capsys.readouterr().out.lower()
    assert [word for word in ORDER_WORDS if word in said] == []
    assert "does its verdict change?" in said


def test_a_simulated_judge_that_says_pass_or_fail_is_audited_end_to_end(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "pass")
    shares = np.array([[0.8, 0.19, 0.01], [0.7, 0.3, 0.0], [0.4, 0.55, 0.05]])
    names = ("pass", "fail", "invalid")
    laws = [dict(zip(names, map(float, law), strict=True)) for law in shares]
    run = jl.audit(study({"labels": ["pass", "fail"]}, laws), out=tmp_path / "run")
    found = jl.analyze(run).judges["sim"]
    truth = population(shares[:, None, :])
    for part in ("call", "prompt", "total"):
        c = found.components[part]
        assert abs(c.estimate - float(truth[part])) < 4 * c.call_se, part
    assert found.scores is None
    assert list(found.outcomes) == list(names)
    assert not any("order" in text for text in (found.answer.headline, *found.warnings))
    assert found.gold_match == pytest.approx(found.outcomes["pass"] / found.calls)
