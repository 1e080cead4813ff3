"""`validate`: the shape of its JSON, its figures by hand, and what it says of bad input."""

import json

import numpy as np
import pytest

import judgelaw as jl
from judgelaw.errors import DuplicateCallsError, InputError, TableError

KEYS = {"schema", "labelled", "classes", "recall", "agreement", "kappa", "errors", "pass_rate"}


def table(path, rows, header="item,verdict,human"):
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def two_classes(caught=15, missed=5, passed=76, blamed=4):
    """One verdict and one label a row."""
    kinds = [("fail", "fail", caught), ("pass", "fail", missed)]
    kinds += [("pass", "pass", passed), ("fail", "pass", blamed)]
    said = [(verdict, human) for verdict, human, n in kinds for _ in range(n)]
    return [(f"i{i}", *pair) for i, pair in enumerate(said)]


def clopper_pearson(k, n):
    from scipy.stats import beta

    return beta.ppf(0.025, k, n - k + 1), beta.ppf(0.975, k + 1, n - k)


def test_one_verdict_and_one_label_a_row(tmp_path):
    found = jl.validate(table(tmp_path / "t.csv", two_classes()), positive="fail")
    said = found.to_json()
    assert said["schema"] == "judgelaw.validation/1"
    assert set(said) >= KEYS | {"tpr", "tnr", "sentence"}
    assert (said["labelled"], said["classes"]) == (100, ["fail", "pass"])
    assert said["tpr"] == said["recall"]["fail"]
    assert said["tpr"]["estimate"] == 0.75
    assert (said["tpr"]["low"], said["tpr"]["high"]) == pytest.approx(clopper_pearson(15, 20))
    assert (said["tnr"]["low"], said["tnr"]["high"]) == pytest.approx(clopper_pearson(76, 80))
    assert said["agreement"]["estimate"] == pytest.approx(0.91)
    assert said["errors"]["rate"] == pytest.approx(0.09)
    assert said["errors"]["votes"] == {"1": pytest.approx(0.09)}
    assert said["errors"]["dice"] is None
    assert said["pass_rate"]["corrected"] is None
    assert said["pass_rate"]["observed"] == pytest.approx(0.81)
    assert "Catches 75% (51 to 91) of failures, passes 95% (88 to 99) of good" in said["sentence"]
    json.dumps(said, allow_nan=False)


def test_kappa_is_cohens(tmp_path):
    found = jl.validate(table(tmp_path / "t.csv", two_classes())).to_json()["kappa"]
    chance = 0.2 * 0.19 + 0.8 * 0.81
    assert found["estimate"] == pytest.approx((0.91 - chance) / (1 - chance))
    assert found["low"] < found["estimate"] < found["high"]


def test_repeats_split_errors_into_dice_and_habit():
    """Ten items are wrong in 0, 1, 3 of 4 calls: pairs and votes counted by hand."""
    wrong = [0] * 5 + [1] * 3 + [3] * 2
    rows = [
        {"item": i, "repeat": r, "verdict": "no" if r < w else "yes", "human": "yes"}
        for i, w in enumerate(wrong)
        for r in range(4)
    ]
    rows += [
        {"item": f"n{i}", "repeat": r, "verdict": "no", "human": "no"}
        for i in range(10)
        for r in range(4)
    ]
    e = jl.validate(rows).to_json()["errors"]
    assert e["rate"] == pytest.approx((3 * 1 + 2 * 3) / 4 / 20)
    assert e["repeatable"] == pytest.approx(2 * (3 * 2) / (4 * 3) / 20)
    assert e["dice"] == pytest.approx((3 * 3 + 2 * 3) / (4 * 3) / 20)
    assert e["repeatable"] + e["dice"] == pytest.approx(e["rate"])
    # Most of 3 of 4 calls are wrong: never with one wrong call, in all 4 choices with three.
    assert e["votes"] == {"1": pytest.approx(e["rate"]), "3": pytest.approx(2 * 1 / 20)}


