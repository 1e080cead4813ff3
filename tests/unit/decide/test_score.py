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
from judgelaw.uncertainty import signed_interval
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


def test_more_items_shrink_what_is_their_own_and_leave_what_they_share(tensor):
    """F(1, 3) = 1 for prompts, F(1, 2) = 1 for orders: one of each is drawn."""
    how = {"prompts": 1, "orders": 1, "items": 500}
    once, each = (
        one(jl.score(tensor, protocol=how | {"draw": draw})).to_json() for draw in ("once", "item")
    )
    for facet in ("prompt", "order", "interaction"):
        shared, own = (once["variance"][f"{facet}_{part}"] for part in ("shared", "item"))
        parts = once["protocol"]["parts"]
        assert parts[f"{facet}_shared"] == pytest.approx(shared)
        assert parts[f"{facet}_item"] == pytest.approx(own / 500)
        assert each["protocol"]["parts"][f"{facet}_shared"] == 0
        assert each["protocol"]["parts"][f"{facet}_item"] == pytest.approx((shared + own) / 500)


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


def test_a_judge_that_is_always_right_under_drawn_prompts_may_still_err():
    counts = np.tile([2, 0], (50, 4, 1, 1))
    right = VerdictTensor.from_counts(counts, verdicts=["a", "b"], gold=["a"] * 50)
    found = one(jl.score(right, design="sampled")).score
    assert found.high == 1
    assert 0.9 < found.low < 0.95


def test_weights_of_orders_are_said_to_have_no_say_in_a_score(tensor):
    named = replace(tensor, orders=("AB", "BA"))
    found = one(jl.score(named, order_weights={"AB": 0.9, "BA": 0.1}))
    assert found.score == one(jl.score(named)).score
    assert "all orders count alike" in found.notes[-1]


def test_a_sentence_stays_within_the_scale_and_the_items_asked(tensor):
    few = VerdictTensor.from_counts([[[[2, 0, 0, 0]]], [[[0, 2, 0, 0]]]])
    assert one(jl.score(few)).score.low < 0
    assert "(0.000 to 1.000) on items like these" in one(jl.score(few)).sentence
    assert "on this item." in one(jl.score(tensor.select(items=["i1"]))).sentence


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


def test_of_several_systems_a_difference_must_be_larger_to_be_found(tmp_path):
    """Intervals of three differences hold together, so each needs 2.39 + 0.84 standard errors."""
    pair = one(jl.score(table_of(tmp_path, {"a": 0.3, "b": 0.6}), by="system")).differences[0]
    three = one(jl.score(table_of(tmp_path, {"a": 0.3, "b": 0.6, "c": 0.5}), by="system"))
    same = next(d for d in three.differences if {d.a, d.b} == {"a", "b"})
    assert same.estimate == pair.estimate
    assert same.smallest / pair.smallest == pytest.approx((2.394 + 0.84) / 2.8, abs=1e-3)
    assert same.items_needed > 1.3 * pair.items_needed


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
    assert "500 items x 1 prompt x 1 repeat" in shown
    assert "b - a" in shown


def test_the_command_shows_nothing_that_one_item_does_not_tell(tmp_path, capsys):
    path = tmp_path / "calls.csv"
    lines = ["judge,item,prompt,repeat,verdict", "j,q,p,0,candidate_1", "j,q,p,1,candidate_2"]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(SystemExit):
        main(["score", str(path)])
    out = capsys.readouterr().out
    assert "nan" not in out
    assert "no number" not in out
    assert "1 item x 1 prompt x 2 repeats" in out


def test_a_frame_of_scores_has_a_row_for_each_system(tmp_path):
    path = table_of(tmp_path, {"a": 0.3, "b": 0.6}, items=20)
    score = jl.score(path, by="system")
    assert score.to_frame("polars")["system"].to_list() == ["b", "a"]
    assert "pass rate" in score._repr_html_()


def test_counts_alone_are_enough():
    counts = np.full((4, 1, 1, 2), 2)
    plain = VerdictTensor.from_counts(counts, verdicts=["yes", "no"])
    assert one(jl.score(plain)).score.estimate == 0.5


def battles(strengths, *, items=60, seed=1, skip=()):
    """Every pair of systems on items of its own, sides as they fall: rows of a calls table."""
    rng = stream(seed, "battles")
    rows = []
    names = list(strengths)
    for a in names:
        for b in names:
            if a >= b or (a, b) in skip:
                continue
            for i in range(items):
                one, two = (a, b) if rng.random() < 0.5 else (b, a)
                wins = 0.5 + (strengths[one] - strengths[two]) / 2
                rows += [
                    {
                        "judge": "j",
                        "item": f"{a}{b}{i}",
                        "prompt": prompt,
                        "repeat": repeat,
                        "verdict": "candidate_1" if rng.random() < wins else "candidate_2",
                        "model_a": one,
                        "model_b": two,
                    }
                    for prompt in ("p", "q")
                    for repeat in range(2)
                ]
    return rows


