"""A run folder in which any file holds anything: a word and an exit code, and nothing is moved."""

import shutil

import pytest

from judgelaw.cli import main
from judgelaw.errors import IntegrityError
from judgelaw.study import open_run
from servers.study import simulated_judge, write_study

ANYTHING = {
    "nothing": b"",
    "a list": b'[{"x": 1}]',
    "another schema": b'{"schema": 5}',
    "bytes": bytes(range(256)),
    "deep": b"[" * 100_000,
}
FILES = (
    *("manifest.json", "inputs/prompts.json", "inputs/items.jsonl", "inputs/study.yaml"),
    *("analysis.json", "SHA256SUMS", "ledger.sqlite", "calls.parquet", "ledger.json"),
    *(".pending/COMMIT", ".lock"),
)
COMMANDS = ("verify", "status", "analyze")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    study = write_study(folder, [simulated_judge()], items=4, repeats=4)
    for argv in (
        ["run", str(study), "--out", str(folder / "run")],
        ["analyze", str(folder / "run")],
    ):
        assert ended(argv) == 0
    return study, folder / "run"


def ended(argv):
    try:
        main(argv)
    except SystemExit as left:
        return left.code or 0
    return 0


@pytest.mark.parametrize("name", FILES)
def test_whatever_a_file_holds_no_command_crashes(whole, tmp_path, name, capsys):
    study, made = whole
    for what, content in ANYTHING.items():
        run = tmp_path / what.replace(" ", "-")
        shutil.copytree(made, run)
        (run / name).parent.mkdir(exist_ok=True)
        (run / name).write_bytes(content)
        for command in COMMANDS:
            code = ended([*command.split(), str(run)])
            said = capsys.readouterr()
            assert code in (0, 2, 3, 4), (what, command, said.err[-2_000:])
            assert "Traceback" not in said.err
        code = ended(["run", str(study), "--out", str(run)])
        assert code in (0, 2, 3, 4), (what, "run", capsys.readouterr().err[-2_000:])


@pytest.mark.parametrize("place", ["../outside", "a/../../outside", "linked/outside", "{there}"])
def test_a_folder_of_a_stranger_moves_nothing_out_of_itself(whole, tmp_path, place):
    """What a process that died left to be moved is read back: by its names, from anybody."""
    run, there = tmp_path / "run", tmp_path / "outside"
    shutil.copytree(whole[1], run)
    (run / "linked").symlink_to(tmp_path)
    name = place.format(there=there)
    pending = run / ".pending"
    for folder in (pending / "linked", pending / "a"):
        folder.mkdir(parents=True)
    for file in (pending / "linked/outside", run / "outside"):
        file.write_text("planted")
    (pending / "COMMIT").write_text(f'["{name}"]')
    with pytest.raises(IntegrityError, match="names a place outside"):
        open_run(run)
    assert not there.exists()
