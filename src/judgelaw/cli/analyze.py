"""`judgelaw analyze`: what the disagreement of each judge is made of."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judgelaw.cli.options import (
    Place,
    evidence_options,
    examples,
    one_place,
    permutations_option,
    resampling_options,
    source_argument,
    source_options,
)
from judgelaw.cli.terminal import echo, progress, say, write_json
from judgelaw.processes import processes
from judgelaw.runs import Reading, analyze_source, read_source, report_of
from judgelaw.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from judgelaw.analysis import Analysis, SoftMode
    from judgelaw.page import Report


@click.command(
    epilog=examples(
        "judgelaw analyze calls.csv.gz",
        "judgelaw analyze runs/my-study --json analysis.json --tables tables/",
        "judgelaw analyze calls.parquet --judge my-judge --repeats 4 --incomplete drop",
        "judgelaw analyze calls.csv.gz --prompt plain --items wrong.csv",
        "judgelaw analyze calls.parquet --soft never",
    )
)
@source_argument
@source_options
@resampling_options
@permutations_option
@evidence_options
@click.option("--details", is_flag=True, help="Print components, tests and notices below.")
@click.option("--json", "json_file", metavar="FILE", help="Write JSON; - for stdout alone.")
@click.option(
    "--tables",
    "tables_folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write every table as CSV, LaTeX and JSON.",
)
@click.option(
    "--items",
    "items_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write every item as a row of CSV: texts, verdicts, how often right; wrong ones first.",
)
def command(
    *,
    source: Place,
    reading: Reading,
    draws: int | None,
    seed: int | None,
    permutations: int | None,
    soft: "SoftMode",
    at_least: float | None,
    details: bool,
    json_file: str | None,
    tables_folder: Path | None,
    items_file: Path | None,
) -> None:
    """Say whether a judge may be used and what to change, and what its disagreement is made of.

    A table has the columns judge, item, stratum, prompt, order, repeat, verdict, gold (CSV,
    Parquet or JSON lines); a run is the folder of `judgelaw run`.
    """
    calls = read_source(source, reading, vectors=soft != "never")
    with processes(1, calls=calls.count):
        analysis = analyze_source(
            calls,
            draws=draws,
            seed=seed,
            permutations=permutations,
            soft=soft,
            at_least=at_least,
            progress=progress,
        )
    if tables_folder is not None:
        from judgelaw.page import write_tables
        from judgelaw.study import own_folder

        own_folder(tables_folder)
        written = write_tables(analysis.tables, tables_folder)
        echo(f"{len(written)} files in {tables_folder}", err=True)
    if items_file is not None:
        _write_items(analysis, items_file)
    if json_file is not None:
        write_json(analysis.to_json(), json_file)
    if json_file != "-":
        report = partial(report_of, analysis, calls) if details else None
        show(analysis, place=one_place(source), details=report)


def _write_items(analysis: "Analysis", target: Path) -> None:
    """Write the items of the main layer; of several judges one after the other."""
    from judgelaw.analysis import Table
    from judgelaw.errors import writing
    from judgelaw.page import sheet_of, to_csv

    several = len(analysis.judges) > 1
    rows = [
        {**({"judge": name} if several else {}), **row}
        for name in analysis.judges
        for row in analysis.item_tables[analysis.main_layer, name].records()
    ]
    columns = tuple(dict.fromkeys(column for row in rows for column in row))
    cells = tuple(tuple(row.get(column) for column in columns) for row in rows)
    table = Table(name="items", title="Items", columns=columns, rows=cells)
    with writing(target):
        target.write_text(to_csv(sheet_of(table)), encoding="utf-8")
    echo(f"{counted(len(rows), 'item')} in {target}", err=True)


def show(
    analysis: "Analysis",
    *,
    place: str = "",
    page: str = "",
    details: "Callable[[], Report] | None" = None,
) -> None:
    """Print the answer; with `details`, which gives the report, also what it rests on."""
    from judgelaw.analysis import probe_sentence, screen_of_analysis
    from judgelaw.blocks import Place, text_of
    from judgelaw.cli.answer_screen import show_screen

    where = Path(place).resolve().name if place else ""
    show_screen(screen_of_analysis(analysis, where), place=place, page=page)
    for judge in analysis.judges.values():
        if judge.probes:
            say(text_of(probe_sentence(judge, Place(None))))
        if judge.more_prompts is not None:
            say(judge.more_prompts.sentence)
    if details is not None:
        from judgelaw.cli.sections import show_sections
        from judgelaw.page import sections_of

        echo()
        show_sections(sections_of(details()))
