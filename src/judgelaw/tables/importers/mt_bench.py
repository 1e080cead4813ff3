"""Judgments of MT-bench (FastChat `gen_judgment.py`): single scores, and pairs in two games."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from judgelaw.steps import Advance
from judgelaw.tables.importers.entries import Advice, Format, as_text
from judgelaw.tables.importers.known import (
    FIRST,
    PLACE,
    RESPONSE,
    SECOND,
    TIE,
    KnownLog,
    LogFile,
    Row,
    hashed,
    human_label,
    one_prompt,
)
from judgelaw.tables.reading import AS_GIVEN, UNNAMED
from judgelaw.tensor import INVALID

_WINNERS = {"model_1": FIRST, "model_2": SECOND, "tie": TIE}
_NO_SCORE = -1
_SCALE = tuple(map(float, range(1, 11)))


def tells_single(file: LogFile) -> bool:
    """Whether records are single scores."""
    return {"question_id", "model", "judge", "judgment", "score", "turn"} <= set(file.columns)


def tells_pair(file: LogFile) -> bool:
    """Whether records are pairs in two games."""
    return {"question_id", "model_1", "model_2", "g1_winner", "g2_winner"} <= set(file.columns)


def known_single(files: Sequence[LogFile], tick: Advance) -> KnownLog:
    """Read one call for each judged turn of a system."""
    rows = [row for file in files for place, r in file.records(tick) for row in _single(place, r)]
    prompt = one_prompt(rows, "single")
    scores = {float(row["verdict"] or 0) for row in rows if row["verdict"] != INVALID}
    return KnownLog(
        format="mt-bench-single",
        name="MT-bench single scores",
        says=(
            "judge: the first name of `judge`; `model` is the system judged",
            prompt,
            "item: question, turn and the system judged: neither is a repeat",
            "verdict: the score, 1 to 10; -1 means that the reply held no score: invalid",
        ),
        rows=rows,
        scale=_SCALE if scores <= set(_SCALE) else {"from": _SCALE[0], "to": _SCALE[-1]},
    )


def known_pair(files: Sequence[LogFile], tick: Advance) -> KnownLog:
    """Read two calls for each pair, one an order."""
    rows = [row for file in files for place, r in file.records(tick) for row in _pair(place, r)]
    prompt = one_prompt(rows, "pair")
    return KnownLog(
        format="mt-bench-pair",
        name="MT-bench pairs",
        says=(
            "judge: the first name of `judge`",
            prompt,
            "item: question, turn and the two systems: model_1 is candidate_1, model_2 candidate_2",
            "order: game 1 shows model_1 first (AB), game 2 model_2 (BA)",
            "verdict: the winner, which names the system and not the position; error is invalid",
        ),
        rows=rows,
    )


def _shared(record: Mapping[str, Any]) -> Row:
    judge = record.get("judge")
    model, prompt = (*judge, AS_GIVEN)[:2] if isinstance(judge, list) and judge else (judge, None)
    return {
        "judge": as_text(model) or UNNAMED,
        "prompt": as_text(prompt) or AS_GIVEN,
        "cluster": as_text(record["question_id"]),
        "human": human_label(record),
        RESPONSE: hashed(record) if "tstamp" in record else None,
    }


def _turn(record: Mapping[str, Any]) -> str:
    return f"{as_text(record['question_id'])}/turn {as_text(record.get('turn')) or 1}"


def _single(place: str, record: Mapping[str, Any]) -> Iterator[Row]:
    score, system = record.get("score"), as_text(record["model"])
    yield {
        **_shared(record),
        "item": f"{_turn(record)}/{system}",
        "answer": system,
        "verdict": INVALID if score in {_NO_SCORE, None} else as_text(score),
        "reply": as_text(record.get("judgment")),
        PLACE: place,
    }


def _pair(place: str, record: Mapping[str, Any]) -> Iterator[Row]:
    for game, order in ((1, "AB"), (2, "BA")):
        winner = as_text(record.get(f"g{game}_winner"))
        yield {
            **_shared(record),
            "item": f"{_turn(record)}/{record['model_1']} or {record['model_2']}",
            "order": order,
            "verdict": _WINNERS.get(winner or "", INVALID),
            "reply": as_text(record.get(f"g{game}_judgment")),
            RESPONSE: hashed(record, game) if "tstamp" in record else None,
            PLACE: f"{place} game {game}",
        }


_ADVICE = Advice(
    fresh="judge again into another file, with a temperature",
    repeat="run gen_judgment.py again into another file and name both",
)
OFFERED = (
    Format(
        name="mt-bench-single",
        title="MT-bench single scores",
        place=70,
        tells=tells_single,
        known=known_single,
        advice=_ADVICE,
    ),
    Format(
        name="mt-bench-pair",
        title="MT-bench pairs",
        place=72,
        tells=tells_pair,
        known=known_pair,
        advice=_ADVICE,
    ),
)
