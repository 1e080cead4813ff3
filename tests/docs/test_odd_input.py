"""The table of odd input in the documentation: every row is what the program does."""

import re

import numpy as np
import pyarrow as pa
import pytest

import judgelaw as jl
from judgelaw.analysis import analyze
from judgelaw.errors import InputError
from judgelaw.estimate import Estimand
from support.pages import PAGES

PAGE = PAGES["docs/explanation/uncertainty.md"].read_text()
VERDICTS = ("candidate_1", "candidate_2", "tie", "invalid")
OPEN = (0.5, 0.3, 0.15, 0.05)


def calls(items, *, prompts=6, repeats=4, seed=1, **labels):
    """Draw calls of an open judge without effects."""
    shape = (items, prompts, 2)
    return tensor(np.random.default_rng(seed).multinomial(repeats, OPEN, size=shape), **labels)


def tensor(counts, **labels):
    return jl.VerdictTensor.from_counts(counts, verdicts=VERDICTS, orders=("AB", "BA"), **labels)


def unanimous(items=50):
    """Count 2,400 calls that give each item one verdict."""
    counts = np.zeros((items, 6, 2, 4), dtype=int)
    counts[np.arange(items), :, :, np.arange(items) % 2] = 4
    return counts


def analysed(found, **options):
    return analyze({(None, "j"): found}, draws=50, permutations=0, **options).judges["j"]


def verdict(found, limits, items="fixed"):
    return jl.gate(found, limits, items=items).verdict


def one_item():
    found = calls(1)
    prompt = analysed(found).components["prompt"]
    assert prompt.interval is None
    assert prompt.call_interval[0] < prompt.call_interval[1]
    assert verdict(found, {"call": 0.1}) == "fail"
    (limit,) = jl.gate(found, {"call": 0.1}, items="new").limits
    assert limit.verdict == "inconclusive"
    assert limit.reason.startswith("one item says nothing about other items")


def two_items():
    prompt = analysed(calls(2)).components["prompt"]
    assert prompt.interval[1] > 0.5
    assert verdict(calls(2), {"prompt": 0.3}, "new") == "inconclusive"


def all_cells_unanimous():
    found = tensor(unanimous())
    prompt = analysed(found).components["prompt"]
    assert prompt.estimate == 0
    assert 0 < prompt.call_interval[1] < 0.002
    assert prompt.interval[1] == pytest.approx(3.7 / 50 * 0.75, rel=0.1)
    assert prompt.share_interval == (0, 1)
    assert verdict(found, {"prompt": 0.02}) == "pass"
    assert verdict(found, {"prompt": 0.02}, "new") == "inconclusive"


def one_deviating_call():
    counts = unanimous()
    counts[0, 0, 0] = [3, 1, 0, 0]
    for items in ("fixed", "new"):
        assert verdict(tensor(counts), {"prompt": 1e-6}, items) == "inconclusive"
    assert verdict(tensor(counts), {"prompt": 0.02}) == "pass"


def no_invalid_output_or_one():
    one = unanimous()
    one[0, 0, 0] = [3, 0, 0, 1]
    for items in ("fixed", "new"):
        none, some = (
            jl.gate(tensor(counts), {"invalid": 0.02}, items=items).limits[0]
            for counts in (unanimous(), one)
        )
        assert 0 < none.upper < some.upper
        assert none.lower == 0 < some.lower


def strata_of_one_or_two_items():
    found = analysed(calls(7, strata=list("abbcccc")))
    assert found.components["prompt"].interval == analysed(calls(7)).components["prompt"].interval
    assert found.components["prompt"].band is None
    assert found.strata["a"]["prompt"].interval is None
    assert found.strata["a"]["prompt"].call_interval is not None
    assert found.strata["b"]["prompt"].interval[1] > 0.5


def mixed_repeats():
    counts = calls(20, repeats=2).counts.copy()
    counts[:, :, 1] = calls(20, repeats=8, seed=2).counts[:, :, 1]
    found = analysed(tensor(counts))
    assert found.repeats == (2, 8)
    assert found.components["prompt"].call_interval is not None
    assert any(w.startswith("a cell holds 2 calls") for w in found.warnings)
    (limit,) = jl.gate(tensor(counts), {"prompt": 0.5}).limits
    assert limit.reason.startswith("R = 2: below four repeats")


def two_prompts():
    found = calls(20, prompts=2)
    for name in ("interval", "call_interval"):
        assert getattr(analysed(found).components["prompt"], name) is not None
        assert (
            getattr(analysed(found, estimand=Estimand(design="sampled")).components["prompt"], name)
            is None
        )


def limit_of_nothing():
    wavering = calls(20)
    for items in ("fixed", "new"):
        assert verdict(tensor(unanimous()), {"prompt": 0, "invalid": 0}, items) == "inconclusive"
        assert verdict(wavering, {"call": 0}, items) == "fail"


def limit_of_everything():
    for items in ("fixed", "new"):
        assert verdict(calls(20), {"prompt": 1, "total": 1, "invalid": 1}, items) == "pass"
    broken = np.zeros((20, 6, 2, 4), dtype=int)
    broken[..., VERDICTS.index("invalid")] = 4
    assert verdict(tensor(broken), {"invalid": 1}) == "inconclusive"
    assert verdict(calls(1), {"call": 1}, "new") == "inconclusive"


def gold_of_one():
    right = ["candidate_1", "candidate_2"] * 10
    counts = unanimous(20)
    for items in ("fixed", "new"):
        assert verdict(tensor(counts, gold=right), {"gold": 1}, items) == "inconclusive"
    counts[0, 0, 0] = [3, 1, 0, 0]
    assert verdict(tensor(counts, gold=right), {"gold": 1}) == "fail"


def coverage_of_one():
    counts = unanimous(20)
    assert verdict(tensor(counts), {"coverage": 1}) == "pass"
    counts[0, 0, 0] = [3, 0, 0, 0]
    assert verdict(tensor(counts), {"coverage": 1}) == "fail"


def letters():
    rows = [
        {"judge": "j", "item": f"i{i}", "prompt": "p", "order": o, "repeat": r, "verdict": "AB"[r]}
        for i in range(4)
        for o in ("AB", "BA")
        for r in range(2)
    ]
    with pytest.raises(InputError, match="the verdicts are the letters A, B"):
        jl.gate(pa.Table.from_pylist(rows), {"order": 0.1})


ROWS = {
    "one item": one_item,
    "two items": two_items,
    "all cells unanimous": all_cells_unanimous,
    "one deviating call": one_deviating_call,
    "no invalid output, or one": no_invalid_output_or_one,
    "strata of one or two items": strata_of_one_or_two_items,
    "2 repeats in some cells, 8 in others": mixed_repeats,
    "two prompts": two_prompts,
    "`--max NAME=0`": limit_of_nothing,
    "`--max NAME=1`": limit_of_everything,
    "`--min gold=1`": gold_of_one,
    "`--min coverage=1`": coverage_of_one,
    "verdicts A and B, two orders": letters,
}


def test_every_row_of_the_page_has_its_test():
    section = PAGE[PAGE.index("## Odd input") :].split("\n## ")[0]
    assert re.findall(r"^\| (.+?) \|", section, re.MULTILINE)[1:] == list(ROWS)


@pytest.mark.parametrize("row", ROWS)
def test_odd_input_has_the_answer_that_the_page_gives(row):
    ROWS[row]()
