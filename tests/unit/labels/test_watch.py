"""`watch`: the alarm, what it says, and what it refuses to say."""

import datetime as dt

import numpy as np
import pytest

import judgelaw as jl
from judgelaw.errors import InputError, TableError
from judgelaw.labels.alarm import limits, look, step
from judgelaw.labels.watching import watch_waves
from judgelaw.labels.waves import Waves


def dated(laws, *, repeats=3, seed=1, first=dt.date(2026, 5, 3), header=True):
    """Return the lines of a table: one law an item for each date, a week apart."""
    rng = np.random.default_rng(seed)
    lines = ["date,item,repeat,verdict"] if header else []
    for t, law in enumerate(laws):
        day = first + dt.timedelta(days=7 * t)
        for i, p in enumerate(law):
            said = ["pass" if x < p else "fail" for x in rng.random(repeats)]
            lines += [f"{day},i{i:02},{r},{verdict}" for r, verdict in enumerate(said)]
    return lines


def written(path, lines):
    path.write_text("\n".join(lines) + "\n")
    return path


LAW = np.random.default_rng(0).beta(0.5, 0.5, size=40)


def test_a_stable_judge_is_quiet(tmp_path):
    found = jl.watch(written(tmp_path / "t.csv", dated([LAW] * 12)))
    said = found.to_json()
    assert said["schema"] == "judgelaw.watch/1"
    assert (said["looks"], said["alarm"], found.verdict) == (52, None, "quiet")
    assert said["dates"][0]["date"] == "2026-05-10"
    assert len(said["dates"]) == 11
    for one in said["dates"]:
        assert set(one) >= {"date", "change", "shift", "p", "chart"}
        assert set(one["change"]) >= {"estimate", "low", "high"}
        assert all(0 <= p <= 1 for p in one["p"])
        assert len(one["chart"]) == 2
    assert "No move of the judge is shown since 3 May 2026" in said["sentence"]


def test_a_shift_is_caught_with_its_date_and_items(tmp_path):
    after = LAW.copy()
    after[:6] = 1 - np.round(LAW[:6])
    found = jl.watch(written(tmp_path / "t.csv", dated([LAW] * 6 + [after] * 6)))
    assert found.verdict == "alarm"
    assert "2026-06-14" <= found.alarm <= "2026-07-12"
    assert {one.item for one in found.moved} <= {f"i{i:02}" for i in range(6)}
    assert "The judge moved" in found.sentence
    assert "since 3 May 2026, first seen" in found.sentence


def test_a_later_date_never_changes_an_earlier_p(tmp_path):
    lines = dated([LAW] * 8)
    some = [line for line in lines if line < "2026-06-10" or line.startswith("date")]
    short = jl.watch(written(tmp_path / "a.csv", some))
    long = jl.watch(written(tmp_path / "b.csv", lines))
    assert short.dates == long.dates[: len(short.dates)]


def test_change_is_twice_the_prompt_component_of_two_dates(tmp_path):
    lines = dated([LAW, 1 - LAW], repeats=4)
    found = jl.watch(written(tmp_path / "t.csv", lines)).dates[0]
    rows = [line.split(",") for line in lines[1:]]
    days = sorted({row[0] for row in rows})
    counts = np.zeros((40, 2, 1, 2), dtype=int)
    for day, item, _, verdict in rows:
        counts[int(item[1:]), days.index(day), 0, int(verdict == "pass")] += 1
    component = jl.decompose(counts).macro()["prompt"]
    assert found.change.estimate == pytest.approx(2 * component)
    p = counts[..., 0, 1] / 4
    assert found.shift.estimate == pytest.approx((p[:, 1] - p[:, 0]).mean())
    variance = (p * (1 - p) / 3).sum() / 40**2
    assert found.shift.high - found.shift.estimate == pytest.approx(1.959964 * variance**0.5)


def test_tables_of_each_date_and_dates_out_of_order(tmp_path):
    lines = dated([LAW] * 3)
    days = sorted({line[:10] for line in lines[1:]})
    paths = [
        written(tmp_path / f"{i}.csv", [lines[0], *(x for x in lines if x.startswith(day))])
        for i, day in enumerate(days)
    ]
    whole = jl.watch(written(tmp_path / "t.csv", lines))
    assert jl.watch(paths).dates == whole.dates
    turned = jl.watch([paths[2], paths[0], paths[1]])
    assert turned.dates == whole.dates
    assert any("sequence of time" in note for note in turned.notes)
    with pytest.raises(InputError, match="2026-05-03 is there 2 times"):
        jl.watch([paths[0], paths[0]])


