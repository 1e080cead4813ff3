# ruff: noqa: INP001 - a script
"""What `action.yml` runs: the answer and the gate of some calls, for a job and a pull request.

It reads CALLS, LIMITS, BASELINE, OPTIONS and INCONCLUSIVE from the environment, writes gate.xml,
gate.json, analysis.json and comment.md into a folder, adds the comment to the summary of the job,
and ends as the gate does: 0 passed, 1 failed; undecided as INCONCLUSIVE says.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

PASSED, FAILED, UNDECIDED = 0, 1, 7
VERDICTS = {PASSED: "pass", FAILED: "fail", UNDECIDED: "inconclusive"}
MARKS = {"pass": "✅", "fail": "❌", "inconclusive": "⚠️"}
WIDTH = "80"


def main() -> int:
    """Ask both questions, write everything down, and return the exit code of the job."""
    calls, ways = os.environ["CALLS"], {"fail": FAILED, "pass": PASSED, "warn": PASSED}
    undecided = os.environ.get("INCONCLUSIVE") or "warn"
    if undecided not in ways:
        print(f"inconclusive: {undecided!r}: it is fail, pass or warn", file=sys.stderr)  # noqa: T201 - a script says what it sees
        return 2
    folder = Path(tempfile.mkdtemp(prefix="judgelaw-", dir=os.environ.get("RUNNER_TEMP")))
    options, limits = _words("OPTIONS"), _words("LIMITS")
    if baseline := os.environ.get("BASELINE"):
        limits += ["--baseline", baseline]
    found = folder / "analysis.json"
    answer = _judgelaw("analyze", calls, *options, "--json", str(found))
    if answer.returncode:
        return _refused(answer)
    gate = _judgelaw(
        *("gate", calls, *options, *limits),
        *("--junit", str(folder / "gate.xml"), "--json", str(folder / "gate.json")),
        *("--summary", str(folder / "gate.md")),
    )
    if gate.returncode not in VERDICTS:
        return _refused(gate)
    verdict = VERDICTS[gate.returncode]
    comment = _comment(verdict, answer.stdout, (folder / "gate.md").read_text(encoding="utf-8"))
    (folder / "comment.md").write_text(comment, encoding="utf-8")
    _add("GITHUB_STEP_SUMMARY", comment)
    _add("GITHUB_OUTPUT", f"folder={folder}\nverdict={verdict}\nanswer={_headline(found)}\n")
    print(answer.stdout, gate.stdout, sep="\n")  # noqa: T201 - the log of the job
    return ways[undecided] if gate.returncode == UNDECIDED else gate.returncode


def _words(name: str) -> list[str]:
    return shlex.split(os.environ.get(name, ""), comments=True)


def _judgelaw(*words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": WIDTH, "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "judgelaw", *words]
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", env=environment, check=False
    )


def _refused(done: subprocess.CompletedProcess[str]) -> int:
    """Show why nothing could be told, and end as the command did."""
    print(done.stdout, done.stderr, sep="\n", file=sys.stderr)  # noqa: T201 - a script says what it sees
    _add("GITHUB_STEP_SUMMARY", f"judgelaw could not answer:\n\n{_fenced(done.stderr)}\n")
    return done.returncode


def _comment(verdict: str, answer: str, limits: str) -> str:
    title = {"pass": "passed", "fail": "failed"}.get(verdict, verdict)
    return f"### {MARKS[verdict]} judgelaw: gate {title}\n\n{_fenced(answer)}\n\n{limits.strip()}\n"


def _fenced(text: str) -> str:
    """Put text that others wrote between marks that do not occur in it."""
    longest = max(map(len, re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text.strip()}\n{fence}"


def _headline(file: Path) -> str:
    """Return what the answer of every judge says, on one line."""
    judges = json.loads(file.read_text(encoding="utf-8"))["judges"]
    said = [f"{name}: {judge['sentence']}" for name, judge in judges.items() if "sentence" in judge]
    return " ".join(" ".join(said).split())


def _add(variable: str, text: str) -> None:
    """Append to a file that the job reads, where there is one."""
    if path := os.environ.get(variable):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    sys.exit(main())
