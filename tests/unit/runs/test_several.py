"""Choosing one of several, and crossed prompts, from study to page: a known law comes back."""

import json
import re

import numpy as np
import pytest

import judgelaw as jl
from judgelaw.cli import program
from judgelaw.estimate import decompose_facets, population
from judgelaw.runs.packaging import Contents, release
from servers.several import CROSSED, choosing_study, crossed_study
from servers.study import simulated_judge

FOUR = ["candidate_1", "candidate_2", "candidate_3", "candidate_4", "tie", "invalid"]
CYCLIC = ["ABCD", "BCDA", "CDAB", "DABC"]
ERRORS = 4


def leaning(slot: int) -> dict:
    """A law that likes the first candidate, and what stands in one slot."""
    cells = []
    for order in CYCLIC:
        law = {"candidate_1": 0.4, "candidate_2": 0.2, "candidate_3": 0.1, "candidate_4": 0.05}
        law["invalid"] = 0.05
        shown = f"candidate_{'ABCD'.index(order[slot]) + 1}"
        law[shown] += 0.2
        cells.append({"order": order, "verdicts": law})
    return {"verdicts": cells[0]["verdicts"], "cells": cells}


def laws_of(cells: list[dict], verdicts: list[str]) -> np.ndarray:
    return np.array([[cell["verdicts"].get(v, 0.0) for v in verdicts] for cell in cells])


