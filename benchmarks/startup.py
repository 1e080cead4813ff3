"""How long a user waits: `import judgelaw`, `judgelaw --help`, and a whole `judgelaw demo`."""

import subprocess
import sys
import tempfile

from benchmarks.analyze import judgelaw
from benchmarks.figure import at_most, best, in_turn

IMPORT = at_most("import judgelaw, seconds", 0.25)
HELP = at_most("judgelaw --help, seconds", 0.3)
DEMO = at_most("judgelaw demo, seconds", 5)
TARGETS = (IMPORT, HELP, DEMO)


def run(quick: bool = False):
    times = 3 if quick else 10
    bare, imported, helped = in_turn(
        lambda: _run("-c", "pass"),
        lambda: _run("-c", "import judgelaw"),
        lambda: _run("-m", "judgelaw", "--help"),
        times=times,
    )
    return [
        IMPORT.found(
            imported - bare,
            f"beyond the {bare * 1000:.0f} ms of a bare interpreter, best of {times}",
        ),
        HELP.found(helped, f"interpreter included, best of {times}"),
        *([] if quick else [_demo(2)]),
    ]


def _demo(times: int):
    def whole():
        with tempfile.TemporaryDirectory() as folder:
            judgelaw("demo", "--out", f"{folder}/demo")

    return DEMO.found(
        best(whole, times),
        f"study, freeze, ledger, analysis and report of a judge of known law, best of {times}",
    )


def _run(*code: str) -> None:
    subprocess.run([sys.executable, *code], check=True, capture_output=True)
