"""What other systems lack, taken away here: the demo runs without it."""

import json
import subprocess
import sys

import pytest

# Windows has none of these; what it has in their place (LockFileEx) is filelock's.
_WITHOUT = """
import os, signal, sys
sys.modules["fcntl"] = sys.modules["resource"] = None
for name in ({os_names}):
    delattr(os, name)
for name in ("SIGHUP", "SIGKILL"):
    delattr(signal, name)
sys.argv = ["judgelaw", *sys.argv[1:]]
from judgelaw.cli import main
main()
"""
_OF_OS = (
    "O_NOFOLLOW O_NONBLOCK O_CLOEXEC O_DIRECTORY geteuid getuid killpg pread pwrite fchmod setsid"
)


def _run(*arguments: str, folder) -> subprocess.CompletedProcess[str]:
    code = _WITHOUT.format(os_names=", ".join(map(repr, _OF_OS.split())))
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_demo_runs_without_what_only_unix_has(tmp_path):
    done = _run("demo", "--out", "demo", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Leave out prompt" in done.stdout
    assert done.stderr.count("this Python has no file locks") == 1
    assert "Traceback" not in done.stderr
    assert (tmp_path / "demo/run/report.html").stat().st_size > 10_000
    status = _run("status", "demo/run", "--json", "-", folder=tmp_path)
    assert json.loads(status.stdout)["completed"] == 3200


@pytest.mark.parametrize("module", ["judgelaw", "judgelaw.cli", "judgelaw.first_release"])
def test_every_door_opens_without_what_only_unix_has(module, tmp_path):
    code = f"import sys; sys.modules['fcntl'] = sys.modules['resource'] = None; import {module}"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
