"""`judgelaw report` from a table, from a run, and where it cannot."""

import base64
import gzip
import json
import re
from unittest.mock import patch

import pytest

from judgelaw.cli import main
from support.calls import real, table, write_csv
from support.studies import write_items

QUICK = ("--draws", "100", "--permutations", "9")
STUDY = """\
version: 1
name: known-law
seed: 7
items: {source: jsonl, path: items.jsonl}
prompts: paper-six
repeats: 2
judges:
  - name: known
    provider: simulated
    model: law
    law: {verdicts: {candidate_1: 0.6, candidate_2: 0.3, tie: 0.05, invalid: 0.05}}
"""


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    out, err = capsys.readouterr()
    return stop.value.code or 0, out, err


@pytest.fixture
def undrawn():
    empty = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'
    with patch("vl_convert.vegalite_to_svg", return_value=empty):
        yield


def unpack(html: str, name: str):
    found = re.search(rf'id="{name}">([^<]+)<', html)
    return json.loads(gzip.decompress(base64.b64decode(found[1])))


@pytest.mark.usefixtures("undrawn")
def test_a_table_becomes_a_page_beside_it(tmp_path, capsys):
    source = write_csv(tmp_path / "calls.csv", table())
    code, out, _ = run(capsys, "report", str(source), *QUICK)
    assert code == 0
    assert out.strip() == str(tmp_path / "calls.html")
    assert "<title>calls.csv</title>" in (tmp_path / "calls.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("undrawn")
def test_a_run_becomes_a_page_with_its_replies_and_its_configuration(tmp_path, capsys):
    write_items(tmp_path)
    (tmp_path / "study.yaml").write_text(STUDY)
    folder = tmp_path / "run"
    assert run(capsys, "run", str(tmp_path / "study.yaml"), "--out", str(folder))[0] == 0
    code, out, _ = run(capsys, "report", str(folder), "--verify", *QUICK)
    assert code == 0
    assert out.strip() == str(folder / "report.html")
    html = (folder / "report.html").read_text(encoding="utf-8")
    grid = unpack(html, "grid-0")
    replies = unpack(html, "text-0-0")
    assert len(replies) == len(grid["names"]) == 6
    assert all(len(cell) == 2 for item in replies for cell in item)
    shown = {text for item in replies for cell in item for _, text, _ in cell}
    assert len(shown) > 1
    assert json.loads((folder / "manifest.json").read_text())["judges"]["known"] in html
    assert "api_key" not in html
    assert "files match their hashes" in html
    assert "report.html" in (folder / "SHA256SUMS").read_text()
    assert run(capsys, "verify", str(folder))[0] == 0


def test_figures_are_written_for_a_paper(tmp_path, capsys):
    source = write_csv(tmp_path / "calls.csv", table(prompts=1, repeats=2))
    folder = tmp_path / "figures"
    code, _, _ = run(capsys, "report", str(source), "--figures", str(folder), *QUICK)
    assert code == 0
    assert {path.suffix for path in folder.iterdir()} == {".svg", ".pdf", ".png"}
    assert (folder / "components.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("name", "absent"),
    [
        ("mtbench_orders_o2_r3", "the prompt facet is absent"),
        ("rewardbench2_prompts_k7_r8", "the order facet is absent"),
        ("yesno_contexts_k5_r10_logprobs", "the order facet is absent"),
    ],
)
def test_real_tables_end_in_a_page_without_hand_work(tmp_path, capsys, name, absent):
    target = tmp_path / "page.html"
    source = str(real(f"{name}.csv.gz"))
    code, _, _ = run(
        capsys, "report", source, "-o", str(target), "--incomplete", "drop", "--draws", "100",
        "--permutations", "0",
    )  # fmt: skip
    assert code == 0
    html = target.read_text(encoding="utf-8")
    assert absent in html.lower()
    assert "not varied" in html


def test_a_page_that_cannot_be_written_is_a_usage_error(tmp_path, capsys):
    source = write_csv(tmp_path / "calls.csv", table())
    target = tmp_path / "no such folder" / "page.html"
    code, _, err = run(capsys, "report", str(source), "-o", str(target), *QUICK)
    assert code == 2
    assert "cannot write" in err


def test_a_table_has_nothing_to_verify(tmp_path, capsys):
    source = write_csv(tmp_path / "calls.csv", table())
    code, _, err = run(capsys, "report", str(source), "--verify", *QUICK)
    assert code == 2
    assert "run folder" in err
