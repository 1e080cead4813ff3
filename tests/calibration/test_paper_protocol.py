"""The paper's protocol with simulated judges, and every table counted again from its calls.

The recount shares no code with the package: it reads the calls table with SQL and averages
agreement over the four kinds of pairs of distinct calls.
"""

import json
import struct
from itertools import product
from pathlib import Path

import duckdb
import numpy as np
import pytest

from judgelaw.acquire import acquire
from judgelaw.runs import read_source, write_paper
from judgelaw.study import freeze, load_study

EXAMPLE = Path(__file__).parents[2] / "examples/paper"
VERDICTS = ("candidate_1", "candidate_2", "tie", "invalid")
FIGURES = ("figure_1", "figure_2", "figure_3", "figure_4", "figure_5", "figure_6", "figure_s1")


def reduced(folder):
    """A twentieth of the protocol: four items of each stratum, half the repeats."""
    text = (EXAMPLE / "study.yaml").read_text()
    changes = [
        ("per_stratum: 10", "per_stratum: 2"),
        ("judges: [qwen], repeats: 8", "judges: [qwen], repeats: 4"),
        ("judges: [qwen], repeats: 16", "judges: [qwen], repeats: 8"),
        ("repeats: 4\n    reuse", "repeats: 2\n    reuse"),
        ("judge: qwen, repeats: 4", "judge: qwen, repeats: 2"),
        ("draws: 20000", "draws: 500, permutations: 99"),
    ]
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "study.yaml").write_text(text)
    lines = (EXAMPLE / "items.jsonl").read_text().splitlines(keepends=True)
    kept = [line for line in lines if int(json.loads(line)["id"].rpartition("-")[2]) < 4]
    (folder / "items.jsonl").write_text("".join(kept))
    return {"calls": 10 * 12 * (4 + 4 + 8 + 3 * 2) + 10 * 12 * 4, "panel": 2, "deep": (4, 8)}


def whole(folder):
    for name in ("study.yaml", "items.jsonl"):
        (folder / name).write_bytes((EXAMPLE / name).read_bytes())
    return {"calls": 44_112, "panel": 4, "deep": (8, 16)}


@pytest.mark.parametrize("make", [reduced, pytest.param(whole, marks=pytest.mark.slow)])
def test_every_table_is_an_independent_recount(make, tmp_path):
    expected = make(tmp_path)
    acquired = acquire(freeze(load_study(tmp_path / "study.yaml"), tmp_path / "run"))
    acquired.raise_if_open()
    run = acquired.path
    made = write_paper(read_source(str(run)), tmp_path / "paper", items=2_000)
    streams = read_calls(run / "calls.parquet")
    assert sum(calls.size for calls in streams.values()) == expected["calls"]
    streams["panel", "qwen"] = streams["evaluation", "qwen"][..., : expected["panel"]]
    tables = Tables(tmp_path / "paper/tables")
    check_panel(tables, streams, expected["panel"])
    check_deep(tables, streams, expected["deep"])
    check_design(tables, streams, expected["calls"])
    assert made.figures == FIGURES
    assert made.left_out == {}
    assert made.published == ()
    for name in FIGURES:
        picture = (tmp_path / f"paper/figures/{name}.png").read_bytes()
        width, height = struct.unpack(">II", picture[16:24])
        assert min(width, height) > 500
        assert len(picture) > 10_000


class Tables:
    """The JSON forms of the tables: rows of raw figures."""

    def __init__(self, folder):
        self.folder = folder

    def __getitem__(self, name):
        rows = json.loads((self.folder / f"{name}.json").read_text())["rows"]
        return [[e["value"] if isinstance(e, dict) else e for e in row] for row in rows]


def read_calls(path):
    """Codes of verdicts by (layer, judge), shaped (items, prompts, orders, repeats)."""
    query = 'SELECT layer, judge, item, prompt, "order", repeat, verdict FROM read_parquet(?)'
    streams = {}
    for layer, judge, *cell, verdict in duckdb.execute(query, [str(path)]).fetchall():
        streams.setdefault((layer, judge), {})[tuple(cell)] = VERDICTS.index(verdict)
    found = {}
    for key, calls in streams.items():
        axes = [sorted({cell[axis] for cell in calls}) for axis in range(4)]
        codes = [calls[cell] for cell in product(*axes)]
        found[key] = np.array(codes).reshape([len(axis) for axis in axes])
    return found


def components(codes):
    """Components by item, from the agreement of the four kinds of pairs of distinct calls."""
    _, K, O, R = codes.shape
    n = np.stack([(codes == c).sum(axis=-1) for c in range(4)], axis=-1).astype(float)
    cell = (n * (n - 1)).sum(axis=(1, 2, 3))
    prompt = (n.sum(axis=2) ** 2).sum(axis=(1, 2)) - (n**2).sum(axis=(1, 2, 3))
    order = (n.sum(axis=1) ** 2).sum(axis=(1, 2)) - (n**2).sum(axis=(1, 2, 3))
    both = (n.sum(axis=(1, 2)) ** 2).sum(axis=1) - (n**2).sum(axis=(1, 2, 3)) - prompt - order
    same = cell / (K * O * R * (R - 1))
    by_prompt = prompt / (K * O * (O - 1) * R**2)
    by_order = order / (K * (K - 1) * O * R**2)
    by_none = both / (K * (K - 1) * O * (O - 1) * R**2)
    H_X = (same + (O - 1) * by_prompt) / O
    H_O = (same + (K - 1) * by_order) / K
    rest = (K - 1) * by_order + (O - 1) * by_prompt + (K - 1) * (O - 1) * by_none
    H_0 = (same + rest) / (K * O)
    return np.stack([1 - same, H_X - H_0, H_O - H_0, same - H_X - H_O + H_0, 1 - H_0], axis=1)


