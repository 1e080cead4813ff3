"""How long a user waits before anything happens: `import judgelaw` and `judgelaw --help`."""

import subprocess
import sys

from benchmarks.figure import Figure, best


def _run(*code: str) -> None:
    subprocess.run([sys.executable, *code], check=True, capture_output=True)


def run(quick: bool = False) -> list[Figure]:
    times = 3 if quick else 10
    bare = best(lambda: _run("-c", "pass"), times)
    imported = best(lambda: _run("-c", "import judgelaw"), times)
    shown = best(lambda: _run("-m", "judgelaw", "--help"), times)
    return [
        Figure(
            name="import judgelaw, seconds",
            value=imported - bare,
            target=0.25,
            direction="at most",
            detail=f"beyond the {bare * 1000:.0f} ms of a bare interpreter",
        ),
        Figure(
            name="judgelaw --help, seconds",
            value=shown,
            target=0.3,
            direction="at most",
            detail="interpreter included",
        ),
    ]
