"""Runs with several criteria: one reply is paid once, and every answer goes by criterion."""

import json

import pytest

import judgelaw as jl
from judgelaw.acquire import acquire, reparse, with_parser, write_results
from judgelaw.acquire.verify import verify
from judgelaw.cli import program
from judgelaw.ledger import LEDGER_NAME, SqliteView
from judgelaw.runs import RunFolder
from judgelaw.study import freeze, load_study, open_run
from judgelaw.tables import read_tensors
from servers.provider import Provider, say
from servers.study import chat_judge
from support.criteria import ASKED, LAWS, simulated, true_components, write_criteria_study


def acquired(path):
    return acquire(freeze(load_study(path), path.parent / "run")).path


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """A run of two simulated judges whose laws are known."""
    laws = {**LAWS, "safe": {"verdicts": {"safe": 0.6, "unsafe": 0.4}}}
    study = write_criteria_study(
        tmp_path_factory.mktemp("known"),
        [simulated(), simulated("other", laws)],
        items=150,
        repeats=4,
        gold={"helpful": "pass"},
        gate={"invalid": 0.2, "criteria": {"safe": {"call": 0.3}}},
    )
    return acquired(study)


def test_one_reply_with_two_verdicts_is_asked_for_once(tmp_path):
    text = '{"helpful": "yes", "safe": "no"}'
    with Provider(say(text)) as provider:
        judge = chat_judge(provider.base_url, decoding={"max_tokens": 40})
        run = acquired(write_criteria_study(tmp_path, [judge]))
        assert len(provider.seen) == 4 * 2 * 2
    with SqliteView(run / LEDGER_NAME) as view:
        totals = view.totals()
        assert (totals.planned, totals.completed, totals.attempts) == (16, 16, 16)
        assert (totals.input_tokens, totals.output_tokens) == (16 * 100, 16 * 2)
        assert {v.criteria[0][1].verdict for _, v in view.verdicts()} == {"pass"}
    tensors = read_tensors(run)
    assert list(tensors) == [("audit", "chat · helpful"), ("audit", "chat · safe")]
    assert [t.verdicts for t in tensors.values()] == [("pass",), ("unsafe",)]
    assert [int(t.counts.sum()) for t in tensors.values()] == [16, 16]
    assert verify(run).ok


def test_a_missing_criterion_is_invalid_for_that_criterion_only(tmp_path):
    with Provider(say('{"helpful": "yes"}')) as provider:
        run = acquired(write_criteria_study(tmp_path, [chat_judge(provider.base_url)]))
    helpful, safe = read_tensors(run).values()
    assert helpful.verdicts == ("pass",)
    assert safe.verdicts == ("invalid",) or safe.counts[..., :-1].sum() == 0
    with SqliteView(run / LEDGER_NAME) as view:
        ((judge, criterion, _, form, count),) = view.unreadable()
    assert (judge, criterion, form, count) == ("chat", "safe", '{"helpful": "yes"}', 16)


def test_known_laws_come_out_within_four_call_errors_of_each_criterion(known):
    found = jl.analyze(known, permutations=0, draws=100)
    laws = {"sim": LAWS, "other": {**LAWS, "safe": {"verdicts": {"safe": 0.6, "unsafe": 0.4}}}}
    assert set(found.judges) == {f"{j} · {c}" for j in laws for c in LAWS}
    for judge, by_criterion in laws.items():
        for criterion, law in by_criterion.items():
            components = found.judges[f"{judge} · {criterion}"].components
            for name, truth in true_components(law).items():
                c = components[name]
                assert abs(c.estimate - truth) < 4 * c.call_se, (judge, criterion, name)


