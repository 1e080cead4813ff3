"""`judgelaw advise` and `judgelaw score`: what every flag does, and what a person reads first."""

import json

import pytest

from judgelaw.cli import main
from judgelaw.streams import stream
from support import judges


def run(capsys, *argv):
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in argv])
    captured = capsys.readouterr()
    return stop.value.code or 0, captured.out, captured.err


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Two judges in two layers, three prompts, two orders, four repeats."""
    lines = ["judge,layer,item,prompt,order,repeat,verdict"]
    for seed, (judge, layer) in enumerate((j, at) for j in "ab" for at in ("audit", "reference")):
        laws = judges.pool("open, effects", 3, 2, seed=seed, size=12).laws
        tensor = judges.tensor(laws, 4, stream(seed, "commands"))
        for i in range(12):
            for k in range(3):
                for o, order in enumerate(("AB", "BA")):
                    lines += [
                        f"{judge},{layer},i{i},p{k},{order},{r},{tensor.verdicts[code]}"
                        for r, code in enumerate(tensor.ranked[i, k, o])
                    ]
    path = tmp_path_factory.mktemp("table") / "calls.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def asked(table, capsys):
    """Run a command on the table; return the document of judge `a`, or of all."""

    def ask(command, *words, source=table, judge="a"):
        code, out, err = run(capsys, command, source, *words, "--json", "-")
        assert code == 0, err
        found = json.loads(out)["judges"]
        return found if judge is None else found[judge]

    return ask


def figure(command, found):
    return found["score"]["estimate"] if command == "score" else found["prompts"][0]["call"]


@pytest.mark.parametrize("command", ["advise", "score"])
def test_flags_say_which_calls_are_read(command, table, asked, capsys, tmp_path):
    assert set(asked(command, judge=None)) == {"a", "b"}
    assert set(asked(command, "--judge", "a", judge=None)) == {"a"}
    whole = figure(command, asked(command))
    assert figure(command, asked(command, "--layer", "reference")) != whole
    renamed = tmp_path / "renamed.csv"
    renamed.write_text(table.read_text().replace("verdict\n", "winner\n", 1))
    named = ("--columns", "verdict=winner")
    assert figure(command, asked(command, *named, source=renamed)) == whole
    wide = ("--verdicts", "candidate_1,candidate_2,tie,invalid")
    assert figure(command, asked(command, *wide)) == whole
    holed = tmp_path / "holed.csv"
    rows = table.read_text().splitlines()
    gone = [row for row in rows if not row.startswith("a,audit,i0,p0,AB,")]
    holed.write_text("\n".join(gone) + "\n")
    assert run(capsys, command, holed)[0] == 2
    assert figure(command, asked(command, "--incomplete", "drop", source=holed)) != whole


def test_repeats_and_design_of_advice(asked):
    whole = asked("advise")
    assert figure("advise", asked("advise", "--repeats", 2)) != figure("advise", whole)
    drawn = asked("advise", "--design", "sampled")["protocols"]
    (once,) = [p for p in drawn if (p["prompts"], p["orders"], p["calls"]) == ("drawn:1", "one", 1)]
    assert once["stability"]["low"] is None


def test_the_design_of_a_score_widens_it(asked):
    census, sampled = (asked("score", "--design", d)["score"] for d in ("census", "sampled"))
    assert census["estimate"] == sampled["estimate"]
    assert census["low"] != sampled["low"]


def test_targets_protocols_gold_price_and_seed(asked, capsys, table):
    found = asked("advise", "--target", "stability=0.2")
    assert found["target"]["met"]
    assert found["target"]["protocol"]["calls"] >= 1
    assert run(capsys, "advise", table, "--target", "stability=0.999")[0] == 0
    words = ("--protocol", "all both 1 tie", "--protocol", "drawn:2 consistent 1 tie")
    listed = asked("advise", *words)["protocols"]
    assert [p["prompts"] for p in listed] == ["all", "drawn:2"]
    right = asked("advise", "--gold", "candidate_1")
    assert right["prompts"][0]["accuracy"] is not None
    priced = asked("advise", "--price", "0.01")["protocols"]
    assert all(p["cost"] == pytest.approx(0.01 * p["calls"]) for p in priced)
    pooled = [p["stability"] for p in found["protocols"] if p["prompts"] == "all"]
    again = [p["stability"] for p in asked("advise")["protocols"] if p["prompts"] == "all"]
    other = [
        p["stability"] for p in asked("advise", "--seed", 5)["protocols"] if p["prompts"] == "all"
    ]
    assert pooled == again != other
    assert run(capsys, "advise", table, "--gold", "nobody")[0] == 2


def test_protocols_values_and_differences_of_a_score(asked, capsys, table):
    words = ("--prompts", 1, "--orders", 1, "--repeats", 2, "--items", 500, "--draw", "item")
    protocol = asked("score", *words)["protocol"]
    assert {key: protocol[key] for key in ("prompts", "orders", "repeats", "items", "draw")} == {
        "prompts": 1,
        "orders": 1,
        "repeats": 2,
        "items": 500,
        "draw": "item",
    }
    assert protocol["calls"] == 1_000
    worth = ("--value", "candidate_1=3", "--value", "candidate_2=0", "--value", "tie=0")
    found = asked("score", *worth, "--value", "invalid=0")
    assert found["metric"] == "mean score"
    assert asked("score")["best_repeats"] is None
    dear, cheap = (asked("score", "--item-cost", cost)["best_repeats"] for cost in ("90", "10"))
    assert dear["repeats"] == pytest.approx(3 * cheap["repeats"])
    (wide,) = asked("score", "--difference", "0.2")["differences"]
    (narrow,) = asked("score", "--difference", "0.1")["differences"]
    assert wide["items_needed"] < narrow["items_needed"]
    assert run(capsys, "score", table, "--value", "much")[0] == 2
    assert run(capsys, "score", table, "--by", "nothing")[0] == 2


def test_a_person_reads_the_sentence_first(table, capsys):
    code, out, err = run(capsys, "advise", table, "--judge", "a", "--target", "stability=0.2")
    assert code == 0
    assert not [line for line in err.splitlines() if not line.startswith("advising: ")]
    first, *rest = out.splitlines()
    assert first.startswith("Not checked against right answers yet: ")
    assert "Give the right answer for" in first, "what to do is what the answer says"
    assert "Run again, one call under a prompt drawn each time" in first
    assert "The cheapest way that is shown to reach a stability of 0.2 is" in first
    body = "\n".join(rest)
    assert "lean is to the answer shown first" in body
    assert "forecast" in body
    assert "o" in next(line for line in rest if line.startswith("fixed:p0 one 1 random"))


@pytest.mark.parametrize("command", ["advise", "score"])
def test_the_json_goes_to_a_file(command, table, capsys, tmp_path):
    target = tmp_path / "found.json"
    code, out, _ = run(capsys, command, table, "--json", target)
    assert code == 0
    assert out.startswith("a: ")
    kind = {"advise": "advice"}.get(command, command)
    assert json.loads(target.read_text())["schema"] == f"judgelaw.{kind}/1"
