"""Judgments of Arena-hard (`model_judgment/JUDGE/MODEL.jsonl`): two games against a baseline."""

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
    """Whether records are judgments: a model, a judge and its games."""
    names = set(file.columns)
    question = "question_id" in names or "uid" in names
    games = file.first.get("games")
    return question and {"model", "judge", "games"} <= names and isinstance(games, list)


def known(files: Sequence[LogFile], tick: Advance) -> KnownLog:
    """Read a call for each game, and restore who was shown first."""
    left: Counter[str] = Counter()
    rows = [row for f in files for place, r in f.records(tick) for row in _games(place, r, left)]
    return KnownLog(
        format="arena-hard",
        name="Arena-hard judgments",
        says=(
            "judge: `judge`; `model` is the system judged against the baseline",
            "item: question and system; the baseline is candidate_1, the system candidate_2",
            "order: game 1 shows the baseline first (AB), game 2 the system (BA)",
            "verdict: the score, turned from position to candidate; A>>B counts as A>B",
        ),
        left_out=counts(left),
        rows=rows,
    )


def _games(place: str, record: Mapping[str, Any], left: Counter[str]) -> Iterator[Row]:
    question = as_text(record.get("uid", record.get("question_id")))
    system = as_text(record["model"])
    games = record["games"] if isinstance(record.get("games"), list) else []
    for number, game in enumerate(games):
        if not isinstance(game, Mapping):
            left[f"game {number + 1} (not played)"] += 1
        elif number >= len(_ORDERS):
            left[f"game {number + 1} (its order is not known)"] += 1
        else:
            yield {
                "judge": as_text(record.get("judge")) or UNNAMED,
                "item": f"{question}/{system}",
                "cluster": question,
                "answer": system,
                "stratum": as_text(record.get("category")),
                "prompt": AS_GIVEN,
                "order": _ORDERS[number],
                "verdict": candidate(better(game.get("score")), _ORDERS[number]),
                "human": human_label(record),
                "reply": _reply(game.get("judgment")),
                PLACE: f"{place} game {number + 1}",
            }


def _reply(judgment: Any) -> str | None:
    return as_text(mapping(judgment).get("answer")) or as_text(judgment)


OFFERED = (
    Format(
        name="arena-hard",
        title="Arena-hard judgments",
        place=76,
        tells=tells,
        known=known,
        advice=Advice(
            fresh="judge again into another folder, with a temperature",
            repeat="run gen_judgment.py again into another folder and name both files",
        ),
    ),
)
