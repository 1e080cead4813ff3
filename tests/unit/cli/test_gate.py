"""`judgelaw gate`: exit codes, JUnit XML, Markdown, JSON."""

import json
from xml.etree import ElementTree as ET

import pytest

from judgelaw.cli import main
from judgelaw.worlds import World
from support.streams import drawn


def run(capsys, *argv):
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in argv])
    captured = capsys.readouterr()
    return stop.value.code or 0, captured.out, captured.err


@pytest.fixture
def table(tmp_path):
    """Prompt .02, order 0, no ties, no invalid output; a judge's name that XML must escape."""
    world = World.from_effects(base=(0.5, 0.5, 0.0, 0.0), prompt=0.02)
    tensor = drawn(world=world, items=20, repeats=4)
    lines = ["judge,item,prompt,order,repeat,verdict"]
    for i, item in enumerate(tensor.items):
        for k, prompt in enumerate(tensor.prompts):
            for o, order in enumerate(tensor.orders):
                for r, code in enumerate(tensor.ranked[i, k, o]):
                    lines.append(f'"a <b> | c",{item},{prompt},{order},{r},{tensor.verdicts[code]}')
    path = tmp_path / "calls.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (("--max", "prompt=0.5", "--max", "invalid=0.05", "--min", "coverage=1"), 0),
        (("--max", "call=0.1"), 1),
        (("--max", "prompt=0.5", "--max", "call=0.1"), 1),
        (("--max", "prompt=0.02"), 7),
        (("--max", "prompt=0.02", "--on-inconclusive", "fail"), 1),
        (("--max", "prompt=0.02", "--on-inconclusive", "pass"), 0),
        (("--max", "call=0.1", "--on-inconclusive", "pass"), 1),
        (("--max", "prompt"), 2),
        (("--max", "colour=0.1"), 2),
        ((), 2),
    ],
)
def test_exit_codes(table, capsys, limits, code):
    assert run(capsys, "gate", table, *limits)[0] == code


def test_json_has_verdict_and_limits(table, capsys):
    code, out, _ = run(capsys, "gate", table, "--max", "prompt=0.5", "--json", "-")
    document = json.loads(out)
    assert code == 0
    assert document["verdict"] == "pass"
    (limit,) = document["limits"]
    assert limit["quantity"] == "prompt"
    assert limit["upper"] < 0.5


def test_new_items_are_another_question(table, capsys):
    bounds = {}
    for scope in ("--fixed", "--new-items"):
        _, out, _ = run(capsys, "gate", table, "--max", "prompt=0.5", scope, "--json", "-")
        (limit,) = json.loads(out)["limits"]
        bounds[scope] = limit["upper"]
        assert ("new items" in limit["covers"]) == (scope == "--new-items")
    assert bounds["--fixed"] != bounds["--new-items"]


def test_strict_supposes_an_unseen_item_as_bad_as_can_be(table, capsys):
    """The interaction is spread over the items: without the option its bound trusts the sample."""
    uppers = []
    for strict in ((), ("--strict",)):
        command = ("gate", table, "--max", "interaction=0.5", "--new-items", *strict)
        _, out, _ = run(capsys, *command, "--json", "-")
        (limit,) = json.loads(out)["limits"]
        uppers.append(limit["upper"])
    assert uppers[0] < uppers[1] < 0.5


@pytest.mark.parametrize(("choice", "found"), [(None, (2, 0)), ("pass", (1, 1))])
def test_junit_tells_failed_from_undecided(table, capsys, tmp_path, choice, found):
    failures, skipped = found
    target = tmp_path / "gate.xml"
    limits = ("--max", "prompt=0.02", "--max", "call=0.1", "--max", "order=0.5")
    option = () if choice is None else ("--on-inconclusive", choice)
    run(capsys, "gate", table, *limits, *option, "--junit", target)
    suite = ET.fromstring(target.read_text(encoding="utf-8"))  # noqa: S314 - our own file
    assert suite.attrib["tests"] == "3"
    assert suite.attrib["failures"] == str(failures)
    assert suite.attrib["skipped"] == str(skipped)
    cases = suite.findall("testcase")
    assert {c.attrib["classname"] for c in cases} == {"a <b> | c"}
    assert len(suite.findall("testcase/failure")) == failures
    assert "call < 0.1 failed" in suite.find("testcase/failure[@type='fail']").attrib["message"]


def test_the_summary_is_added_to_and_escaped(table, capsys, tmp_path):
    target = tmp_path / "summary.md"
    target.write_text("# before\n", encoding="utf-8")
    run(capsys, "gate", table, "--max", "prompt=0.02", "--summary", target)
    text = target.read_text(encoding="utf-8")
    assert text.startswith("# before\n### judgelaw gate: inconclusive\n")
    assert "| a &lt;b> \\| c | prompt &lt; 0.02 |" in text


def test_a_file_that_cannot_be_written_is_an_error(table, capsys, tmp_path):
    target = tmp_path / "no" / "such" / "folder.xml"
    code, _, err = run(capsys, "gate", table, "--max", "prompt=0.5", "--junit", target)
    assert code == 2
    assert "cannot write" in err


def test_the_verdict_comes_first(table, capsys):
    _, out, _ = run(capsys, "gate", table, "--max", "prompt=0.02", "--max", "order=0.5")
    assert out.splitlines()[0] == "Gate inconclusive: 1 of 2 limits kept, for these items."


def test_the_levels_of_pass_and_failure_are_said(table, capsys, tmp_path):
    """Five limits: each is passed at 95%, and failed at 99%, on the terminal and in the summary."""
    target = tmp_path / "summary.md"
    names = ("call", "prompt", "order", "interaction", "total")
    limits = [word for name in names for word in ("--max", f"{name}=0.5")]
    _, out, _ = run(capsys, "gate", table, *limits, "--new-items", "--summary", target)
    words = (
        "those that pass a limit at 95% each, since all must pass; those that fail one at 99%, so "
        "that the gate fails by chance, where all 5 are kept, in 5 of 100 cases at most."
    )
    assert words in out
    assert words in target.read_text()
    assert "For items like these." in target.read_text()
    _, out, _ = run(capsys, "gate", table, "--max", "prompt=0.02", "--level", "0.9")
    assert "The bounds are one-sided, each at 90%." in out
