"""Empirical tables recomputed from a corpus of the paper's shape."""

from dataclasses import replace

import numpy as np
import pytest

from judgelaw.errors import InputError
from judgelaw.estimate import decompose
from judgelaw.replication import (
    PublishedTable,
    Resampling,
    find_corpus,
    paper_tables as module,
    published,
    recompute,
)
from judgelaw.replication.published_numbers import row_name
from judgelaw.tensor import VerdictTensor
from judgelaw.worlds import World

QUICK = Resampling(draws=400, seed=1)
LAYERS = {"control": (12, 8), "evaluation": (12, 8), "reference": (12, 16), "broad": (20, 4)}


def tensor(world, items, repeats, seed):
    drawn = world.tensor(items=items, prompts=6, orders=2, repeats=repeats, seed=seed)
    strata = tuple("ab"[i % 2] for i in range(items))
    gold = tuple(("candidate_1", "candidate_2")[i % 3 == 0] for i in range(items))
    return replace(drawn, strata=strata, gold=gold)


@pytest.fixture(scope="module")
def tensors():
    world = World.from_effects(prompt=0.01, order=0.02, item_spread=0.2)
    found = {
        (layer, "Qwen/Qwen3.6-27B"): tensor(world, items, repeats, seed)
        for seed, (layer, (items, repeats)) in enumerate(LAYERS.items())
    }
    for seed, judge in enumerate(("gpt-oss-120b", "gemma-3-27b-it", "claude-haiku-4-5")):
        found["evaluation", judge] = tensor(world, 12, 4, 100 + seed)
    return found


@pytest.fixture(scope="module")
def corpus(tensors):
    return find_corpus(tensors)


@pytest.fixture(scope="module")
def findings(corpus):
    return recompute(corpus, resampling=QUICK)


def test_corpus_is_found_by_the_names_in_the_table(corpus):
    assert set(corpus.layers) == set(LAYERS)
    assert len(corpus.panel) == 4
    assert all(panel.depth == (4, 4) for panel in corpus.panel.values())


def test_layers_can_be_named(tensors):
    renamed = {
        ("L1" if layer == "control" else layer, judge): t for (layer, judge), t in tensors.items()
    }
    assert "control" not in find_corpus(renamed).layers
    assert "control" in find_corpus(renamed, layers={"control": "L1"}).layers


def test_a_table_of_other_judges_is_refused(tensors):
    with pytest.raises(InputError, match="none of it is a part of the paper"):
        find_corpus({("x", "some-judge"): tensors["broad", "Qwen/Qwen3.6-27B"]})


def test_two_layers_or_judges_for_one_part_are_refused(tensors):
    qwen = "Qwen/Qwen3.6-27B"
    twice = {**tensors, ("null", qwen): tensors["broad", qwen]}
    with pytest.raises(InputError, match=r"control / .* and null / .* --layer control=NAME"):
        find_corpus(twice)
    chosen = find_corpus(twice, layers={"control": "null"}).layers["control"]
    assert chosen is tensors["broad", qwen]
    judges = {**tensors, ("evaluation", "qwen-other"): tensors["broad", qwen]}
    with pytest.raises(InputError, match=r"3\.6-27B and evaluation / qwen-other .* keep one judge"):
        find_corpus(judges)


def test_layers_outside_the_paper_matter_only_where_they_would_be_used(tensors):
    qwen = "Qwen/Qwen3.6-27B"
    other = {(name, qwen): tensors["broad", qwen] for name in ("L1", "L2")}
    assert find_corpus({**tensors, **other}).panel.keys() == find_corpus(tensors).panel.keys()
    with pytest.raises(InputError, match=r"L1 / .* and L2 / .* --layer evaluation=NAME"):
        find_corpus(other)


def with_hole(tensor, rank):
    ranked = tensor.ranked.copy()
    ranked[0, 0, 0, rank] = -1
    return VerdictTensor.from_ranked(ranked, items=tensor.items)


def test_a_missing_call_makes_a_depth_not_available(tensors):
    qwen = "Qwen/Qwen3.6-27B"
    holed = {**tensors, ("evaluation", qwen): with_hole(tensors["evaluation", qwen], 1)}
    found = recompute(find_corpus(holed), resampling=QUICK)
    rows = {f.row: f.verdict for f in found if f.table == "tab:real_prompt_estimates"}
    assert {rows[f"evaluation, R = {R}"] for R in (2, 4, 8)} == {"not available"}
    late = {**tensors, ("evaluation", qwen): with_hole(tensors["evaluation", qwen], 5)}
    found = recompute(find_corpus(late), resampling=QUICK)
    rows = {f.row: f.verdict for f in found if f.table == "tab:real_prompt_estimates"}
    assert rows["evaluation, R = 4"] != "not available"
    assert rows["evaluation, R = 8"] == "not available"


def test_absent_calls_do_not_agree_with_each_other(tensors):
    qwen = "Qwen/Qwen3.6-27B"
    holed = with_hole(tensors["broad", qwen], 3)
    gaps, agree = [], []
    for cell in holed.ranked.reshape(-1, 4):
        made = [rank for rank in range(4) if cell[rank] >= 0]
        pairs = [(a, b) for a in made for b in made if a < b]
        middle = np.mean([b - a for a, b in pairs])
        gaps += [b - a - middle for a, b in pairs]
        agree += [float(cell[a] == cell[b]) for a, b in pairs]
    found = recompute(find_corpus({("broad", qwen): holed}), resampling=QUICK)
    slope = np.dot(gaps, agree) / np.dot(gaps, gaps)
    assert value_of(found, "tab:s-time-drift", "broad", "rank_slope") == pytest.approx(slope)


