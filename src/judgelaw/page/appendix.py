"""What was frozen, what was checked, and what the words mean."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from judgelaw.analysis import Analysis
from judgelaw.page.document import (
    Block,
    Facts,
    Folded,
    Number,
    Part,
    Section,
    TableView,
    measured,
    note,
    paragraph,
)
from judgelaw.page.table_forms import table_view
from judgelaw.words import visible

GLOSSARY = {
    "Cell": "One item under one prompt in one answer order. It holds the repeats.",
    "Verdict law": "The probabilities with which the judge gives each verdict in one cell.",
    "Disagreement": (
        "The probability that two calls give different verdicts. All components are in this unit."
    ),
    "Repeat calls": (
        "Disagreement of two calls of the very same request: the dice. More repeats average it "
        "out, rewording does not touch it."
    ),
    "Prompt": (
        "How far the verdict law moves between the declared prompts, after averaging the orders."
    ),
    "Answer order": (
        "How far the law moves when the two answers change places, after averaging the prompts."
    ),
    "Prompt × order": "What neither explains alone: an order effect that depends on the prompt.",
    "Corrected": (
        "Counts pairs of distinct calls only, so that finite repeats add no bias. May be negative."
    ),
    "Plug-in": (
        "Takes relative frequencies for the laws. Too large for every effect, by an amount that "
        "falls as one over the repeats. Flip rates share this bias."
    ),
    "Items like these": (
        "The interval for other items of the same kind. It covers the choice of items and the "
        "dice, and allows for a kind of item that is rare and was not drawn."
    ),
    "These items": (
        "The interval for the same items, prompts and orders asked again. It covers the dice alone."
    ),
    "Band": (
        "In the tables that are named as in the paper: where the average falls when items are "
        "resampled within strata. A picture of the benchmark, too narrow for a claim where few "
        "items flip."
    ),
    "Share": "A component over the total, as the range that the calls or items allow.",
    "Census, sampled": (
        "A census takes the declared prompts as all that matter; sampled prompts stand for the "
        "generator that drew them."
    ),
    "Barycentre": "The mean of verdict laws: the ordinary verdict rate.",
    "Invalid": "A completed reply from which no verdict could be read. An outcome, not a gap.",
}


def integrity(record: Mapping[str, Any] | None, analysis: Part[Analysis]) -> Section:
    """Return what was verified, or say that nothing was."""
    found = analysis.at(lambda a: a.tables).find("integrity")
    blocks: list[Block] = []
    if record:
        rows = tuple(((visible(str(k)),), (_words(v),)) for k, v in record.items())
        blocks.append(TableView(columns=("Check", "Found"), rows=rows, name="run"))
    if found is not None and found.value.rows:
        blocks.append(table_view(found, name="integrity"))
    if not blocks:
        blocks.append(
            paragraph(
                "This page was made from a calls table alone: requests, hashes and parsers "
                "behind it were not checked. “judgelaw verify” checks a run."
            )
        )
    return Section(id="integrity", title="Integrity", blocks=tuple(blocks))


def configuration(frozen: Mapping[str, Any] | None, analysis: Part[Analysis]) -> Section:
    """Return the frozen configuration with its hashes, and how the analysis was made."""
    blocks: list[Block] = []
    for part, values in (frozen or {}).items():
        pairs = tuple((k, (v,)) for k, v in _flat(values))
        blocks.append(Folded(summary=visible(str(part)), blocks=(Facts(pairs=pairs, code=True),)))
    if not blocks:
        blocks.append(
            paragraph("No study file came with these calls, so how they were made is not known.")
        )
    settings = Part(asdict(analysis.value.settings), ("settings",))
    made = tuple((key, (_setting(found),)) for key, found in settings.items())
    blocks.append(
        Folded(summary="How the analysis was made", blocks=(Facts(pairs=made, code=True),))
    )
    blocks.append(note("With these settings and the same calls every figure comes out again."))
    return Section(id="configuration", title="What was frozen", blocks=tuple(blocks))


def _setting(found: Part[Any]) -> str | Number:
    if isinstance(found.value, (int, float)) and not isinstance(found.value, bool):
        return measured(found.value, where=found.path)
    return _words(found.value)


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


def tables(analysis: Part[Analysis], *, shown: frozenset[str] = frozenset()) -> Section | None:
    """Return every table of the analysis under its name in a paper, closed until asked for."""
    left_out = analysis.value.left_out
    blocks: list[Block] = [
        Folded(summary=f"{found.value.title} ({name})", blocks=(table_view(found, name=name),))
        for name, found in analysis.at(lambda a: a.tables).items()
        if name not in shown and found.value.rows
    ]
    if left_out:
        pairs = tuple((visible(k), (visible(v),)) for k, v in left_out.items())
        blocks.append(
            Folded(summary="Tables that these calls do not give", blocks=(Facts(pairs=pairs),))
        )
    if not blocks:
        return None
    said = paragraph(
        "The same tables as CSV, LaTeX and JSON come from “judgelaw analyze”. They follow the "
        "paper: item bands describe the benchmark, and shares are raw. For a claim take the "
        "intervals above."
    )
    return Section(id="tables", title="Tables", blocks=(said, *blocks))


_WITHOUT_ORDER = {
    "Cell": "One item under one prompt. It holds the repeats.",
    "Prompt": "How far the verdict law moves between the declared prompts.",
    "These items": (
        "The interval for the same items and prompts asked again. It covers the dice alone."
    ),
    "Answer order": None,
    "Prompt × order": None,
}
"""What words mean where single answers are judged; None where there is no such thing."""


def glossary(*, single: bool = False) -> Section:
    """Return what the words mean; `single` answers have no order."""
    words = {**GLOSSARY, **(_WITHOUT_ORDER if single else {})}
    pairs = tuple((term, (meaning,)) for term, meaning in words.items() if meaning is not None)
    return Section(id="glossary", title="Words", blocks=(Facts(pairs=pairs),))
