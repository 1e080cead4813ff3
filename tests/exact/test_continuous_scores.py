"""Continuous scores: components are variances, unbiased by full enumeration in fractions.

Two items, two prompts, two calls a cell. Every cell has a law of its own on three scores, and the
mean of the estimates over all outcomes is the variance component of the laws, without tolerance.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import judgelaw as jl
from judgelaw.tables import on_continuous

SCORES = (Fraction(0), Fraction(1, 4), Fraction(1))
LAWS = {
    (0, 0): (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)),
    (0, 1): (Fraction(1, 8), Fraction(3, 4), Fraction(1, 8)),
}
R = 2
ENDS = {"from": 0, "to": 1}


def mean(law):
    return sum(p * s for p, s in zip(law, SCORES, strict=True))


def variance(law):
    return sum(p * s * s for p, s in zip(law, SCORES, strict=True)) - mean(law) ** 2


def tensor(cells):
    """Return one item with the scores of each prompt."""
    counts = np.zeros((1, 2, 1, 3), dtype=int)
    for k, codes in enumerate(cells):
        for code in codes:
            counts[0, k, 0, code] += 1
    names = ("0.00", "0.250", "1.0")
    return on_continuous(jl.VerdictTensor.from_counts(counts, verdicts=names), ENDS)


def test_the_mean_over_all_outcomes_is_the_component_of_the_laws():
    """Estimates of quarters are exact in binary floats, so that their sum is exact too."""
    totals = dict.fromkeys(("call", "prompt", "total"), Fraction(0))
    for outcome in product(range(3), repeat=2 * R):
        cells = outcome[:R], outcome[R:]
        chance = Fraction(1)
        for k, codes in enumerate(cells):
            for code in codes:
                chance *= LAWS[0, k][code]
        found = jl.decompose(tensor(cells))
        for name in totals:
            totals[name] += chance * Fraction(float(getattr(found, name)[0]))
    laws = [LAWS[0, k] for k in range(2)]
    call = sum(map(variance, laws)) / 2
    centre = sum(map(mean, laws)) / 2
    prompt = sum((mean(law) - centre) ** 2 for law in laws) / 2
    assert totals == {"call": call, "prompt": prompt, "total": call + prompt}


@pytest.mark.parametrize("kind", ["rows", "csv", "jsonl", "parquet", "pandas"])
def test_a_score_is_one_however_it_is_written(tmp_path, kind):
    pd = pytest.importorskip("pandas")
    written = ["1", "1.0", "1.00", "0.5", "0.50", ".5"]
    rows = [{"item": f"i{n % 2}", "repeat": n // 2, "verdict": v} for n, v in enumerate(written)]
    frame = pd.DataFrame(rows)
    path = tmp_path / f"calls.{kind}"
    source = {"rows": rows, "pandas": frame}.get(kind, path)
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif kind == "parquet":
        frame.to_parquet(path)
    read = on_continuous(jl.VerdictTensor.from_table(source), ENDS)
    said = read.counts.sum(axis=(0, 1, 2))
    assert dict(zip(read.verdicts, said.tolist(), strict=True)) == {
        **dict.fromkeys(read.verdicts, 0),
        "0.5": 3,
        "1": 3,
    }


def test_many_numbers_without_a_scale_are_refused_with_the_remedy():
    rng = np.random.default_rng(1)
    rows = [
        {"item": f"i{i}", "repeat": r, "verdict": round(float(rng.random()), 3)}
        for i in range(10)
        for r in range(4)
    ]
    with pytest.raises(jl.errors.InputError, match=r"--scale 0\.\.1"):
        jl.analyze(rows)
    with pytest.raises(jl.errors.InputError, match=r"--scale 0\.\.1"):
        jl.gate(rows, {"call": 0.1})
    found = jl.analyze(rows, scale={"from": 0, "to": 1}, permutations=0)
    assert found.judges["judge"].components["call"].estimate == pytest.approx(1 / 12, rel=0.4)
