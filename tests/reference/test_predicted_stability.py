"""From the first four calls of a real judge, what the last four show: the table of the docs."""

import re
from pathlib import Path

import numpy as np
import pytest

from judgelaw.decide import Protocol
from judgelaw.decide.protocols import outcomes_of
from judgelaw.tables import read_tensors

ROOT = Path(__file__).parents[2]
TABLE = ROOT.parent / "shared" / "data" / "verdicts" / "rewardbench2_prompts_k7_r8.csv.gz"
PAGE = ROOT / "docs" / "explanation" / "decisions.md"
WAYS = (
    ("one call", 1, "random"),
    ("two calls, ties drawn", 2, "random"),
    ("two calls, ties ruled a tie", 2, "tie"),
)
BIAS = 0.005


def predicted_and_shown():
    """Return stability from ranks 0 to 3, from ranks 4 to 7, and the plug-in, by way and cell."""
    if not TABLE.exists():
        pytest.skip("the real verdicts are not beside the project")
    found = {name: [] for name, *_ in WAYS}
    for tensor in read_tensors(TABLE, incomplete="drop").values():
        whole = tensor.select(
            items=[i for i, r in zip(tensor.items, tensor.repeats, strict=True) if (r == 8).all()]
        )
        early, late = whole.ranks(slice(0, 4)), whole.ranks(slice(4, 8))
        for name, m, rule in WAYS:
            asked = [Protocol(prompts=f"fixed:{p}", repeats=m, rule=rule) for p in whole.prompts]
            pairs = zip(outcomes_of(early, asked), outcomes_of(late, asked), strict=True)
            found[name] += [
                (x.same.mean(), y.same.mean(), (x.law**2).sum(axis=1).mean()) for x, y in pairs
            ]
    return {name: np.array(values) for name, values in found.items()}


def row(name, values):
    before, after, plugin = values.T
    gap = before - after
    rmse = float(np.sqrt((gap**2).mean()))
    return (
        f"| {name} | {before.mean():.4f} | {after.mean():.4f} | {gap.mean():+.4f} | {rmse:.4f} | "
        f"{(plugin - after).mean():+.4f} |"
    )


def test_early_calls_predict_what_later_ones_show():
    found = predicted_and_shown()
    for name, values in found.items():
        assert len(values) == 9, "seven prompts of one judge, two of the other"
        gap = values[:, 0] - values[:, 1]
        assert abs(gap.mean()) <= BIAS, name
        assert abs((values[:, 2] - values[:, 1]).mean()) > abs(gap.mean()), "the plug-in is worse"


def test_the_page_holds_the_table():
    rows = [row(name, values) for name, values in predicted_and_shown().items()]
    shown = re.findall(r"^\| (?:one|two) call.*$", PAGE.read_text(), flags=re.MULTILINE)
    assert shown == rows
