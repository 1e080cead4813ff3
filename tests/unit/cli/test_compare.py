"""`judgelaw compare`: matched judges from one table or several."""

import json
import re
from dataclasses import replace

import pytest

from judgelaw.cli import main
from judgelaw.worlds import World
from support.streams import drawn


def run(capsys, *argv):
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in argv])
    captured = capsys.readouterr()
    return stop.value.code or 0, captured.out, captured.err


def write(path, *tensors):
    lines = ["judge,item,prompt,order,repeat,verdict"]
    for t in tensors:
        for i, item in enumerate(t.items):
            for k, prompt in enumerate(t.prompts):
                for o, order in enumerate(t.orders):
                    lines += [
                        f"{t.judge},{item},{prompt},{order},{r},{t.verdicts[code]}"
                        for r, code in enumerate(t.ranked[i, k, o])
                    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


A = drawn(world=World.from_effects(order=0.02), items=12, repeats=4, judge="a")
B = drawn(items=10, repeats=4, judge="b", seed=1)


def test_judges_of_one_table(tmp_path, capsys):
    table = write(tmp_path / "t.csv", A, B)
    code, out, _ = run(capsys, "compare", table, "--draws", 200, "--details")
    assert code == 0
    assert out.startswith("2 judges on t.csv: 10 items, 3 prompts, 2 orders, 4 times")
    assert "Not checked against right answers yet" in out
    assert "a - b" in out
    assert "10 matched items, R = 4" in out
    assert "items that another judge lacks were left out: a 2" in out


def test_only_intervals_for_all_differences_together_are_printed(tmp_path, capsys):
    table = write(tmp_path / "t.csv", A, B)
    _, out, _ = run(capsys, "compare", table, "--draws", 200, "--details")
    _, text, _ = run(capsys, "compare", table, "--draws", 200, "--json", "-")
    found = json.loads(text)
    differences = [*found["right"], *found["changes"], *found["differences"]]
    assert not found["right"], "these judges have no gold"
    assert "adjusted for all differences of a kind (4, 5)" in out
    rows = [line for line in out.splitlines() if line.startswith("a - b")]
    for row, found in zip(rows, differences, strict=True):
        printed = re.findall(r"\[[^]]+\]", row)
        wanted = [found["call_simultaneous"], found["simultaneous"]]
        assert printed == ["[{:+.4f}, {:+.4f}]".format(*pair) for pair in wanted]
    assert "miss more often" not in out


def test_below_four_repeats_the_intervals_are_said_to_miss_more_often(tmp_path, capsys):
    few = [drawn(items=10, repeats=2, judge=name, seed=s) for s, name in enumerate("ab")]
    _, out, _ = run(capsys, "compare", write(tmp_path / "t.csv", *few), "--draws", 200, "--details")
    assert "R = 2: below 4 repeats, intervals for these items miss more often" in out


def test_judges_that_are_alike_are_not_ranked(tmp_path, capsys):
    first, second = write(tmp_path / "1.csv", A), write(tmp_path / "2.csv", A)
    _, out, _ = run(capsys, "compare", first, second, "--draws", 200, "--details")
    assert "No difference of components is settled: taken together, all intervals hold 0." in out
    assert ">" not in out


def test_one_judge_in_two_tables_is_named_by_its_source(tmp_path, capsys):
    first, second = write(tmp_path / "1.csv", A), write(tmp_path / "2.csv", A)
    _, out, _ = run(capsys, "compare", first, second, "--draws", 200, "--json", "-")
    document = json.loads(out)
    assert document["schema"] == "judgelaw.comparison/1"
    assert document["judges"] == [f"{first}: a", f"{second}: a"]
    assert {d["estimate"] for d in document["differences"]} == {0.0}
    assert all(d["band"] is None for d in document["differences"])


def test_what_cannot_be_compared_is_refused_in_words(tmp_path, capsys):
    table = write(tmp_path / "t.csv", A, drawn(items=12, prompts=2, repeats=4, judge="c"))
    code, _, err = run(capsys, "compare", table)
    assert code == 2
    assert "--prompt" in err
    picked = ("--prompt", "p1", "--prompt", "p2", "--draws", 100, "--details")
    code, out, _ = run(capsys, "compare", table, *picked)
    assert code == 0
    assert "a - c" in out
    assert run(capsys, "compare", table, table)[0] == 2
    code, _, err = run(capsys, "compare", table, "--judge", "nobody")
    assert code == 2
    assert "there are a, c" in err
    assert "two or more" in run(capsys, "compare", table, "--judge", "a")[2]


def test_an_ordering_that_correction_changes_is_said(tmp_path, capsys):
    noisy = drawn(items=40, prompts=6, repeats=2, judge="noisy")
    world = World.from_effects(base=(0.8, 0.2, 0.0, 0.0), prompt=0.015)
    shifted = drawn(world=world, items=40, prompts=6, repeats=2, judge="shifted", seed=1)
    _, out, _ = run(
        capsys, "compare", write(tmp_path / "t.csv", noisy, shifted), "--draws", 200, "--details"
    )
    assert (
        "By prompt the plug-in ranks noisy > shifted, the corrected estimate shifted > noisy" in out
    )


def test_prompts_are_compared_as_judges_are(tmp_path, capsys):
    table = write(tmp_path / "t.csv", A)
    code, out, _ = run(capsys, "compare", table, "--by", "prompt", "--draws", 200, "--json", "-")
    document = json.loads(out)
    assert code == 0
    assert document["judges"] == list(A.prompts)
    assert set(document["keep"]) <= set(A.prompts)
    assert document["kept_by"] == "total"
    pairs = {(d["a"], d["b"]) for d in document["differences"]}
    assert len(pairs) == len(A.prompts) * (len(A.prompts) - 1) // 2


def test_a_judge_that_is_clearly_worse_is_not_kept(tmp_path, capsys):
    steady = drawn(world=World.from_effects(base=(0.97, 0.01, 0.01, 0.01)), items=30, repeats=4)
    noisy = drawn(world=World.from_effects(base=(0.4, 0.3, 0.2, 0.1)), items=30, repeats=4, seed=2)
    table = write(
        tmp_path / "t.csv", replace(steady, judge="steady"), replace(noisy, judge="noisy")
    )
    _, out, _ = run(capsys, "compare", table, "--draws", 200, "--details")
    assert "On these 30 items noisy changes its verdict on" in out
    first = [line for line in out.splitlines() if line.startswith(("  steady  ", "  noisy  "))]
    assert "Too early to tell" in first[0], "4 to 19 of 100 change: steady is at most 10"
    assert "Unsteady" in first[1]
    _, text, _ = run(capsys, "compare", table, "--draws", 200, "--json", "-")
    found = json.loads(text)
    assert found["keep"] == ["steady"]
    assert {name: a["word"] for name, a in found["answers"].items()} == {
        "steady": "early",
        "noisy": "unsteady",
    }


def graded(tmp_path, right):
    """Return a table of prompts that are right on so many of 8 calls, on sixteen items."""
    lines = ["judge,item,prompt,order,repeat,verdict,gold"]
    for prompt, hits in right.items():
        for i in range(16):
            gold = f"candidate_{1 + i % 2}"
            for r in range(8):
                said = gold if (i + r) % 8 < hits else f"candidate_{2 - i % 2}"
                lines.append(f"j,i{i},{prompt},{'AB' if r < 4 else 'BA'},{r % 4},{said},{gold}")
    path = tmp_path / "graded.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_prompts_are_compared_by_how_often_they_are_right(tmp_path, capsys):
    """Their accuracies, the difference with its sign, these items first."""
    table = graded(tmp_path, {"good": 8, "bad": 6})
    _, out, _ = run(capsys, "compare", table, "--by", "prompt", "--draws", 200)
    said = " ".join(out.split())
    assert "Right of 100 on these items: good 100, bad 75" in said
    ends = r"1\d(\.\d)? to 3\d more of 100"
    assert re.search(f"On these 16 items good is right on {ends} than bad", said)
    _, text, _ = run(capsys, "compare", table, "--by", "prompt", "--draws", 200, "--json", "-")
    (right,) = json.loads(text)["right"]
    assert right["component"] == "right"
    assert (right["a"], right["b"], right["estimate"]) == ("bad", "good", -0.25)
    low, high = right["call_simultaneous"]
    assert low < -0.25 < high < 0
    wide_low, wide_high = right["simultaneous"]
    assert wide_low <= low < high <= wide_high


def test_prompts_that_are_as_right_are_not_told_apart(tmp_path, capsys):
    table = graded(tmp_path, {"one": 7, "two": 7})
    _, out, _ = run(capsys, "compare", table, "--by", "prompt", "--draws", 200)
    assert "one and two are not told apart" in " ".join(out.split())
