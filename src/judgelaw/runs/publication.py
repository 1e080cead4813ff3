"""The tables and figures of the paper, from a run or a table."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgelaw.errors import writing
from judgelaw.record_files import json_of
from judgelaw.steps import Progress, unseen

if TYPE_CHECKING:
    from judgelaw.replication import Finding, Layout, PaperData
    from judgelaw.runs.source import Source
    from judgelaw.study import FrozenRun

TABLES, FIGURES = "tables", "figures"
SUMMARY, COMPARISON = "paper.json", "comparison.html"
SCHEMA = "judgelaw.paper-folder/1"
_SIMULATED_ITEMS = 200_000
_CHECKS = (
    ("Manifest-to-canonical key mismatches", ("join", "calls"), "0"),
    ("Candidate restoration and frozen-parser mismatches", ("verdicts", "restoration"), "0"),
    ("Hash checks", ("files",), "PASS"),
    ("Completed-response re-requests", ("attempts",), "0"),
)
"""Rows of the paper's table of integrity: the checks that each comes from, and what is good."""


@dataclass(frozen=True, kw_only=True)
class PaperFolder:
    """What was written.

    Attributes:
        folder: where.
        tables: the tables by file name.
        figures: names of the figures.
        left_out: why a table or figure of the paper cannot be made from these calls.
        published: what must hold exactly, and published figures beside these; empty without any
            judge and design of the paper.
        files: every file.
    """

    folder: Path
    tables: "Mapping[str, Layout]"
    figures: tuple[str, ...]
    left_out: Mapping[str, str]
    published: "tuple[Finding, ...]"
    files: tuple[Path, ...]


def write_paper(
    calls: "Source",
    folder: Path,
    *,
    draws: int | None = None,
    seed: int | None = None,
    items: int = _SIMULATED_ITEMS,
    figures: bool = True,
    progress: Progress = unseen,
) -> PaperFolder:
    """Write every empirical table and figure of the paper that these calls give.

    Args:
        calls: what was read of a run or table.
        folder: where they go; files of the same names are replaced.
        draws: item resamples of the bands; by default as the study declares it, else 20,000.
        seed: of the resampling and of the simulated figure.
        items: simulated items in each setting of Figure 3.
        figures: whether to draw them.
        progress: opens what shows how far the work is.
    """
    from judgelaw.page import write_figures
    from judgelaw.replication import make_layouts, write_layouts as write

    with progress("tables", 1) as advance:
        checked = () if calls.folder is None else verified_rows(calls.folder.path)
        data = paper_data(calls, draws=draws, seed=seed, items=items, checked=checked)
        tables, left_out = make_layouts(data)
        files = write(tables, folder / TABLES)
        advance(1)
    drawn: dict[str, Any] = {}
    if figures:
        drawn, missing = _figures(data, items, progress)
        left_out |= missing
        with progress("drawing", len(drawn)) as advance:
            for name, spec in drawn.items():
                files += write_figures({name: spec}, folder / FIGURES)
                advance(1)
    made = PaperFolder(
        folder=folder,
        tables=tables,
        figures=tuple(drawn),
        left_out=left_out,
        published=_beside_published(calls, data),
        files=(*files, folder / SUMMARY),
    )
    if made.published:
        from judgelaw.replication import comparison_page
        from judgelaw.runs.answers import write_page

        write_page(folder / COMPARISON, comparison_page(made.published))
        made = replace(made, files=(*made.files, folder / COMPARISON))
    with writing(folder):
        text = json.dumps(_summary(data, made), indent=1, ensure_ascii=False) + "\n"
        (folder / SUMMARY).write_text(text, encoding="utf-8", newline="")
    return made


def _figures(
    data: "PaperData", items: int, progress: Progress
) -> tuple[dict[str, Any], dict[str, str]]:
    """Draw what these calls give, and the simulated Figure 3."""
    from judgelaw.replication import draw_figures, figure, simulate_point

    drawn, missing = draw_figures(data)
    with progress("simulating items", 4 * items) as advance:
        study = simulate_point(items=items, seed=data.found.how.seed, progress=advance)
    drawn["figure_3"] = figure(study)
    return dict(sorted(drawn.items())), missing


def _summary(data: "PaperData", made: PaperFolder) -> dict[str, Any]:
    """Return what `paper.json` says: which judges, which depths, what was made and what not."""
    return {
        "schema": SCHEMA,
        "judge": data.parts.judge,
        "panel": list(data.parts.panel),
        "reused": data.parts.reused,
        "depths": data.depths,
        "draws": data.found.how.draws,
        "seed": data.found.how.seed,
        "tables": {name: table.label for name, table in made.tables.items()},
        "figures": list(made.figures),
        "left_out": made.left_out,
        "published": [asdict(finding) for finding in made.published],
    }


def paper_data(
    calls: "Source",
    *,
    draws: int | None = None,
    seed: int | None = None,
    items: int = _SIMULATED_ITEMS,
    checked: Sequence[tuple[str, str]] = (),
) -> "PaperData":
    """Find and analyse the parts of the paper in a run or table, with what a run adds.

    `checked` are rows of the table of integrity, beside those that the calls themselves give.
    """
    from judgelaw.replication import Resampling, gather
    from judgelaw.uncertainty import BAND_DRAWS

    folder = calls.folder
    declared = folder and folder.frozen.study.analysis
    if declared:
        draws = declared.draws if draws is None else draws
        seed = declared.seeds.get("analysis") if seed is None else seed
    how = Resampling(draws=draws or BAND_DRAWS, seed=seed or 0)
    facts: dict[str, Any] = {"simulated": items}
    if folder is not None:
        facts |= {
            "seconds": folder.seconds(calls.tensors),
            "configurations": folder.judge_configurations(),
            "integrity": [*folder.integrity(), *checked],
            "prompts": prompt_hashes(folder.frozen),
        }
    estimand = calls.estimand
    return gather(calls.tensors, how=how, estimand=estimand, roles=calls.roles, **facts)


def verified_rows(run: Path) -> list[tuple[str, str]]:
    """Verify a run, and say what was found in the words of the paper's table of integrity.

    A package holds no ledger: it says what was found when it was released.
    """
    package = run / "package.json"
    if package.is_file():
        said = json_of(package.read_text(encoding="utf-8"))["run_verified"]
        wrong = dict.fromkeys(said, "")
    else:
        from judgelaw.acquire.verify import verify

        wrong = {check.name: "" if check.ok else check.detail for check in verify(run).checks}
    return [
        (words, "; ".join(filter(None, map(wrong.get, names))) or good)
        for words, names, good in _CHECKS
        if any(name in wrong for name in names)
    ]


def prompt_hashes(frozen: "FrozenRun") -> dict[str, str]:
    """Return the SHA-256 of every prompt; of its instruction block where that is the paper's."""
    from judgelaw.study import instruction_blocks

    blocks = instruction_blocks() if frozen.study.prompts == "paper-six" else {}
    own = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in blocks.items()}
    return {name: own.get(name, digest) for name, digest in frozen.record.prompts.items()}


def _beside_published(calls: "Source", data: "PaperData") -> "tuple[Finding, ...]":
    """Hold fresh calls against the published ones, where judges and designs are the paper's own."""
    from judgelaw.replication import comparable_corpus, compare_fresh

    seconds = None if calls.folder is None else calls.folder.seconds(calls.tensors)
    corpus = comparable_corpus(data.parts, data.configurations, calls.tensors, seconds)
    return () if corpus is None else compare_fresh(corpus, resampling=data.found.how)
