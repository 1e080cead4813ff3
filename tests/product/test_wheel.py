"""The wheel: what is in it, and that it works without the source tree."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "judgelaw"

RUN = """
import sys
sys.path.insert(0, {wheel!r})
import judgelaw
assert judgelaw.__file__.startswith({wheel!r}), judgelaw.__file__
from judgelaw.cli import main
main({arguments!r})
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """Build as a release does: the source archive from this tree, the wheel from the archive."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "-o", folder, ROOT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built) -> Path:
    (path,) = built.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def unpacked(wheel, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)  # noqa: S202 - our own wheel
    return folder


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_it_holds_the_package_and_its_own_description_and_nothing_else(wheel):
    (info,) = {name.split("/")[0] for name in names(wheel)} - {"judgelaw"}
    assert info.startswith("judgelaw-")
    assert info.endswith(".dist-info")
    inside = {name for name in names(wheel) if name.startswith("judgelaw/")}
    files = {
        f"judgelaw/{path.relative_to(PACKAGE)}"
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert inside == files


def test_it_holds_no_path_file_no_test_and_no_data_of_others(wheel):
    suffixes = {Path(name).suffix for name in names(wheel) if not name.endswith("/RECORD")}
    # A new kind of file is looked at before it ships: these are code, SQL, the assets of the pages,
    # and the studies and items that `init` and the paper's protocol write.
    code, pages = {".py", ".typed", ".sql", ".txt", ""}, {".js", ".css", ".j2", ".html"}
    assert suffixes <= code | pages | {".json", ".yaml", ".jsonl"}
    assert [name for name in names(wheel) if name.endswith(".json")] == [
        "judgelaw/replication/published.json"
    ]
    for word in ("test", "fixture", "benchmark", "llmbar"):
        assert not [name for name in names(wheel) if word in name.rsplit("/", 1)[-1].split("_")]


@pytest.mark.parametrize(
    "asset",
    [
        "judgelaw/py.typed",
        "judgelaw/page/assets/page.html.j2",
        "judgelaw/page/assets/page.css",
        "judgelaw/page/assets/charts.js",
        "judgelaw/page/assets/explorer.js",
        "judgelaw/replication/published.json",
        "judgelaw/ledger/sql/sqlite/0001_ledger.sql",
        "judgelaw/ledger/sql/postgres/0001_ledger.sql",
    ],
)
def test_it_holds_what_the_program_reads(wheel, asset):
    assert asset in names(wheel)


def test_extras_stay_optional(unpacked):
    (metadata,) = unpacked.glob("*.dist-info/METADATA")
    needed = [
        line.split(":", 1)[1].strip()
        for line in metadata.read_text().splitlines()
        if line.startswith("Requires-Dist:") and "extra ==" not in line
    ]
    for heavy in ("xllamacpp", "psycopg", "s3fs", "pyspark", "inspect", "pandas", "pytest"):
        assert not [line for line in needed if line.startswith(heavy)]


def test_the_demo_runs_from_it(unpacked, tmp_path):
    code = RUN.format(wheel=str(unpacked), arguments=["demo", "--out", str(tmp_path / "demo")])
    # Isolated, so that neither the working directory nor PYTHONPATH lends it a module.
    command = [sys.executable, "-I", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "truth" in done.stdout
    (report,) = (tmp_path / "demo").rglob("report.html")
    assert report.stat().st_size > 100_000


def test_the_source_archive_holds_the_examples_and_no_leftovers(built):
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    git = [shutil.which("git"), "-C", ROOT, "ls-files", "examples"]
    tracked = subprocess.run(git, capture_output=True, text=True, check=True).stdout.split()
    assert {name for name in inside if name.startswith("examples/")} == set(tracked)
    assert {"README.md", "CONTRIBUTING.md", "LICENSE", "docs/index.md"} <= inside
    assert not [name for name in inside if "_build" in name or name.startswith("tests")]
