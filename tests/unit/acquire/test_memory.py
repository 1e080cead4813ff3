"""However much a provider says, a run holds a few replies at a time, and checking it one."""

import subprocess
import sys

import pytest

from servers.provider import Provider, say
from servers.study import chat_judge, write_study

SIZE = 50_000_000
MEASURED = """\
import atexit, sys
def peak():
    lines = open("/proc/self/status").read().splitlines()
    print(next(line.split()[1] for line in lines if line.startswith("VmHWM")), file=sys.stderr)
atexit.register(peak)
from judgelaw.cli import main
main(sys.argv[1:])
"""


def peak_bytes(*arguments: str) -> int:
    """Run a command and return the most memory that it held."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return 1024 * int(done.stderr.splitlines()[-1])


def peaks(folder, text: str, *, repeats: int) -> dict[str, int]:
    templates = [{"id": "p", "text": "{instruction}{candidate_a}{candidate_b}"}]
    one_cell = {"prompts": {"policy": "census", "templates": templates}, "orders": {"AB": 1.0}}
    with Provider(say(text)) as at:
        study = write_study(
            folder,
            [chat_judge(at.base_url)],
            items=1,
            repeats=repeats,
            transport={"concurrency": 1},
            **one_cell,
        )
        run = str(folder / "run")
        acquired = peak_bytes("run", str(study), "--out", run)
    return {"run": acquired, "verify": peak_bytes("verify", run)}


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_completions_of_fifty_megabytes_cost_a_few_times_their_size(tmp_path):
    small = peaks(tmp_path / "small", "A", repeats=1)
    large = peaks(tmp_path / "large", "A" + " x" * (SIZE // 2), repeats=4)
    grown = {name: (large[name] - small[name]) / SIZE for name in small}
    print(grown)
    # One reply is read while the one before is written; each is body, text and database page.
    assert grown["run"] < 9
    assert grown["verify"] < 7
