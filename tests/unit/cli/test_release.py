"""`judgelaw release` as people call it."""

import json

import pytest

from judgelaw.cli import program
from servers.study import simulated_judge, write_study


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    write_study(folder, [simulated_judge()], items=3, repeats=2)
    assert program._run(["run", str(folder / "study.yaml"), "--out", str(folder / "run")]) == 0
    return folder / "run"


def test_a_package_holds_what_was_asked_for(run, tmp_path, capsys):
    plain, full = tmp_path / "plain", tmp_path / "full"
    assert program._run(["release", str(run), "--out", str(plain)]) == 0
    asked = ["--without-texts", "--times", "--completions", "--json", "-"]
    capsys.readouterr()
    assert program._run(["release", str(run), "-o", str(full), *asked]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "judgelaw.release/1"
    assert "texts of items" in found["left_out"]
    for name in ("timing.parquet", "completions.jsonl.gz"):
        assert name in found["files"]
        assert (full / name).is_file()
        assert not (plain / name).exists()
    texts = [(folder / "inputs/items.jsonl").read_text() for folder in (plain, full)]
    assert ['"instruction":""' in text for text in texts] == [False, True]
    assert program._run(["verify", str(full)]) == 0


def test_a_damaged_package_leaves_with_four(run, tmp_path, capsys):
    assert program._run(["release", str(run), "-o", str(tmp_path / "p")]) == 0
    (tmp_path / "p/README.md").write_text("something else")
    capsys.readouterr()
    assert program._run(["verify", str(tmp_path / "p")]) == 4
    assert "README.md differs from its recorded hash" in capsys.readouterr().out
    assert program._run(["release", str(run), "-o", str(tmp_path / "p")]) == 2
    assert "holds something already" in capsys.readouterr().err
