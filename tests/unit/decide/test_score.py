"""Scores: the JSON shape, values of verdicts, systems, protocols, odd input."""

import json
from dataclasses import replace
from math import isnan

import numpy as np
import pytest

import judgelaw as jl
from judgelaw.cli import main
from judgelaw.decide.scores import ScoreDifference
from judgelaw.decide.scoring import groups_of, scale_of
from judgelaw.errors import InputError, NotIdentifiedError, TableError
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from support import judges

PARTS = {
    "items",
    "call",
    "prompt_shared",
    "prompt_item",
    "order_shared",
    "order_item",
    "interaction_shared",
    "interaction_item",
}


@pytest.fixture(scope="module")
def tensor():
    laws = judges.pool("open, effects", 3, 2, seed=1, size=80).laws
    return judges.tensor(laws, 4, stream(1, "score"))


@pytest.fixture(scope="module")
def moved():
    """Prompts that move all items the same way."""
    laws = judges.generated("shared", items=80, prompts=5, seed=2)
    return judges.tensor(laws, 4, stream(2, "score"))


def one(score):
    return score.judges["judge"]


def test_the_document_has_the_agreed_shape(tensor):
    document = jl.score(tensor).to_json()
    assert document["schema"] == "judgelaw.score/1"
    judge = document["judges"]["judge"]
    assert set(judge) >= {"score", "variance", "protocol", "differences"}
    assert set(judge["score"]) == {"estimate", "low", "high"}
    assert set(judge["variance"]) == PARTS == set(judge["protocol"]["parts"])
    assert judge["protocol"]["calls"] == 80 * 3 * 2 * 4
    json.dumps(document, allow_nan=False)


def test_a_win_rate_counts_ties_half_and_invalid_nothing(tensor):
    p = (tensor.counts / tensor.repeats[..., None]).mean(axis=(0, 1, 2))
    found = one(jl.score(tensor))
    assert found.metric == "win rate"
    assert found.score.estimate == pytest.approx(p[0] + p[2] / 2)
    assert found.score.low < found.score.estimate < found.score.high
    (pair,) = found.differences
    assert pair.estimate == pytest.approx(p[0] - p[1])


def test_the_parts_of_this_protocol_are_the_variance_of_the_item_means(tensor):
    """All prompts and orders are used: only items and dice are left, and they are all there is."""
    found = one(jl.score(tensor))
    values = np.array([1.0, 0.0, 0.5, 0.0])
    y = ((tensor.counts * values).sum(axis=-1) / 4).mean(axis=(1, 2))
    assert found.se**2 == pytest.approx(y.var(ddof=1) / 80)


def test_gold_makes_it_accuracy_and_numbers_a_mean(tensor):
    right = replace(tensor, gold=("candidate_2",) * 80)
    assert one(jl.score(right)).metric == "accuracy"
    p = (tensor.counts / tensor.repeats[..., None]).mean(axis=(0, 1, 2))
    assert one(jl.score(right)).score.estimate == pytest.approx(p[1])
    stars = tensor.recode({"candidate_1": "1", "candidate_2": "2", "tie": "5"})
    assert scale_of(stars).values.tolist() == [1.0, 2.0, 5.0, 1.0]
    passed = tensor.recode({"candidate_1": "pass", "candidate_2": "fail", "tie": "fail"})
    assert one(jl.score(passed)).metric == "pass rate"
    odd = tensor.recode({"candidate_1": "red", "candidate_2": "blue", "tie": "green"})
    with pytest.raises(InputError, match="have no value of their own"):
        jl.score(odd)
    given = {"red": 1, "blue": 0, "green": 0, "invalid": 0}
    assert one(jl.score(odd, values=given)).score.estimate == pytest.approx(p[0])
    with pytest.raises(InputError, match="no value for verdict 'green'"):
        jl.score(odd, values={"red": 1, "blue": 0})


def test_a_prompt_drawn_for_all_items_costs_more_than_one_for_each(moved):
    once = one(jl.score(moved, protocol={"prompts": 1})).se
    each = one(jl.score(moved, protocol={"prompts": 1, "draw": "item"})).se
    whole = one(jl.score(moved)).se
    assert whole < each < once
    more = one(jl.score(moved, protocol={"prompts": 1, "items": 100_000_000}))
    assert more.se**2 == pytest.approx(more.parts.shared["prompt"], rel=1e-3)


def test_where_no_number_of_items_helps_it_is_said(tensor, moved):
    found = one(jl.score(moved, protocol={"prompts": 1}))
    assert found.differences[0].items_needed is None
    assert "No number of items decides" in found.sentence
    assert "average over prompts" in found.sentence
    asked = one(jl.score(tensor, worth=0.05))
    assert asked.differences[0].items_needed > 80


def test_purchases_are_sorted_by_what_a_call_buys(tensor):
    bought = one(jl.score(tensor, protocol={"prompts": 1, "orders": 1})).purchases
    assert {p.buy for p in bought} == {
        "twice as many items",
        "twice as many repeats",
        "one more prompt",
        "one more order",
    }
    gains = [p.per_call for p in bought]
    assert gains == sorted(gains, reverse=True)