def test_tables_without_dates_go_by_their_names(tmp_path):
    cut = [[line.partition(",")[2] for line in dated([LAW], seed=s)] for s in (1, 2)]
    paths = [written(tmp_path / f"{n}.csv", c) for n, c in zip(("may", "june"), cut, strict=True)]
    found = jl.watch(paths)
    assert (found.first, found.dates[0].date) == ("may", "june")
    both = written(tmp_path / "dated.csv", dated([LAW]))
    with pytest.raises(TableError, match="no column 'date'"):
        jl.watch([both, paths[0]])


def test_what_cannot_be_told(tmp_path):
    one = jl.watch(written(tmp_path / "one.csv", dated([LAW])))
    assert (one.verdict, one.dates) == ("cannot tell", ())
    assert "one date only" in one.sentence
    lines = dated([LAW])
    other = [line.replace(",i", ",x").replace("05-03", "05-10") for line in lines[1:]]
    apart = jl.watch(written(tmp_path / "apart.csv", [*lines, *other]))
    assert apart.verdict == "cannot tell"
    assert apart.dates[0].p is None
    many = jl.watch(written(tmp_path / "many.csv", dated([LAW] * 4)), looks=2)
    assert many.verdict == "cannot tell"
    assert any("3 looks were made and 2 declared" in note for note in many.notes)


def test_one_call_a_cell_tests_and_claims_no_distance(tmp_path):
    found = jl.watch(written(tmp_path / "t.csv", dated([LAW] * 5, repeats=1)))
    assert found.verdict == "quiet"
    assert found.dates[0].p is not None
    assert np.isnan(found.dates[0].change.estimate)
    assert "ask each cell twice" in found.dates[0].change.reason


def test_anchors_that_changed_text_are_other_items(tmp_path):
    lines = [
        "date,item,repeat,verdict,text",
        *(f"{line},{'new' if '05-10,i03' in line else 'same'}" for line in dated([LAW] * 2)[1:]),
    ]
    found = jl.watch(written(tmp_path / "t.csv", lines))
    assert any("1 item changed text" in note and "'i03'" in note for note in found.notes)
    assert found.dates[0].cells == 39


def test_dates_that_are_none(tmp_path):
    lines = [line.replace("2026-05-03", "early May") for line in dated([LAW] * 2)]
    with pytest.raises(InputError, match="'early May' is no date"):
        jl.watch(written(tmp_path / "t.csv", lines))


def test_the_judge_moved_and_the_system_did_not(tmp_path):
    """TPR falls from .95 to .7 between two dates; the share of good answers stays at .6."""
    rng = np.random.default_rng(5)
    lines = ["date,item,repeat,verdict,human"]
    for day, tpr, tag in (("2026-05-03", 0.95, "a"), ("2026-05-10", 0.7, "b")):
        anchors = [(f"k{i}", i < 150, "pass" if i < 150 else "fail") for i in range(300)]
        own = [(f"{tag}{i}", bool(rng.random() < 0.6), "") for i in range(600)]
        for item, good, human in [*anchors, *own]:
            says = rng.random() < (tpr if good else 0.1)
            lines.append(f"{day},{item},0,{'pass' if says else 'fail'},{human}")
    found = jl.watch(written(tmp_path / "t.csv", lines), positive="pass").system
    assert found.of == "pass"
    assert found.anchors == 300
    assert found.observed < -0.1
    assert found.corrected.low < 0 < found.corrected.high


def test_p_is_exact_where_everything_can_be_enumerated():
    """Two calls now and two before, all four distinct under permutation: p by hand."""
    now, before = np.array([[2, 0]]), np.array([[0, 2]])
    rng = np.random.default_rng(0)
    p = np.array(
        [look(now, before, np.array([1.0, 0.0]), draws=999, random=rng).p for _ in range(200)]
    )
    # The farthest two of six splits: p is uniform on (0, 1/3) but for the error of 199 draws: their
    # share of ties has a standard deviation of .033.
    assert p.max() < 1 / 3 + 4 * 0.033
    assert p.mean(axis=0) == pytest.approx([1 / 6, 1 / 6], abs=0.02)