def test_the_document_has_the_criteria_of_a_judge_under_it(known, capsys):
    assert program._run(["analyze", str(known), "--permutations", "0", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document["judges"]) == {"sim", "other"}
    for place in (document["judges"], document["layers"]["audit"]):
        criteria = place["sim"]["criteria"]
        assert set(criteria) == {"helpful", "safe"}
        assert criteria["safe"]["components"]["call"]["estimate"] == pytest.approx(0.18, abs=0.06)
        assert criteria["safe"]["outcomes"].keys() == {"safe", "unsafe"}
    assert criteria["safe"]["gold_match"] is None
    assert criteria["helpful"]["gold_match"] == pytest.approx(0.6, abs=0.1)


def test_a_gate_goes_by_criterion(known):
    gate = jl.gate(known, {"safe.call": 0.3, "invalid": 0.2})
    rows = {(row["judge"], row["criterion"], row["quantity"]): row for row in gate.records()}
    assert len(rows) == 2 + 4
    assert rows["sim", "safe", "call"]["verdict"] == "pass"
    assert rows["other", "safe", "call"]["verdict"] == "fail"
    assert ("sim", "helpful", "call") not in rows
    assert gate.to_json()["limits"][0]["criterion"] == "helpful"
    assert gate.fail_level == pytest.approx(1 - 0.05 / 6)
    declared = jl.gate(known, criterion="safe", judge="sim")
    assert {d.quantity for d in declared.limits} == {"call", "invalid"}
    with pytest.raises(jl.JudgelawError, match=r"no criterion 'sfe' .did you mean 'safe'"):
        jl.gate(known, {"sfe.call": 0.3})


def test_judges_are_compared_on_one_criterion_at_a_time(known):
    found = jl.compare(known, draws=200)
    assert set(found.criteria) == {"helpful", "safe"}
    assert {(d.a, d.b) for d in found.differences} == {
        ("other · helpful", "sim · helpful"),
        ("other · safe", "sim · safe"),
    }
    assert found.criteria["safe"].keep == ("sim · safe",)
    assert found.to_json()["criteria"]["safe"]["keep"] == ["sim · safe"]
    one = jl.compare(known, criterion="safe", draws=200)
    assert one.judges == ("other · safe", "sim · safe")
    assert "criteria" not in one.to_json()


def test_advice_scores_and_validation_go_by_criterion(known):
    assert set(jl.advise(known, judge="sim").to_json()["judges"]["sim"]["criteria"]) == {
        "helpful",
        "safe",
    }
    scores = jl.score(known, judge="sim")
    assert scores.judges["sim · safe"].score.estimate == pytest.approx(0.9, abs=0.05)
    with pytest.raises(jl.JudgelawError, match="2 criteria, 'helpful', 'safe', and none is named"):
        jl.validate(known, judge="sim")
    found = jl.validate(known, judge="sim", criterion="helpful")
    assert found.agreement.estimate == pytest.approx(0.6, abs=0.1)
    with pytest.raises(jl.JudgelawError, match="no criterion is called 'nice'"):
        jl.analyze(known, criterion="nice")


def test_checks_do_not_take_two_criteria_of_one_reply_for_copies(tmp_path):
    """Both verdicts of a reply come from one draw here, so they go together entirely."""
    text = "import random\ndef ask(call):\n    w = random.Random(call.seed).choice(['yes', 'no'])\n"
    text += '    return \'{"helpful": "%s", "safe": "%s"}\' % (w, w)\n'
    (tmp_path / "one_draw.py").write_text(text)
    same = {name: {"json": name} for name in ("helpful", "safe")}
    judge = {"name": "fn", "provider": "python", "call": "one_draw:ask"}
    run = acquired(write_criteria_study(tmp_path, [judge], items=30, repeats=4, criteria=same))
    helpful, safe = read_tensors(run).values()
    assert (helpful.counts == safe.counts).all()
    found = jl.analyze(run, permutations=0, draws=100)
    assert not [f for f in found.diagnostics if f.verdict == "problem"]


def test_another_rule_reads_one_criterion_again_without_asking(known, tmp_path):
    frozen = open_run(known)
    spec = with_parser(frozen.judges["sim"], "{safe: {json: helpful}}")
    before = (known / "calls.parquet").read_bytes()
    helpful, safe = reparse(frozen, {"sim": spec})
    assert (helpful.judge, safe.judge) == ("sim · helpful", "sim · safe")
    assert (helpful.changes, helpful.read) == ({}, 1200)
    assert sum(safe.changes.values()) > 1000
    assert (known / "calls.parquet").read_bytes() == before
    assert verify(known).ok
    with pytest.raises(jl.JudgelawError, match="reads helpful, safe from one reply"):
        with_parser(frozen.judges["sim"], "first-line")
    with SqliteView(known / LEDGER_NAME) as view:
        parsers = {name: safe.after if name == "sim" else j for name, j in _parsers(frozen).items()}
        write_results(tmp_path / "again.csv", frozen, view, parsers)
    again = read_tensors(tmp_path / "again.csv", judges=["sim"], criteria=["safe"])
    assert {"yes", "no"} <= set(next(iter(again.values())).verdicts)


def _parsers(frozen):
    from judgelaw.wire import parser_name

    return {name: parser_name(spec) for name, spec in frozen.readers.items()}


def test_a_changed_verdict_on_a_criterion_is_found(tmp_path):
    run = acquired(write_criteria_study(tmp_path, [simulated()]))
    import sqlite3

    with sqlite3.connect(run / LEDGER_NAME) as connection:
        connection.execute("DROP TRIGGER criterion_verdicts_are_frozen")
        connection.execute(
            "UPDATE criterion_verdicts SET verdict = 'unsafe', displayed = 'unsafe' "
            "WHERE criterion = 'safe' AND call = (SELECT min(call) FROM criterion_verdicts "
            "WHERE verdict = 'safe')"
        )
    wrong = {check.name for check in verify(run).checks if not check.ok}
    assert {"verdicts", "calls"} <= wrong


def test_each_criterion_may_have_calls_of_its_own(tmp_path):
    criteria = {
        "helpful": {"ask": "Is it helpful?"},
        "safe": {"ask": "Is it safe?", "parser": {"regex": "(safe|unsafe)"}},
    }
    judge = simulated(laws=LAWS, parser={"regex": "(pass|fail)"})
    run = acquired(write_criteria_study(tmp_path, [judge], criteria=criteria, prompts=ASKED))
    frozen = open_run(run)
    assert frozen.count == 2 * 4 * 2 * 2
    bodies = {c.judge for c in frozen.iter_calls()}
    assert bodies == {"sim · helpful", "sim · safe"}
    tensors = read_tensors(run)
    assert [(t.judge, t.criterion) for t in tensors.values()] == [
        ("sim", "helpful"),
        ("sim", "safe"),
    ]
    assert tensors["audit", "sim · safe"].verdicts == ("safe", "unsafe")
    found = jl.analyze(run, permutations=0, draws=100)
    assert set(found.to_json()["judges"]["sim"]["criteria"]) == {"helpful", "safe"}
    assert RunFolder(run).coverage() == {"sim · helpful": 1.0, "sim · safe": 1.0}
    assert verify(run).ok


def test_a_package_of_criteria_checks(tmp_path):
    run = acquired(write_criteria_study(tmp_path, [simulated()], gold={"safe": "safe"}))
    assert program._run(["release", str(run), "-o", str(tmp_path / "package")]) == 0
    assert program._run(["verify", str(tmp_path / "package")]) == 0


def test_the_page_has_a_row_for_each_criterion(known, tmp_path):
    page = jl.report(known, tmp_path / "page.html", permutations=0, draws=100, judge="sim")
    text = page.read_text()
    assert "sim, 2 criteria:" in text
    side_by_side = text.split('data-table="judges"')[1].split("</table>")[0]
    assert "The criteria side by side" in text
    assert "sim · safe" in side_by_side
    assert "order" not in side_by_side.lower(), "single answers have none"
    rows = text.split('data-table="first"')[1].split("</table>")[0]
    assert rows.count("<tr") == 1 + 2
    assert "judges.sim.criteria.safe.components.total.estimate" in text