def test_absent_facets_are_null_and_one_item_has_no_interval(tensor):
    alone = tensor.select(prompts=["p1"], orders=["o1"])
    variance = one(jl.score(alone)).to_json()["variance"]
    assert variance["prompt_shared"] is None
    assert variance["order_item"] is None
    assert variance["items"] is not None
    single = one(jl.score(tensor.select(items=["i1"])))
    assert isnan(single.score.low)
    assert "One item" in single.notes[0]
    with pytest.raises(NotIdentifiedError):
        jl.score(tensor.prefix(1))


def test_sampled_prompts_widen_the_interval(tensor, moved):
    census, sampled = (one(jl.score(moved, design=d)).score for d in ("census", "sampled"))
    assert sampled.estimate == census.estimate
    assert sampled.high - sampled.low > census.high - census.low
    two = one(jl.score(tensor.select(prompts=["p1", "p2"]), design="sampled"))
    assert isnan(two.score.low)
    assert "needs 3 or more" in two.notes[0]


def table_of(tmp_path, shares, items=60, repeats=3):
    """Three systems with known pass rates, the same items, one prompt."""
    rng = stream(4, "systems")
    lines = ["judge,item,prompt,repeat,system,verdict"]
    for system, share in shares.items():
        for i in range(items):
            lines += [
                f"judge,q{i},p,{r},{system},{'pass' if rng.random() < share else 'fail'}"
                for r in range(repeats)
            ]
    path = tmp_path / "calls.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_systems_are_ranked_and_grouped(tmp_path):
    path = table_of(tmp_path, {"weak": 0.2, "good": 0.8, "fine": 0.79})
    found = one(jl.score(path, by="system"))
    assert found.metric == "pass rate"
    assert list(found.systems)[-1] == "weak"
    assert len(found.differences) == 3
    assert [set(group) for group in found.groups] == [{"good", "fine"}, {"weak"}]
    assert "not told apart" in found.sentence
    mean = sum(e.estimate for e in found.systems.values()) / 3
    assert found.score.estimate == pytest.approx(mean)


def test_a_frame_and_the_command_line_give_the_same_systems(tmp_path, capsys):
    pl = pytest.importorskip("polars", reason="scores a frame of polars")
    path = table_of(tmp_path, {"a": 0.3, "b": 0.6}, items=20)
    from_frame = jl.score(pl.read_csv(path), by="system").to_json()
    with pytest.raises(SystemExit) as stop:
        main(["score", str(path), "--by", "system", "--json", "-"])
    assert not stop.value.code
    assert json.loads(capsys.readouterr().out) == from_frame


def test_a_column_that_is_not_there_is_named(tmp_path, tensor):
    path = table_of(tmp_path, {"a": 0.3, "b": 0.6}, items=5)
    with pytest.raises(TableError, match="model"):
        jl.score(path, by="model")
    with pytest.raises(InputError, match="about reading a table"):
        jl.score(tensor, by="system")
    with pytest.raises(InputError, match="needs two or more"):
        jl.score(table_of(tmp_path, {"a": 0.3}, items=5), by="system")


def test_groups_overlap_where_neighbours_do():
    def apart(a, b, *, told):
        low = 0.1 if told else -0.1
        return ScoreDifference(
            a=a, b=b, estimate=0.2, low=low, high=0.3, smallest=0.1, items_needed=9, worth=0.02
        )

    differences = [
        apart("x", "y", told=False),
        apart("y", "z", told=False),
        apart("x", "z", told=True),
    ]
    assert groups_of(["x", "y", "z"], differences) == (("x", "y"), ("y", "z"))


def test_protocols_that_cannot_be_are_refused(tensor):
    for given, words in [({"prompts": 9}, "there are 3 and 2"), ({"items": 0}, "one or more")]:
        with pytest.raises(InputError, match=words):
            jl.score(tensor, protocol=given).to_json()


def test_the_command_shows_sources_and_purchases(tmp_path, capsys):
    path = table_of(tmp_path, {"a": 0.3, "b": 0.6}, items=20)
    with pytest.raises(SystemExit) as stop:
        main(["score", str(path), "--by", "system", "--items", "500", "--repeats", "1"])
    assert not stop.value.code
    shown = capsys.readouterr().out
    assert shown.startswith("The pass rate is")
    assert "500 items x 1 prompts x 1 orders x 1 repeats" in shown
    assert "b - a" in shown


def test_a_frame_of_scores_has_a_row_for_each_system(tmp_path):
    path = table_of(tmp_path, {"a": 0.3, "b": 0.6}, items=20)
    score = jl.score(path, by="system")
    assert score.to_frame("polars")["system"].to_list() == ["b", "a"]
    assert "pass rate" in score._repr_html_()


def test_counts_alone_are_enough():
    counts = np.full((4, 1, 1, 2), 2)
    plain = VerdictTensor.from_counts(counts, verdicts=["yes", "no"])
    assert one(jl.score(plain)).score.estimate == 0.5
