"""Pipes, devices and designs that nobody could hold: a word at once, and bounded work before it."""

import json
import os
import time

import duckdb
import pytest

from judgelaw.errors import InputError, JudgelawError
from judgelaw.live import label_items, read_labelling
from judgelaw.record_files import read_regular
from judgelaw.study import freeze, load_study, open_run
from judgelaw.study.problems import read_yaml
from servers.study import simulated_judge, write_study

TABLE = (
    *("analyze {}", "import --from csv {} -o out.csv", "report {} -o out.html", "advise {}"),
    *("gate {} --max prompt=0.1", "compare {} {}", "score {}", "validate {} --human h", "watch {}"),
    *("paper {} -o out", "label {} --no-open"),
)
OTHER = ("check {}", "run {}", "plan {}", "simulate custom {}", "verify {}", "view {} --no-open")


@pytest.fixture(params=["pipe", "device"])
def special(tmp_path, request):
    path = tmp_path / "special.csv"
    if request.param == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    return path


BOUNDED = "import resource; resource.setrlimit(resource.RLIMIT_AS, (6 * 2**30, 6 * 2**30))"


@pytest.fixture
def said(tmp_path, fleet):
    """Run a command that must end soon, in little memory; return what it said."""

    def call(*argv):
        process = fleet.start(tmp_path, *argv, first=f"os.chdir({str(tmp_path)!r}); {BOUNDED}")
        assert process.wait() in (2, 3, 4), process.said
        assert "Traceback" not in process.said
        return process.said

    return call


@pytest.mark.parametrize("command", TABLE + OTHER)
def test_no_command_waits_for_what_is_no_file(said, special, command):
    assert said(*(word.format(special.name) for word in command.split())).strip()


PARTS = {
    "items": lambda study: study["items"].update(path="special.csv"),
    "prompts": lambda study: study.update(prompts={"policy": "census", "path": "special.csv"}),
    "template": lambda study: study["judges"][0].update(template={"path": "special.csv"}),
}


@pytest.mark.usefixtures("special")
@pytest.mark.parametrize("part", PARTS)
def test_no_part_of_a_study_is_waited_for(tmp_path, part):
    path = write_study(tmp_path, [simulated_judge()])
    study = json.loads(path.read_text())
    PARTS[part](study)
    path.write_text(json.dumps(study))
    with pytest.raises(JudgelawError):
        freeze(load_study(path), tmp_path / "run")


@pytest.mark.parametrize("name", ["manifest.json", "inputs/prompts.json", "SHA256SUMS"])
def test_no_file_of_a_run_is_waited_for(tmp_path, said, name):
    run = tmp_path / "run"
    freeze(load_study(write_study(tmp_path, [simulated_judge()])), run)
    (run / name).unlink()
    os.mkfifo(run / name)
    if name != "SHA256SUMS":
        with pytest.raises(JudgelawError):
            open_run(run)
    assert said("verify", "run")


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(OSError, match="bytes, where 1,000 may be"):
        read_regular(path, 1_000)


def test_a_hundred_thousand_unknown_keys_are_too_many_at_once():
    text = "version: 1\n" + "".join(f"k{n}: {{a: 1, b: 2}}\n" for n in range(60_000))
    began = time.process_time()
    small = read_yaml(text[: text.index("k1000:")])
    one = time.process_time() - began
    began = time.process_time()
    found = read_yaml(text)
    assert [problem.text for problem in found.problems] == [
        "more than 50,000 keys and values; a study is a small file"
    ]
    assert small.problems == []
    assert time.process_time() - began < 40 * one, "sixty times as much is not read to its end"


def test_a_design_of_the_diagonal_is_refused_before_it_is_laid_out(tmp_path, said):
    """Two prompts an item, of which the next item has one: no prompt is an item's own."""
    with duckdb.connect() as con:
        rows = con.sql(
            "SELECT 'j' AS judge, 'i' || i AS item, 'p' || (i + k) AS prompt, r AS repeat, "
            "'A' AS verdict FROM range(20000) t(i), range(2) u(r), range(2) v(k)"
        )
        rows.write_parquet(str(tmp_path / "diagonal.parquet"))
    words = said("analyze", "diagonal.parquet")
    assert "400,020,000 cells, and calls are in 40,000 of them" in words


def test_a_table_that_no_people_label_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(label_items, "_MOST_ROWS", 100)
    path = tmp_path / "many.csv"
    path.write_text("item,question\n" + "".join(f"i{n},q\n" for n in range(200)))
    with pytest.raises(InputError, match="more than 100 rows, which no people label"):
        read_labelling(path)
