"""All diagnostics of a table: every stream by itself, and streams against each other."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgelaw.diagnose.cells import cells_finding
from judgelaw.diagnose.control import control_finding
from judgelaw.diagnose.drift import Drift, drift_finding, rank_drift, time_drift
from judgelaw.diagnose.drivers import drivers, drivers_finding
from judgelaw.diagnose.exchange import exchange_finding, rank_test
from judgelaw.diagnose.finding import Finding
from judgelaw.diagnose.invalid import invalid_finding, invalid_sensitivity
from judgelaw.diagnose.matching import match
from judgelaw.diagnose.ranking import TAU, ordering_finding, rank_stability, top_judge_finding
from judgelaw.diagnose.replay import ReplyFacts, copies_finding, replay_finding
from judgelaw.diagnose.resampled import How
from judgelaw.errors import InputError
from judgelaw.estimate import Design
from judgelaw.estimate.weights import Weights
from judgelaw.tensor import VerdictTensor

Key = tuple[str | None, str]
_SEVERITY = {"problem": 0, "notice": 1, "unknown": 2, "ok": 3}
_WORST = ("copied_streams", "replay", "invalid_outputs")
"""What makes every other finding doubtful: repeats that are none, and calls without a verdict."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What is known of the calls beside their verdicts.

    Attributes:
        seconds: when each call was made, (items, prompts, orders, repeats) like its tensor, in
            seconds since any common start, nan where unknown.
        replies: what a run knows of the replies.
        adjacent: whether repeats of a cell were made one after the other.
    """

    seconds: Mapping[Key, NDArray[np.float64]] = field(default_factory=dict)
    replies: Mapping[Key, ReplyFacts] = field(default_factory=dict)
    adjacent: bool = False


@dataclass(frozen=True, kw_only=True)
class StreamDrift:
    """Drift of one stream by rank and by time; None where it is not testable."""

    rank: Drift | None
    time: Drift | None


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """What the diagnostics found, problems first, with the drift of every stream."""

    findings: tuple[Finding, ...]
    drift: Mapping[Key, StreamDrift]


def diagnose(
    tensors: Mapping[Key, VerdictTensor],
    *,
    main: str | None,
    how: How,
    roles: Mapping[str, str] | None = None,
    evidence: Evidence | None = None,
    design: Design = "census",
    order_weights: Weights = None,
    threshold: float = TAU,
) -> Diagnosis:
    """Run every diagnostic on every stream; the main layer's judges are ranked as well.

    Streams of layers whose role is "control" are held against their true value 0.
    """
    known = evidence or Evidence()
    drift = {key: _drift(key, t, known, how) for key, t in tensors.items()}
    declared: dict[str, Any] = {"design": design, "order_weights": order_weights}
    findings = [
        finding
        for key, tensor in tensors.items()
        for finding in _stream(
            key=key, tensor=tensor, drift=drift[key], known=known, how=how, declared=declared
        )
    ]
    findings += [
        control_finding(tensor, subject=stream_name((layer, judge)), **declared)
        for (layer, judge), tensor in tensors.items()
        if layer is not None and (roles or {}).get(layer) == "control"
    ]
    findings.append(copies_finding({stream_name(key): t for key, t in tensors.items()}))
    judges = {judge: t for (layer, judge), t in tensors.items() if layer == main}
    findings += _ranking(judges, how, declared, threshold)
    findings.sort(key=lambda f: (_SEVERITY[f.verdict], f.name not in _WORST))
    return Diagnosis(findings=tuple(findings), drift=drift)


def stream_name(key: Key) -> str:
    """Name a stream of calls for people."""
    layer, judge = key
    return judge if layer is None else f"{judge} / {layer}"


def _drift(key: Key, tensor: VerdictTensor, known: Evidence, how: How) -> StreamDrift:
    seconds = known.seconds.get(key)
    return StreamDrift(
        rank=rank_drift(tensor, how),
        time=None if seconds is None else time_drift(tensor, seconds, how),
    )


def _stream(
    *,
    key: Key,
    tensor: VerdictTensor,
    drift: StreamDrift,
    known: Evidence,
    how: How,
    declared: Mapping[str, Any],
) -> Iterator[Finding]:
    subject = stream_name(key)
    yield drift_finding(drift.rank, kind="rank", subject=subject, adjacent=known.adjacent)
    yield drift_finding(drift.time, kind="time", subject=subject, adjacent=known.adjacent)
    yield exchange_finding(rank_test(tensor), tensor.verdicts, subject=subject)
    yield cells_finding(tensor, how, subject=subject)
    yield replay_finding(known.replies.get(key), subject=subject)
    yield invalid_finding(invalid_sensitivity(tensor, **declared), subject=subject)
    yield drivers_finding(drivers(tensor, **declared), subject=subject)


def _ranking(
    judges: Mapping[str, VerdictTensor], how: How, declared: Mapping[str, Any], threshold: float
) -> list[Finding]:
    if len(judges) < 2:  # noqa: PLR2004 - a ranking of one
        return []
    try:
        matched = match(judges)
    except InputError as error:
        return [
            Finding(
                name="ordering",
                verdict="unknown",
                headline=f"The judges cannot be ranked: {error}.",
                advice="Ask all judges about the same items, prompts and orders.",
            )
        ]
    first = next(iter(matched.tensors.values()))
    component = "total"
    if len(first.prompts) > 1 or len(first.orders) > 1:
        component = "prompt" if len(first.prompts) > 1 else "order"
    found = rank_stability(
        matched, component, draws=how.draws, seed=how.seed, threshold=threshold, **declared
    )
    return [ordering_finding(found), top_judge_finding(found)]