def test_two_ranks_have_no_slope(tensors):
    qwen = "Qwen/Qwen3.6-27B"
    two = find_corpus({("broad", qwen): tensors["broad", qwen].prefix(2)})
    found = recompute(two, resampling=QUICK)
    assert value_of(found, "tab:s-time-drift", "broad", "rank_slope") is None


def test_every_empirical_table_is_recomputed(findings):
    labels = {finding.table for finding in findings}
    assert labels == {label for label, _ in module.TABLES}
    missing = {(f.table, f.rule) for f in findings if f.verdict == "not available"}
    times = ("time_slope", "time_slope_band", "span_s")
    assert missing == {("tab:s-time-drift", column) for column in times}


def value_of(findings, table, row, rule):
    (found,) = (f for f in findings if (f.table, f.row, f.rule) == (table, row, rule))
    return found.found


def test_values_are_those_of_the_estimators(findings, corpus):
    evaluation = decompose(corpus.layers["evaluation"]).macro()
    for part in ("call", "prompt", "order", "interaction", "total"):
        row = f"evaluation, {part}, R = 8"
        found = value_of(findings, "tab:decomposition", row, "estimate")
        assert found == pytest.approx(float(evaluation[part]))
    broad = decompose(corpus.layers["broad"]).macro()
    row = "broad, R = 4"
    found = value_of(findings, "tab:real_prompt_estimates", row, "plugin")
    assert found == pytest.approx(float(broad.plugin["prompt"]))
    qwen = decompose(corpus.panel["Qwen3.6-27B"]).macro()
    scaled = value_of(findings, "tab:cross_model_summary", "Qwen3.6-27B", "scaled_4")
    assert scaled == pytest.approx(5 / 12 * float(qwen.call))


def test_discrepancies_are_itemwise_and_against_the_same_items(findings, corpus):
    reference = decompose(corpus.layers["reference"]).prompt
    low = decompose(corpus.layers["evaluation"].prefix(2))
    found = value_of(findings, "tab:matched_reference", "R = 2", "reduction")
    expected = np.abs(low.plugin["prompt"] - reference) - np.abs(low.prompt - reference)
    assert found == pytest.approx(expected.mean())


def test_gold_match_counts_ties_and_invalid_as_wrong(findings, corpus):
    panel = corpus.panel["Gemma-3-27B-IT"]
    ranked = panel.ranked
    gold = np.array([panel.verdicts.index(g) for g in panel.gold])
    expected = np.mean(ranked == gold[:, None, None, None])
    found = value_of(findings, "tab:cross-model-outcomes", "Gemma-3-27B-IT", "gold_match")
    assert found == pytest.approx(expected)


def test_rank_slope_is_least_squares_over_pairs(findings, corpus):
    ranked = corpus.panel["GPT-OSS-120B"].ranked
    gaps, agree = [], []
    for a in range(4):
        for b in range(a + 1, 4):
            same = (ranked[..., a] == ranked[..., b]).ravel()
            gaps += [b - a] * same.size
            agree += same.tolist()
    expected = np.polyfit(gaps, np.array(agree, dtype=float), 1)[0]
    found = value_of(findings, "tab:s-time-drift", "GPT-OSS-120B", "rank_slope")
    assert found == pytest.approx(expected)


def as_published(findings):
    """What a paper on this very corpus would have printed."""
    found = {(f.table, f.row, f.rule): f.found for f in findings}
    tables = dict(published())
    for label, _ in module.TABLES:
        rows = tuple(
            {c: printed(cell, found.get((label, row_name(row), c))) for c, cell in row.items()}
            for row in tables[label].rows
        )
        tables[label] = PublishedTable(label=label, rows=rows)
    return tables


def printed(old, value):
    if isinstance(value, float):
        return f"{value:.6f}"
    if isinstance(value, str) and isinstance(old, list):
        return value.split(" > " if ">" in value else ", ")
    return old if value is None else value


def test_a_paper_on_the_same_calls_would_agree_and_a_changed_digit_would_not(
    corpus, findings, monkeypatch
):
    tables = as_published(findings)
    monkeypatch.setattr(module, "published", lambda: tables)
    wrong = [f for f in recompute(corpus, resampling=QUICK) if f.verdict == "differs"]
    assert all(isinstance(published()[f.table].rows[0][f.rule.split(",")[0]], list) for f in wrong)
    table = tables["tab:cross-model-components"]
    first = {**table.rows[0], "order": f"{float(table.rows[0]['order']) + 2e-6:.6f}"}
    rows = (first, *table.rows[1:])
    tables["tab:cross-model-components"] = replace(table, rows=rows)
    again = [f for f in recompute(corpus, resampling=QUICK) if f.verdict == "differs"]
    assert [(f.table, f.rule) for f in again if f not in wrong] == [
        ("tab:cross-model-components", "order")
    ]


def test_missing_layers_are_said_to_be_missing(tensors):
    only = {key: t for key, t in tensors.items() if key[0] == "broad"}
    findings = recompute(find_corpus(only), resampling=QUICK)
    reference = [f for f in findings if f.table == "tab:matched_reference"]
    assert {f.verdict for f in reference} == {"not available"}
    assert all(f.found is None for f in reference)
    broad = [f for f in findings if f.table == "tab:supp_broad_decomposition"]
    assert "not available" not in {f.verdict for f in broad}
