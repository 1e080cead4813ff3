"""Every file of a run folder against its recorded hash."""

import re
from pathlib import Path

from judgelaw.acquire.verify.check import Check, Problems
from judgelaw.design.store import SUMS, file_sha256
from judgelaw.ledger.lock import LOCK_NAME
from judgelaw.ledger.sent import SENT_NAME

_LINE = re.compile(r"([0-9a-f]{64})  (\S(?:.*\S)?)")
_EMPTY_LOCK = ".freeze.lock"
_KILLED = (SENT_NAME, "ledger.sqlite-wal", "ledger.sqlite-shm", LOCK_NAME)


def check_files(run: Path) -> Check:
    """Compare the folder with SHA256SUMS: nothing changed, nothing missing, nothing unlisted."""
    problems = Problems()
    listed = _read(run / SUMS, problems)
    found = sorted(
        path.relative_to(run).as_posix()
        for path in run.rglob("*")
        if not path.is_dir() and path != run / SUMS
    )
    left = [name for name in _KILLED if name in found]
    if left:
        problems.add(
            f"{', '.join(left)}: a session is writing or was killed; `judgelaw run` resumes it "
            "and closes the run"
        )
    for name in found:
        empty_lock = name == _EMPTY_LOCK and (run / name).stat().st_size == 0
        if name not in listed and name not in _KILLED and not empty_lock:
            problems.add(f"{name} is not in {SUMS}")
    for name, digest in listed.items():
        if not (run / name).is_file():
            problems.add(f"{name} is missing")
        elif file_sha256(run / name) != digest:
            problems.add(f"{name} differs from its recorded hash")
    return problems.check("files", f"{len(listed)} files match their hashes")


def _read(path: Path, problems: Problems) -> dict[str, str]:
    """Read the list strictly: a changed byte in it must not go unnoticed either."""
    if not path.is_file():
        problems.add(f"{SUMS} is missing")
        return {}
    text = path.read_bytes().decode("utf-8", "replace")
    if not text.endswith("\n"):
        problems.add(f"{SUMS} does not end in a newline")
    listed: dict[str, str] = {}
    names: list[str] = []
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        match = _LINE.fullmatch(line)
        if match is None:
            problems.add(f"{SUMS}:{number}: no line of hash and name")
            continue
        listed[match[2]] = match[1]
        names.append(match[2])
    if names != sorted(set(names)):
        problems.add(f"{SUMS}: names are doubled or out of sequence")
    return listed