def test_dice_are_calls_of_one_cell():
    """Two prompts that never agree, each sure of itself: nothing here is chance."""
    rows = [
        {"item": i, "prompt": p, "repeat": r, "verdict": v, "human": "a" if i % 2 else "b"}
        for i in range(8)
        for p, v in (("p", "a"), ("q", "b"))
        for r in range(3)
    ]
    found = jl.validate(rows).to_json()
    assert found["errors"]["dice"] == 0
    assert found["errors"]["repeatable"] == 0.5
    assert set(found["by_prompt"]) == {"p", "q"}
    assert found["by_prompt"]["p"]["recall"]["a"]["estimate"] == 1


def test_people_that_disagree_are_votes(mtbench):
    found = jl.validate(mtbench).to_json()
    assert (found["labelled"], found["people"]["votes"]) == (1232, 1751)
    assert found["classes"] == ["candidate_1", "candidate_2", "tie"]
    assert found["agreement"]["estimate"] == pytest.approx(0.6733, abs=1e-4)
    assert found["people"]["several"] == 407
    assert found["people"]["tied"] == 99
    ceiling = found["people"]["ceiling"]
    assert ceiling["low"] < ceiling["estimate"] < ceiling["high"]
    assert ceiling["estimate"] > found["people"]["agreement"]["estimate"]
    assert set(found["by_stratum"]) >= {"math", "writing"}
    assert "best at 'candidate_2'" in found["sentence"]
    assert "worst at 'candidate_1'" in found["sentence"]
    assert "like these no judge could agree in more than 81%" in found["sentence"]


def test_rows_without_rater_names_are_people_where_labels_differ(mtbench):
    named = jl.validate(mtbench)
    unnamed = jl.validate(mtbench, columns={"rater": None})
    assert unnamed.agreement == named.agreement


def test_scores_have_errors_of_their_own():
    rng = np.random.default_rng(3)
    human = rng.integers(1, 6, size=120)
    judge = np.clip(human + rng.integers(-1, 3, size=120), 1, 5)
    rows = [
        {"item": i, "verdict": str(v), "human": f"{h}.0"}
        for i, (v, h) in enumerate(zip(judge, human, strict=True))
    ]
    found = jl.validate(rows).to_json()
    assert found["scores"]["mae"]["estimate"] == pytest.approx(abs(judge - human).mean())
    assert found["scores"]["bias"]["estimate"] == pytest.approx((judge - human).mean())
    r = np.corrcoef(judge, human)[0, 1]
    assert found["scores"]["correlation"]["estimate"] == pytest.approx(r)
    table_ = np.zeros((5, 5))
    np.add.at(table_, (human - 1, judge - 1), 1 / 120)
    far = (np.arange(5)[:, None] - np.arange(5)) ** 2
    chance = table_.sum(axis=1)[:, None] * table_.sum(axis=0)
    quadratic = 1 - (far * table_).sum() / (far * chance).sum()
    assert found["kappa"]["estimate"] == pytest.approx(quadratic)
    assert "Scores differ from people's by" in found["sentence"]


def unlabelled(rows, n, rate, seed=1):
    """Add items that nobody labelled, of which the judge fails a share."""
    random = np.random.default_rng(seed)
    return rows + [(f"u{i}", "fail" if random.random() < rate else "pass", "") for i in range(n)]


def test_nothing_is_corrected_until_it_is_said_how_labels_were_chosen(tmp_path):
    path = table(tmp_path / "t.csv", unlabelled(two_classes(), 200, 0.3))
    silent = jl.validate(path, positive="fail").to_json()["pass_rate"]
    assert (silent["corrected"], silent["method"]) == (None, None)
    assert "labels='random' or 'chosen'" in silent["reason"]
    random = jl.validate(path, positive="fail", labels="random").to_json()["pass_rate"]
    chosen = jl.validate(path, positive="fail", labels="chosen").to_json()["pass_rate"]
    assert (random["method"], chosen["method"]) == ("ppi", "rogan-gladen")
    assert random["of"] == "pass"
    # By hand: q of failures, TPR .75, TNR .95.
    q = 1 - chosen["observed"]
    assert chosen["corrected"]["estimate"] == pytest.approx(1 - (q - 0.05) / (0.75 - 0.05))


