"""The paper's tables and figures of any judges, each figure counted again from the calls."""

import csv
import io
import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from judgelaw.errors import InputError
from judgelaw.page import to_csv, to_json_text, to_latex
from judgelaw.replication import (
    Resampling,
    comparable_corpus,
    draw_figures,
    gather,
    make_layouts,
    published,
    recompute,
    write_layouts,
)
from judgelaw.replication.corpus import JUDGES
from judgelaw.replication.layouts import Figure, Layout, sheet_of
from judgelaw.replication.paper_figures import method, motivation
from judgelaw.replication.paper_parts import find_parts
from judgelaw.tensor import INVALID, VerdictTensor
from judgelaw.worlds import World

QUICK = Resampling(draws=300, seed=1)
ROLES = {
    "null-x": "control",
    "low": "evaluation",
    "high": "reference",
    "four": "audit",
    "rest": "audit",
}


def drawn(items, repeats, seed, prefix="i", prompts=6):
    world = World.from_effects(prompt=0.02, order=0.02, item_spread=0.2)
    t = world.tensor(items=items, prompts=prompts, orders=2, repeats=repeats, seed=seed)
    return replace(
        t,
        items=tuple(f"{prefix}{n}" for n in range(items)),
        strata=tuple("ab"[n % 2] for n in range(items)),
        gold=("candidate_1",) * items,
    )


@pytest.fixture(scope="module")
def tensors():
    """Judges of other names at other depths than the paper's."""
    low = drawn(10, 6, 2)
    return {
        ("null-x", "otter"): drawn(10, 4, 1),
        ("low", "otter"): low,
        ("high", "otter"): drawn(10, 12, 3),
        ("four", "otter"): replace(low.prefix(3), layer="four"),
        ("four", "heron"): drawn(10, 3, 4),
        ("rest", "otter"): drawn(14, 2, 5, prefix="r"),
    }


@pytest.fixture(scope="module")
def data(tensors):
    return gather(tensors, how=QUICK, roles=ROLES)


@pytest.fixture(scope="module")
def layouts(data):
    return make_layouts(data)[0]


def components(ranked):
    """Count the components of (items, prompts, orders, repeats) pair by pair of distinct calls."""
    items = []
    for item in ranked:
        K, O, R = item.shape
        calls = [(k, o, item[k, o, r]) for k in range(K) for o in range(O) for r in range(R)]
        sums = {}
        for (k, o, z), (l, p, y) in combinations(calls, 2):
            at = sums.setdefault((k == l, o == p), [0, 0])
            at[0] += z == y
            at[1] += 1
        a = {key: same / pairs for key, (same, pairs) in sums.items()}
        XO = a[True, True]
        X = XO / O + (O - 1) / O * a[True, False]
        Or = XO / K + (K - 1) / K * a[False, True]
        none = (
            XO
            + (O - 1) * a[True, False]
            + (K - 1) * a[False, True]
            + (K - 1) * (O - 1) * a[False, False]
        ) / (K * O)  # fmt: skip - a sum over kinds of pairs
        items.append((1 - XO, X - none, Or - none, XO - X - Or + none, 1 - none))
    return np.array(items)


def plugin(ranked):
    """The spread of relative frequencies over prompts, as anybody would write it first."""
    p = np.stack([(ranked == c).mean(axis=-1) for c in range(4)], axis=-1).mean(axis=2)
    return ((p - p.mean(axis=1, keepdims=True)) ** 2).sum(axis=-1).mean(axis=1)


def rows(layout):
    return [
        [e["value"] if isinstance(e, dict) else e for e in row]
        for row in json.loads(to_json_text(sheet_of(layout)))["rows"]
    ]


def test_parts_are_found_by_role_whatever_the_judges_are_called(data):
    assert data.parts.judge == "otter"
    assert data.parts.streams["broad"] == ("rest", "otter")
    assert list(data.parts.panel) == ["otter", "heron"]
    assert data.parts.reused == "otter"
    assert data.depths == [2, 3]


