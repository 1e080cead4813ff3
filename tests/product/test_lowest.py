"""The lowest versions that the project declares, and every Python that it names, run the demo.

Each in a new environment that pip fills from the package index: minutes, so marked slow.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PYTHONS = [
    found[1]
    for line in PROJECT["classifiers"]
    if (found := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line))
]
LINES = """
import judgelaw as jl
table = {table!r}
tensor = jl.VerdictTensor.from_table(table)
found = jl.analyze(tensor, draws=50, permutations=0)
rows = [
    {{"judge": "j", "item": i, "prompt": p, "order": o, "repeat": r, "verdict": "tie"}}
    for i in "ab" for p in "xy" for o in ("AB", "BA") for r in range(2)
]
print(jl.gate(tensor, {{"prompt": 0.02}}).verdict, len(repr(found)) < 3000)
print(jl.VerdictTensor.from_table(rows).counts.sum())
jl.report(tensor, "report.html", draws=50, permutations=0)
"""

pytestmark = pytest.mark.slow


def floors() -> list[str]:
    """Return every dependency at its lower bound, `numpy==2.0.0`."""
    found = [re.fullmatch(r"([\w.-]+)>=([\d.]+)", line) for line in PROJECT["dependencies"]]
    assert all(found), "a dependency without a plain lower bound"
    return [f"{match[1]}=={match[2]}" for match in found if match]


def environment(folder: Path, python: str, *requirements: str) -> Path:
    """Make an environment with the package, built from this tree, and what is asked for."""
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    wheels = folder / "wheels"
    build = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "-o",
        str(wheels),
        str(ROOT),
    ]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = wheels.glob("*.whl")
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", str(wheel), *requirements]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "bin" / "python"


def tried(python: Path, folder: Path, *options: str) -> None:
    """Run the demo, and what the front door offers, in an empty folder."""
    folder.mkdir()
    table = folder / "calls.csv.gz"
    shutil.copy(ROOT / "examples" / "calls.csv.gz", table)
    for words in (
        ("-m", "judgelaw", "demo"),
        ("-m", "judgelaw", "analyze", str(table), "--draws", "50", "--permutations", "0"),
        ("-c", LINES.format(table=str(table))),
    ):
        command = [str(python), *options, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
        assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["pass", "True", "16"]
    assert (folder / "judgelaw-demo" / "run" / "report.html").is_file()


def test_the_lowest_versions_run_the_demo_without_a_warning(tmp_path):
    python = environment(tmp_path / "env", shutil.which("python3.11") or sys.executable, *floors())
    tried(python, tmp_path / "work", "-W", "error")


@pytest.mark.parametrize("version", PYTHONS)
def test_every_python_runs_the_demo(version, tmp_path):
    python = shutil.which(f"python{version}")
    works = python and subprocess.run([python, "--version"], check=False, capture_output=True)
    if not works or works.returncode:
        pytest.skip(f"python{version} is not on this machine; the workflow `tests` has it")
    constraints = ("-c", str(ROOT / "constraints.txt"))
    tried(environment(tmp_path / "env", str(python), *constraints), tmp_path / "work")
