"""Items: the things that are judged."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """One thing to judge; `candidate_2` is None where single answers are judged."""

    id: str
    stratum: str | None
    instruction: str
    candidate_1: str
    candidate_2: str | None
    gold: str | None
