"""Outputs of JudgeBench (`run_judge.py`): a pair in two games, the second as it was displayed."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from judgelaw.steps import Advance
from judgelaw.tables.importers.entries import Advice, Format, as_text, mapping
from judgelaw.tables.importers.known import (
    PLACE,
    KnownLog,
    LogFile,
    Row,
    better,
    candidate,
    counts,
    human_label,
)
from judgelaw.tables.reading import AS_GIVEN, UNNAMED

_ORDERS = ("AB", "BA")


def tells(file: LogFile) -> bool:
    """Whether records are pairs with a label and the judgments of their games."""
    names = {"response_A", "response_B", "label", "judgments"}
    return names <= set(file.columns) and isinstance(file.first["judgments"], list)


def known(files: Sequence[LogFile], tick: Advance) -> KnownLog:
    """Read a call for each game, and restore the second."""
    left: Counter[str] = Counter()
    rows = [row for f in files for place, r in f.records(tick) for row in _games(place, r, left)]
    return KnownLog(
        format="judgebench",
        name="JudgeBench output",
        says=(
            "judge: `judge_model` of each judgment; prompt: `judge_name`",
            "item: `pair_id`; gold: `label`; stratum: `source`",
            "order: game 1 shows response_A first (AB), game 2 response_B (BA)",
            "verdict: the decision, turned from position to candidate; none is invalid",
        ),
        left_out=counts(left),
        rows=rows,
    )


def _games(place: str, record: Mapping[str, Any], left: Counter[str]) -> Iterator[Row]:
    for number, game in enumerate(record.get("judgments") or ()):
        if not isinstance(game, Mapping):
            left[f"game {number + 1} (not played)"] += 1
            continue
        if number >= len(_ORDERS):
            left[f"game {number + 1} (its order is not known)"] += 1
            continue
        said = mapping(game.get("judgment"))
        yield {
            "judge": as_text(said.get("judge_model"))
            or as_text(record.get("judge_name"))
            or UNNAMED,
            "item": as_text(record.get("pair_id")) or as_text(record.get("original_id")),
            "stratum": as_text(record.get("source")),
            "prompt": as_text(record.get("judge_name")) or AS_GIVEN,
            "order": _ORDERS[number],
            "verdict": candidate(better(game.get("decision")), _ORDERS[number]),
            "gold": candidate(better(record.get("label")), "AB"),
            "human": human_label(record),
            "instruction": as_text(record.get("question")),
            "candidate_1": as_text(record.get("response_A")),
            "candidate_2": as_text(record.get("response_B")),
            "reply": as_text(said.get("response")),
            PLACE: f"{place} game {number + 1}",
        }


OFFERED = (
    Format(
        name="judgebench",
        title="JudgeBench output",
        place=78,
        tells=tells,
        known=known,
        advice=Advice(
            fresh="judge again, with a temperature",
            repeat="run run_judge.py again and name both files",
        ),
    ),
)