def test_charts_and_their_limits():
    assert step((0.0, 1.0), (0.5, 0.5)) == (0.0, 0.5)
    assert [limits(n).chart for n in (1, 12, 13, 52, 104)] == [4.07, 4.07, 5.00, 5.83, 6.59]
    assert limits(40).single == pytest.approx(0.005 / 52)
    with pytest.raises(InputError, match="1 to 104 looks"):
        limits(105)


def flipping(rng, repeats=3):
    """Return two dates of forty settled cells, three of which turn round in between."""
    law = np.full((2, 40), 0.01)
    law[1, :3] = 0.99
    yes = rng.binomial(repeats, law)
    counts = np.stack([repeats - yes, yes], axis=-1)
    return law, Waves(
        dates=("2026-05-03", "2026-05-10"),
        cells=tuple((f"i{i:02}", None, None) for i in range(40)),
        verdicts=("fail", "pass"),
        human={},
        counts=counts,
        score=np.array([0.0, 1.0]),
        scored="share of 'pass'",
    )


def test_the_shift_of_settled_cells_is_covered():
    """By the calls that vary alone it would be covered in .90, with no width in .08."""
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(120):
        law, waves = flipping(rng)
        shift = watch_waves(waves, permutations=99).dates[0].shift
        assert shift.high - shift.low > 0.01
        held += shift.low <= (law[1] - law[0]).mean() <= shift.high
    assert held >= 0.96 * 120


def test_a_shift_that_is_no_alarm_yet_is_said_to_be_none(tmp_path):
    after = np.minimum(LAW + 0.1, 1)
    found = jl.watch(written(tmp_path / "t.csv", dated([LAW, LAW, after], seed=3)))
    assert found.verdict == "quiet"
    assert found.dates[-1].shift.low > 0
    assert "the next looks tell" in found.sentence


def test_a_large_move_alarms_at_its_first_date(tmp_path):
    """A judge turned round on the last date: that look speaks for itself."""
    turned = dated([LAW, LAW, 1 - LAW])
    found = jl.watch(written(tmp_path / "t.csv", turned))
    assert (found.verdict, found.alarm) == ("alarm", "2026-05-17")
    assert max(found.dates[-1].chart) < found.threshold
    assert min(found.dates[-1].p) <= found.single


def test_one_look_that_strikes_is_neither_an_alarm_nor_quiet(tmp_path):
    """A tenth of the items turned round on the last date: that must not be called quiet."""
    after = LAW.copy()
    after[:4] = 1 - np.round(LAW[:4])
    found = jl.watch(written(tmp_path / "t.csv", dated([LAW, LAW, after], seed=1)))
    assert found.single < min(found.dates[-1].p) <= 0.001
    assert (found.verdict, found.alarm) == ("cannot tell", None)
    assert "may have moved" in found.sentence
    assert "seen on 17 May 2026 alone" in found.sentence


def test_small_p_values_are_looked_at_more_closely():
    """A p of 199 draws is no smaller than U/200; stages go on to what 39,999 can tell."""
    now, before = np.tile([4, 0], (20, 1)), np.tile([0, 4], (20, 1))
    score = np.array([1.0, 0.0])
    fine = look(now, before, score, draws=39_999, random=np.random.default_rng(1)).p
    assert max(fine) < 1 / 40_000
    coarse = look(now, before, score, draws=99, random=np.random.default_rng(1)).p
    assert all(0 < p < 1 / 100 for p in coarse)


def test_p_values_in_stages_are_small_no_more_often_than_they_say():
    """Seeded: 3,000 looks without a change, eight coins and cells that never vary."""
    rng, found = np.random.default_rng(8), []
    for _ in range(3_000):
        yes = np.concatenate([rng.binomial(3, 0.5, (8, 2)), np.full((8, 2), 3)])
        now, before = (np.stack([3 - y, y], axis=1) for y in yes.T)
        found.append(look(now, before, np.array([0.0, 1.0]), draws=39_999, random=rng).p)
    for x in (0.001, 0.005, 0.01, 0.05, 0.2):
        share = (np.array(found) <= x).mean(axis=0)
        # Four standard errors of a rate of x.
        assert (share <= x + 4 * (x / 3_000) ** 0.5).all(), x