def test_the_panel_is_recounted_from_its_calls(layouts, tensors):
    for judge, *cells in rows(layouts["cross_model_components"]):
        ranked = tensors["four", judge].ranked
        np.testing.assert_allclose(cells, components(ranked).mean(axis=0), atol=1e-12)
    for judge, *cells in rows(layouts["cross_prompt"]):
        ranked = tensors["four", judge].ranked
        for at, R in ((0, 2), (3, 3)):
            plug = plugin(ranked[..., :R]).mean()
            corrected = components(ranked[..., :R])[:, 1].mean()
            np.testing.assert_allclose(cells[at : at + 3], [plug, corrected, plug - corrected])
    for judge, *cells, largest in rows(layouts["cross_model_summary"]):
        ranked = tensors["four", judge].ranked
        call = components(ranked)[:, 0].mean()
        np.testing.assert_allclose(cells[5], 5 / 12 * call)
        names = np.array(["Call", "Prompt", "Order", "Interaction"])
        assert largest == names[components(ranked).mean(axis=0)[:4].argmax()]


def test_outcomes_and_invalid_are_recounted(layouts, tensors):
    for judge, *counts, gold in rows(layouts["cross_model_outcomes"]):
        ranked = tensors["four", judge].ranked
        assert counts == [int((ranked == c).sum()) for c in range(4)]
        assert gold == pytest.approx((ranked == 0).mean())
    for judge, before, after, *_ in rows(layouts["cross_bot"]):
        ranked = tensors["four", judge].ranked[..., :2]
        assert before == pytest.approx(components(ranked)[:, 1].mean())
        assert after == pytest.approx(components(np.minimum(ranked, 2))[:, 1].mean())


def test_deep_layers_are_recounted(layouts, tensors):
    low, high = tensors["low", "otter"].ranked, tensors["high", "otter"].ranked
    sides = [components(low).mean(axis=0), components(high).mean(axis=0)]
    found = np.array([row[1:] for row in rows(layouts["decomposition"])]).T
    np.testing.assert_allclose(found, sides, atol=1e-12)
    target = components(high)[:, 1]
    for R, plug, corrected, reduction in rows(layouts["matched_reference"]):
        far = np.abs(plugin(low[..., :R]) - target).mean()
        near = np.abs(components(low[..., :R])[:, 1] - target).mean()
        np.testing.assert_allclose([plug, corrected, reduction], [far, near, far - near])
    halves = [(high[..., :6], high[..., 6:]), (high[..., ::2], high[..., 1::2])]
    for row, two in zip(rows(layouts["reference_split_half"]), halves, strict=True):
        a, b = (components(half)[:, 1] for half in two)
        expected = [a.mean(), b.mean(), np.abs(a - b).mean(), np.corrcoef(a, b)[0, 1]]
        np.testing.assert_allclose(row[1:], expected, atol=1e-12)


def test_layers_and_design_count_every_call_once(layouts):
    assert [row[2] for row in rows(layouts["layers"])] == [480, 720, 1440, 336]
    said = [row[-1] for row in rows(layouts["study_design"])]
    assert said[-1] == "720 matched rows: 360 reused plus 360 new calls"
    assert "3,336 unique calls" in layouts["study_design"].caption


def test_integrity_counts_cells_that_a_judge_of_the_panel_lacks(tensors, layouts):
    said = dict(rows(layouts["integrity"]))
    assert said["Design-cell differences relative to otter"] == "0 for every configuration"
    fewer = {**tensors, ("four", "heron"): drawn(9, 3, 4)}
    made, _ = make_layouts(gather(fewer, how=QUICK, roles=ROLES))
    said = dict(rows(made["integrity"]))
    assert said["Design-cell differences relative to otter"] == "12 for heron"


def test_the_design_has_the_rows_and_words_of_the_paper(tensors):
    made, _ = make_layouts(gather(tensors, how=QUICK, roles=ROLES, simulated=200_000))
    assert [row[:5] for row in rows(made["study_design"])] == [
        ["Known-law simulation", "200,000/setting", "5 or 6", 2, 8],
        ["Byte-identical hidden-factor null", 10, "6 labels", 2, 4],
        ["Matched evaluation", 10, 6, 2, 6],
        ["Independent matched reference", 10, 6, 2, 12],
        ["Broad audit", 14, 6, 2, 2],
        ["2-configuration replication", 10, 6, 2, 3],
    ]
    assert rows(made["study_design"])[1][5] == "Exact-zero target; 480 otter calls"
    assert r"\begin{tabular}{lrrrrp{.3\textwidth}}" in to_latex(sheet_of(made["study_design"]))


