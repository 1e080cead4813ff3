"""The typed file: `make types` shows it to mypy and pyright, and it uses every public name."""

import json
import tomllib
from pathlib import Path

import judgelaw

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def test_it_uses_every_public_name():
    text = (HERE / "front_door.py").read_text()
    assert [name for name in judgelaw.__all__ if f"jl.{name}" not in text] == []


def test_both_checkers_read_it_in_their_strictest_mode():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["mypy"]["strict"]
    assert "tests/typing/front_door.py" in project["tool"]["mypy"]["files"]
    pyright = json.loads((HERE / "pyrightconfig.json").read_text())
    assert pyright["typeCheckingMode"] == "strict"
    assert pyright["reportUnnecessaryTypeIgnoreComment"] == "error"
    makefile = (ROOT / "Makefile").read_text()
    assert "$(BIN)/basedpyright -p tests/typing\n" in makefile
