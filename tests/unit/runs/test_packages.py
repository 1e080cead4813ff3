"""A run released, checked by somebody else, and damaged in every way that a copy can be."""

import csv
import gzip
import hashlib
import json
import shutil
import zipfile
from unittest.mock import patch

import duckdb
import pytest
import vl_convert
from ruamel.yaml import YAML

from judgelaw import replication
from judgelaw.acquire.verify import check_files
from judgelaw.cli import main
from judgelaw.errors import IncompleteRunError, InputError, IntegrityError
from judgelaw.runs import (
    Contents,
    audit_study,
    read_source,
    release,
    verify_foreign,
    verify_package,
)
from judgelaw.runs.folder import RunFolder
from judgelaw.runs.packaging import copy_run, public_study
from judgelaw.runs.publication import verified_rows
from judgelaw.study import SUMS, file_sha256, freeze, load_study, open_run, write_sums
from support.studies import write_items

BLANK = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'
SECRET_ADDRESS = "10.11.12.13"
ODD_ID = 'i1, the "first"'
STUDY = f"""\
version: 1
name: trial
seed: 5
items: {{source: jsonl, path: items.jsonl}}
prompts: paper-six
judges:
  - name: one
    provider: simulated
    model: m
    headers: {{X-Place: "literal:{SECRET_ADDRESS}"}}
    query: {{place: "{SECRET_ADDRESS}"}}
    law: {{world: {{base: [0.6, 0.3, 0.05, 0.05]}}}}
  - {{name: two, provider: simulated, model: m, law: {{verdicts: {{candidate_1: 1}}}}}}
layers:
  - {{name: control, role: control, judges: [one], repeats: 2}}
  - {{name: evaluation, role: evaluation, judges: [one], repeats: 4}}
  - {{name: panel, role: audit, reuse: {{layer: evaluation, judge: one, repeats: 2}}}}
analysis: {{draws: 200, permutations: 99}}
"""


@pytest.fixture(scope="module", autouse=True)
def _each_paper_figure_made_once():
    """Keep the PDF of a chart and the simulation behind one: every release here has the same."""
    pdf, simulate = vl_convert.vegalite_to_pdf, replication.simulate_point
    drawn, simulated = {}, {}

    def draw(chart):
        named = json.dumps(chart)
        if named not in drawn:
            drawn[named] = pdf(chart)
        return drawn[named]

    def point(*, items, seed, progress):
        if (items, seed) not in simulated:
            simulated[items, seed] = simulate(items=items, seed=seed, progress=progress)
        return simulated[items, seed]

    with pytest.MonkeyPatch.context() as kept:
        kept.setattr(vl_convert, "vegalite_to_pdf", draw)
        kept.setattr(replication, "simulate_point", point)
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("release")
    write_items(folder, 6)
    items = folder / "items.jsonl"
    items.write_text(items.read_text().replace('"i1"', json.dumps(ODD_ID)))
    (folder / "study.yaml").write_text(STUDY.replace("path: items.jsonl", f"path: {items}"))
    with patch("vl_convert.vegalite_to_svg", return_value=BLANK):  # the page is not released
        return audit_study(folder / "study.yaml", folder / "run", tables=True).run


@pytest.fixture(scope="module")
def package(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    release(run, folder)
    return folder


@pytest.fixture
def copy(package, tmp_path):
    """The package as somebody else has it, and nothing beside it."""
    shutil.copytree(package, tmp_path / "copy")
    return tmp_path / "copy"


def wrong(checks):
    return {check.name: check.detail for check in checks if not check.ok}


def test_a_copy_verifies_and_comes_out_to_the_byte(copy):
    checks = verify_package(copy).checks
    assert wrong(checks) == {}
    detail = {check.name: check.detail for check in checks}
    assert detail["calls"] == "576 verdicts, one for every frozen call"
    assert "come out to the byte" in detail["results"]
    assert {"payloads", "controls", "items"} <= set(detail)
    said = dict(json.loads((copy / "paper/tables/integrity.json").read_text())["rows"])
    assert said["Candidate restoration and frozen-parser mismatches"] == "0"
    assert said["Hash checks"] == "PASS"


def test_a_damaged_run_says_so_in_the_table_of_integrity(run, tmp_path):
    shutil.copytree(run, tmp_path / "run")
    assert dict(verified_rows(tmp_path / "run"))["Hash checks"] == "PASS"
    (tmp_path / "run/report.html").write_text("changed")
    said = dict(verified_rows(tmp_path / "run"))
    assert said["Hash checks"] == "report.html differs from its recorded hash"
    assert said["Completed-response re-requests"] == "0"


def test_a_package_holds_nothing_private(package, run):
    names = {path.relative_to(package).as_posix() for path in package.rglob("*") if path.is_file()}
    assert {"README.md", "DATA_DICTIONARY.md", "environment.json", SUMS} <= names
    assert "CITATION.cff" not in names  # nobody was named
    figures = {f"paper/figures/figure_{n}.pdf" for n in (3, 5)}  # of known laws, of these calls
    assert {"paper/tables/cross_model_summary.tex", *figures} <= names
    assert not names & {"ledger.sqlite", "timing.parquet", "report.html"}
    assert SECRET_ADDRESS in (run / "manifest.json").read_text()
    for name in names:
        content = (package / name).read_bytes()
        assert SECRET_ADDRESS.encode() not in content
        assert str(run.parent).encode() not in content


def zipped(folder, target):
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, f"package/{path.relative_to(folder)}")
    return target


