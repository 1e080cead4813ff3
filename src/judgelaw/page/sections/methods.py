"""What was frozen, what was checked, every table of the paper, and what the words mean."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from judgelaw.blocks import Block, Cell, Details, Facts, Table, note, paragraph
from judgelaw.page.subject import PROMPTS_PART, TEXT, Kind, Report
from judgelaw.page.table_forms import table_block
from judgelaw.vocabulary import glossary
from judgelaw.words import visible

_SHOWN_ABOVE = frozenset({"invalid_sensitivity", "complete_case", "time_drift", "integrity"})


def tables(report: Report) -> Sequence[Block] | None:
    """Return every table of the analysis under its name in a paper, closed until asked for."""
    analysis, place = report.analysis, report.document.at("tables")
    blocks: list[Block] = [
        Details(
            summary=f"{found.title} ({name})",
            blocks=(table_block(found, place.at(name), name=name),),
        )
        for name, found in analysis.tables.items()
        if name not in _SHOWN_ABOVE and found.rows
    ]
    if analysis.left_out:
        pairs = tuple((visible(k), visible(v)) for k, v in analysis.left_out.items())
        blocks.append(
            Details(summary="Tables that these calls do not give", blocks=(Facts(pairs=pairs),))
        )
    if not blocks:
        return None
    said = paragraph(
        "The same tables as CSV, LaTeX and JSON come from “judgelaw analyze”. They follow the "
        "paper: item bands describe the benchmark, and shares are raw. For a claim take the "
        "intervals above."
    )
    return (said, *blocks)


def configuration(report: Report) -> Sequence[Block]:
    """Return the frozen configuration with its hashes, and how the analysis was made."""
    blocks: list[Block] = []
    for part, values in (report.frozen or {}).items():
        pairs = tuple(_flat(_without_texts(part, values)))
        facts = Facts(pairs=pairs, code=True)
        blocks.append(Details(summary=visible(str(part)), blocks=(facts,)))
    if not blocks:
        blocks.append(
            paragraph("No study file came with these calls, so how they were made is not known.")
        )
    settings, place = report.analysis.settings, report.document.at("settings")
    made: list[tuple[str, Cell]] = []
    for each in fields(settings):
        value = getattr(settings, each.name)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        made.append((each.name, place.value(each.name, form="any") if number else _words(value)))
    facts = Facts(pairs=tuple(made), code=True)
    blocks.append(Details(summary="How the analysis was made", blocks=(facts,)))
    blocks.append(note("With these settings and the same calls every figure comes out again."))
    return blocks


def _without_texts(part: str, values: Any) -> Any:
    """Leave out the texts of prompts, which stand where prompts are."""
    if part != PROMPTS_PART or not isinstance(values, Mapping):
        return values
    return {
        name: {k: v for k, v in each.items() if k != TEXT} if isinstance(each, Mapping) else each
        for name, each in values.items()
    }


def _flat(value: Any, prefix: str = "") -> list[tuple[str, str]]:
    """Lay nested settings out as `decoding.temperature`."""
    if isinstance(value, Mapping):
        return [
            pair
            for key, inner in value.items()
            for pair in _flat(inner, f"{prefix}.{key}" if prefix else visible(str(key)))
        ]
    return [(prefix or "value", _words(value))]


def _words(value: Any) -> str:
    if value is None or (isinstance(value, Sequence) and not value):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(_words(v) for v in value)
    return visible(str(value))


def integrity(report: Report) -> Sequence[Block]:
    """Return what was verified, or say that nothing was."""
    found = report.analysis.tables.get("integrity")
    blocks: list[Block] = []
    if report.verified:
        rows = tuple((visible(str(k)), _words(v)) for k, v in report.verified.items())
        blocks.append(Table(columns=("Check", "Found"), rows=rows, name="run"))
    if found is not None and found.rows:
        place = report.document.at("tables", "integrity")
        blocks.append(table_block(found, place, name="integrity"))
    if not blocks:
        blocks.append(
            paragraph(
                "This page was made from a calls table alone: requests, hashes and parsers "
                "behind it were not checked. “judgelaw verify” checks a run."
            )
        )
    return blocks


def words(report: Report) -> Sequence[Block]:
    """Return what the words mean."""
    return (Facts(pairs=tuple(glossary(single=report.single).items())),)


def looks(report: Report) -> Sequence[Block] | None:
    """Return the looks that were taken while the calls grew, and what followed from each."""
    if report.looks is None:
        return None
    text, columns, rows = report.looks
    shown = tuple(tuple(map(visible, row)) for row in rows)
    return (paragraph(text), Table(columns=tuple(columns), rows=shown, name="looks"))


SECTIONS = (
    Kind(id="looks", title="When it stopped", order=225, make=looks, of="report"),
    Kind(id="integrity", title="Integrity", order=260, make=integrity, of="report", brief=False),
    Kind(
        id="configuration",
        title="What was frozen",
        order=270,
        make=configuration,
        of="report",
        brief=False,
    ),
    Kind(id="tables", title="Tables", order=280, make=tables, of="report", brief=False),
    Kind(id="words", title="Words", order=290, make=words, of="report", brief=False),
)
