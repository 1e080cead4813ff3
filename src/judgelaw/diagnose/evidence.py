"""What is known of calls beside their verdicts: times, and facts about replies."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Key = tuple[str | None, str]
"""Layer (None where the data has none) and judge."""
Objects = NDArray[Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class ReplyFacts:
    """What a run knows of the replies of one stream.

    Attributes:
        response_ids, texts, seeds: one for each call, (..., repeats) with one row for a cell; None
            where unknown, None altogether where the run did not keep them.
        flags: replies that the ledger flagged, by kind (another model, a replay, ...).
        asked: the model that was asked for, None where none was named.
        models: replies of the judge by the model that they name.
        unreadable: replies of the judge in which no label was found, by how they begin, the most
            frequent first.
    """

    response_ids: Objects | None = None
    texts: Objects | None = None
    seeds: Objects | None = None
    flags: Mapping[str, int] = field(default_factory=dict)
    asked: str | None = None
    models: Mapping[str, int] = field(default_factory=dict)
    unreadable: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What is known of the calls beside their verdicts.

    Attributes:
        seconds: when each call was made, (items, prompts, orders, repeats) like its tensor, in
            seconds since any common start, nan where unknown.
        latency: how long each took, in the same shape.
        replies: what a run knows of the replies.
        adjacent: whether repeats of a cell were made one after the other.
        reused: streams that are declared to be calls of another stream, with that stream.
    """

    seconds: Mapping[Key, NDArray[np.float64]] = field(default_factory=dict)
    latency: Mapping[Key, NDArray[np.float64]] = field(default_factory=dict)
    replies: Mapping[Key, ReplyFacts] = field(default_factory=dict)
    adjacent: bool = False
    reused: Mapping[Key, Key] = field(default_factory=dict)
