"""Whoever rewrites the hashes with a file is found by the root hash, and by making it again."""

import gzip
import json
import shutil

import pytest

from judgelaw.acquire.verify import check_root
from judgelaw.acquire.verify.run_checks import check_files
from judgelaw.cli import program
from judgelaw.runs import Contents, audit_study, recompute_results, release, verify_package
from judgelaw.study import SUMS, file_sha256, read_sums, write_sums
from servers.study import simulated_judge, write_study


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audited")
    quick = {"draws": 200, "permutations": 99}
    study = write_study(folder, [simulated_judge()], items=6, repeats=3, analysis=quick)
    return audit_study(study, folder / "run", tables=True).run


@pytest.fixture(scope="module")
def released(audited, tmp_path_factory):
    folder = tmp_path_factory.mktemp("released") / "package"
    release(audited, folder, Contents(completions=True))
    return folder


@pytest.fixture
def run(audited, tmp_path):
    return shutil.copytree(audited, tmp_path / "run")


@pytest.fixture
def package(released, tmp_path):
    return shutil.copytree(released, tmp_path / "package")


def refresh(folder):
    """What a careful forger does: record the hashes of the forged files."""
    write_sums(folder, [name for name in read_sums(folder) if (folder / name).is_file()])


def wrong(checks):
    return {check.name: check.detail for check in checks if not check.ok}


def change(document, path, value):
    *before, last = path
    for key in before:
        document = document[key]
    assert document[last] != value
    document[last] = value


FORGERIES = {
    "an interval": (("judges", "sim", "components", "prompt", "interval"), [0.0, 0.01]),
    "an error": (("judges", "sim", "components", "call", "call_se"), 0.5),
    "a word": (("judges", "sim", "answer", "word"), "none of them"),
    "a headline": (("judges", "sim", "answer", "headline"), "Use it."),
    "a warning": (("judges", "sim", "warnings"), ["nothing"]),
    "a new key": (("judges", "sim", "approved"), True),
}


def test_what_was_made_comes_out_again(run):
    checks = list(recompute_results(run))
    assert wrong(checks) == {}
    assert [check.name for check in checks] == ["recount", "analysis", "tables", "page"]


@pytest.mark.parametrize("forged", FORGERIES)
def test_a_forged_analysis_is_found(run, forged):
    path, value = FORGERIES[forged]
    reported = run / "results/analysis.json"
    document = json.loads(reported.read_text())
    if path[-1] == "approved":
        document["judges"]["sim"]["approved"] = value
    else:
        change(document, path, value)
    reported.write_text(json.dumps(document, indent=2))
    refresh(run)
    assert ".".join(path) in wrong(recompute_results(run))["analysis"]


def test_a_forged_page_is_found(run):
    page = run / "report.html"
    page.write_text(page.read_text().replace("</h1>", " It may be used.</h1>", 1))
    refresh(run)
    assert "comes out differently, first in line" in wrong(recompute_results(run))["page"]


def test_a_page_without_texts_is_one_of_ours(run):
    assert (
        program._run(["report", str(run), "-o", str(run / "report.html"), "--without-texts"]) == 0
    )
    assert wrong(recompute_results(run)) == {}


def test_a_forged_table_is_found(run):
    table = next((run / "tables").glob("*.csv"))
    table.write_text(table.read_text().replace("0", "1", 1))
    refresh(run)
    assert f"tables/{table.name} comes out differently" in wrong(recompute_results(run))["tables"]


@pytest.mark.parametrize("name", ["../../../etc/hostname", "/etc/hostname", "a/../../run/x"])
def test_sums_name_what_is_inside_only(run, name):
    lines = [*(run / SUMS).read_text().splitlines(), f"{'0' * 64}  {name}"]
    (run / SUMS).write_text("\n".join(sorted(lines, key=lambda line: line[66:])) + "\n")
    assert f"{name} lies outside the folder" in check_files(run).detail


@pytest.mark.parametrize("what", ["a file", "a folder"])
def test_links_are_no_part_of_a_run(run, tmp_path, what):
    moved = "report.html" if what == "a file" else "results"
    (run / moved).rename(tmp_path / "elsewhere")
    (run / moved).symlink_to(tmp_path / "elsewhere")
    assert f"{moved} is a link" in check_files(run).detail


def test_the_root_hash_stands_for_every_file(run, capsys):
    root = file_sha256(run / SUMS)
    assert program._run(["verify", str(run), "--root", root.upper()]) == 0
    assert root in capsys.readouterr().out
    (run / "report.html").unlink()
    write_sums(run, [])
    lines = [line for line in (run / SUMS).read_text().splitlines() if "report.html" not in line]
    (run / SUMS).write_text("\n".join(lines) + "\n")
    capsys.readouterr()
    assert program._run(["verify", str(run)]) == 0, "nobody who has only the folder can tell"
    assert program._run(["verify", str(run), "--root", root]) == 4
    assert f"where {root} was given" in capsys.readouterr().out
    (run / SUMS).unlink()
    assert [check.ok for check in check_root(run, root)] == [False]


def test_release_prints_the_root_and_the_command_that_holds_it(audited, tmp_path, capsys):
    folder = tmp_path / "p"
    assert program._run(["release", str(audited), "-o", str(folder)]) == 0
    said = capsys.readouterr()
    root = file_sha256(folder / SUMS)
    assert f"root hash {root}" in said.out
    assert f"judgelaw verify {folder} --root {root}" in said.err


def test_a_package_comes_out_again_with_its_figures(package):
    assert wrong(verify_package(package).checks) == {}
    assert wrong(recompute_results(package)) == {}


def test_forged_parts_of_a_package_are_found(package):
    (package / "README.md").write_text("# Trust me\n")
    environment = json.loads((package / "environment.json").read_text())
    environment["frozen_with"]["judgelaw"] = "9.9"
    (package / "environment.json").write_text(json.dumps(environment))
    with gzip.open(package / "completions.jsonl.gz", "rt") as file:
        rows = [json.loads(line) for line in file]
    said = next(n for n, row in enumerate(rows) if row["text"] == "A")
    rows[said]["text"] = "B"
    with gzip.open(package / "completions.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    refresh(package)
    found = wrong(verify_package(package).checks)
    assert "README.md comes out differently" in found["words"]
    assert "environment.json names other versions" in found["words"]
    assert "candidate_2" in found["completions"] or "candidate_1" in found["completions"]


def test_a_forged_figure_is_found(package):
    figure = next((package / "paper").rglob("*.svg"), None) or next(
        path for path in (package / "paper").rglob("*") if path.suffix in (".pdf", ".png")
    )
    figure.write_bytes(figure.read_bytes() + b" ")
    refresh(package)
    assert wrong(verify_package(package).checks) == {}, "figures are made again on demand"
    name = figure.relative_to(package).as_posix()
    assert f"{name} comes out differently" in wrong(recompute_results(package))["figures"]
