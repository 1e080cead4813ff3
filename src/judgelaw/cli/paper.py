"""`judgelaw paper`: every published figure beside what comes out here."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from judgelaw.cli.options import examples
from judgelaw.cli.terminal import echo, progress, say, show_table, write_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from judgelaw.replication import Finding


SCHEMA = "judgelaw.paper/1"


@click.command(
    epilog=examples(
        "judgelaw paper",
        "judgelaw paper runs/paper -o paper/",
        "judgelaw paper --calls canonical_calls.csv.gz --layer control=null --json paper.json",
    )
)
@click.argument("source", metavar="[RUN|TABLE]", required=False)
@click.option(
    "-o",
    "--out",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Where the tables and figures of RUN or TABLE go.",
)
@click.option(
    "--calls",
    "calls_file",
    type=click.Path(exists=True, path_type=Path),
    help="Calls table with the columns of the contract and `layer`: recompute its tables too.",
)
@click.option(
    "--layer",
    "layers",
    multiple=True,
    metavar="PART=NAME",
    help="Name in the table of control, evaluation, reference or broad; may be repeated.",
)
@click.option("--items", type=int, default=200_000, show_default=True, help="Per setting.")
@click.option("--datasets", type=int, default=40_000, show_default=True)
@click.option("--experiments", type=int, default=20_000, show_default=True, help="Per law.")
@click.option("--all", "show_all", is_flag=True, help="Show what agrees too.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--json", "json_file", metavar="FILE", help="Write JSON; - for stdout, without the table."
)
@click.option(
    "--html",
    "page_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write every comparison as one page.",
)
def command(
    *,
    source: str | None,
    folder: Path | None,
    calls_file: Path | None,
    layers: tuple[str, ...],
    items: int,
    datasets: int,
    experiments: int,
    show_all: bool,
    seed: int,
    json_file: str | None,
    page_file: Path | None,
) -> None:
    """Make the paper's tables and figures of your calls, or check the published figures.

    With RUN or TABLE and -o FOLDER: every empirical table of the paper in its layout (CSV, LaTeX,
    JSON) and Figures 1 to 6 and S1 (SVG, PDF, PNG), whatever the judges are called and however
    deep. Where a judge and its design are the paper's own, comparison.html holds the fresh calls
    against the published figures: compatible, differs or cannot tell, and what could be seen.

    Without: every published figure beside the one that comes out here, with its tolerance.
    Simulated tables are regenerated; every table is checked for the paper's own identities; with
    --calls its empirical tables are recomputed. What does not agree is shown, never adjusted.
    """
    from judgelaw.replication import check_identities, comparison_page, count

    if (source is None) != (folder is None):
        raise click.UsageError("name both a run or table and, with -o, a folder for what is made")
    if source is not None and folder is not None:
        if calls_file is not None or layers or page_file is not None:
            raise click.UsageError("--calls, --layer and --html check the published figures only")
        _make(source, folder, items, seed, json_file)
        return

    findings = [*check_identities(), *_instrument()]
    findings += _empirical(calls_file, layers, seed)
    findings += _simulated(items, datasets, experiments, seed)
    if json_file is not None:
        write_json({"schema": SCHEMA, "summary": count(findings), "findings": findings}, json_file)
    if page_file is not None:
        from judgelaw.runs import write_page

        write_page(page_file, comparison_page(findings))
    if json_file != "-":
        _show(findings, show_all=show_all)


def _make(source: str, folder: Path, items: int, seed: int, json_file: str | None) -> None:
    """Write the tables and figures of a run or table."""
    import json

    from judgelaw.runs import read_source, write_paper
    from judgelaw.study import placed

    calls = read_source(source)
    with placed(calls.run, folder) as (there,):  # a folder inside the run is part of it
        made = write_paper(calls, there, items=items, seed=seed or None, progress=progress)
    if json_file is not None:
        write_json(json.loads((folder / "paper.json").read_text(encoding="utf-8")), json_file)
    if json_file == "-":
        return
    say(
        f"{len(made.tables)} tables and {len(made.figures)} figures of the paper are in {folder}, "
        "every judge in a row at one depth.\n"
    )
    rows = [[name, t.label, str(len(t.rows)), t.caption] for name, t in made.tables.items()]
    show_table(("table", "in the paper", "rows", "what it shows"), rows, title="tables")
    if made.left_out:
        echo()
        show_table(("left out", "why"), list(map(list, made.left_out.items())), title="left out")
    if made.published:
        echo()
        _show(made.published, show_all=False)


def _simulated(items: int, datasets: int, experiments: int, seed: int) -> "list[Finding]":
    from judgelaw.replication import (
        compare_decision,
        compare_panel,
        compare_point,
        simulate_decision,
        simulate_panel,
        simulate_point,
    )

    # A panel experiment costs about six times the work per item: both intervals are computed.
    weight = 6
    total = 4 * items + 2 * 50 * datasets + weight * 4 * 50 * experiments
    with progress("simulating items", total) as advance:
        point = simulate_point(items=items, seed=seed, progress=advance)
        decision = simulate_decision(datasets=datasets, seed=seed, progress=advance)
        panel = simulate_panel(
            experiments=experiments, seed=seed, progress=lambda n: advance(weight * n)
        )
    return [*compare_point(point), *compare_decision(decision), *compare_panel(panel)]


def _instrument() -> "list[Finding]":
    """Hold the built-in prompt instrument against the published hashes."""
    import hashlib

    from judgelaw.replication import published, stated
    from judgelaw.study import instruction_blocks

    label = "tab:s-prompt-hashes"
    blocks = instruction_blocks()
    return [
        stated(
            "identity",
            label,
            row["prompt"],
            "SHA-256 prefix of the instruction block",
            row["sha256_prefix"],
            found=hashlib.sha256(blocks[row["prompt"]].encode()).hexdigest()[:12],
        )
        for row in published()[label].rows
    ]


def _empirical(calls: Path | None, layers: tuple[str, ...], seed: int) -> "list[Finding]":
    if calls is None:
        return []
    from judgelaw.replication import Resampling, find_corpus, recompute
    from judgelaw.runs import RunFolder
    from judgelaw.tables import read_tensors

    named, tensors = _layer_names(layers), read_tensors(calls)
    seconds = None
    if (calls / "manifest.json").is_file():
        own = {(at, judge): t for (at, judge), t in tensors.items() if judge is not None}
        seconds = RunFolder(calls).seconds(own)
    corpus = find_corpus(tensors, layers=named, seconds=seconds)
    return list(recompute(corpus, resampling=Resampling(seed=seed)))


def _layer_names(layers: tuple[str, ...]) -> dict[str, str]:
    parts = ("control", "evaluation", "reference", "broad")
    named = {}
    for given in layers:
        part, equals, name = given.partition("=")
        if not equals or part not in parts:
            raise click.UsageError(
                f"--layer {given}: write PART=NAME with a part of {', '.join(parts)}"
            )
        named[part] = name
    return named


def _show(findings: "Sequence[Finding]", *, show_all: bool) -> None:
    from judgelaw.replication import COMPARISON_COLUMNS, by_table, comparison_line, sentence

    say(sentence(findings) + "\n")
    shown = [f for f in findings if show_all or f.verdict == "differs"]
    if shown:
        rows = [comparison_line(finding) for finding in shown]
        title = "every figure" if show_all else "what differs"
        show_table(COMPARISON_COLUMNS, rows, title=title)
        echo()
    columns, rows = by_table(findings)
    show_table(columns, rows, title="by table")
