"""What type checkers of users say: the public names are typed, and wrong use is found."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import judgelaw

FILE = Path(__file__).parent / "front_door.py"
SRC = Path(judgelaw.__file__).parents[1]

WRONG = '''
import judgelaw as jl

jl.gate("calls.csv", {"prompt": "low"})
jl.analyze("calls.csv", design="survey")
jl.analyze("calls.csv", jugde="a")
text: str = jl.decompose([[[[2, 0]]]]).macro().prompt
jl.nothing
'''


def mypy(path: Path, folder: Path) -> list[str]:
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary"]
    command += ["--config-file", "", "--cache-dir", str(folder), str(path)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={"MYPYPATH": str(SRC), "PATH": ""},
    )
    assert done.returncode in (0, 1), done.stderr
    return [line for line in done.stdout.splitlines() if path.name in line]


def pyright(path: Path, folder: Path) -> list[str]:
    """Run Pyright as basedpyright ships it: whole in a wheel, with nothing to download."""
    (folder / "pyrightconfig.json").write_text(
        json.dumps(
            {
                "include": [str(path)],
                "extraPaths": [str(SRC)],
                "typeCheckingMode": "strict",
                "pythonVersion": "3.11",
                "reportUnknownMemberType": False,  # numpy's own
            }
        )
    )
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "-p", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)
    assert found["summary"]["filesAnalyzed"] == 1
    return [
        f"{d['range']['start']['line'] + 1}: {d['message']}"
        for d in found["generalDiagnostics"]
        if d["severity"] == "error"
    ]


CHECKERS = pytest.mark.parametrize("checker", [mypy, pyright], ids=["mypy", "pyright"])


@CHECKERS
def test_every_public_name_is_typed(checker, tmp_path):
    assert checker(FILE, tmp_path) == []


@CHECKERS
def test_wrong_use_is_found(checker, tmp_path):
    path = tmp_path / "wrong.py"
    path.write_text(WRONG)
    lines = {line for line in range(4, 9) if any(f"{line}:" in said for said in checker(path, tmp_path))}
    assert lines == {4, 5, 6, 7, 8}


def test_the_file_uses_every_public_name():
    text = FILE.read_text()
    assert [name for name in judgelaw.__all__ if f"jl.{name}" not in text] == []