def test_systems_compared_two_at_a_time_are_ranked_with_those_not_separated():
    rows = battles({"ada": 0.3, "bob": -0.1, "cid": -0.1, "dee": -0.1})
    judge = jl.score(rows, by="model_a,model_b").judges["j"]
    assert (judge.metric, next(iter(judge.systems))) == ("margin", "ada")
    assert [set(group) for group in judge.groups] == [{"ada"}, {"bob", "cid", "dee"}]
    assert judge.sentence.startswith("Ranking, with those in one bracket not told apart: ada > (")
    assert sum(e.estimate for e in judge.systems.values()) == pytest.approx(0)
    lead = next(d for d in judge.differences if {d.a, d.b} == {"ada", "bob"})
    assert lead.low < 0.4 < lead.high
    assert lead.separated
    assert judge.to_json()["groups"] == [list(group) for group in judge.groups]


def test_pairs_that_are_missing_are_bridged_by_the_others():
    strengths = {"ada": 0.4, "bob": 0.0, "cid": -0.4}
    rows = battles(strengths, items=200, skip=[("ada", "cid")])
    judge = jl.score(rows, by="model_a,model_b").judges["j"]
    found = next(d for d in judge.differences if {d.a, d.b} == {"ada", "cid"})
    assert found.low < 0.8 < found.high
    assert found.estimate == pytest.approx(0.8, abs=0.1)


def test_the_interval_of_a_margin_between_two_systems_is_that_of_their_items():
    """With one pair nothing is bridged: the difference is twice a strength, sides put right."""
    rows = battles({"ada": 0.2, "bob": -0.2}, items=80)
    judge = jl.score(rows, by="model_a,model_b").judges["j"]
    (difference,) = judge.differences
    wins = {}
    for row in rows:
        sign = 1 if row["verdict"] == "candidate_1" else -1
        wins.setdefault(row["item"], []).append(sign if row["model_a"] == "ada" else -sign)
    y = np.array([np.mean(x) for x in wins.values()])
    assert difference.estimate == pytest.approx(y.mean())
    alone = signed_interval(y)
    assert (difference.low, difference.high) == pytest.approx((alone.low, alone.high), abs=0.003)
    assert judge.systems["ada"].estimate == pytest.approx(y.mean() / 2)


@pytest.mark.parametrize(
    ("studies", "most"), [(24, 5), pytest.param(100, 11, marks=pytest.mark.slow)]
)
def test_intervals_of_a_ranking_hold_together(studies, most):
    """In studies with no difference at all, hardly any tells two of four systems apart.

    At a rate of .05 more than `most` of them have a chance below .005.
    """
    found = [
        jl.score(battles(dict.fromkeys("abcd", 0.0), items=20, seed=seed), by="model_a,model_b")
        for seed in range(studies)
    ]
    told = sum(any(d.separated for d in score.judges["j"].differences) for score in found)
    assert told <= most


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model_b": "ada"}, "compares 'ada' with itself"),
        ({"model_b": "zoe"}, "'ada' and 'zoe' were compared on one item"),
    ],
)
def test_a_pair_that_cannot_be_ranked_is_named(change, said):
    rows = battles({"ada": 0.2, "bob": -0.2}, items=10)
    item = rows[0]["item"]
    rows = [{**r, "model_a": "ada", **change} if r["item"] == item else r for r in rows]
    with pytest.raises(InputError, match=said):
        jl.score(rows, by="model_a,model_b")


def test_systems_that_are_never_linked_are_not_ranked():
    rows = battles({"ada": 0.2, "bob": -0.2}, items=10)
    rows += [
        {
            **r,
            "item": f"other-{r['item']}",
            "model_a": f"{r['model_a']}2",
            "model_b": f"{r['model_b']}2",
        }
        for r in rows
    ]
    with pytest.raises(InputError, match="no chain of comparisons links 'ada' and 'ada2'"):
        jl.score(rows, by="model_a,model_b")


def test_a_ranking_of_pairs_says_what_it_needs():
    rows = battles({"ada": 0.2, "bob": -0.2}, items=10)
    with pytest.raises(InputError, match="name one column of systems, or two"):
        jl.score(rows, by="model_a,model_b,judge")
    with pytest.raises(InputError, match="a ranking of pairs counts wins"):
        jl.score(rows, by="model_a,model_b", values={"candidate_1": 1, "candidate_2": 0})
    passes = [{**r, "verdict": {"candidate_1": "pass"}.get(r["verdict"], "fail")} for r in rows]
    with pytest.raises(InputError, match="needs candidate_1 and candidate_2"):
        jl.score(passes, by="model_a,model_b")


@pytest.mark.parametrize("draw", ["once", "item"])
def test_the_calls_that_an_item_is_worth_narrow_the_score_most_for_the_money(moved, draw):
    """Of all calls of an item, the best in the table of costs is the one that the formula gives."""
    found = one(jl.score(moved, protocol={"prompts": 1, "repeats": 1, "draw": draw}, item_cost=20))
    parts, asked, best = found.parts, found.protocol, found.best_repeats
    money = 1e6

    def variance(m):
        p = replace(asked, repeats=m, items=int(money / (20 + m)))
        return parts.variance(p)

    cheapest = min(range(1, 60), key=variance)
    assert best == pytest.approx(cheapest, abs=1)
    assert found.to_json()["best_repeats"] == {"item_cost": 20, "repeats": best}
    assert one(jl.score(moved)).to_json()["best_repeats"] is None


def test_repeats_are_worth_nothing_where_calls_do_not_vary():
    steady = VerdictTensor.from_counts(np.tile([4, 0], (10, 2, 1, 1)), verdicts=("pass", "fail"))
    assert isnan(one(jl.score(steady, item_cost=5)).best_repeats)
