"""`judgelaw plan`: money, time and width, from a supposed law or a pilot."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import judgelaw as jl
from judgelaw.cli._main import cli

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


def test_widths_are_those_of_the_formula(study):
    """Under one law in every cell the forecast is the closed form of plan.forecast_from_laws."""
    from judgelaw.plan import forecast_from_laws

    shown = json.loads(plan(study, "--law", "0.9,0.05,0.03,0.02", "--json", "-").stdout)
    laws = np.tile([0.9, 0.05, 0.03, 0.02], (1, 6, 2, 1))
    expected = forecast_from_laws(laws).at("prompt", repeats=8, items=5)
    assert shown["half_widths"]["prompt"]["8"] == pytest.approx(expected.call_half_width)


def test_a_sentence_comes_first_and_a_pilot_is_named(study, tmp_path):
    first = plan(study).stdout.splitlines()[0]
    assert "240 calls" in first
    assert "known to about ±" in first
    tensor = jl.VerdictTensor.from_laws(np.full((6, 6, 2, 4), 0.25), repeats=4, seed=1)
    rows = ["judge,item,prompt,order,repeat,verdict"]
    for (i, k, o, r), code in np.ndenumerate(tensor.ranked):
        rows.append(f"j,i{i},p{k},o{o},{r},{tensor.verdicts[code]}")
    pilot = tmp_path / "pilot.csv"
    pilot.write_text("\n".join(rows))
    assert "forecast from a pilot" in plan(study, "--pilot", pilot).stdout


def test_depth_two_has_no_interval_and_an_absent_facet_is_not_varied(study):
    shown = plan(study).stdout
    assert shown.count("no interval below 4") == 5
    assert "not varied" not in shown
    study.write_text(STUDY + "orders: {AB: 1.0}\n")
    shown = plan(study).stdout
    assert shown.count("not varied") == 2 * 4
    assert shown.count("no interval below 4") == 3


@pytest.mark.parametrize("law", ["0.5,0.6", "a,b"])
def test_a_law_that_is_none_is_refused(study, law):
    refused = plan(study, "--law", law)
    assert isinstance(refused.exception, jl.InputError)
