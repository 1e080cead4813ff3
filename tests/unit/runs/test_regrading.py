"""`judgelaw regrade`: the recorded prompts of a log, put to its grader again or to others."""

import json
from collections import Counter
from pathlib import Path

import pytest
from aiohttp import web
from click.testing import CliRunner

from judgelaw.cli.program import cli
from judgelaw.errors import InputError
from judgelaw.runs import Run, regrade, regrade_study
from judgelaw.tables.importers import gradings_of
from judgelaw.tensor import VerdictTensor
from servers.provider import Provider, chat_body

IMPORTS = Path(__file__).parents[2] / "fixtures" / "imports"
LOG = IMPORTS / "inspect-graded.eval"


@pytest.fixture
def grader():
    """A grader that passes every third time it is asked a thing, and says so."""
    said = Counter()

    async def grade(seen, _request):
        text = json.loads(seen.body)["messages"][-1]["content"]
        model = json.loads(seen.body)["model"]
        said[model, text] += 1
        letter = "C" if said[model, text] % 3 == 1 else "I"
        number = sum(said.values())
        return web.json_response(chat_body(f"Well.\n\nGRADE: {letter}", model=model, number=number))

    with Provider(act=grade) as server:
        server.said = said
        yield server


def passes(tensor):
    return tensor.verdicts.index("correct")


def test_the_log_s_own_grader_is_asked_what_the_log_recorded(tmp_path, grader):
    found = regrade(LOG, tmp_path / "run", base_url=grader.base_url, repeats=3, concurrency=1)
    recorded = {each.item: each.text for each in gradings_of(LOG)}
    assert {text for _, text in grader.said} == {*recorded.values()}
    assert {model for model, _ in grader.said} == {"grader"}
    run = Run(found.audited.run)
    tensor = VerdictTensor.from_table(run.path)
    assert tensor.items == tuple(sorted(recorded))
    assert tensor.counts.sum() == 3 * len(recorded)
    (judge,) = found.audited.analysis.judges.values()
    assert judge.name == "openai-api/local/grader"
    # Every third time that it is asked a thing, a pass: what it said is the law of the calls.
    agree = [
        (p * (p - 1) + q * (q - 1)) / (3 * 2)
        for item in recorded
        for p in [tensor.counts[tensor.items.index(item), ..., passes(tensor)].sum()]
        for q in [3 - p]
    ]
    assert judge.components["call"].estimate == pytest.approx(1 - sum(agree) / len(agree))
    assert sum(grader.said.values()) == 3 * len(recorded)
    assert int(tensor.counts[..., passes(tensor)].sum()) == sum(
        (n + 2) // 3 for n in grader.said.values()
    )
    assert tensor.clusters is not None
    assert {*judge.outcomes} == {"correct", "incorrect", "partial", "no answer", "invalid"}


def test_it_says_how_often_the_verdict_of_the_log_comes_again(tmp_path, grader):
    found = regrade(LOG, tmp_path / "run", base_url=grader.base_url, repeats=3)
    (agreement,) = found.agreement
    logged = {}
    for each in gradings_of(LOG):
        logged.setdefault(each.item, each.verdict)
    tensor = VerdictTensor.from_table(tmp_path / "run")
    same = sum(
        int(tensor.counts[i, ..., tensor.verdicts.index(logged[item])].sum())
        for i, item in enumerate(tensor.items)
        if logged[item] != "invalid"
    )
    assert (agreement.same, agreement.calls) == (same, 3 * agreement.items)
    assert agreement.share == same / agreement.calls


def test_other_graders_are_asked_about_the_same_answers_and_the_command_resumes(tmp_path, grader):
    args = ["regrade", str(LOG), "--judge", "openai/a", "--judge", "openai/b", "--repeats", "2"]
    args += ["--base-url", grader.base_url, "--out", str(tmp_path / "run")]
    done = CliRunner().invoke(cli, args)
    assert done.exit_code == 0, done.output
    assert {model for model, _ in grader.said} == {"a", "b"}
    assert "openai/a gives the verdict of the log in" in done.output
    asked = sum(grader.said.values())
    assert CliRunner().invoke(cli, args).exit_code == 0
    assert sum(grader.said.values()) == asked


def test_a_plan_asks_nothing_and_names_calls_and_price(grader):
    args = ["regrade", str(LOG), "--plan", "--price", "1,2", "--base-url", grader.base_url]
    done = CliRunner().invoke(cli, args)
    assert done.exit_code == 0, done.output
    answers = len({each.item for each in gradings_of(LOG)})
    assert str(4 * answers) in done.output
    assert "$" in done.output
    assert not grader.said


@pytest.mark.parametrize(
    ("log", "options", "said"),
    [
        ("promptfoo-fresh.json", {}, "logs of promptfoo do not hold the prompts of their graders"),
        ("inspect-pairs.eval", {}, "no scorer recorded what it asked a grader"),
        ("inspect-graded.eval", {"scorer": "nothing"}, "no scorer is called 'nothing'"),
        ("inspect-graded.eval", {"judges": ["gpt"]}, "write PROVIDER/MODEL"),
        ("inspect-graded.eval", {"judges": ["acme/gpt"]}, "give --base-url"),
    ],
)
def test_what_cannot_be_asked_again_is_said(log, options, said):
    with pytest.raises(InputError, match=said):
        regrade_study(IMPORTS / log, **options)
