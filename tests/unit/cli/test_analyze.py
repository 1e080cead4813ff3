"""`judgelaw analyze`: the sentence first, JSON of the contract, bad input in words."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from judgelaw.cli import main
from judgelaw.estimate import COMPONENTS
from judgelaw.worlds import World
from servers.study import frozen_study, simulated_judge
from support.streams import drawn, unanimous

SHARED = Path(__file__).parents[4] / "shared" / "data" / "verdicts"


def run(capsys, *argv):
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in argv])
    captured = capsys.readouterr()
    return stop.value.code or 0, captured.out, captured.err


def write(path, *tensors):
    """Write tensors as a CSV calls table."""
    lines = ["judge,layer,item,stratum,prompt,order,repeat,verdict"]
    for t in tensors:
        for (i, k, o, r), code in zip(*_calls(t), strict=True):
            place = (t.items[i], t.strata[i] if t.strata else "all", t.prompts[k], t.orders[o])
            lines.append(",".join([t.judge, t.layer or "audit", *place, str(r), t.verdicts[code]]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _calls(tensor):
    from itertools import product

    places = list(product(*(range(n) for n in tensor.ranked.shape)))
    return places, [tensor.ranked[place] for place in places]


@pytest.fixture
def table(tmp_path):
    world = World.from_effects(order=0.02)
    return write(tmp_path / "calls.csv", drawn(world=world, items=12, repeats=4))


def components(out):
    """Return the lines of the table of components, its heading first."""
    lines = out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("Component"))
    return lines[start : start + 6]


def test_the_answer_comes_first_and_details_when_asked_for(table, capsys):
    quick = ("--permutations", 9, "--draws", 200)
    code, out, _ = run(capsys, "analyze", table, *quick)
    assert code == 0
    assert len(out.splitlines()) <= 20
    assert all(len(line) <= 80 for line in out.splitlines() if "$ judgelaw" not in line)
    assert "12 items, 3 prompts, 2 orders, 4 times: 288 calls" in " ".join(out.split())
    assert "Permutation test" not in out
    _, out, _ = run(capsys, "analyze", table, *quick, "--details")
    assert "Permutation test of no prompt effect, p = " in out
    assert out.index("What the disagreement is made of") < out.index("Permutation test")


def test_a_bar_of_ones_own_replaces_the_usual_ones(tmp_path, capsys):
    rows = ["item,order,verdict,gold"]
    for i in range(100):
        gold, other = ("candidate_1", "candidate_2")[:: 1 if i % 2 else -1]
        rows += [f"i{i},{order},{gold if i < 84 else other},{gold}" for order in ("AB", "BA")]
    path = tmp_path / "calls.csv"
    text = "\n".join(["judge,prompt,repeat," + rows[0], *(f"j,p,0,{row}" for row in rows[1:])])
    path.write_text(text)
    for bar, word in ((0.7, "Use it"), (0.95, "Do not use it")):
        code, out, _ = run(capsys, "analyze", path, "--at-least", bar)
        assert code == 0
        assert word in out
        assert "you ask" in out
    for limit, expected in ((0.7, 0), (0.95, 1), (0.8, 7)):
        code, out, _ = run(capsys, "gate", path, "--min", f"right={limit}")
        assert code == expected, out


def test_drawn_prompts_have_an_interval_of_their_own_in_the_table(tmp_path, capsys):
    world = World.from_effects(prompt=0.02, order=0.02)
    path = write(tmp_path / "calls.csv", drawn(world=world, items=12, prompts=5, repeats=4))
    quick = ("--permutations", 0, "--draws", 100)
    _, out, _ = run(capsys, "analyze", path, *quick, "--design", "sampled", "--details")
    _, json_text, _ = run(capsys, "analyze", path, *quick, "--design", "sampled", "--json", "-")
    (judge,) = json.loads(json_text)["judges"].values()
    shown = f"[{judge['projection']['low']:.4f}, {judge['projection']['high']:.4f}]"
    table = {line.split("  ")[0]: line for line in components(out)}
    assert "95%, prompts like these" in table["Component"]
    assert shown in table["Prompt"]
    assert shown not in table["Answer order"]
    _, out, _ = run(capsys, "analyze", path, *quick, "--details")
    assert "prompts like these" not in out


def test_json_to_stdout_is_json_alone(table, capsys):
    code, out, _ = run(capsys, "analyze", table, "--permutations", 0, "--draws", 100, "--json", "-")
    document = json.loads(out)
    assert code == 0
    assert document["schema"] == "judgelaw.analysis/1"
    assert set(document["judges"]["judge"]["components"]) == set(COMPONENTS)
    assert set(document["judges"]["judge"]["depths"]) == {"2", "4"}
    assert document["layers"].keys() == {"audit"}


@pytest.mark.parametrize("repeats", [2, 3, 4])
def test_json_holds_the_intervals_beside_the_band(tmp_path, capsys, repeats):
    """For items like these and, from two repeats on, for these items; the band stays."""
    world = World.from_effects(prompt=0.02, order=0.02)
    table = write(tmp_path / "t.csv", drawn(world=world, items=12, repeats=repeats))
    _, out, _ = run(capsys, "analyze", table, "--permutations", 0, "--draws", 100, "--json", "-")
    (judge,) = json.loads(out)["judges"].values()
    for component in (*judge["components"].values(), *judge["depths"]["2"].values()):
        for key in ("interval", "band", "call_interval"):
            low, high = component[key]
            assert low < component["estimate"] < high, key
        assert component["interval"] != component["band"]
    for name in COMPONENTS[:-1]:
        for key in ("share_interval", "share_item_interval"):
            low, high = judge["components"][name][key]
            assert 0 <= low < high <= 1
    for lean in judge["prompt_leans"]:
        low, high = lean["interval"]
        assert low < lean["lean"] < high
        assert lean["shown"] == (not low <= 0 <= high)


def test_one_item_has_an_interval_for_itself_and_none_for_others(tmp_path, capsys):
    table = write(tmp_path / "t.csv", drawn(items=1, repeats=4))
    _, out, _ = run(capsys, "analyze", table, "--permutations", 0, "--draws", 100, "--json", "-")
    (judge,) = json.loads(out)["judges"].values()
    for component in judge["components"].values():
        assert component["interval"] is None
        assert component["band"] is None
        assert component["call_interval"][0] < component["call_interval"][1]
    assert any("one item says nothing about other items" in w for w in judge["warnings"])


def test_the_table_says_what_each_interval_is_for(table, capsys):
    _, out, _ = run(capsys, "analyze", table, "--permutations", 0, "--draws", 100, "--details")
    _, text, _ = run(capsys, "analyze", table, "--permutations", 0, "--draws", 100, "--json", "-")
    header, *rows = components(out)
    assert "95%, items like these" in header
    assert "95%, these items" in header
    assert "band" not in header
    (judge,) = json.loads(text)["judges"].values()
    prompt = judge["components"]["prompt"]
    row = next(line for line in rows if line.startswith("Prompt  "))
    for key in ("interval", "call_interval"):
        assert "[{:.4f}, {:.4f}]".format(*prompt[key]) in row, key


def test_a_share_is_printed_as_its_range(table, capsys):
    """No point: parts below zero would push the others above 100%."""
    _, out, _ = run(capsys, "analyze", table, "--permutations", 0, "--draws", 100, "--details")
    rows = components(out)[1:]
    ranges = [re.findall(r"([\d.]+)% to ([\d.]+)%", row) for row in rows]
    assert [len(found) for found in ranges] == [2] * 4 + [0]
    assert all(0 <= float(a) <= float(b) <= 100 for found in ranges for a, b in found)
    assert all(row.count("%") == 4 for row in rows[:4])


def test_json_and_tables_go_to_files(table, capsys, tmp_path):
    target, folder = tmp_path / "a.json", tmp_path / "tables"
    options = ("--permutations", 0, "--draws", 100, "--json", target, "--tables", folder)
    code, out, _ = run(capsys, "analyze", table, *options)
    assert code == 0
    assert out
    document = json.loads(target.read_text(encoding="utf-8"))
    for name in document["tables"]:
        assert (folder / f"{name}.csv").is_file()
        assert (folder / f"{name}.tex").is_file()


def test_negative_estimates_are_explained_once(tmp_path, capsys):
    tensors = [drawn(items=8, repeats=2, seed=s, judge=f"judge-{s}") for s in range(3)]
    path = write(tmp_path / "t.csv", *tensors)
    _, out, _ = run(capsys, "analyze", path, "--permutations", 0, "--draws", 100, "--details")
    assert out.count("Negative estimates are printed as they come") == 1
    assert "-0.0" in out


def test_judge_layer_and_repeats_choose_calls(tmp_path, capsys):
    tensors = [
        drawn(items=5, repeats=4, judge="x", layer="evaluation"),
        drawn(items=5, repeats=4, judge="y", layer="evaluation", seed=1),
        drawn(items=5, repeats=4, judge="x", layer="reference", seed=2),
    ]
    table = write(tmp_path / "t.csv", *tensors)
    base = ("analyze", table, "--permutations", 0, "--draws", 100, "--json", "-")
    _, out, _ = run(capsys, *base, "--judge", "x", "--layer", "reference", "--repeats", 2)
    document = json.loads(out)
    assert document["judges"].keys() == {"x"}
    assert document["main_layer"] == "reference"
    assert document["judges"]["x"]["repeats"] == 2
    code, _, err = run(capsys, *base, "--layer", "control")
    assert code == 2
    assert "there are evaluation, reference" in err
    code, _, err = run(capsys, *base, "--judge", "z")
    assert code == 2
    assert "z" in err


def test_columns_of_other_names_are_named(tmp_path, capsys, table):
    text = Path(table).read_text().replace("prompt,order,repeat,verdict", "wording,side,n,said", 1)
    other = tmp_path / "other.csv"
    other.write_text(text)
    code, _, err = run(capsys, "analyze", other, "--draws", "20", "--permutations", "0")
    assert code == 2
    assert "prompt" in err
    named = ("prompt=wording", "order=side", "repeat=n", "verdict=said", "stratum=")
    options = [word for one in named for word in ("--columns", one)]
    quick = ("--draws", "20", "--permutations", "0", "--json", "-")
    code, out, _ = run(capsys, "analyze", other, *options, *quick)
    assert code == 0
    _, expected, _ = run(capsys, "analyze", table, "--columns", "stratum=", *quick)
    assert json.loads(out)["judges"] == json.loads(expected)["judges"]
    code, _, err = run(capsys, "analyze", other, "--columns", "verdict")
    assert code == 2
    assert "--columns verdict: write PART=NAME" in err


def test_the_alphabet_may_be_declared(tmp_path, capsys):
    rows = [
        f"j,i{i},p{k},{r},{'yes' if (i + k + r) % 3 else 'no'}"
        for i in range(6)
        for k in range(2)
        for r in range(2)
    ]
    path = tmp_path / "calls.csv"
    path.write_text("\n".join(["judge,item,prompt,repeat,verdict", *rows]))
    quick = ("--draws", "20", "--permutations", "0", "--json", "-")
    code, out, _ = run(capsys, "analyze", path, "--verdicts", "yes, no, abstain", *quick)
    assert code == 0
    assert list(json.loads(out)["judges"]["j"]["outcomes"]) == ["yes", "no", "abstain"]
    code, _, err = run(capsys, "analyze", path, "--verdicts", "yes,abstain", *quick)
    assert code == 2
    assert "'no' is not in the alphabet given" in err


def test_a_table_of_scores_is_read_on_its_scale(tmp_path, capsys):
    rows = [
        f"j,i{i},p{k},{r},{1 + (i + k + r) % 3}" for i in range(6) for k in (0, 1) for r in (0, 1)
    ]
    path = tmp_path / "calls.csv"
    path.write_text("\n".join(["judge,item,prompt,repeat,verdict", *rows]))
    quick = ("--draws", "20", "--permutations", "0", "--json", "-")
    code, out, _ = run(capsys, "analyze", path, "--scale", "1, 2,3,4,5", *quick)
    assert code == 0
    found = json.loads(out)["judges"]["j"]
    assert found["scores"]["mean"]["estimate"] == pytest.approx(2)
    # Repeats of a cell are one or two points apart, two in a third of the cells.
    assert found["changes"]["ask_again"]["estimate"] == pytest.approx(4 / 3)
    for scale, said in (
        ("1,two", "--scale 1,two: write the scores from low to high"),
        ("2,1,3", "scale value 1 comes after 2"),
        ("1,2", "the verdict '3' is not on the scale 1, 2"),
    ):
        code, _, err = run(capsys, "analyze", path, "--scale", scale, *quick)
        assert code == 2
        assert said in err


def test_a_run_declares_its_own_scale(tmp_path, capsys):
    frozen = frozen_study(tmp_path, [simulated_judge()])
    code, _, err = run(capsys, "analyze", frozen.path, "--scale", "1,2,3")
    assert code == 2
    assert "the study of a run declares its own" in err


def test_incomplete_tables_are_refused_with_the_option_that_helps(tmp_path, capsys):
    table = write(tmp_path / "t.csv", drawn(items=5, repeats=2))
    lines = table.read_text(encoding="utf-8").splitlines()
    table.write_text("\n".join(x for x in lines if ",i1," not in x or ",p1,AB," not in x) + "\n")
    code, _, err = run(capsys, "analyze", table)
    assert code == 2
    assert "--incomplete drop" in err
    code, out, _ = run(
        capsys,
        *("analyze", table, "--incomplete", "drop", "--permutations", 0, "--draws", 100),
        "--details",
    )
    assert code == 0
    assert "Dropped 1 of 5 items" in out


def test_a_missing_file_is_a_usage_error(tmp_path, capsys):
    code, _, err = run(capsys, "analyze", tmp_path / "none.csv")
    assert code == 2
    assert "none.csv" in err


def test_a_near_deterministic_judge_is_said_to_be_one(tmp_path, capsys):
    table = write(tmp_path / "t.csv", unanimous())
    _, out, _ = run(capsys, "analyze", table, "--permutations", 0, "--draws", 100, "--details")
    assert "Near-deterministic" in out
    assert "its interval says how much there may be" in out


def test_help_has_an_example(capsys):
    code, out, _ = run(capsys, "analyze", "--help")
    assert code == 0
    assert "judgelaw analyze calls.csv.gz" in out


def test_nothing_heavy_is_loaded_for_a_table(table):
    """No charts, no study models, no HTTP: the answer should come at once."""
    code = (
        "import sys; from judgelaw.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "heavy = {'altair', 'pydantic', 'aiohttp', 'pandas', 'jinja2', 'scipy.stats', 'sqlite3'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "analyze", table, "--permutations", "0", "--draws", "50"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.splitlines()[-1] == "[]"  # a slow machine shows progress before it


def real(name):
    path = SHARED / name
    if not path.is_file():
        pytest.skip(f"{path} is not on this machine")
    return path


def test_real_orders_without_prompts(capsys):
    """Three judges, two orders, R = 3: the prompt facet is absent, and has no interval."""
    table = real("mtbench_orders_o2_r3.csv.gz")
    code, out, _ = run(capsys, "analyze", table, "--permutations", 19, "--json", "-")
    assert code == 0
    judges = json.loads(out)["judges"]
    assert len(judges) == 3
    for judge in judges.values():
        assert judge["components"]["prompt"] is None
        assert judge["components"]["interaction"] is None
        low, high = judge["components"]["order"]["call_interval"]
        assert low < judge["components"]["order"]["estimate"] < high
        assert judge["permutation"]["prompt"] is None
        assert any("prompt facet is absent" in w for w in judge["warnings"])


def test_real_prompts_with_incomplete_cells(capsys):
    """The plug-in falls with the depth, the corrected estimate stays inside its own band."""
    table = real("rewardbench2_prompts_k7_r8.csv.gz")
    options = ("--incomplete", "drop", "--permutations", 0, "--draws", 500, "--json", "-")
    code, out, _ = run(capsys, "analyze", table, "--judge", "gpt-5.4", *options)
    assert code == 0
    judge = json.loads(out)["judges"]["gpt-5.4"]
    at = [judge["depths"][r]["prompt"] for r in ("2", "4", "8")]
    assert at[0]["plugin"] > 1.4 * at[1]["plugin"] > 1.4 * 1.3 * at[2]["plugin"]
    low, high = at[0]["band"]
    assert all(low < c["estimate"] < high for c in at)
    assert any("dropped 100 of 1763 items" in w for w in judge["warnings"])


def test_real_alphabet_of_yes_and_no(capsys):
    table = real("yesno_contexts_k5_r10_logprobs.csv.gz")
    asked = ("analyze", table, "--permutations", 0, "--draws", 500, "--json", "-")
    _, out, _ = run(capsys, *asked, "--soft", "never")
    judge = json.loads(out)["judges"]["gpt-4.1-nano"]
    assert judge["outcomes"] == {"no": 722, "yes": 328}
    assert judge["components"]["prompt"]["estimate"] == pytest.approx(0.0815, abs=5e-4)
    assert judge["gold_match"] == pytest.approx(0.646, abs=1e-3)


def test_what_settled_judges_leave_open_is_said(tmp_path, capsys):
    """Two judges that never contradict themselves: nothing is tested, nobody is worse."""
    pair = (unanimous(judge=name, layer="audit") for name in ("a", "b"))
    path = write(tmp_path / "calls.csv", *pair)
    _, out, _ = run(capsys, "analyze", path, "--permutations", 0, "--details")
    assert "The judges are not separated by their prompt components" in out
    for judge in ("a / audit", "b / audit"):
        untested = [x for x in out.splitlines() if f"could not be run ({judge}): " in x]
        assert any("repeat rank" in x for x in untested)
        assert any("cells" in x for x in untested)


def test_one_prompt_alone_and_a_row_for_each(table, tmp_path, capsys):
    quick = ("--permutations", 0, "--draws", 100)
    _, out, _ = run(capsys, "analyze", table, *quick, "--json", "-")
    rows = json.loads(out)["judges"]["judge"]["by_prompt"]
    assert [row["prompt"] for row in rows] == ["p1", "p2", "p3"]
    folder = tmp_path / "tables"
    _, out, _ = run(
        capsys, "analyze", table, *quick, "--prompt", "p2", "--json", "-", "--tables", folder
    )
    judge = json.loads(out)["judges"]["judge"]
    assert judge["prompts"] == 1
    assert judge["components"]["prompt"] is None
    (row,) = judge["by_prompt"]
    assert row["call"] == pytest.approx(rows[1]["call"])
    assert row["call"] == pytest.approx(judge["components"]["call"]["estimate"])
    assert row["distance"] is None
    assert "p2" in (folder / "by_prompt.csv").read_text()
    code, _, err = run(capsys, "analyze", table, *quick, "--prompt", "p9")
    assert code == 2
    assert "no prompt is called 'p9'" in err
