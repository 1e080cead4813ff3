"""`judgelaw validate` and `judgelaw watch` as people run them: words, files, exit codes."""

import datetime as dt
import json

import numpy as np
import pytest

from judgelaw.cli import program
from servers.study import simulated_judge, write_study


@pytest.fixture
def ask(capsys):
    """Run a command in this process; return exit code, stdout and stderr."""

    def call(*words):
        capsys.readouterr()
        code = program._run([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


@pytest.fixture
def labels(tmp_path):
    """One verdict and one label a row: TPR .8, TNR .95, and items that nobody labelled."""
    kinds = [
        ("fail", "fail", 40),
        ("pass", "fail", 10),
        ("pass", "pass", 190),
        ("fail", "pass", 10),
    ]
    kinds += [("fail", "", 30), ("pass", "", 70)]
    said = [(v, h) for v, h, n in kinds for _ in range(n)]
    lines = [f"i{i},{v},{h}" for i, (v, h) in enumerate(said)]
    path = tmp_path / "labels.csv"
    path.write_text("\n".join(["id,verdict,label", *lines]) + "\n")
    return path


ITEM = ("--columns", "item=id")


def test_from_file_to_sentence_in_one_command(ask, labels):
    code, out, err = ask("validate", labels, "--human", "label", "--positive", "fail", *ITEM)
    assert (code, err) == (0, "")
    assert out.startswith("Catches 80% (66 to 90) of failures, passes 95% (91 to 98) of good")
    assert "people say" in out
    assert "not corrected: say how the labelled items were chosen" in out


def test_json_to_stdout_is_json_alone(ask, labels):
    words = ("--human", "label", "--positive", "fail", "--labels", "chosen", "--seed", "1")
    code, out, _ = ask("validate", labels, *words, *ITEM, "--json", "-")
    found = json.loads(out)
    assert code == 0
    assert found["pass_rate"]["method"] == "rogan-gladen"
    again = json.loads(ask("validate", labels, *words[:-1], "2", *ITEM, "--json", "-")[1])
    assert again["kappa"]["estimate"] == found["kappa"]["estimate"]
    assert again["kappa"]["low"] != found["kappa"]["low"], "another seed, other draws"


@pytest.mark.parametrize(
    ("limit", "code", "word"),
    [("tnr=0.9", 0, "passed"), ("recall=0.95", 1, "failed"), ("recall=0.8", 7, "inconclusive")],
)
def test_exit_codes_of_limits(ask, labels, limit, code, word):
    asked = ("--human", "label", "--positive", "fail", *ITEM, "--min", limit)
    found, out, _ = ask("validate", labels, *asked)
    assert found == code
    assert f"Gate {word}" in out


def test_labels_that_would_show_a_target(ask, labels):
    asked = ("--human", "label", "--positive", "fail", *ITEM, "--certify", "tnr=0.9")
    code, out, _ = ask("validate", labels, *asked)
    assert code == 0
    assert "to show tnr of pass above 0.9, being 95%: 203 items labelled pass" in out


def test_a_limit_that_is_no_number(ask, labels):
    code, _, err = ask("validate", labels, "--human", "label", *ITEM, "--min", "recall")
    assert code == 2
    assert "write NAME=NUMBER" in err


def test_one_judge_layer_and_date_of_several(ask, tmp_path):
    lines = ["judge,layer,date,item,verdict,human"]
    for judge in "ab":
        for layer in ("audit", "other"):
            for day, right in (("2026-01-01", 0.5), ("2026-01-08", 1.0)):
                for i in range(20):
                    human = "xy"[i % 2]
                    good = right == 1 or i >= 10
                    verdict = human if good and judge == "a" and layer == "audit" else "x"
                    lines.append(f"{judge},{layer},{day},i{i},{verdict},{human}")
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    code, _, err = ask("validate", path)
    assert code == 2
    assert "--judge" in err

    def agreement(*words):
        return json.loads(ask("validate", path, *words, "--json", "-")[1])["agreement"]["estimate"]

    assert agreement("--judge", "a") == 1
    assert agreement("--judge", "b") == 0.5
    assert agreement("--judge", "a", "--layer", "other") == 0.5
    assert agreement("--judge", "a", "--date", "2026-01-01") == 0.75


def test_pages_have_figures(ask, waves, tmp_path):
    scores = tmp_path / "scores.csv"
    lines = [f"i{i},{r},{1 + (i + r) % 5},{1 + i % 5}" for i in range(30) for r in range(3)]
    scores.write_text("\n".join(["item,repeat,verdict,human", *lines]) + "\n")
    people, over = tmp_path / "people.html", tmp_path / "dates.html"
    assert ask("validate", scores, "--report", people)[0] == 0
    text = people.read_text()
    assert text.count("<svg") >= 3
    assert "Error of a majority vote by the number of calls" in text
    assert "mean score of each item against the people" in text
    assert "repeatable" in text
    assert "kappa" in text
    assert ask("watch", waves(6), "--report", over)[0] == 0
    told = over.read_text()
    assert "which alarm at 5.83" in told
    for said in ("no cell changed its law", "5% is the stated rate", "variance of the mean score"):
        assert said in told


@pytest.fixture
def waves(tmp_path):
    """Write weeks of a steady judge, and of one that turns round after `moved` weeks."""

    def write(weeks, moved=99, name="waves.csv"):
        rng = np.random.default_rng(4)
        law = rng.beta(0.5, 0.5, size=30)
        lines = ["when,item,repeat,verdict"]
        for t in range(weeks):
            day = dt.date(2026, 5, 3) + dt.timedelta(days=7 * t)
            for i, p in enumerate(1 - law if t >= moved else law):
                said = ["yes" if x < p else "no" for x in rng.random(3)]
                lines += [f"{day},i{i},{r},{v}" for r, v in enumerate(said)]
        path = tmp_path / name
        path.write_text("\n".join(lines).replace("when", "date") + "\n")
        return path

    return write


def test_exit_codes_of_a_watch(ask, waves):
    code, out, _ = ask("watch", waves(6))
    assert code == 0
    assert out.startswith("No move of the judge is shown since 3 May 2026")
    code, out, _ = ask("watch", waves(6, moved=4))
    assert code == 1
    assert "ALARM" in out
    code, out, _ = ask("watch", waves(1))
    assert code == 7
    assert "one date only" in out


def test_what_a_watch_is_told(ask, waves, tmp_path):
    path = waves(5)
    found = json.loads(ask("watch", path, "--looks", "12", "--json", "-")[1])
    assert (found["looks"], found["threshold"]) == (12, 4.07)
    no = json.loads(ask("watch", path, "--positive", "no", "--json", "-")[1])
    first, turned = found["dates"][0]["shift"], no["dates"][0]["shift"]
    assert turned["estimate"] == pytest.approx(-first["estimate"])
    other = json.loads(ask("watch", path, "--seed", "1", "--json", "-")[1])
    assert other["dates"][0]["p"] != found["dates"][0]["p"]
    few = json.loads(ask("watch", path, "--permutations", "99", "--json", "-")[1])
    assert few["dates"][0]["p"] != found["dates"][0]["p"]
    named = tmp_path / "named.csv"
    named.write_text(path.read_text().replace("date,item", "day_asked,item"))
    mapped = ask("watch", named, "--columns", "date=day_asked", "--looks", "12", "--json", "-")
    assert json.loads(mapped[1])["dates"] == found["dates"]


def test_a_watch_of_one_judge_and_layer_with_labels(ask, tmp_path):
    rng = np.random.default_rng(2)
    lines = ["judge,layer,date,item,repeat,verdict,people"]
    for judge in "ab":
        for layer in ("audit", "other"):
            for day, tag in (("2026-01-01", "s"), ("2026-01-08", "t")):
                anchors = [(f"k{i}", "yes" if i < 20 else "no") for i in range(40)]
                for item, human in [*anchors, *((f"{tag}{i}", "") for i in range(20))]:
                    p = {"yes": 0.9, "no": 0.1}.get(human, 0.5)
                    verdict = "yes" if rng.random() < p else "no"
                    lines.append(f"{judge},{layer},{day},{item},0,{verdict},{human}")
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    assert ask("watch", path)[0] == 2
    words = ("--judge", "a", "--layer", "other", "--human", "people", "--json", "-")
    found = json.loads(ask("watch", path, *words)[1])
    assert found["system"]["anchors"] == 40
    assert found["system"]["items"] == [20, 20]


def test_a_report_holds_judges_against_their_gold(ask, tmp_path):
    study = write_study(tmp_path, [simulated_judge()], items=8, repeats=3)
    run = tmp_path / "run"
    assert ask("run", study, "--out", run)[0] == 0
    assert ask("report", run, "--draws", "50", "--permutations", "0")[0] == 0
    page = (run / "report.html").read_text()
    assert "Against the labels" in page
    assert "Error of a majority vote by the number of calls" in page


def test_a_study_is_asked_again_on_a_later_date(ask, tmp_path):
    study = write_study(tmp_path, [simulated_judge()], items=8, repeats=2)
    run = tmp_path / "run"
    for date in ("2026-11-02", "2026-11-09"):
        assert ask("run", study, "--out", run, "--date", date)[0] == 0
    assert ask("verify", run)[0] == 0
    code, out, _ = ask("watch", run, "--json", "-")
    assert code == 0
    assert [one["date"] for one in json.loads(out)["dates"]] == ["2026-11-09"]
    code, _, err = ask("run", study, "--out", run, "--date", "2026-11-03")
    assert code == 2
    assert "waves go forward in time" in err
