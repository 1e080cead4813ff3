"""Disks that are full or read-only, real ones: small file systems in a namespace of their own.

The module is also the program that runs there, with steps in JSON on its standard input.
"""

import io
import json
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

Step = tuple[str, ...]


def on_disk(folder: Path, steps: list[Step], *, size: str = "4m") -> list[tuple[int, str]]:
    """Mount a file system of this size on `folder`, take the steps, and say how commands ended.

    A step is `fill KB` (all but so much), `free`, `ro` or `rw`, or `judgelaw` with arguments. What
    lies in the folder is there too. Nobody else sees the mount, and it is gone with its process.
    """
    mount = f'mount -t tmpfs -o size={size} tmpfs "$1" && exec "$2" "$3" "$1" "$4"'
    keep = folder.with_name(f"{folder.name}-before")
    shutil.copytree(folder, keep)
    there = ["sh", "-c", mount, "sh", str(folder), sys.executable, __file__, str(keep)]
    done = subprocess.run(
        [*_namespace(), *there],
        input=json.dumps(steps),
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    return [(code, said) for code, said in json.loads(done.stdout)]


def _namespace() -> list[str]:
    """Find a way to mount: a namespace of the user's own, else one that sudo gives."""
    for way in (["unshare", "-rm"], ["sudo", "-n", "-E", "unshare", "-m"]):
        if shutil.which(way[0]) and not subprocess.run([*way, "true"], check=False).returncode:
            return way
    pytest.skip("no user namespace here, so that no disk can be mounted")


def _take(disk: Path, step: Step) -> tuple[int, str] | None:
    match step:
        case ("judgelaw", *arguments):
            return _judgelaw(arguments)
        case ("fill", spare):
            with (disk / "fill").open("wb", buffering=0) as file:
                _write_all(file)
                file.truncate(max(0, file.tell() - 1024 * int(spare)))
        case ("free",):
            (disk / "fill").unlink()
        case (mode,):
            mount = shutil.which("mount") or "mount"
            subprocess.run([mount, "-o", f"remount,{mode}", disk], check=True)
    return None


def _write_all(file: io.RawIOBase) -> None:
    try:
        while True:
            file.write(bytes(4096))
    except OSError:
        return


def _judgelaw(arguments: list[str]) -> tuple[int, str]:
    from judgelaw.cli import main

    said = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(said):
        try:
            main(arguments)
        except SystemExit as stop:
            return int(stop.code or 0), said.getvalue()


if __name__ == "__main__":
    place, before = map(Path, sys.argv[1:])
    shutil.copytree(before, place, dirs_exist_ok=True)
    ended = [_take(place, tuple(step)) for step in json.load(sys.stdin)]
    print(json.dumps([each for each in ended if each is not None]))
