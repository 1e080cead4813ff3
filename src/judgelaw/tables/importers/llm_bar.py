"""Results of LLMBar evaluators (`evaluators/JUDGE/PROMPT/result.json`): both orders of a pair."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from judgelaw.steps import Advance
from judgelaw.tables.importers.entries import Advice, Format, as_text, mapping, mappings
from judgelaw.tables.importers.known import (
    FIRST,
    PLACE,
    SECOND,
    KnownLog,
    LogFile,
    Row,
    counts,
    hashed,
    human_label,
)
from judgelaw.tables.reading import AS_GIVEN, UNNAMED
from judgelaw.tensor import INVALID

_GAMES = {"swap = False": "AB", "swap = True": "BA"}
_WINNERS = {"1": FIRST, "2": SECOND}
_FOLDERS = 4
"""`evaluators/JUDGE/PROMPT/result.json`: the judge and its prompt are in the path alone."""


def tells(file: LogFile) -> bool:
    """Whether records are items of LLMBar with results in two orders."""
    names = {"input", "output_1", "output_2", "label", "results"}
    if not names <= set(file.columns):
        return False
    return any(set(_GAMES) & set(found) for found in mappings(file.first["results"]))


def known(files: Sequence[LogFile], tick: Advance) -> KnownLog:
    """Read a call for each order; rounds after the first look at its results and are left out."""
    left: Counter[str] = Counter()
    rows: list[Row] = []
    for file in files:
        shared = _of_path(file.path)
        rows += [{**shared, **row} for p, r in file.records(tick) for row in _calls(p, r, left)]
    return KnownLog(
        format="llmbar",
        name="LLMBar results",
        says=(
            "judge, prompt: the folders evaluators/JUDGE/PROMPT; the file does not name them",
            "item: a hash of instruction and outputs; gold: `label`",
            "order: `swap = False` is AB, `swap = True` BA; winners name the output",
            "verdict: `winner`; none is invalid",
        ),
        left_out=counts(left),
        rows=rows,
    )


def _of_path(path: Path) -> Row:
    parts = path.resolve().parts[-_FOLDERS:]
    named = len(parts) == _FOLDERS and parts[0] == "evaluators"
    return {"judge": parts[1] if named else UNNAMED, "prompt": parts[2] if named else AS_GIVEN}


def _calls(place: str, record: Mapping[str, Any], left: Counter[str]) -> Iterator[Row]:
    texts = [as_text(record.get(name)) for name in ("input", "output_1", "output_2")]
    rounds = [found for found in mappings(record.get("results")) if set(_GAMES) & set(found)]
    if len(rounds) > 1:
        left["later rounds, which are shown the replies of the first"] += len(rounds) - 1
    for game, order in _GAMES.items():
        said = mapping(rounds[0].get(game)) if rounds else {}
        if not said:
            left[f"{game} (not asked)"] += 1
            continue
        completion = said.get("completion")
        yield {
            "item": hashed(texts),
            "order": order,
            "verdict": _WINNERS.get(as_text(said.get("winner")) or "", INVALID),
            "gold": _WINNERS.get(as_text(record.get("label")) or ""),
            "human": human_label(record),
            "instruction": texts[0],
            "candidate_1": texts[1],
            "candidate_2": texts[2],
            "reply": as_text(completion[0] if isinstance(completion, list) else completion),
            PLACE: f"{place} {game}",
        }


OFFERED = (
    Format(
        name="llmbar",
        title="LLMBar results",
        place=80,
        tells=tells,
        known=known,
        advice=Advice(
            fresh="evaluate again, with a temperature",
            repeat="run evaluate.py again into another folder and name both files",
        ),
    ),
)
