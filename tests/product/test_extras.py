"""Without optional packages everything starts, the demo runs, and what is missing has a name."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
MODULES = (
    "xllamacpp",
    "psycopg",
    "s3fs",
    "pyspark",
    "zstandard",
    "inspect_ai",
    "pandas",
    "pyarrow",
)
"""What the extras bring, and the frames that people may or may not have."""

_RUN = f"""
import sys
for name in {MODULES!r}:
    sys.modules[name] = None
from judgelaw.cli import main
main(sys.argv[1:])
"""
NEEDED = {
    "embedded": ("audit", str(ROOT / "examples/quickstart/study.yaml"), "--out", "run"),
    "postgres": ("worker", "--ledger", "postgresql://me@127.0.0.1:1/none", "--run", "r"),
    "s3": ("analyze", "s3://bucket/calls.csv"),
}


def without(folder, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _RUN, *arguments]
    env = {**os.environ, "AWS_EC2_METADATA_DISABLED": "true"}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_the_demo_and_a_table_need_no_extra(tmp_path):
    done = without(tmp_path, "demo", "--out", "demo")
    assert done.returncode == 0, done.stderr
    done = without(tmp_path, "analyze", str(ROOT / "examples/verdicts.csv"))
    assert done.returncode == 0, done.stderr
    assert "Change it first" in done.stdout


@pytest.mark.parametrize("extra", NEEDED)
def test_what_is_missing_is_named_with_the_command_that_brings_it(tmp_path, extra):
    assert extra in EXTRAS
    done = without(tmp_path, *NEEDED[extra])
    assert done.returncode == 2, done.stderr
    said = " ".join(done.stderr.split()).replace('"', "'")
    assert f"pip install 'judgelaw[{extra}]'" in said
    assert "Traceback" not in done.stderr
