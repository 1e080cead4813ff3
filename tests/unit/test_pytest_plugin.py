"""The pytest plugin: limits by the rule of the gate; tests of others are left alone."""

import json
import shutil
import subprocess
import sys

import pytest
import scipy.stats  # noqa: F401 - an inner pytest forgets what it imported; NumPy loads only once

import judgelaw.page.ci_summary
import judgelaw.runs.answers  # noqa: F401 - same
from judgelaw.streams import stream
from judgelaw.tables import read_tensor, write_calls
from judgelaw.uncertainty import Limit, check_limits

pytest_plugins = ["pytester"]

K, ITEMS = 3, 30


def write_table(path, *, prompt_effect, repeats):
    """Write calls of a judge whose first prompt moves the law by a known amount."""
    rng = stream(7, "plugin", str(prompt_effect))
    columns = {name: [] for name in ("judge", "item", "prompt", "order", "repeat", "verdict")}
    for item in range(ITEMS):
        for prompt in range(K):
            p = 0.5 + prompt_effect * (prompt == 0)
            for order in ("AB", "BA"):
                for repeat, u in enumerate(rng.random(repeats)):
                    row = ("j", f"i{item}", f"p{prompt}", order, repeat)
                    verdict = "candidate_1" if u < p else "candidate_2"
                    for name, value in zip(columns, (*row, verdict), strict=True):
                        columns[name].append(value)
    write_calls(path, columns)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Write the calls of a steady judge, and of one that a prompt drives."""
    folder = tmp_path_factory.mktemp("tables")
    write_table(folder / "steady.parquet", prompt_effect=0.0, repeats=8)
    write_table(folder / "driven.parquet", prompt_effect=0.45, repeats=8)
    return folder


@pytest.fixture
def project(pytester, monkeypatch, tables):
    """Make a project that holds both tables."""
    # As others have it: loaded by name, whether or not the entry point is installed here.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for table in tables.iterdir():
        shutil.copy(table, pytester.path)
    return pytester


def run(project, source, *options):
    project.makepyfile(f"import pytest\n{source}")
    return project.runpytest_inprocess(
        "-p",
        "judgelaw.pytest_plugin",
        "-p",
        "no:cacheprovider",
        "--strict-markers",
        "-rx",
        *options,
    )


def marked(text, body="pass"):
    return f"@pytest.mark.judgelaw({text})\ndef test_judge():\n    {body}\n"


def test_a_kept_limit_lets_the_test_run(project):
    body = "open('ran', 'w').close()"
    result = run(project, marked("source='steady.parquet', max={'prompt': 0.05}", body))
    result.assert_outcomes(passed=1)
    assert (project.path / "ran").exists()


def test_a_broken_limit_fails_the_test_with_the_gate_s_words_and_no_traceback(project):
    result = run(project, marked("'driven.parquet', max={'prompt': 0.02}", "assert 0, 'ran'"))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*judgelaw gate failed*", "*j: prompt < 0.02 failed, at 0.0*"])
    result.stdout.no_fnmatch_line("*assert 0*")


def test_an_open_limit_is_an_expected_failure_that_says_so(project):
    tensor = read_tensor(project.path / "driven.parquet")
    asked = [Limit(quantity="prompt", side="max", value=0.09)]
    decided = check_limits({"j": tensor}, asked).limits[0]
    assert decided.verdict == "inconclusive", "the case below needs an open limit"
    limit = "'driven.parquet', max={'prompt': 0.09}"
    result = run(project, marked(limit))
    result.assert_outcomes(xfailed=1)
    result.stdout.fnmatch_lines(["*judgelaw gate inconclusive: j: prompt < 0.09 inconclusive*"])
    run(project, marked(f"{limit}, on_inconclusive='fail'")).assert_outcomes(failed=1)
    run(project, marked(f"{limit}, on_inconclusive='pass'")).assert_outcomes(passed=1)


def test_every_marker_counts(project):
    two = "@pytest.mark.judgelaw('steady.parquet', max={'prompt': 0.05})\n"
    run(project, two + marked("'driven.parquet', max={'prompt': 0.02}")).assert_outcomes(failed=1)


def test_unittest_cases_are_held_to_their_limits_as_well(project):
    result = run(
        project,
        "import unittest\n"
        "@pytest.mark.judgelaw('driven.parquet', max={'prompt': 0.02})\n"
        "class TestJudge(unittest.TestCase):\n"
        "    def test_judge(self): pass\n",
    )
    result.assert_outcomes(failed=1)


def test_the_fixture_reads_gates_and_estimates(project):
    result = run(
        project,
        "def test_judge(judgelaw_audit):\n"
        "    audit = judgelaw_audit('steady.parquet', judge='j', repeats=4)\n"
        "    report = audit.require(max={'prompt': 0.1}, min={'coverage': 0.9}, new_items=True)\n"
        "    assert {d.quantity for d in report.limits} == {'prompt', 'coverage'}\n"
        "    found = audit.estimates()\n"
        "    parts = [found[n] for n in ('call', 'prompt', 'order', 'interaction')]\n"
        "    assert found['total'] == pytest.approx(sum(parts))\n"
        "def test_unknown(judgelaw_audit):\n"
        "    with pytest.raises(ValueError, match=\"no judge 'x': there are j\"):\n"
        "        judgelaw_audit('steady.parquet').estimates('x')\n",
    )
    result.assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("'none.parquet', max={'prompt': 0.1}", "judgelaw: *none.parquet*no such file*"),
        ("'steady.parquet', max={'prompts': 0.1}", "judgelaw: no limit --max prompts*"),
        ("'steady.parquet'", "judgelaw: no limit: a gate needs one*"),
        ("'steady.parquet', max={'call': 1}, on_inconclusive='x'", "*on_inconclusive='x': say*"),
        ("max={'prompt': 0.1}", "@pytest.mark.judgelaw:*source*"),
        ("'steady.parquet', limit=1", "@pytest.mark.judgelaw:*limit*"),
    ],
)
def test_mistakes_fail_the_test_in_one_message(project, text, words):
    result = run(project, marked(text))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([words])


def test_the_marker_is_declared(project):
    result = run(project, "", "--markers")
    result.stdout.fnmatch_lines(["@pytest.mark.judgelaw(source, max={}*"])


def test_loading_it_imports_nothing_heavy():
    """Every pytest run of everybody who has judgelaw installed loads the plugin."""
    heavy = ["numpy", "scipy", "duckdb", "click", "pydantic", "aiohttp", "altair"]
    code = (
        "import json, sys, judgelaw.pytest_plugin;"
        f"print(json.dumps([m for m in {heavy} if m in sys.modules]))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    assert json.loads(out) == []


def test_unmarked_tests_run_as_if_it_were_not_there(project):
    source = (
        "import sys\n"
        "def test_plain(): assert 'judgelaw.runs.answers' not in sys.modules\n"
        "@pytest.mark.xfail\n"
        "def test_xfail(): assert 0\n"
        "def test_fail(): assert 0\n"
    )
    project.makepyfile(source.replace("import sys", "import pytest, sys"))
    result = project.runpytest_subprocess("-p", "judgelaw.pytest_plugin", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, xfailed=1, failed=1)