def verified(capsys, path, *options):
    code = 0
    try:
        main(["verify", str(path), *options])
    except SystemExit as end:
        code = end.code
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_zip_is_verified_as_its_folder_is_with_the_hash_beside_it(copy, tmp_path, capsys):
    path = zipped(copy, tmp_path / "package.zip")
    beside = tmp_path / "package.zip.sha256"
    beside.write_text(f"{file_sha256(path)}  package.zip\n")
    assert verified(capsys, path)[0] in (0, None)
    beside.write_text(f"{'0' * 64}  package.zip\n")
    code, out, _ = verified(capsys, path, "--json", "-")
    assert code == 4
    assert [c["name"] for c in json.loads(out)["checks"] if not c["ok"]] == ["zip"]
    beside.unlink()
    (copy / "calls.parquet").write_bytes(b"changed")
    assert verified(capsys, zipped(copy, path))[0] == 4


@pytest.mark.parametrize("name", ["../out.txt", "/etc/out.txt", "a/../../out.txt", "c:out.txt"])
def test_a_zip_that_leads_out_of_its_folder_is_refused(tmp_path, capsys, name):
    with zipfile.ZipFile(tmp_path / "p.zip", "w") as archive:
        archive.writestr(name, "x")
    code, _, err = verified(capsys, tmp_path / "p.zip")
    assert code == 2
    assert "nothing was unpacked" in " ".join(err.split())


def test_a_zip_bomb_and_what_is_no_zip_are_refused(tmp_path, capsys):
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(3):
            archive.writestr(f"{number}.txt", b"0" * 400_000_000)
    assert verified(capsys, tmp_path / "bomb.zip")[0] == 2
    (tmp_path / "no.zip").write_text("no zip")
    code, _, err = verified(capsys, tmp_path / "no.zip")
    assert code == 2
    assert "no readable ZIP" in " ".join(err.split())


def test_authors_that_are_named_stand_in_the_citation(run, tmp_path):
    contents = Contents(authors=("Ada Example", 'B "Q" C'))
    release(run, tmp_path / "named", contents)
    found = YAML(typ="safe").load((tmp_path / "named/CITATION.cff").read_text())
    assert [author["name"] for author in found["authors"]] == ["Ada Example", 'B "Q" C']
    assert wrong(verify_package(tmp_path / "named").checks) == {}


def test_item_hashes_are_a_table_whatever_the_items_are_called(package):
    with (package / "items.csv").open(encoding="utf-8", newline="") as file:
        listed = [row["item"] for row in csv.DictReader(file)]
    assert ODD_ID in listed
    assert len(listed) == 6


def test_prompts_of_files_stand_in_the_study_without_their_paths(tmp_path):
    write_items(tmp_path)
    text = "{instruction} {candidate_a} {candidate_b} {as: JSON}"
    for name in ("p1", "p2"):
        (tmp_path / f"{name}.txt").write_text(f"{name} {text}")
    policy = f"prompts: {{policy: census, path: '{tmp_path}/*.txt'}}"
    (tmp_path / "study.yaml").write_text(STUDY.replace("prompts: paper-six", policy))
    frozen = freeze(load_study(tmp_path / "study.yaml"), tmp_path / "run")
    public = public_study(frozen).model_dump_json()
    assert str(tmp_path) not in public
    assert text in public


def test_the_study_of_a_package_can_be_run_again(copy, tmp_path):
    with pytest.raises(SystemExit) as stop:
        main(["check", str(copy / "study.yaml")])
    assert stop.value.code in (0, None)
    again = freeze(load_study(copy / "study.yaml"), tmp_path / "again")
    assert again.record.judges == json.loads((copy / "manifest.json").read_text())["judges"]
    assert again.count == 576


