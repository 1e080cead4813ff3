"""Fresh calls of judges whose laws are the published ones are compatible; changed ones differ."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import t

from judgelaw.replication import (
    Resampling,
    compare_fresh,
    comparison_page,
    find_corpus,
    published,
    sentence,
)
from judgelaw.replication.fresh_calls import measured
from support.paper_worlds import fresh_calls

QUICK = Resampling(draws=400, seed=1)


def compared(seed, **how):
    return compare_fresh(find_corpus(fresh_calls(seed, **how)), resampling=QUICK)


def words(findings):
    made = [f for f in findings if f.kind == "fresh" and f.verdict != "not available"]
    return Counter(f.verdict for f in made)


@pytest.fixture(scope="module")
def same():
    return compared(0)


def test_what_holds_of_any_calls_holds_exactly(same):
    exact = [f for f in same if f.kind == "identity"]
    assert len(exact) > 30
    assert {f.verdict for f in exact} == {"agrees"}


@pytest.mark.slow
def test_published_laws_are_compatible_over_five_seeds():
    """At least nine comparisons of ten are compatible, at most one of twenty differs."""
    counts = sum((words(compared(seed)) for seed in range(5)), Counter())
    assert counts["compatible"] >= 0.9 * counts.total()
    assert counts["differs"] <= 0.05 * counts.total()


def test_few_items_cannot_tell_rather_than_differ():
    """A tenth of the items: most figures cannot be told, and almost none is said to differ."""
    counts = sum((words(compared(seed, share=0.1)) for seed in range(5)), Counter())
    assert counts["cannot tell"] > counts["compatible"] > 0
    assert counts["differs"] <= 0.05 * counts.total()


@pytest.mark.parametrize("move", [0.02, 0.05, 0.1])
def test_a_changed_law_makes_its_own_rows_differ_and_no_others(move, same):
    """The rows of the judge differ; what is said of the others is what was said before."""
    judge = "GPT-OSS-120B"
    found = compared(0, changed={judge: {"prompt": move}})
    differing = {f.row.split(",")[0] for f in found if f.verdict == "differs"}
    assert differing == {judge}
    (row,) = (f for f in found if f.table == "text:cross_model_bands" and f.row == judge)
    assert row.verdict == "differs"
    assert row.interval[0] > 0
    before = {(f.table, f.row, f.rule): f for f in same if not f.row.startswith(judge)}
    after = {(f.table, f.row, f.rule): f for f in found if not f.row.startswith(judge)}
    apart = [f for key, f in after.items() if f.verdict != before[key].verdict]
    assert apart == []


def test_an_interval_is_pooled_and_at_the_level_of_its_table(same):
    """Recounted from the formula for a figure whose band is printed."""
    calls = find_corpus(fresh_calls(0)).layers["evaluation"]
    (finding,) = (
        f for f in same if (f.table, f.row) == ("tab:decomposition", "evaluation, call, R = 8")
    )
    n = calls.counts.astype(float)
    own = 1 - ((n * (n - 1)).sum(axis=-1) / (8 * 7)).mean(axis=(1, 2))
    row = published()["tab:decomposition"].rows[0]
    theirs = (float(row["band"][1]) - float(row["band"][0])) / (2 * 1.959964) * 50**0.5
    spread = ((49 * own.std(ddof=1) ** 2 + 49 * theirs**2) / 98) ** 0.5
    quantile = t.ppf(1 - 0.05 / 20, 98)
    half = quantile * spread * (2 / 50) ** 0.5 + 0.00005
    assert finding.found == pytest.approx(own.mean())
    middle = own.mean() - 0.1984
    assert finding.interval == pytest.approx((middle - half, middle + half), abs=2e-5)
    assert finding.seen > half


def test_a_jackknife_of_a_mean_is_its_standard_error():
    values = np.random.default_rng(1).random(20)
    plain = measured(values)
    again = measured(values, lambda rows: float(rows[:, 0].mean()))
    assert again.se == pytest.approx(plain.se) == pytest.approx(values.std(ddof=1) / 20**0.5)
    assert np.isnan(measured(values[:2]).se)


def test_a_missing_judge_is_said_and_the_others_are_compared():
    calls = {key: calls for key, calls in fresh_calls(0).items() if "gemma" not in key[1]}
    found = compare_fresh(find_corpus(calls), resampling=QUICK)
    absent = {f.row.split(",")[0] for f in found if f.verdict == "not available"}
    assert "Gemma-3-27B-IT" in absent
    assert "Not asked on the paper's design: Gemma-3-27B-IT." in sentence(found)


def test_the_page_leads_with_how_many_of_each(same):
    counts = words(same)
    page = comparison_page(same)
    assert f"{counts['compatible']} are compatible" in page
    assert f"{counts['cannot tell']} cannot tell" in page
    assert "Could have seen" in page
    assert page.index("How many of each") < page.index("tab:s-qwen-layers")
