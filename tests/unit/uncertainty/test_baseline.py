"""Before and after: a judge held against its own earlier calls."""

import json
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import judgelaw as jl
from judgelaw.cli import main
from judgelaw.errors import InputError
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from support import judges

pytest_plugins = ("pytester",)


def judged(noise, *, items=100, prompts=2, repeats=8, seed=1, names=None):
    """A judge that leaves the right verdict, candidate 1, with a chance; prompts do nothing."""
    law = np.array([1 - noise, noise, 0.0, 0.0])
    laws = np.broadcast_to(law, (items, prompts, 1, 4))
    return replace(
        judges.tensor(laws, repeats, stream(seed, "baseline")),
        judge="j",
        gold=("candidate_1",) * items,
        prompts=tuple(names or [f"p{k}" for k in range(prompts)]),
    )


def quantities(gate):
    return {d.quantity: d for d in gate.limits}


@pytest.mark.parametrize("items", ["fixed", "new"])
def test_the_same_judge_passes_a_worse_one_fails(items):
    before = judged(0.1, items=200)
    same = jl.gate(judged(0.1, items=200, seed=2), {}, baseline=before, margin=0.05, items=items)
    assert same.verdict == "pass"
    worse = jl.gate(judged(0.4, items=200, seed=3), {}, baseline=before, margin=0.05, items=items)
    assert worse.verdict == "fail"
    found = quantities(worse)
    assert set(found) == {"total above baseline", "invalid above baseline", "gold below baseline"}
    assert found["gold below baseline"].estimate == pytest.approx(0.3, abs=0.03)
    assert found["invalid above baseline"].verdict == "pass"
    undecided = jl.gate(
        judged(0.15, items=30, seed=4), {}, baseline=before, margin=0.05, items=items
    )
    assert undecided.verdict == "inconclusive"


def test_a_margin_by_name_and_limits_beside_it():
    gate = jl.gate(
        judged(0.1, seed=2), {"invalid": 0.05}, baseline=judged(0.1), margin={"call": 0.1}
    )
    assert [d.quantity for d in gate.limits] == ["invalid", "call above baseline"]
    assert gate.fail_level == pytest.approx(1 - 0.05 / 2)
    assert gate.verdict == "pass"


def test_the_estimate_is_the_paired_difference_on_matched_items():
    now, before = judged(0.3, seed=2), judged(0.1)
    some = before.select(items=before.items[10:])
    found = quantities(jl.gate(now, {}, baseline=some))["total above baseline"]
    here = now.select(items=some.items)
    assert found.estimate == pytest.approx(
        float(jl.decompose(here).macro().total - jl.decompose(some).macro().total)
    )
    assert "90 matched items (10 that one of the two lacks left out)" in found.covers
    assert "decided on 90 matched items (10 that" in found.reason


def test_prompts_of_other_names_are_matched_or_refused():
    now, before = judged(0.1, names=["x", "y"]), judged(0.1, seed=2, names=["old", "y"])
    with pytest.raises(InputError, match="--match prompt=OLD:NEW"):
        jl.gate(now, {}, baseline=before)
    assert jl.gate(now, {}, baseline=before, match={"old": "x"}).limits
    with pytest.raises(InputError, match="prompt=nothing:x"):
        jl.gate(now, {}, baseline=before, match={"nothing": "x"})
    single = jl.gate(now.select(prompts=["x"]), {}, baseline=before.select(prompts=["old"]))
    assert single.limits


def test_the_matched_prompt_is_the_one_that_is_compared():
    """The old prompt is noisy, the other is not: matched crosswise, y is worse than before."""
    quiet, noisy = judged(0.0, prompts=1, names=["y"]), judged(0.4, prompts=1, names=["old"])
    before = replace(
        quiet,
        counts=np.concatenate([noisy.counts, quiet.counts], axis=1),
        ranked=np.concatenate([noisy.ranked, quiet.ranked], axis=1),
        prompts=("old", "y"),
    )
    now = judged(0.0, names=["x", "y"])
    alone = jl.gate(
        now.select(prompts=["x"]), {}, baseline=before.select(prompts=["old"]), margin={"call": 0.1}
    )
    assert alone.limits[0].estimate < -0.3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: replace(t, items=tuple(f"other{i}" for i in range(100))), "no item of the"),
        (lambda t: replace(t, orders=("BA",)), "orders"),
    ],
)
def test_baselines_that_do_not_match_are_refused(change, words):
    with pytest.raises(InputError, match=words):
        jl.gate(judged(0.1), {}, baseline=change(judged(0.1)))


def test_judges_are_matched_by_name():
    now, before = judged(0.1), judged(0.1, seed=2)
    two = {"j": now, "k": now}
    with pytest.raises(InputError, match="the baseline has no judge 'k'"):
        jl.gate(two, {}, baseline={"j": before, "other": before})
    assert len(jl.gate(two, {}, baseline={"j": before, "k": before}).limits) == 6
    assert jl.gate({"j": now}, {}, baseline={"former": before}).limits