def test_headers_are_grouped_as_in_the_paper(layouts):
    text = to_latex(sheet_of(layouts["cross_model_summary"]))
    assert r"& \multicolumn{1}{c}{Largest $R=3$} \\" in text
    assert "$R=2$ & $R=3$ & component" in text
    assert layouts["cross_model_summary"].headings[-1] == "Largest R=3 component"


def test_the_broad_audit_stands_among_the_estimates_at_its_full_depth(tensors):
    deeper = {**tensors, ("rest", "otter"): drawn(14, 4, 5, prefix="r")}
    made, _ = make_layouts(gather(deeper, how=QUICK, roles=ROLES))
    last = rows(made["real_prompt_estimates"])[-2:]
    assert [row[:2] for row in last] == [["Matched evaluation", 6], ["Broad audit set", 4]]


def test_the_papers_prompts_have_their_wrappers_and_others_their_hash(tensors):
    six = {row["prompt"]: row["sha256_prefix"] for row in published()["tab:s-prompt-hashes"].rows}
    made, _ = make_layouts(gather(tensors, how=QUICK, roles=ROLES, prompts=six))
    assert rows(made["prompt_hashes"])[3] == [
        "e3_eq_04",
        "bracketed section",
        "[BEGIN/END JUDGE INSTRUCTIONS]",
        "98e73dac4b44",
    ]
    made, _ = make_layouts(gather(tensors, how=QUICK, roles=ROLES, prompts={"p1": "ab" * 32}))
    assert rows(made["prompt_hashes"]) == [["p1", "abababababab"]]


def test_a_stream_of_the_panel_is_told_at_the_depth_that_its_name_says(tensors):
    """A judge that was asked more often than the others is cut in the diagnostics too."""
    deep = drawn(10, 6, 4)
    cut = {**tensors, ("four", "crane"): deep}
    slopes = {
        row[0]: row[1]
        for row in rows(make_layouts(gather(cut, how=QUICK, roles=ROLES))[0]["time_drift"])
    }
    found = gather({**tensors, ("four", "crane"): deep.prefix(3)}, how=QUICK, roles=ROLES)
    expected = {row[0]: row[1] for row in rows(make_layouts(found)[0]["time_drift"])}
    assert slopes["crane matched R=3"] == expected["crane matched R=3"]


def test_no_row_mixes_depths(tensors):
    """A judge with fewer repeats cuts all of the panel; a missing call cuts its stream."""
    ranked = tensors["four", "heron"].ranked.copy()
    ranked[0, 0, 0, 2] = -1
    holed = VerdictTensor.from_ranked(ranked, items=tensors["four", "heron"].items)
    data = gather({**tensors, ("four", "heron"): holed}, how=QUICK, roles=ROLES)
    assert data.depths == [2]
    assert {f.repeats for f in data.found.panel.values()} == {2}


def test_a_panel_of_unequal_prompts_is_named(tensors):
    other = drawn(10, 3, 4, prompts=5)
    with pytest.raises(InputError, match=r"'heron' was asked with prompts .* needs the same cells"):
        gather({**tensors, ("four", "heron"): other}, how=QUICK, roles=ROLES)


def test_a_table_joins_the_evaluation_to_the_panel(tensors):
    """Nothing declares a reuse in a table: the deep judge's evaluation stands in the panel."""
    named = {("evaluation", "otter"): tensors["low", "otter"]}
    named |= {("panel", "heron"): tensors["four", "heron"]}
    parts = find_parts(named)
    assert list(parts.panel) == ["otter", "heron"]
    assert parts.reused == "otter"
    assert {t.depth for t in parts.panel.values()} == {(3, 3)}


def test_a_table_without_layers_is_a_panel():
    tensors = {(None, "a"): drawn(8, 4, 1), (None, "b"): drawn(8, 4, 2)}
    data = gather(tensors, how=QUICK)
    made, left_out = make_layouts(data)
    assert {"cross_model_summary", "cross_model_components", "cross_bot"} <= set(made)
    assert "no reference layer" in left_out["matched_reference"]