def plugin(codes):
    p = np.stack([(codes == c).mean(axis=(2, 3)) for c in range(4)], axis=-1)
    return ((p - p.mean(axis=1, keepdims=True)) ** 2).sum(axis=-1).mean(axis=1)


def close(found, expected):
    np.testing.assert_allclose(np.array(found, dtype=float), expected, rtol=1e-9, atol=1e-12)


def check_panel(tables, streams, depth):
    panel = {judge: codes for (layer, judge), codes in streams.items() if layer == "panel"}
    listed = ["qwen", "gpt-oss", "gemma", "claude"]
    assert [row[0] for row in tables["cross_model_components"]] == listed
    depths = [2] if depth == 2 else [2, 4]
    for judge, *cells in tables["cross_model_components"]:
        close(cells, components(panel[judge]).mean(axis=0))
    for judge, *cells, largest in tables["cross_model_summary"]:
        at = [panel[judge][..., :R] for R in depths]
        pairs = [x for c in at for x in (plugin(c).mean(), components(c)[:, 1].mean())]
        scaled = [5 / 12 * components(c)[:, 0].mean() for c in at]
        close(cells, [*pairs, *scaled])
        names = ["Call", "Prompt", "Order", "Interaction"]
        assert largest == names[components(panel[judge]).mean(axis=0)[:4].argmax()]
    for judge, *cells in tables["cross_prompt"]:
        at = [panel[judge][..., :R] for R in depths]
        means = [(plugin(c).mean(), components(c)[:, 1].mean()) for c in at]
        close(cells, [x for p, u in means for x in (p, u, p - u)])
    for judge, *cells in tables["cross_bot"]:
        at = [panel[judge][..., :R] for R in depths]
        merged = [
            (components(c)[:, 1].mean(), components(np.minimum(c, 2))[:, 1].mean()) for c in at
        ]
        close(cells, [x for pair in merged for x in pair])
    for judge, *counts, _ in tables["cross_model_outcomes"]:
        assert counts == [int((panel[judge] == c).sum()) for c in range(4)]


def check_deep(tables, streams, deep):
    low, high = deep
    qwen = {layer: codes for (layer, judge), codes in streams.items() if judge == "qwen"}
    sides = [components(qwen[layer]).mean(axis=0) for layer in ("evaluation", "reference")]
    close([row[1:] for row in tables["decomposition"]], np.array(sides).T)
    broad = [components(qwen["broad"][..., :R]).mean(axis=0) for R in (2, 4)]
    close([row[1:] for row in tables["broad_decomposition"]], np.array(broad).T)
    target = components(qwen["reference"])[:, 1]
    depths = [R for R in (2, 4, 8) if low >= R]
    for row, R in zip(tables["matched_reference"], depths, strict=True):
        calls = qwen["evaluation"][..., :R]
        far = np.abs(plugin(calls) - target).mean()
        near = np.abs(components(calls)[:, 1] - target).mean()
        close(row, [R, far, near, far - near])
    half = high // 2
    splits = [
        (qwen["reference"][..., :half], qwen["reference"][..., half:]),
        (qwen["reference"][..., ::2], qwen["reference"][..., 1::2]),
    ]
    for row, two in zip(tables["reference_split_half"], splits, strict=True):
        a, b = (components(part)[:, 1] for part in two)
        close(row[1:], [a.mean(), b.mean(), np.abs(a - b).mean(), np.corrcoef(a, b)[0, 1]])
    panels = {R: pair_panels(qwen["evaluation"][..., :R]) for R in depths}
    aim = pair_panels(qwen["reference"])
    for row, R in zip(tables["panel_sensitivity"], depths, strict=True):
        plug = plugin(qwen["evaluation"][..., :R])
        far, near = np.abs(plug - aim).mean(), np.abs(panels[R] - aim).mean()
        squared = (plug.mean() - aim.mean()) ** 2 - (panels[R].mean() - aim.mean()) ** 2
        close(row, [R, far, near, far - near, squared])
    expected = [
        (R, plugin(qwen[layer][..., :R]).mean(), components(qwen[layer][..., :R])[:, 1].mean())
        for layer, depths in (("control", (2, 4, 8)), ("evaluation", (2, 4, 8)), ("broad", (4,)))
        for R in depths
        if qwen[layer].shape[-1] >= R
    ]
    close([row[1:] for row in tables["real_prompt_estimates"]], expected)


def pair_panels(codes):
    """The mean of the estimates of consecutive pairs of repeats."""
    pairs = range(0, codes.shape[-1], 2)
    return np.mean([components(codes[..., r : r + 2])[:, 1] for r in pairs], axis=0)


def check_design(tables, streams, calls):
    qwen = {layer: codes for (layer, judge), codes in streams.items() if judge == "qwen"}
    for row, layer in zip(
        tables["layers"], ("control", "evaluation", "reference", "broad"), strict=True
    ):
        design = "×".join(map(str, qwen[layer].shape))
        counts = [int((qwen[layer] == c).sum()) for c in range(4)]
        assert row[1:] == [design, qwen[layer].size, *counts]
    said = dict(tables["integrity"])
    assert said["Unique calls"] == f"{calls:,}"
    assert said["Design-cell differences relative to qwen"] == "0 for every configuration"
    assert said["Manifest-to-canonical key mismatches"] == "0"
    assert said["Completed-response re-requests"] == "0"
    drift = tables["time_drift"]
    assert len(drift) == (7 if calls == 44_112 else 4)
    assert all(row[2] is not None and row[3] > 0 for row in drift)
