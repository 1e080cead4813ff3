"""What could not be read: counted, shown by its forms, and read again by a rule that is adopted."""

import json

import pytest

from judgelaw.acquire import acquire
from judgelaw.acquire.verify import verify
from judgelaw.cli import main
from judgelaw.errors import JudgeFunctionError, StudyError
from judgelaw.ledger import LEDGER_NAME, SqliteView
from judgelaw.runs import Run, audit_study
from judgelaw.study import freeze, load_study, open_run
from judgelaw.wire import parser_name
from servers.study import frozen_study, write_study

JUDGE = {"name": "fn", "provider": "python", "seed": "sent"}


def wordy(call):
    return ["My verdict is A.", "My verdict is A.", "I cannot say"][call.seed % 3]


@pytest.fixture
def judgelaw(capsys):
    def run(*argv):
        with pytest.raises(SystemExit) as stop:
            main([str(each) for each in argv])
        captured = capsys.readouterr()
        return stop.value.code or 0, captured.out, captured.err

    return run


@pytest.fixture
def run(tmp_path):
    frozen = frozen_study(tmp_path, [JUDGE], items=4, repeats=4)
    acquire(frozen, functions={"fn": wordy}).raise_if_open()
    return frozen.path


def test_status_counts_what_could_not_be_read_and_shows_its_forms(judgelaw, run):
    _, out, _ = judgelaw("status", run, "--json", "-")
    found = json.loads(out)["judges"]["fn"]["unreadable"]
    assert found["count"] == 64
    assert [form["form"] for form in found["forms"]] == ["My verdict is A.", "I cannot say"]
    assert sum(form["count"] for form in found["forms"]) == 64
    _, _, said = judgelaw("status", run)
    told = "no label was found in 64 replies, most often 'My verdict is A.'"
    assert told in " ".join(said.split())


def test_what_failed_is_said_where_the_run_ends_and_by_status(judgelaw, tmp_path):
    """Whoever forgot a `return` reads so, with file and line, and need not open the ledger."""

    def forgets(call):
        """Return nothing."""

    transport = {"attempts": 1, "backoff_s": 0.001}
    frozen = frozen_study(tmp_path, [JUDGE], items=2, repeats=2, transport=transport)
    with pytest.raises(JudgeFunctionError, match=r"test_reading_replies\.py.*returned None"):
        acquire(frozen, functions={"fn": forgets}).raise_if_open()
    _, out, _ = judgelaw("status", frozen.path, "--json", "-")
    found = json.loads(out)["judges"]["fn"]["failure_words"]
    assert 0 < sum(each["count"] for each in found) <= json.loads(out)["failed"]
    assert any("it returned None" in each["words"] for each in found)
    _, _, said = judgelaw("status", frozen.path)
    assert "test_reading_replies.py" in said
    assert "it returned None" in " ".join(said.split())


def test_the_analysis_names_the_forms(run):
    analysis = Run(run).analysis(permutations=0, draws=50)
    (finding,) = [each for each in analysis.diagnostics if each.name == "unreadable"]
    assert "'My verdict is A.'" in finding.headline
    assert "--adopt" in finding.advice
    assert finding.rows[0][0] == "My verdict is A."
    assert "My verdict is A." in json.dumps(analysis.to_json())


def test_an_adopted_parser_is_the_runs_own_and_both_are_kept(judgelaw, run):
    rule = r"regex:verdict is (?P<verdict>\w+)"
    code, out, _ = judgelaw("reparse", run, "--parser", rule, "--json", "-")
    assert code == 0
    assert Run(run).status.invalid == 64, "nothing is adopted unasked"
    code, out, _ = judgelaw("reparse", run, "--parser", rule, "--adopt", "--json", "-")
    told = json.loads(out)["judges"]["fn"]
    assert code == 0
    status = Run(run).status
    assert 0 < status.invalid < 64
    with SqliteView(run / LEDGER_NAME) as view:
        assert {v.parser for _, v in view.verdicts()} == {told["before"], told["after"]}
    frozen = open_run(run)
    assert frozen.judges["fn"].parser == "first-line", "what was frozen stays"
    found = verify(run)
    assert found.ok, [c for c in found.checks if not c.ok]
    counts = Run(run).tensors()["audit", "fn"].counts.sum(axis=(0, 1, 2))
    assert counts[3] == status.invalid
    _, out, _ = judgelaw("status", run, "--json", "-")
    assert json.loads(out)["judges"]["fn"]["unreadable"]["count"] == status.invalid


