"""Disks that are full or read-only, real ones: small file systems in a namespace of their own.

The module is also the program that runs there, with orders in JSON on its standard input.
"""

import io
import json
import os
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path

import pytest

Step = tuple[str, ...]


class Disks:
    """A process in a namespace of its own that has all loaded, and mounts a disk when asked."""

    def __init__(self) -> None:
        self._there = subprocess.Popen(
            [*_namespace(), sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def on_disk(
        self, folder: Path, steps: list[Step], *, size: str = "4m"
    ) -> list[tuple[int, str]]:
        """Mount a file system of this size on `folder`, take the steps, and say how commands ended.

        A step is `fill KB` (all but so much), `free`, `ro` or `rw`, or `judgelaw` with arguments.
        What lies in the folder is there too. Nobody else sees the mount, and it is gone afterwards.
        """
        keep = folder.with_name(f"{folder.name}-before")
        shutil.copytree(folder, keep)
        ended = folder.with_name(f"{folder.name}-ended.json")
        order = {"disk": str(folder), "before": str(keep), "ended": str(ended), "size": size}
        print(json.dumps({**order, "steps": steps}), file=self._there.stdin, flush=True)
        assert self._there.stdout.readline() == "0\n", "what it said is among the errors"
        return [(code, said) for code, said in json.loads(ended.read_text())]

    def close(self) -> None:
        """End the process."""
        self._there.stdin.close()
        self._there.stdout.close()
        assert self._there.wait(10) == 0


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


def _draw_blanks() -> None:
    """Draw nothing, and in no further process: what is tested is where a page can be written."""
    import vl_convert

    from judgelaw import processes

    processes._cores = lambda: 1
    vl_convert.vegalite_to_svg = lambda *_, **__: '<svg xmlns="http://www.w3.org/2000/svg"/>'
    vl_convert.vegalite_to_png = lambda *_, **__: b"\x89PNG\r\n\x1a\n"


def _serve() -> None:
    """Take each order in a process of its own, forked from this one."""
    for room in (
        *("acquire.verify", "analysis", "cli.run", "judges.http", "page", "runs.auditing"),
        *("labels.against", "page.drawing", "tables.importers", "tables.read"),
    ):
        import_module(f"judgelaw.{room}")
    _draw_blanks()
    mount, umount = shutil.which("mount") or "mount", shutil.which("umount") or "umount"
    for line in sys.stdin:
        order = json.loads(line)
        disk = Path(order["disk"])
        options = f"size={order['size']}"
        subprocess.run([mount, "-t", "tmpfs", "-o", options, "tmpfs", disk], check=True)
        child = os.fork()
        if child == 0:
            os.dup2(2, 1)  # the answer is one line, and that of the parent
            shutil.copytree(order["before"], disk, dirs_exist_ok=True)
            ended = [_take(disk, tuple(step)) for step in order["steps"]]
            Path(order["ended"]).write_text(json.dumps([each for each in ended if each]))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        subprocess.run([umount, "--lazy", disk], check=True)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    _serve()
