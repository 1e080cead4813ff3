"""What comparisons with the published numbers say, in words, as tables and as a page."""

from collections.abc import Iterable, Mapping, Sequence

from judgelaw.analysis import Table
from judgelaw.page import page
from judgelaw.replication.corpus import JUDGES
from judgelaw.replication.published_numbers import Finding, Kind, Span, Verdict
from judgelaw.words import counted

WORDS: Mapping[Kind, str] = {
    "identity": "exactly",
    "regenerated": "against our simulation",
    "recomputed": "the same calls, recomputed",
    "fresh": "fresh calls",
}
_SHOWN: tuple[Verdict, ...] = ("differs", "cannot tell", "compatible", "agrees", "not available")
_OF_ANY: tuple[Verdict, ...] = ("agrees", "differs", "not available")
_OF_FRESH: tuple[Verdict, ...] = ("compatible", "differs", "cannot tell", "not available")
COMPARISON_COLUMNS = (
    *("table", "row", "what", "held", "published", "here", "difference", "interval"),
    *("could have seen", "tolerance", "verdict"),
)


def count(findings: Iterable[Finding]) -> dict[str, int]:
    """Count verdicts; those of fresh calls only where there are any."""
    found = list(findings)
    fresh = any(f.kind == "fresh" for f in found)
    chosen = dict.fromkeys((*_OF_ANY, *(_OF_FRESH if fresh else ())))
    return {verdict: sum(f.verdict == verdict for f in found) for verdict in chosen}


def sentence(findings: Sequence[Finding]) -> str:
    """Say how many comparisons of each kind there are, what they say, and what they could see."""
    fresh = [f for f in findings if f.kind == "fresh"]
    held = [f for f in findings if f.kind != "fresh"]
    if not fresh:
        return _agreeing(held, "comparisons agree")
    made = [f for f in fresh if f.verdict != "not available"]
    words = {v: sum(f.verdict == v for f in made) for v in _OF_FRESH}
    said = [_agreeing(held, "consequences hold exactly")] if held else []
    said.append(
        f"Of {counted(len(made), 'figure')} of fresh calls {words['compatible']} are compatible "
        f"with the published ones, {words['differs']} differ and {words['cannot tell']} cannot "
        "tell."
    )
    if seen := sorted(f.seen / unit_of(f) for f in made if f.seen is not None):
        said.append(
            "With 80 % power, at the 95 % level of a whole table, half of them would have seen a "
            f"move of {seen[len(seen) // 2]:.3f} or less, and nine of ten one of "
            f"{seen[9 * len(seen) // 10]:.3f} (as a share of calls or pairs)."
        )
    if absent := len(fresh) - len(made):
        said.append(f"{counted(absent, 'published figure')} cannot be had from these calls.")
    if missing := [judge for judge in JUDGES if not any(judge in f.row for f in made)]:
        said.append(f"Not asked on the paper's design: {', '.join(missing)}.")
    return " ".join(said)


def _agreeing(findings: Sequence[Finding], what: str) -> str:
    counts = count(findings)
    said = f"{counts['agrees']} of {len(findings)} {what}, {counts['differs']} differ"
    if counts["not available"]:
        said += f", {counts['not available']} cannot be made from what is given"
    return said + "."


def unit_of(finding: Finding) -> float:
    """Return what one is on the scale of a figure: counts of calls and percent are shares too."""
    if finding.table == "text:cross_model_shares":
        return 100.0
    whole = "." not in finding.published
    sizes = {"tab:s-qwen-layers": _LAYER_ROWS, "tab:cross-model-outcomes": {"": 2400.0}}
    known = sizes.get(finding.table, {"": _COMPLETE.get(finding.row.split(",")[0], 1.0)})
    return known.get(finding.row.split(",")[0], known.get("", 1.0)) if whole else 1.0


_LAYER_ROWS = {"control": 4800.0, "evaluation": 4800.0, "reference": 9600.0, "broad": 17712.0}
_COMPLETE = {"control": 50.0, "evaluation": 50.0, "reference": 50.0, "broad": 369.0}


def comparison_line(finding: Finding) -> list[str]:
    """Return a comparison as the cells of `COMPARISON_COLUMNS`."""
    found, interval = finding.found, finding.interval
    here = "-" if found is None else found if isinstance(found, str) else f"{found:.6g}"
    apart = "-"
    if finding.kind == "fresh" and isinstance(found, float):
        apart = _short(found - Span.printed(finding.published).middle, "+")
    return [
        finding.table,
        finding.row,
        finding.rule,
        WORDS[finding.kind],
        finding.published,
        here,
        apart,
        "-" if interval is None else " to ".join(_short(end, "+") for end in interval),
        "-" if finding.seen is None else _short(finding.seen),
        "-" if finding.kind == "fresh" else f"{finding.tolerance:.2g}",
        finding.verdict,
    ]


def _short(value: float, sign: str = "") -> str:
    """Return three digits, and a count of calls as a whole number."""
    return format(value, f"{sign},.0f" if abs(value) >= 100 else f"{sign}.3g")  # noqa: PLR2004 - three digits


def by_table(findings: Sequence[Finding]) -> tuple[tuple[str, ...], list[list[str]]]:
    """Return columns and rows of a table that counts verdicts by published table."""
    groups: dict[tuple[str, Kind], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.table, finding.kind), []).append(finding)
    words = tuple(count(findings))
    rows = [
        [table, WORDS[kind], *(str(sum(f.verdict == v for f in group)) for v in words)]
        for (table, kind), group in groups.items()
    ]
    return ("table", "held", *words), rows


def comparison_page(findings: Sequence[Finding]) -> str:
    """Return one page: what was counted, then a section each table, what differs first."""
    groups: dict[str, list[Finding]] = {}
    for finding in sorted(findings, key=lambda f: _SHOWN.index(f.verdict)):
        groups.setdefault(finding.table, []).append(finding)
    columns, counts = by_table(findings)
    tables = [_table("comparisons", "How many of each", columns, counts)]
    for label, group in groups.items():
        lines = [comparison_line(finding) for finding in group]
        filled = [any(cell != "-" for cell in column) for column in zip(*lines, strict=True)]
        chosen = [at for at, there in enumerate(filled) if there and at]
        rows = [[cells[at] for at in chosen] for cells in lines]
        shown = [COMPARISON_COLUMNS[at] for at in chosen]
        tables.append(_table(label.replace(":", "-"), label, shown, rows))
    return page("The published figures, held against", sentence(findings), tables)


def _table(name: str, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    return Table(name=name, title=title, columns=tuple(columns), rows=tuple(map(tuple, rows)))