def test_calls_without_a_pair_are_refused():
    with pytest.raises(InputError, match="no stream has two calls in every cell"):
        gather({(None, "a"): VerdictTensor.from_ranked(np.zeros((2, 2, 2, 1), int))}, how=QUICK)


def test_times_give_slopes(tensors):
    key = ("four", "heron")
    shape = tensors[key].ranked.shape
    seconds = {key: np.random.default_rng(1).uniform(0, 500, shape)}
    made, _ = make_layouts(gather(tensors, how=QUICK, roles=ROLES, seconds=seconds))
    by_stream = {row[0]: row for row in rows(made["time_drift"])}
    assert by_stream["heron matched R=3"][2] is not None
    assert by_stream["heron matched R=3"][3] == pytest.approx(np.ptp(seconds[key]))
    assert by_stream["otter null"][2] is None
    assert "otter matched R=3" not in by_stream


LAYOUT = Layout(
    label="tab:x",
    caption="50% of a_b",
    columns=("Judge", "Plug-in", "Corrected"),
    groups=(("", 1), ("R=2", 2)),
    rows=(
        ("a_1", Figure(value=0.5, digits=3), Figure(value=-0.00528, digits=4, band=(-0.1, 0.2))),
        ("", Figure(value=None, digits=3), Figure(value=-0.00001, digits=4, short=True)),
    ),
)


def test_latex_has_grouped_headers_and_the_papers_digits():
    text = to_latex(sheet_of(LAYOUT))
    assert r" & \multicolumn{2}{c}{$R=2$} \\" in text
    assert r"\cmidrule(lr){2-3}" in text
    assert r"a\_1 & 0.500 & $-0.0053$ [$-0.1000$, 0.2000] \\" in text
    assert r" & -- & .0000 \\" in text
    assert r"\caption{50\% of a\_b}" in text


def test_csv_has_plain_numbers_and_every_row_its_name():
    table = list(csv.reader(io.StringIO(to_csv(sheet_of(LAYOUT)))))
    assert table[0] == [
        "Judge",
        "R=2 Plug-in",
        "R=2 Corrected",
        "R=2 Corrected low",
        "R=2 Corrected high",
    ]
    assert table[1] == ["a_1", "0.500", "-0.0053", "-0.1000", "0.2000"]
    assert table[2] == ["a_1", "", ".0000", "", ""]


def test_every_table_is_written_in_three_forms(layouts, tmp_path):
    files = write_layouts(layouts, tmp_path)
    assert len(files) == 3 * len(layouts)
    assert all(file.stat().st_size for file in files)


def test_figures_hold_the_numbers_of_the_tables(data, layouts):
    drawn_, left_out = draw_figures(data)
    assert set(drawn_) == {f"figure_{n}" for n in (1, 2, 4, 5, 6, "s1")}
    assert not left_out
    panels = drawn_["figure_5"]["vconcat"]
    assert [panel["title"] for panel in panels] == ["(a) R = 2", "(b) R = 3"]
    points = panels[1]["layer"][4]["data"]["values"]
    plugins = {p["judge"]: p["value"] for p in points if p["series"] == "plug-in"}
    corrected = {p["judge"]: p["value"] for p in points if p["series"] == "corrected"}
    assert all(p["low"] < p["value"] < p["high"] for p in points)
    for judge, _, _, plug, estimate, *_ in rows(layouts["cross_model_summary"]):
        assert (plugins[judge], corrected[judge]) == (plug, estimate)
    assert panels[0]["layer"][1]["data"]["values"][0]["tau"] == 0.02
    null, distance, shares = drawn_["figure_4"]["hconcat"]
    means = [p["value"] for p in distance["layer"][-1]["data"]["values"]]
    tabled = [x for row in rows(layouts["matched_reference"]) for x in row[1:3]]
    np.testing.assert_allclose(means, tabled)
    bars = [*null["layer"][-1]["data"]["values"], *shares["layer"][0]["data"]["values"]]
    assert all(bar["low"] < bar["high"] for bar in bars)