@pytest.fixture(scope="module")
def chosen(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chosen")
    judges = [simulated_judge(law=leaning(1))]
    study = choosing_study(folder, judges, items=30, repeats=4)
    assert program._run(["audit", str(study), "--out", str(folder / "run")]) == 0
    return folder / "run"


def found_in(run, judge="sim"):
    return json.loads((run / "results" / "analysis.json").read_text())["judges"][judge]


def test_a_known_law_is_recovered_within_four_call_errors(chosen):
    found = found_in(chosen)
    assert list(found["outcomes"]) == FOUR
    laws = np.broadcast_to(laws_of(leaning(1)["cells"], FOUR), (2, 4, 6))
    truth = population(laws)
    for name, component in found["components"].items():
        gap = abs(component["estimate"] - float(truth[name]))
        assert gap <= ERRORS * component["call_se"], name
    assert found["components"]["order"]["call_interval"][0] > 0


def test_the_favoured_slot_is_found(chosen):
    slots = {x["slot"]: x for x in found_in(chosen)["slots"]}
    even = 0.95 / 4
    # Restored, every candidate wins as often in each slot: .75/4, and .2 more in the second.
    for letter, share in zip("ABCD", (0.1875, 0.3875, 0.1875, 0.1875), strict=True):
        half = (slots[letter]["call_interval"][1] - slots[letter]["call_interval"][0]) / 2
        assert abs(slots[letter]["lean"] - (share - even)) <= 1.6 * half  # four errors
    assert slots["B"]["shown"]
    assert slots["B"]["lean"] > 0


def test_the_screen_and_the_page_show_figures_that_fit(chosen, capsys):
    assert program._run(["analyze", str(chosen), "--details"]) == 0
    said = capsys.readouterr().out
    assert "slot B is chosen in" in said
    assert "From an even share" in said
    assert "both orders" not in said
    page = (chosen / "report.html").read_text()
    assert "Which candidate is chosen" in page
    assert "Position bias" in page
    assert "The upper corner pools" not in page
    assert "barycentre" not in page


def test_a_run_verifies_and_reads_its_whole_alphabet(chosen, capsys):
    assert program._run(["verify", str(chosen)]) == 0
    capsys.readouterr()


def test_verdicts_never_given_keep_their_column(tmp_path):
    law = {"verdicts": {"candidate_1": 0.9, "candidate_2": 0.1}}
    study = choosing_study(tmp_path, [simulated_judge(law=law)], items=4)
    assert program._run(["audit", str(study), "--out", str(tmp_path / "run")]) == 0
    assert list(found_in(tmp_path / "run")["outcomes"]) == FOUR


@pytest.mark.parametrize("command", ["advise", "score", "gate", "report"])
def test_other_answers_take_a_run_of_several(chosen, command, tmp_path, capsys):
    extra = {
        "gate": ["--max", "order=0.5"],
        "report": ["-o", str(tmp_path / "r.html")],
    }
    assert program._run([command, str(chosen), *extra.get(command, [])]) == 0
    assert "Traceback" not in capsys.readouterr().err


def crossed_law() -> dict:
    """Laws in which the wrapper matters by itself, and the rubric under one wrapper only."""
    cells = []
    for wrapper in CROSSED["factors"]["wrapper"]:
        for rubric in CROSSED["factors"]["rubric"]:
            first = 0.3 + 0.3 * (wrapper == "xml")
            first -= 0.2 * (wrapper == "plain" and rubric == "kind")
            law = {"candidate_1": first, "candidate_2": 0.9 - first, "tie": 0.1}
            cells.append({"prompt": f"wrapper={wrapper},rubric={rubric}", "verdicts": law})
    return {"verdicts": cells[0]["verdicts"], "cells": cells}


def test_the_factors_of_a_known_law_are_recovered_within_four_call_errors(tmp_path, capsys):
    law = crossed_law()
    study = crossed_study(tmp_path, [simulated_judge(law=law)], items=40, repeats=4)
    asked = ["audit", str(study), "--out", str(tmp_path / "run"), "--details"]
    assert program._run(asked) == 0
    assert "Part of prompt" in capsys.readouterr().out
    found = found_in(tmp_path / "run")
    assert found["factor_levels"]["rubric"] == ["kind", "short", "strict"]
    laws = laws_of(law["cells"], ["candidate_1", "candidate_2", "tie"]).reshape(2, 3, 1, 3)
    # Laws as counts of many calls: what is left of the bias is far below a call error.
    truth = decompose_facets(np.rint(laws * 10**7).astype(int), ("wrapper", "rubric", "order"))
    for name, part in found["factors"].items():
        gap = abs(part["estimate"] - float(truth.components[tuple(name.split(" x "))]))
        assert gap <= ERRORS * part["call_se"], name
    parts = sum(part["estimate"] for part in found["factors"].values())
    assert parts == pytest.approx(found["components"]["prompt"]["estimate"])
    page = (tmp_path / "run" / "report.html").read_text()
    assert "part of the prompt component" in page
    assert "wrapper x rubric" in page


def test_a_release_without_texts_holds_no_candidate(chosen, tmp_path):
    release(chosen, tmp_path / "p", Contents(texts=False))
    items = (tmp_path / "p" / "inputs" / "items.jsonl").read_text()
    assert "i1" in items
    assert not re.search(r"text \d of", items)


def test_a_table_of_several_candidates_is_read_without_its_study(chosen):
    found = jl.analyze(chosen / "calls.parquet", permutations=0, draws=50)
    (judge,) = found.judges.values()
    assert list(judge.outcomes) == FOUR
    assert [slot.slot for slot in judge.slots] == list("ABCD")


def test_a_function_is_shown_a_changed_answer_in_its_item_too(tmp_path):
    """It once got the answer as it was, while its messages held the change."""
    seen = []

    def judge(call):
        seen.append(call)
        return "A"

    study = choosing_study(
        tmp_path,
        [{"name": "fn", "provider": "python"}],
        items=2,
        candidates=3,
        probes=[{"name": "shout", "append": "!!!"}],
    )
    jl.audit(study, judge=judge, out=tmp_path / "run")
    shouted = [call for call in seen if "!!!" in call.text]
    assert len(shouted) == 2 * 2 * 3 * 2 * 3
    for call in shouted:
        texts = [call.item[f"candidate_{letter}"] for letter in "abc"]
        assert sum(text.endswith("!!!") for text in texts) == 1