def test_ppi_is_its_formula(tmp_path):
    from scipy.stats import t

    path = table(tmp_path / "t.csv", unlabelled(two_classes(), 200, 0.3))
    found = jl.validate(path, positive="pass", labels="random").to_json()["pass_rate"]
    rows = two_classes()
    f = np.array([float(v == "pass") for _, v, _ in rows])
    y = np.array([float(h == "pass") for _, _, h in rows])
    q = found["observed"]
    lam = np.cov(y, f)[0, 1] / (f.var(ddof=1) * (1 + 100 / 200))
    theta = y.mean() + lam * (q - f.mean())
    res = y - lam * f
    v = (((res - res.mean()) ** 2).sum() + 1) / (100 * 99) + lam**2 * (
        q * (1 - q) * 200 / 199
    ) / 200
    assert found["corrected"]["estimate"] == pytest.approx(theta)
    assert found["corrected"]["high"] == pytest.approx(theta + t.ppf(0.975, 99) * v**0.5)


def test_a_judge_like_a_coin_gets_the_range_and_no_point(tmp_path):
    rows = unlabelled(two_classes(caught=10, missed=10, passed=40, blamed=40), 100, 0.5)
    found = jl.validate(table(tmp_path / "t.csv", rows), labels="chosen").to_json()["pass_rate"]
    assert found["corrected"]["estimate"] is None
    assert (found["corrected"]["low"], found["corrected"]["high"]) == (0, 1)
    assert "near 1" in found["corrected"]["reason"]


def test_gate(tmp_path):
    path = table(tmp_path / "t.csv", two_classes(caught=190, missed=10, passed=700, blamed=100))

    def verdict(**minimum):
        return jl.validate(path, positive="fail", minimum=minimum).verdict

    assert verdict(recall=0.9) == "pass"
    assert verdict(recall=0.99) == "fail"
    assert verdict(recall=0.95) == "inconclusive"
    assert verdict(recall=0.9, tnr=0.95) == "fail"
    assert verdict(agreement=0.8, kappa=0.5) == "pass"


def test_label_budget(tmp_path):
    path = table(tmp_path / "t.csv", two_classes(caught=18, missed=2))
    (one,) = jl.validate(path, positive="fail", certify={"recall": 0.8}).certify
    assert (one.labels, one.items) == (94, 470)
    assert one.without_error == 14


@pytest.mark.parametrize(
    ("rows", "error", "words"),
    [
        ([("a", "pass", ""), ("b", "fail", "")], InputError, "nobody labelled anything"),
        ([("a", "pass", ""), ("b", "", "fail")], InputError, "no item has both"),
        ([("a", "pass", "1"), ("b", "fail", "0")], InputError, "no label is a verdict"),
        ([("", "pass", "pass")], TableError, "names no item"),
    ],
)
def test_bad_tables_are_refused_with_the_remedy(tmp_path, rows, error, words):
    with pytest.raises(error, match=words):
        jl.validate(table(tmp_path / "t.csv", rows))


def test_names_that_are_not_there(tmp_path):
    path = table(tmp_path / "t.csv", two_classes())
    with pytest.raises(TableError, match=r"no column 'label'.*--human"):
        jl.validate(path, human="label")
    with pytest.raises(InputError, match=r"'fial'.*did you mean 'fail'"):
        jl.validate(path, positive="fial")
    with pytest.raises(InputError, match="labels='guess'"):
        jl.validate(path, labels="guess")
    with pytest.raises(InputError, match="no limit here"):
        jl.validate(path, minimum={"recal": 0.9})