def test_concept_figures_are_those_of_their_laws():
    left, right = motivation()["hconcat"]
    said = [panel["layer"][2]["data"]["values"][0]["text"] for panel in (left, right)]
    assert said == ["prompt 0.00, call 0.50", "prompt 0.50, call 0.00"]
    excess = method()["hconcat"][1]["layer"][1]["data"]["values"]
    world = World.from_effects(prompt=0.01, order=0.02, interaction=0.002)
    call = world.components(items=1, prompts=6, orders=2).call
    for point in excess:
        extra = 5 * call / (12 * point["repeats"]) if point["series"] == "plug-in" else 0
        assert point["value"] == pytest.approx(0.01 + extra)


@pytest.fixture(scope="module")
def published_design():
    """Judges of the paper's names on cells of the paper's numbers."""
    qwen = "Qwen/Qwen3.6-27B"
    found = {
        ("control", qwen): drawn(50, 8, 1),
        ("evaluation", qwen): drawn(50, 8, 2),
        ("reference", qwen): drawn(50, 16, 3),
        ("broad", qwen): drawn(369, 4, 4, prefix="b"),
    }
    others = ("gpt-oss-120b", "gemma-3-27b-it", "claude-haiku")
    return found | {("panel", judge): drawn(50, 4, 5 + n) for n, judge in enumerate(others)}


def test_published_numbers_stand_beside_the_papers_own_judges_and_designs_only(published_design):
    parts = find_parts(published_design)
    corpus = comparable_corpus(parts, {}, published_design)
    assert set(corpus.layers) == {"control", "evaluation", "reference", "broad"}
    assert list(corpus.panel) == list(JUDGES)
    models = {judge: {"model": "simulated"} for judge in parts.panel}
    assert comparable_corpus(parts, models, published_design) is None
    fewer = published_design | {("broad", "Qwen/Qwen3.6-27B"): drawn(36, 4, 4, prefix="b")}
    assert len(comparable_corpus(find_parts(fewer), {}, fewer).layers["broad"].items) == 36
    more = published_design | {("broad", "Qwen/Qwen3.6-27B"): drawn(370, 4, 4, prefix="b")}
    assert "broad" not in comparable_corpus(find_parts(more), {}, more).layers
    shallow = published_design | {("reference", "Qwen/Qwen3.6-27B"): drawn(50, 8, 3)}
    assert "reference" not in comparable_corpus(find_parts(shallow), {}, shallow).layers
    renamed = {(layer, judge.replace("gemma", "otter")): t for (layer, judge), t in fewer.items()}
    panel = comparable_corpus(find_parts(renamed), {}, renamed).panel
    assert set(panel) == set(JUDGES) - {"Gemma-3-27B-IT"}


@pytest.mark.parametrize(
    ("published_name", "other"),
    [
        ("Qwen/Qwen3.6-27B", "qwen"),
        ("gemma-3-27b-it", "gemma-2-9b"),
        ("claude-haiku", "claude-3-haiku"),
    ],
)
def test_another_model_of_a_published_family_is_another_judge(
    published_design, published_name, other
):
    renamed = {
        (layer, judge.replace(published_name, other)): t
        for (layer, judge), t in published_design.items()
    }
    whole = comparable_corpus(find_parts(published_design), {}, published_design)
    corpus = comparable_corpus(find_parts(renamed), {}, renamed)
    (gone,) = set(whole.panel) - set(corpus.panel)
    assert gone.split("-")[0].split()[0].lower()[:4] in published_name.lower()
    assert (corpus.layers == {}) == (gone == "Qwen3.6-27B")


def test_a_corpus_with_times_has_its_twenty_one_slopes_and_spans(published_design):
    rng = np.random.default_rng(1)
    seconds = {k: rng.uniform(0, 900, t.ranked.shape) for k, t in published_design.items()}
    corpus = comparable_corpus(find_parts(published_design), {}, published_design, seconds)
    times = ("time_slope", "time_slope_band", "span_s")
    found = [
        f
        for f in recompute(corpus, resampling=QUICK)
        if f.table == "tab:s-time-drift" and f.rule.split(",")[0] in times
    ]
    assert len(found) == 21
    assert "not available" not in {f.verdict for f in found}
    spans = {f.row: f.found for f in found if f.rule == "span_s"}
    assert spans["control"] == pytest.approx(np.ptp(seconds["control", "Qwen/Qwen3.6-27B"]))


def test_invalid_is_the_last_outcome():
    assert list(drawn(2, 2, 1).verdicts)[-1] == INVALID
