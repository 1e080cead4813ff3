"""A disk that takes no more is said to be so, with exit code 3, and the same command goes on."""

import subprocess
import sys

import pytest

from servers.study import simulated_judge, write_study
from support.disks import Disks

READ_ONLY = ("ro",), ("rw",), "Read-only file system"
FULL = ("fill", "0"), ("free",), "No space left on device"


class Disk:
    """Commands on a disk with a study and a run of it."""

    def __init__(self, disks, folder):
        self._disks = disks
        write_study(folder, [simulated_judge()], items=4)
        self.folder = folder
        self.study, self.run = str(folder / "study.yaml"), str(folder / "run")

    def new(self) -> tuple[str, ...]:
        return ("judgelaw", "run", self.study, "--out", self.path("new"))

    def verify(self, run: str) -> tuple[str, ...]:
        return ("judgelaw", "verify", self.path(run))

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def ends(self, *steps: tuple[str, ...], size: str = "4m") -> list[tuple[int, str]]:
        """Make the run, take the steps, and say how they ended."""
        run = ("judgelaw", "run", self.study, "--out", self.run)
        first, *rest = self._disks.on_disk(self.folder, [run, *steps], size=size)
        assert first[0] == 0, first
        return rest

    def writing(self) -> dict[str, tuple[str, ...]]:
        """Every command that writes files."""
        small = ("--draws", "50", "--permutations", "9")
        from_csv = ("--from", "csv", self.path("run/calls.parquet"))
        commands = {
            "run": ("run", self.study, "--out", self.path("new")),
            "resume": ("run", self.study, "--out", self.run),
            "extend": ("extend", self.run, "--repeats", "4"),
            "reparse": ("reparse", self.run, "--parser", "first-line"),
            "analyze": ("analyze", self.run, "--json", self.path("analysis.json"), *small),
            "report": ("report", self.run, "-o", self.path("page.html")),
            "report inside": ("report", self.run, "--figures", self.path("run/figures"), *small),
            "release": ("release", self.run, "-o", self.path("package")),
            "paper inside": ("paper", self.run, "-o", self.path("run/paper"), "--items", "1000"),
            "import": ("import", *from_csv, "-o", self.path("calls.csv")),
            "gate": ("gate", self.run, "--max", "prompt=0.9", "--junit", self.path("gate.xml")),
            "init": ("init", "--provider", "vllm", "--out", self.path("init/study.yaml")),
            "demo": ("demo", "--out", self.path("demo")),
        }
        return {name: ("judgelaw", *arguments) for name, arguments in commands.items()}


@pytest.fixture(scope="module")
def disks():
    started = Disks()
    yield started
    started.close()


@pytest.fixture
def disk(disks, tmp_path):
    return Disk(disks, tmp_path / "disk")


@pytest.mark.parametrize(("spoil", "_mend", "words"), [READ_ONLY, FULL], ids=["read-only", "full"])
def test_every_command_that_writes_says_what_is_wrong_with_the_disk(disk, spoil, _mend, words):
    commands = disk.writing()
    for name, (code, said) in zip(commands, disk.ends(spoil, *commands.values()), strict=True):
        assert code == 3, f"{name}: {said}"
        assert words in said.splitlines()[-1], f"{name}: {said}"
        assert said.endswith("the same command goes on\n"), f"{name}: {said}"


def test_reading_needs_no_disk_to_write_to(disk):
    status = ("judgelaw", "status", disk.run)
    check = ("judgelaw", "check", disk.study)
    ends = disk.ends(("ro",), status, disk.verify("run"), check)
    assert [code for code, _ in ends] == [0, 0, 0], ends


@pytest.mark.parametrize(("spoil", "mend", "_words"), [READ_ONLY, FULL], ids=["read-only", "full"])
def test_the_same_command_goes_on_once_the_disk_is_mended(disk, spoil, mend, _words):
    ends = disk.ends(spoil, disk.new(), mend, disk.new(), disk.verify("new"))
    assert [code for code, _ in ends] == [3, 0, 0], ends


@pytest.mark.parametrize("spare", [0, 48, 120, 260])
@pytest.mark.parametrize("name", ["report inside", "release"])
def test_what_a_full_disk_cut_short_is_not_there_and_the_same_command_goes_on(disk, name, spare):
    """The page, its figures or the package fill the disk at one of their files; none stays."""
    command, fill = disk.writing()[name], ("fill", str(spare))
    left = disk.verify("package") if name == "release" else disk.verify("run")
    ends = disk.ends(fill, command, disk.verify("run"), ("free",), command, left)
    assert [code for code, _ in ends] == [3, 0, 0, 0], ends


@pytest.mark.parametrize("spare", [64, 512])
def test_a_disk_that_fills_up_on_the_way_loses_nothing(disk, spare):
    """The run dies in freezing, in the ledger or in its tables; then it goes on."""
    fill = ("fill", str(spare))
    ends = disk.ends(fill, disk.new(), ("free",), disk.new(), disk.verify("new"), size="2m")
    assert [code for code, _ in ends] == [3, 0, 0], ends


def test_a_refused_session_leaves_no_lock_behind(disk):
    resume = ("judgelaw", "run", disk.study, "--out", disk.run)
    ends = disk.ends(("fill", "0"), resume, disk.verify("run"))
    assert [code for code, _ in ends] == [3, 0], ends


def test_a_full_output_is_no_bug():
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        command = [sys.executable, "-m", "judgelaw", "schema"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 3, done.stderr
    assert b"No space left on device" in done.stderr