def test_margins_that_mean_nothing_are_refused():
    now = judged(0.1)
    for margin, words in [({"speed": 0.1}, "no margin for 'speed'"), (-0.1, "between 0 and 1")]:
        with pytest.raises(InputError, match=words):
            jl.gate(now, {}, baseline=now, margin=margin)
    with pytest.raises(InputError, match="need a baseline"):
        jl.gate(now, {"call": 0.5}, margin=0.1)
    without = replace(now, gold=None)
    assert "gold below baseline" not in quantities(jl.gate(without, {}, baseline=now))
    with pytest.raises(InputError, match="needs a gold verdict"):
        jl.gate(without, {}, baseline=now, margin={"gold": 0.1})


def test_an_item_that_is_all_invalid_now_is_worse():
    """A judge that fails to answer has no disagreement at all: it must not pass as steady."""
    counts = np.zeros((50, 1, 1, 4), dtype=int)
    counts[..., 3] = 8
    broken = VerdictTensor.from_counts(counts)
    before = VerdictTensor.from_counts(judged(0.1, items=50, prompts=1).counts)
    gate = jl.gate(broken, {}, baseline=before)
    assert quantities(gate)["total above baseline"].verdict == "pass"
    assert quantities(gate)["invalid above baseline"].verdict == "fail"
    assert gate.verdict == "fail"


@pytest.fixture
def tables(tmp_path):
    paths = {}
    for name, noise in {"before": 0.1, "same": 0.1, "worse": 0.45}.items():
        paths[name] = tmp_path / f"{name}.csv"
        tensor = judged(noise, seed=len(name), items=60)
        lines = ["judge,item,prompt,repeat,verdict,gold"]
        for i, item in enumerate(tensor.items):
            for k, prompt in enumerate(tensor.prompts):
                lines += [
                    f"j,{item},{prompt},{r},{tensor.verdicts[code]},candidate_1"
                    for r, code in enumerate(tensor.ranked[i, k, 0])
                ]
        paths[name].write_text("\n".join(lines) + "\n")
    return paths


def run(capsys, *argv):
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in argv])
    return stop.value.code or 0, capsys.readouterr()


def test_the_command_line_holds_a_baseline(tables, tmp_path, capsys):
    junit, summary = tmp_path / "gate.xml", tmp_path / "gate.md"
    baseline = ("--baseline", tables["before"], "--margin", "0.05")
    code, _ = run(
        capsys, "gate", tables["worse"], *baseline, "--junit", junit, "--summary", summary
    )
    assert code == 1
    assert "gold below baseline &lt; 0.05" in summary.read_text()
    cases = ET.parse(junit).getroot().findall("testcase")  # noqa: S314 - our own file
    assert next(case.get("name") for case in cases) == "max total above baseline=0.05"
    code, shown = run(capsys, "gate", tables["same"], *baseline, "--json", "-")
    assert code == 0
    assert json.loads(shown.out)["verdict"] == "pass"
    assert run(capsys, "gate", tables["same"], "--margin", "0.1")[0] == 2
    assert run(capsys, "gate", tables["same"], *baseline, "--margin", "call=0.1")[0] == 2
    assert run(capsys, "gate", tables["same"], *baseline[:2], "--match", "p0:p1")[0] == 2
    named = ("--margin", "call=0.05", "--margin", "gold=0.05")
    assert run(capsys, "gate", tables["same"], *baseline[:2], *named)[0] == 0


def test_pytest_holds_a_baseline(pytester, tables):
    for name, path in tables.items():
        (pytester.path / f"{name}.csv").write_text(path.read_text())
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.judgelaw("same.csv", baseline="before.csv", margin=0.05)
        def test_same(): ...

        @pytest.mark.judgelaw("worse.csv", baseline="before.csv", margin={"gold": 0.05})
        def test_worse(): ...
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*gold below baseline < 0.05 failed*"])


def test_a_judge_that_may_fail_wholly_on_few_items_is_not_passed_for_new_ones():
    """Fifty items seldom show a failure of 4 in 100; small errors that went do not make up."""
    before, now = np.full((50, 1, 1, 2), [8, 0]), np.full((50, 1, 1, 2), [8, 0])
    before[:12, 0, 0] = [7, 1]
    earlier, later = (
        VerdictTensor.from_counts(n, verdicts=["a", "b"], gold=["a"] * 50) for n in (before, now)
    )
    how = {"baseline": earlier, "margin": {"gold": 0.01}}
    assert jl.gate(later, {}, **how, items="new").verdict == "inconclusive"
    assert jl.gate(later, {}, **how).verdict == "pass"
