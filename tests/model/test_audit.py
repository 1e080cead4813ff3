"""A real audit from study to analysis, in both wire formats that the server speaks."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from judgelaw.estimate import decompose
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import item_bands
from support.model import ALONE, llmbar, shallow_model, spec, write_study

pytestmark = pytest.mark.model

PERMUTATIONS = 1999


def judges(**fields) -> tuple[dict, dict]:
    """One judge of the whole model, and one of what the fields say in the other format."""
    other = spec("messages", wire="anthropic", seed="logical", **ALONE, **fields)
    return spec("chat", **ALONE), other


def judgelaw(*arguments: object) -> str:
    command = [sys.executable, "-m", "judgelaw", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def shortest_items(folder: Path, *, files: tuple[str, ...], each: int) -> None:
    """Copy the items of LLMBar that are quickest to read."""
    folder.mkdir()
    for name in files:
        rows = json.loads((llmbar() / f"{name}.json").read_text(encoding="utf-8"))
        rows.sort(key=lambda row: len(row["input"] + row["output_1"] + row["output_2"]))
        (folder / f"{name}.json").write_text(json.dumps(rows[:each]))


def audited(folder: Path, asked: tuple, *, files: tuple[str, ...], each: int, **sizes) -> dict:
    """Run and analyse a study with a control layer; return the analysis."""
    shortest_items(folder / "llmbar", files=files, each=each)
    study = write_study(
        folder,
        items={"source": "llmbar", "path": "llmbar"},
        judges=list(asked),
        layers=[
            {"name": "audit", "role": "audit", "repeats": sizes["repeats"]},
            {"name": "control", "role": "control", "repeats": 4, "labels": sizes["labels"]},
        ],
        transport={"timeout_s": 120},
    )
    run = folder / "run"
    judgelaw("run", study, "--out", run)
    judgelaw("verify", run)
    return json.loads(judgelaw("analyze", run, "--permutations", PERMUTATIONS, "--json", "-"))


def check_acquisition(run: Path) -> None:
    """Every call was answered once, by a prompt that was cached up to its last token."""
    with sqlite3.connect(run / "ledger.sqlite") as ledger:
        rows = ledger.execute("SELECT input_tokens, cached_tokens FROM completions").fetchall()
        attempts = ledger.execute("SELECT count(*) FROM attempts").fetchone()[0]
    ledger.close()
    assert len(rows) == attempts
    assert {read - cached for read, cached in rows} == {1}


def check_control(run: Path, analysis: dict, judge: str) -> None:
    """The hidden labels do nothing: the permutation test knows, the plug-in does not."""
    p = analysis["layers"]["control"][judge]["permutation"]["prompt"]["p"]
    control = VerdictTensor.from_table(run / "calls.parquet", judge=judge, layer="control")
    found = decompose(control)
    band = item_bands(found.plugin["prompt"], strata=control.strata, seed=1)
    print(
        f"{judge}: permutation p {p:.4f}; plug-in {band.estimate[0]:+.4f} "
        f"[{band.low[0]:+.4f}, {band.high[0]:+.4f}]; corrected {found.macro().prompt:+.4f}"
    )
    assert p > 0.001
    # Two items may come out alike, which is no band; then each of them is the lower end.
    alike = band.reasons[0] is not None
    assert (found.plugin["prompt"].min() if alike else band.low[0]) > 0


def check_audit(analysis: dict, judge: str) -> None:
    found = analysis["judges"][judge]
    assert (found["prompts"], found["orders"]) == (3, 2)
    assert found["outcomes"].get("invalid", 0) == 0
    assert found["components"]["call"]["estimate"] > 0
    assert found["gold_match"] is not None


@pytest.mark.timeout(280)
def test_an_audit_of_llmbar_items_in_both_wire_formats(tmp_path):
    asked = judges(model_path=str(shallow_model()))
    analysis = audited(tmp_path, asked, files=("Natural",), each=2, repeats=2, labels=4)
    check_acquisition(tmp_path / "run")
    for judge in asked:
        check_audit(analysis, judge["name"])
        check_control(tmp_path / "run", analysis, judge["name"])


@pytest.mark.slow
def test_a_larger_audit_of_llmbar_items_in_both_wire_formats(tmp_path):
    asked = judges()
    files = ("Natural", "GPTInst")
    analysis = audited(tmp_path, asked, files=files, each=4, repeats=4, labels=6)
    check_acquisition(tmp_path / "run")
    for judge in asked:
        check_audit(analysis, judge["name"])
        check_control(tmp_path / "run", analysis, judge["name"])