def test_one_flipped_byte_in_any_file_is_found_and_the_file_is_named(copy):
    files = sorted(path for path in copy.rglob("*") if path.is_file())
    assert len(files) > 100
    for path in files:
        content = path.read_bytes()
        for place in (0, len(content) // 2, len(content) - 1):
            flipped = bytearray(content)
            flipped[place] ^= 1
            path.write_bytes(bytes(flipped))
            found = check_files(copy)
            assert not found.ok, path
            assert path.name == SUMS or path.relative_to(copy).as_posix() in found.detail
        path.write_bytes(content)
    assert check_files(copy).ok


def test_a_missing_or_a_new_file_is_named(copy):
    (copy / "tables" / "outcomes.csv").unlink()
    (copy / "notes.txt").write_text("new")
    detail = check_files(copy).detail
    assert "tables/outcomes.csv is missing" in detail
    assert "notes.txt is not in SHA256SUMS" in detail


@pytest.mark.parametrize("damage", [('"contents"', '"dontents"'), ('"texts": true', '"texts": 1')])
def test_a_damaged_description_of_a_package_is_found(copy, damage):
    description = copy / "package.json"
    description.write_text(description.read_text().replace(*damage))
    found = wrong(verify_package(copy).checks)
    assert found["files"] == "package.json differs from its recorded hash"
    assert "does not describe a package" in found["frozen"]


def test_changes_that_come_with_new_sums_are_found_too(copy):
    """Whoever edits a table can write its hash anew: the verdicts still say something else."""
    table = copy / "paper/tables/cross_model_outcomes.csv"
    table.write_text(table.read_text().replace("two", "owt"))
    write_sums(copy, ["paper/tables/cross_model_outcomes.csv"])
    assert wrong(verify_package(copy).checks) == {
        "results": "paper/tables/cross_model_outcomes.csv comes out differently"
    }


def test_a_changed_verdict_or_a_lost_call_is_found(copy):
    calls = copy / "calls.parquet"
    rows = "(SELECT *, row_number() OVER () AS n FROM read_parquet(?))"
    edited = copy.parent / "edited.parquet"
    query = f"COPY (SELECT * EXCLUDE n FROM {rows} WHERE n > 1) TO '{edited}'"  # noqa: S608 - ours
    duckdb.execute(query, [str(calls)])
    shutil.move(edited, calls)
    write_sums(copy, ["calls.parquet"])
    found = wrong(verify_package(copy).checks)
    assert "frozen, without a verdict" in found["calls"]


def test_texts_stay_behind_where_that_is_asked(run, tmp_path):
    made = release(run, tmp_path / "p", Contents(texts=False, times=True, completions=True))
    items = (tmp_path / "p/inputs/items.jsonl").read_text()
    assert "first 1" not in items
    assert "task 1" not in items
    assert "i1" in items
    assert "texts of items" in made.left_out
    checks = {check.name: check for check in verify_package(tmp_path / "p").checks}
    assert all(check.ok for check in checks.values())
    assert "left out" in checks["payloads"].detail
    said = gzip.decompress((tmp_path / "p/completions.jsonl.gz").read_bytes()).decode()
    assert len(said.splitlines()) == 576
    drift = json.loads((tmp_path / "p/paper/tables/time_drift.json").read_text())
    assert any(
        isinstance(cell, dict) and cell["text"] for row in drift["rows"] for cell in row[2:3]
    )


def test_what_cannot_be_released_is_said_before_anything_is_written(run, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full/x").write_text("")
    with pytest.raises(InputError, match="holds something already"):
        release(run, tmp_path / "full")
    write_items(tmp_path)
    (tmp_path / "study.yaml").write_text(STUDY)
    freeze(load_study(tmp_path / "study.yaml"), tmp_path / "open")
    with pytest.raises(IncompleteRunError, match="576 of 576 calls are open"):
        release(tmp_path / "open", tmp_path / "out")
    shutil.copytree(run, tmp_path / "broken")
    (tmp_path / "broken/study.yaml").write_text("changed")
    with pytest.raises(IntegrityError, match=r"does not verify \(files, record\)"):
        release(tmp_path / "broken", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_command_line_releases_and_verifies(run, tmp_path, capsys):
    for arguments in (
        ["release", str(run), "-o", str(tmp_path / "p")],
        ["verify", str(tmp_path / "p")],
    ):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code in (0, None)
    out = capsys.readouterr().out
    assert "576 calls in" in out
    assert "come out to the byte" in out


def test_a_package_is_analysed_like_the_run(package, run):
    theirs, ours = read_source(str(package)).tensors, read_source(str(run)).tensors
    assert list(theirs) == list(ours)
    assert all((theirs[key].counts == ours[key].counts).all() for key in ours)


@pytest.fixture
def foreign(package, tmp_path):
    """A package of another program: a table of other column names, hashes in a manifest."""
    folder = tmp_path / "foreign"
    (folder / "data").mkdir(parents=True)
    table = folder / "data/canonical_calls_core.csv"
    columns = 'judge, layer, item AS item_id, prompt, "order", repeat AS repeat_rank, verdict'
    query = f"COPY (SELECT {columns} FROM read_parquet(?)) TO '{table}'"  # noqa: S608 - ours
    duckdb.execute(query, [str(package / "calls.parquet")])
    digest = hashlib.sha256(table.read_bytes()).hexdigest()
    manifest = {"tables": [{"path": "canonical_calls_core.csv", "sha256": digest, "rows": 576}]}
    (folder / "data/core_data_manifest.json").write_text(json.dumps(manifest))
    return folder


def test_a_foreign_package_is_held_against_what_it_says(foreign):
    checks = verify_foreign(foreign).checks
    assert wrong(checks) == {}
    assert [check.name for check in checks] == ["files", "table", "rows"]
    assert "576 calls in 3 streams" in checks[1].detail


def test_a_foreign_package_with_a_changed_or_missing_file_is_found(foreign):
    table = foreign / "data/canonical_calls_core.csv"
    text = table.read_text()
    table.write_text("\n".join(text.splitlines()[:-12]) + "\n")
    found = wrong(verify_foreign(foreign).checks)
    assert found["files"] == "data/canonical_calls_core.csv differs from its recorded hash"
    table.unlink()
    found = wrong(verify_foreign(foreign).checks)
    assert found["files"] == "data/canonical_calls_core.csv is missing"
    assert "no calls table" in found["table"]


def test_a_foreign_manifest_at_the_root_is_no_run(foreign, capsys):
    digest = json.loads((foreign / "data/core_data_manifest.json").read_text())["tables"][0][
        "sha256"
    ]
    (foreign / "data/core_data_manifest.json").unlink()
    name = "data/canonical_calls_core.csv"
    for listed in ({name: f"sha256:{digest}"}, {"files": [{"path": name, "hash": digest}]}):
        (foreign / "manifest.json").write_text(json.dumps({**listed, "rows": 576}))
        with pytest.raises(SystemExit) as stop:
            main(["verify", str(foreign)])
        assert stop.value.code in (0, None)
        assert "576 calls, as the manifest says" in capsys.readouterr().out


def test_a_foreign_table_without_a_hash_is_named(foreign):
    shutil.copy(foreign / "data/canonical_calls_core.csv", foreign / "more.csv")
    assert wrong(verify_foreign(foreign).checks)["files"] == "more.csv has no recorded hash"


def test_a_foreign_list_of_sums_is_read_too(foreign, capsys):
    table = foreign / "data/canonical_calls_core.csv"
    (foreign / "data/core_data_manifest.json").unlink()
    digest = hashlib.sha256(table.read_bytes()).hexdigest()
    (foreign / SUMS).write_text(f"{digest}  data/canonical_calls_core.csv\n")
    with pytest.raises(SystemExit) as stop:
        main(["verify", str(foreign)])
    assert stop.value.code in (0, None)
    assert "576 calls" in capsys.readouterr().out
    (foreign / SUMS).write_text(f"{digest}  ../outside.csv\n")
    assert "outside" in wrong(verify_foreign(foreign).checks)["files"]
    (foreign / SUMS).unlink()
    with pytest.raises(InputError, match="no list of hashes"):
        verify_foreign(foreign)


def test_the_changed_answers_of_probes_go_with_a_package_and_their_texts_stay_behind(tmp_path):
    write_items(tmp_path, 2)
    probed = STUDY.partition("layers:")[0].replace(
        "judges:", "repeats: 2\nprobes: [longer]\njudges:"
    )
    (tmp_path / "study.yaml").write_text(probed)
    with pytest.raises(SystemExit) as stop:
        main(["run", str(tmp_path / "study.yaml"), "--out", str(tmp_path / "run")])
    assert stop.value.code in (0, None)
    opened = RunFolder(tmp_path / "run")
    for texts in (True, False):
        copied = tmp_path / f"texts-{texts}"
        copy_run(opened, copied, Contents(texts=texts))
        changed = open_run(copied).changed
        assert list(changed) == list(opened.frozen.changed)
        assert texts == any("first" in item.candidate_1 for item in changed.values())