def test_one_call_with_two_verdicts_is_refused(tmp_path):
    rows = [("a", 0, "pass", "pass"), ("a", 0, "fail", "pass"), ("b", 0, "fail", "fail")]
    path = table(tmp_path / "t.csv", rows, header="item,repeat,verdict,human")
    with pytest.raises(DuplicateCallsError, match="item 'a', repeat 0"):
        jl.validate(path)


def test_labels_of_one_class_say_what_they_can(tmp_path):
    rows = [(f"i{i}", "pass" if i % 5 else "fail", "pass") for i in range(50)]
    said = jl.validate(table(tmp_path / "t.csv", rows), positive="pass").to_json()
    assert said["tpr"]["estimate"] == 0.8
    assert said["tnr"]["estimate"] is None
    assert said["kappa"]["estimate"] is None
    assert any("one label only" in note for note in said["notes"])


def test_a_class_that_the_judge_never_says(tmp_path):
    rows = [(f"i{i}", "a" if i % 2 else "b", "abc"[i % 3]) for i in range(60)]
    said = jl.validate(table(tmp_path / "t.csv", rows)).to_json()
    assert said["recall"]["c"]["estimate"] == 0
    assert said["recall"]["c"]["high"] > 0
    assert any("never says 'c'" in note for note in said["notes"])


def test_case_is_no_difference(tmp_path):
    rows = [(i, v, h.capitalize()) for i, v, h in two_classes()]
    said = jl.validate(table(tmp_path / "t.csv", rows), positive="Fail").to_json()
    assert said["tpr"]["estimate"] == 0.75
    assert any("case" in note for note in said["notes"])


def test_words_for_other_classes_stay_between_0_and_100(tmp_path):
    rows = [("1", "yes", "yes"), ("2", "no", "no"), ("3", "yes", "no"), ("4", "yes", "")]
    found = jl.validate(table(tmp_path / "t.csv", rows), labels="random")
    assert found.sentence.startswith("Says 'yes' where people do in 100% (2 to 100), 'no' in 50%")
    assert found.pass_rate.corrected.low < 0, "the figure itself is not cut"
    from judgelaw.labels import percent

    assert percent(found.pass_rate.corrected).endswith("(0 to 100)")


def test_the_latest_date_is_read_unless_told(tmp_path):
    rows = [("2026-01-02", f"i{i}", "a", "ab"[i % 2]) for i in range(20)]
    rows += [("2026-01-09", f"i{i}", "ab"[i % 2], "ab"[i % 2]) for i in range(20)]
    path = table(tmp_path / "t.csv", rows, header="date,item,verdict,human")
    assert jl.validate(path).agreement.estimate == 1
    assert jl.validate(path, date="2026-01-02").agreement.estimate == 0.5
    with pytest.raises(InputError, match="no call is of '2026-01-03'"):
        jl.validate(path, date="2026-01-03")


def test_gold_of_a_tensor():
    counts = np.zeros((6, 1, 1, 4), dtype=int)
    counts[:, 0, 0, 0] = 3
    counts[:3, 0, 0, 1] = 1
    tensor = jl.VerdictTensor.from_counts(counts, gold=["candidate_1"] * 5 + ["candidate_2"])
    found = jl.validate(tensor)
    assert found.human == "gold"
    assert found.recall["candidate_1"].estimate == pytest.approx((3 * 0.75 + 2) / 5)


def test_items_to_look_at_first():
    rows = [
        {"item": i, "repeat": r, "verdict": v, "human": h, "rater": who}
        for i, v, votes in (
            ("sure", "no", ("yes", "yes")),
            ("split", "no", ("yes", "yes", "no")),
            ("right", "yes", ("yes", "yes")),
            ("fine", "no", ("no", "no")),
        )
        for r in range(3)
        for who, h in enumerate(votes)
    ]
    found = jl.validate(rows).look_first
    assert [(s.item, s.why) for s in found] == [
        ("sure", "confident and wrong"),
        ("split", "label noise"),
    ]


