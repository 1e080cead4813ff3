"""`judgelaw plan`: money, time and width, from a supposed law or a pilot."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import judgelaw as jl
from judgelaw.cli.program import cli
from servers.provider import Provider, say

STUDY = """\
version: 1
name: priced
seed: 1
items: {source: jsonl, path: items.jsonl}
prompts: paper-six
repeats: 4
judges:
  - name: paid
    provider: openai-chat
    base_url: http://127.0.0.1:9/v1
    model: m
    decoding: {temperature: 1.0, max_tokens: 10}
    price: {input_per_mtok: 1.0, output_per_mtok: 2.0}
transport: {concurrency: 4, requests_per_minute: 60}
"""


@pytest.fixture
def study(tmp_path):
    item = {"instruction": "x" * 400, "candidate_1": "a", "candidate_2": "b"}
    lines = [json.dumps({"id": f"i{i}", **item}) for i in range(5)]
    (tmp_path / "items.jsonl").write_text("\n".join(lines))
    path = tmp_path / "study.yaml"
    path.write_text(STUDY)
    return path


def plan(*words):
    return CliRunner().invoke(cli, ["plan", *map(str, words)])


def test_money_and_time_follow_from_the_study(study):
    shown = json.loads(plan(study, "--json", "-").stdout)
    calls = 5 * 6 * 2 * 4
    assert shown["calls"] == calls
    judge = shown["judges"]["paid"]
    assert judge["output_tokens"] == 10 * calls
    assert judge["usd"] == pytest.approx((judge["input_tokens"] + 2 * judge["output_tokens"]) / 1e6)
    assert judge["seconds"] == pytest.approx(calls)
    assert judge["limited_by"] == "requests per minute"


def test_the_price_is_at_most_that_of_the_caps_and_about_that_of_a_pilot(study, tmp_path):
    """The provider counts 100 tokens read and 2 written a call, of 10 that may be."""
    with Provider(say("A", model="m")) as provider:
        text = STUDY.replace("http://127.0.0.1:9/v1", provider.base_url)
        study.write_text(text.replace(", requests_per_minute: 60", ""))
        jl.audit(study, out=tmp_path / "pilot")
    found = jl.plan(study, tmp_path / "pilot")
    calls = 5 * 6 * 2 * 4
    assert found.judges["paid"].expected_usd == pytest.approx(calls * (100 + 2 * 2) / 1e6)
    assert found.judges["paid"].expected_usd < found.judges["paid"].usd
    said = found.in_words()
    assert f"at most ${found.judges['paid'].usd:.2g}, about $0.025," in said
    assert "about $" not in plan(study).stdout


def write_pilot(path, *, items=6, repeats=2, law=(0.25, 0.25, 0.25, 0.25)):
    """Write the calls of a judge without effects."""
    laws = np.tile(law, (items, 6, 2, 1))
    tensor = jl.VerdictTensor.from_laws(laws, repeats=repeats, seed=1)
    rows = ["judge,item,prompt,order,repeat,verdict"]
    for (i, k, o, r), code in np.ndenumerate(tensor.ranked):
        rows.append(f"j,i{i},p{k},o{o},{r},{tensor.verdicts[code]}")
    path.write_text("\n".join(rows))
    return path


def test_widths_are_those_of_studies_simulated_under_the_law(study):
    from judgelaw.decide import outlook_from_law

    shown = json.loads(plan(study, "--law", "0.9,0.05,0.03,0.02", "--json", "-").stdout)
    outlook = outlook_from_law([0.9, 0.05, 0.03, 0.02], prompts=6, orders=2)
    expected = outlook.at("prompt", items=5, repeats=8)
    assert shown["half_widths"]["prompt"]["8"] == expected.half_width
    assert shown["forecast_from"] == "laws"
    assert (shown["assurance"], shown["items"], shown["repeats"]) == (0.8, 5, 4)
    assert shown["half_widths_new_items"] is None
    assert shown["wanted"] is None


def test_a_supposed_law_is_called_a_supposition_and_promises_nothing(study):
    said = plan(study).stdout
    assert "240 calls" in said.splitlines()[0]
    assert "cannot be told without a pilot" in said.splitlines()[0]
    assert "This supposes one law in every cell" in said
    assert "under the supposed law" in said
    refused = plan(study, "--half-width", "0.1", "--new-items")
    assert isinstance(refused.exception, jl.InputError)
    assert "--new-items needs --pilot" in str(refused.exception)


def test_a_sentence_comes_first_and_a_pilot_of_two_repeats_is_named(study, tmp_path):
    said = plan(study, "--pilot", write_pilot(tmp_path / "pilot.csv")).stdout
    assert "or better, with a chance of 80%" in said.splitlines()[0]
    assert "a pilot of 6 items with 2 calls a cell" in said
    assert "for the items asked, 5 items" in said
    assert "for new items like them, 5 items" in said


def test_a_wanted_width_names_the_repeats_and_the_items_that_reach_it(study, tmp_path):
    pilot = write_pilot(tmp_path / "pilot.csv")
    asked = ("--pilot", pilot, "--half-width", "0.03", "--component", "call")
    fixed = json.loads(plan(study, *asked, "--json", "-").stdout)
    wanted = fixed["wanted"]
    assert (wanted["component"], wanted["half_width"]) == ("call", 0.03)
    assert wanted["scope"] == "fixed"
    assert wanted["items"] > 5
    assert wanted["repeats"] > 4
    said = plan(study, *asked, "--new-items").stdout
    assert "call to ±0.03 for new items like them, with a chance of 80%" in said
    assert "on 5 items: not even with 256 repeats" in said


def test_more_assurance_promises_less(study, tmp_path):
    pilot = write_pilot(tmp_path / "pilot.csv")
    low, high = (
        json.loads(plan(study, "--pilot", pilot, "--assurance", a, "--json", "-").stdout)
        for a in ("0.5", "0.95")
    )
    for key in ("half_widths", "half_widths_new_items"):
        for component, widths in low[key].items():
            for depth, width in widths.items():
                assert width <= high[key][component][depth]
    assert low["half_widths"] != high["half_widths"]


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (("--assurance", "0.99"), "assurance = 0.99"),
        (("--half-width", "0"), "half_width = 0"),
        (("--half-width", "0.1", "--component", "x"), "component 'x': it is 'call', 'prompt'"),
    ],
)
def test_impossible_wishes_are_refused(study, words, rule):
    refused = plan(study, *words)
    assert isinstance(refused.exception, jl.InputError)
    assert rule in str(refused.exception)


def test_a_pilot_with_other_prompts_is_said_to_have_them(study, tmp_path):
    study.write_text(STUDY + "orders: {AB: 1.0}\n")
    said = plan(study, "--pilot", write_pilot(tmp_path / "pilot.csv")).stdout
    assert "The pilot has 6 prompts and 2 orders, the study 6 and 1" in said


def test_an_absent_facet_has_no_interval_and_says_why(study):
    assert "none" not in plan(study).stdout
    study.write_text(STUDY + "orders: {AB: 1.0}\n")
    shown = plan(study).stdout
    assert shown.count("none") == 2 * 4
    assert "order: " in shown
    assert "interaction: " in shown
    said = plan(study, "--half-width", "0.1", "--component", "order").stdout
    assert "order will have no interval" in said


@pytest.mark.parametrize("law", ["0.5,0.6", "a,b"])
def test_a_law_that_is_none_is_refused(study, law):
    refused = plan(study, "--law", law)
    assert isinstance(refused.exception, jl.InputError)


def test_a_budget_is_put_into_repeats_or_into_new_items(study, tmp_path):
    pilot = write_pilot(tmp_path / "pilot.csv")
    shown = json.loads(plan(study, "--pilot", pilot, "--budget", "600", "--json", "-").stdout)
    these, new = shown["spending"]["these"], shown["spending"]["new"]
    assert (these["items"], these["repeats"], these["calls"]) == (5, 10, 600)
    assert new["items"] * new["repeats"] * 12 <= 600
    assert new["half_width"] == min(c["half_width"] for c in shown["spending"]["tried"])
    assert these["chance"] is None
    text = study.read_text()
    study.write_text(text + "budget: {calls: 100}\n")
    said = plan(study, "--pilot", pilot).stdout
    assert "What 100 calls of a judge buy for the prompt component" in said
    assert "about these items: not two repeats of every cell" in said
    refused = plan(study, "--budget", "600")
    assert "--budget 600 needs --pilot" in str(refused.exception)
    refused = plan(study, "--pilot", pilot, "--budget", "3")
    assert "two calls in every cell of one item" in str(refused.exception)
