"""`judgelaw panel`: the first screen, the details, the page, and what is refused."""

import json

import numpy as np
import pytest

from judgelaw.cli import main

JUDGES = ("a", "b", "c")


def run(capsys, *argv):
    with pytest.raises(SystemExit) as stop:
        main([str(x) for x in argv])
    captured = capsys.readouterr()
    return stop.value.code or 0, captured.out, captured.err


def rows(judge, wrong, *, items=240, gold=True):
    """One judge that is settled, and wrong on some items."""
    found = []
    for i in range(items):
        right = f"candidate_{1 + i % 2}"
        verdict = f"candidate_{2 - i % 2}" if i in wrong else right
        found += [
            f"{judge},i{i},{order},{r},{verdict}{',' + right if gold else ''}"
            for order in ("AB", "BA")
            for r in range(2)
        ]
    return found


def write(path, *parts, gold=True):
    head = "judge,item,order,repeat,verdict" + (",gold" if gold else "")
    path.write_text("\n".join([head, *(line for part in parts for line in part)]) + "\n")
    return path


@pytest.fixture
def table(tmp_path):
    parts = [rows(j, range(30 * n, 30 * n + 30)) for n, j in enumerate(JUDGES)]
    return write(tmp_path / "calls.csv", *parts)


def test_the_first_screen_names_what_to_do_and_what_it_costs(table, capsys):
    code, out, _ = run(capsys, "panel", table)
    assert code == 0
    assert "Combine a, b and c" in out
    said = " ".join(out.split())
    assert "88 → 100 right of 100" in said
    assert "1 → 3 calls an item" in said
    assert "same verdicts, 2.2 calls an item for 3" in said
    assert max(map(len, out.splitlines())) <= 80
    assert len(out.splitlines()) <= 20


def test_details_print_every_way_with_its_calls(table, capsys):
    _, out, _ = run(capsys, "panel", table, "--details")
    for said in ("Ways to ask, and their price", "Panels that were tried", "another judge"):
        assert said in out
    assert "a twice, a person where they differ" in out
    assert "Judge" in out


def test_files_of_one_judge_each_are_matched_by_item(tmp_path, table, capsys):
    files = [
        write(tmp_path / f"{j}.csv", rows(j, range(30 * n, 30 * n + 30)))
        for n, j in enumerate(JUDGES)
    ]
    _, together, _ = run(capsys, "panel", table, "--json", "-")
    _, apart, _ = run(capsys, "panel", *files, "--json", "-")
    assert json.loads(apart)["panel"] == json.loads(together)["panel"]


def test_the_page_holds_every_number_that_it_shows(tmp_path, table, capsys):
    page, document = tmp_path / "panel.html", tmp_path / "panel.json"
    code, _, err = run(capsys, "panel", table, "--report", page, "--json", document)
    assert code == 0, err
    html = page.read_text()
    assert "Combine a, b and c" in html
    assert "Ways to ask, and their price" in html
    assert json.loads(document.read_text())["panel"]["word"] == "combine"


def test_of_and_size_say_who_votes(tmp_path, capsys):
    rng = np.random.default_rng(0)
    parts = [rows(j, set(rng.permutation(60)[:9]), items=60) for j in "abcdefgh"]
    table = write(tmp_path / "eight.csv", *parts)
    _, out, _ = run(capsys, "panel", table, "--of", "a,c,e", "--json", "-")
    (tried,) = json.loads(out)["panel"]["panels"]
    assert tried["judges"] == ["a", "c", "e"]
    _, out, _ = run(capsys, "panel", table, "--of", "a,b,c", "--of", "f,g,h", "--json", "-")
    assert len(json.loads(out)["panel"]["panels"]) == 2
    code, _, err = run(capsys, "panel", table, "--size", "3")
    assert code == 2
    assert "56 panels: at most 11" in err
    code, _, err = run(capsys, "panel", table, "--size", "x")
    assert code == 2
    assert "3 or 5" in err


def test_without_right_answers_nothing_is_advised(tmp_path, capsys):
    parts = [rows(j, range(30 * n, 30 * n + 30), gold=False) for n, j in enumerate(JUDGES)]
    table = write(tmp_path / "bare.csv", *parts, gold=False)
    _, out, _ = run(capsys, "panel", table)
    assert "Not checked against right answers yet" in out
    assert "only right answers tell whether a panel helps" in " ".join(out.split())
    assert "→" not in out


def test_ties_need_a_tie_verdict(table, capsys):
    code, _, err = run(capsys, "panel", table, "--ties", "sometimes")
    assert code == 2
    assert "sometimes" in err