def test_a_run_goes_on_under_the_parser_that_it_adopted(judgelaw, tmp_path):
    study = write_study(tmp_path, [JUDGE], items=2, repeats=2)
    run = tmp_path / "run"
    frozen = freeze(load_study(study), run)
    acquire(frozen, functions={"fn": wordy}).raise_if_open()
    judgelaw("reparse", run, "--parser", "regex:verdict is ([AB])", "--adopt")
    judgelaw("extend", run, "--repeats", "4")
    acquire(open_run(run), functions={"fn": wordy}).raise_if_open()
    status = Run(run).status
    assert status.completed == 32
    assert 0 < status.invalid < 32
    assert verify(run).ok


def test_a_probe_of_several_cells_says_what_could_be_read(judgelaw, tmp_path):
    (tmp_path / "probed.py").write_text(
        "def ask(call):\n    return ['A', 'My verdict is A.'][call.order == 'BA']\n"
    )
    study = write_study(tmp_path, [{**JUDGE, "call": "probed:ask"}], items=6)
    code, out, _ = judgelaw("check", study, "--probe", "6", "--json", "-")
    found = json.loads(out)
    assert code == 0
    assert len(found["probes"]) == 6
    (form,) = found["unreadable"]["fn"]
    assert form["form"] == "My verdict is A."
    assert 1 <= form["count"] <= 5
    _, out, _ = judgelaw("check", study, "--probe", "6")
    assert "replies could not be read, most often 'My verdict is A.'" in " ".join(out.split())
    code, out, _ = judgelaw("check", study, "--probe", "--json", "-")
    assert len(json.loads(out)["probes"]) == 1


@pytest.mark.parametrize("rule", ["regex:verdict is ([AB])", "{regex: 'verdict is ([AB])'}"])
def test_one_grammar_reads_alike_in_a_study_and_in_another_reading(judgelaw, tmp_path, run, rule):
    study = write_study(tmp_path / "other", [{**JUDGE, "parser": rule}], items=4, repeats=4)
    if rule.startswith("{"):
        text = study.read_text().replace(f'"{rule}"', '{"regex": "verdict is ([AB])"}')
        study.write_text(text)
    audited = audit_study(study, judge=wordy)
    judgelaw("reparse", run, "--parser", rule, "--adopt")
    there = Run(run).tensors()["audit", "fn"].counts
    assert (Run(audited.run).tensors()["audit", "fn"].counts == there).all()


def test_labels_that_are_one_without_case_and_marks_are_refused_with_their_line(tmp_path):
    parser = {"regex": "(.+)", "labels": {"a": "A", "[A]": "B"}}
    study = write_study(tmp_path, [{**JUDGE, "parser": parser}])
    with pytest.raises(StudyError, match=r"study.yaml:\d+: .*are one label where case and marks"):
        load_study(study)
    strict = write_study(tmp_path, [{**JUDGE, "parser": {**parser, "strict": True}}])
    assert load_study(strict).study.judges[0].parser.strict


def test_a_run_that_was_frozen_before_labels_were_forgiven_goes_on_to_the_letter(tmp_path):
    """Its record knows of no `strict`: the same study resumes it, and reads as it did."""
    judge = {**JUDGE, "parser": {"regex": r"verdict is (\w)"}}
    study = write_study(tmp_path, [judge])
    strict = {**JUDGE, "parser": {"regex": r"verdict is (\w)", "strict": True}}
    frozen = freeze(load_study(write_study(tmp_path, [strict])), tmp_path / "run")
    name = parser_name(frozen.judges["fn"])
    record = json.loads((frozen.path / "manifest.json").read_text())
    del record["study"]["judges"][0]["parser"]["strict"]
    (frozen.path / "manifest.json").write_text(json.dumps(record))
    again = freeze(load_study(write_study(tmp_path, [judge])), frozen.path)
    assert study.exists()
    assert again.judges["fn"].parser.strict
    assert parser_name(again.judges["fn"]) == name
    acquire(again, functions={"fn": lambda _: "verdict is a"}).raise_if_open()
    assert Run(frozen.path).status.invalid == 16, "a is not A, to the letter"