@pytest.mark.parametrize("right", [True, False])
def test_kappa_lies_in_its_own_interval(tmp_path, right):
    rows = [(i, "ab"[i % 2 == right], "ab"[i % 2]) for i in range(60)]
    found = jl.validate(table(tmp_path / "t.csv", rows)).kappa
    assert abs(found.estimate) == pytest.approx(1)
    assert found.low <= found.estimate <= found.high
    assert found.high - found.low > 0.1


def test_scores_that_differ_alike_have_no_width(tmp_path):
    """No spread was seen: an interval of no width would claim that there is none."""
    found = jl.validate(table(tmp_path / "t.csv", [(i, i % 5, i % 5) for i in range(40)]))
    mae = found.to_json()["scores"]["mae"]
    assert (mae["estimate"], mae["low"], mae["high"]) == (0, None, None)
    assert "alike on all labelled items" in found.sentence
    assert "nan" not in found.sentence


def test_a_word_among_scores_makes_them_classes_and_says_so(tmp_path):
    rows = [(i, "n/a" if i == 3 else i % 5, i % 5) for i in range(40)]
    found = jl.validate(table(tmp_path / "t.csv", rows))
    assert any("'n/a': no number" in note for note in found.notes)


def test_raters_who_are_split_over_every_item(tmp_path):
    rows = [(i, "yes", "yes", "x") for i in range(9)] + [(i, "yes", "no", "y") for i in range(9)]
    found = jl.validate(table(tmp_path / "t.csv", rows, header="item,verdict,human,rater"))
    assert found.agreement.estimate == 0.5
    assert "no item has a label that most people share" in found.sentence
    assert "nan" not in found.sentence


def test_repeats_are_worth_an_effective_size(tmp_path):
    """Clopper-Pearson at the effective size, half a pseudo-item for what was never seen."""
    from scipy.stats import beta, norm, t

    right = [4] * 14 + [3] * 4 + [1, 0]
    rows = [(i, r, "yes" if r < k else "no", "yes") for i, k in enumerate(right) for r in range(4)]
    rows += [(f"n{i}", r, "no", "no") for i in range(5) for r in range(4)]
    path = table(tmp_path / "t.csv", rows, header="item,repeat,verdict,human")
    found = jl.validate(path, positive="yes").tpr
    x, n = np.array(right) / 4, 20
    p = x.mean()
    spread = ((x - p) ** 2).sum() + max(p, 1 - p) ** 2 / 2
    m = min(max(n**2 * p * (1 - p) / spread, n), 4 * n)
    m = max(n, m * (norm.ppf(0.975) / t.ppf(0.975, n - 1)) ** 2)
    assert n < m < 4 * n
    ends = beta.ppf(0.025, p * m, m - p * m + 1), beta.ppf(0.975, p * m + 1, m - p * m)
    assert (found.low, found.high) == pytest.approx(ends)


def test_kappa_takes_the_quantiles_of_its_draws_that_cover(tmp_path):
    rng, draws = np.random.default_rng(9), 100_000
    prevalence = rng.beta(20.5, 80.5, draws)
    tpr, tnr = rng.beta(15.5, 5.5, draws), rng.beta(76.5, 4.5, draws)
    agree = prevalence * tpr + (1 - prevalence) * tnr
    said = prevalence * tpr + (1 - prevalence) * (1 - tnr)
    chance = prevalence * said + (1 - prevalence) * (1 - said)
    ends = np.quantile((agree - chance) / (1 - chance), [0.015, 0.985])
    found = jl.validate(table(tmp_path / "t.csv", two_classes())).kappa
    assert (found.low, found.high) == pytest.approx(tuple(ends), abs=0.008)
