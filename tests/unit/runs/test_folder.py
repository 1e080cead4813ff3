"""A run folder is opened once, whatever is made of it."""

import sqlite3
from collections import Counter
from unittest.mock import patch

import pytest

import judgelaw as jl
from judgelaw.acquire import acquire
from judgelaw.cli import program
from judgelaw.ledger import SqliteView
from judgelaw.runs import RunFolder, analyze_source, folder as folders, read_source, report_page
from judgelaw.study import open_run
from servers.study import frozen_study, simulated_judge

EMPTY = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    frozen = frozen_study(tmp_path_factory.mktemp("opened"), [simulated_judge()], repeats=4)
    acquire(frozen).raise_if_open()
    return frozen.path


@pytest.fixture
def opened():
    """Count the openings of ledgers and frozen studies, and the statements that are run."""
    count = Counter()
    connect, read, rows = sqlite3.connect, open_run, SqliteView._rows

    def counted(name, function):
        def call(*args, **options):
            count[name or args[1]] += 1
            return function(*args, **options)

        return call

    with (
        patch.object(sqlite3, "connect", counted("ledger", connect)),
        patch.object(folders, "open_run", counted("study", read)),
        patch.object(SqliteView, "_rows", counted(None, rows)),
        patch("vl_convert.vegalite_to_svg", return_value=EMPTY),
    ):
        yield count


@pytest.mark.parametrize("command", ["report", "python"])
def test_a_page_opens_ledger_and_study_once_and_runs_no_statement_twice(run, opened, command):
    if command == "report":
        assert program._run(["report", str(run), "--permutations", "0"]) == 0
    else:
        calls = read_source(str(run))
        report_page(analyze_source(calls, permutations=0), calls)
    assert opened["replies"] == 1
    assert opened["flags"] == 1
    assert set(opened.values()) == {1}, opened


def test_a_page_of_an_analysis_made_elsewhere_reads_the_replies_it_shows(run, opened):
    analysis = jl.Run(run).analysis(permutations=0)
    opened.clear()
    calls = read_source(str(run))
    assert report_page(analysis, calls).count("text-0-0") == 1
    assert opened["replies"] == 1


def test_the_ledger_is_closed_with_the_folder(run):
    folder = RunFolder(run)
    assert folder.totals.completed == 32
    view = folder.ledger
    assert view._reader is not None
    del folder
    assert view._reader is None


def test_before_the_first_call_there_is_nothing_to_read(tmp_path):
    folder = RunFolder(frozen_study(tmp_path, [simulated_judge()]).path)
    assert folder.ledger is None
    assert folder.totals is None
    assert folder.coverage() == folder.flags == folder.completions(None) == folder.checks() == {}
    assert folder.integrity() == [("Frozen manifest", "16 calls")]


def test_a_title_that_is_asked_for_is_that_of_the_page(run, tmp_path):
    with patch("vl_convert.vegalite_to_svg", return_value=EMPTY):
        for name, options in (("own", ["--title", "Mine"]), ("usual", [])):
            target = ["-o", str(tmp_path / name), "--permutations", "0"]
            assert program._run(["report", str(run), *target, *options]) == 0
    assert "<title>Mine" in (tmp_path / "own").read_text()
    assert f"<title>{jl.Run(run).name}" in (tmp_path / "usual").read_text()
