"""All diagnostics of a table: every stream by itself, and streams against each other.

Some diagnostics count facts: seeds used twice, replies without a verdict. The others are tests, and
share one error rate (`family`): in at most 1 of 20 clean audits any of them calls a problem, in at
most 1 of 10 any of them says anything, however many streams there are.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np
from numpy.typing import NDArray

from judgelaw.diagnose.drift import (
    Drift,
    drift_finding,
    gap_least,
    gap_statistic,
    rank_drift,
    time_drift,
)
from judgelaw.diagnose.family import Bundle, Test, settle
from judgelaw.diagnose.finding import Finding, untestable
from judgelaw.diagnose.independence import (
    cells_finding,
    cells_least,
    cells_statistic,
    control_finding,
    control_test,
)
from judgelaw.diagnose.invalid import invalid_finding, invalid_sensitivity
from judgelaw.diagnose.leave_one_out import Drivers, driver_tests, drivers, drivers_finding
from judgelaw.diagnose.ranking import (
    TAU,
    RankStability,
    match,
    ordering_finding,
    ordering_test,
    rank_stability,
    top_judge_finding,
)
from judgelaw.diagnose.repeat_ranks import (
    RankTest,
    exchange_finding,
    rank_least,
    rank_statistic,
    rank_test,
)
from judgelaw.diagnose.replay import (
    ReplyFacts,
    copies_finding,
    copy_test,
    model_finding,
    overlaps,
    replay_finding,
    unreadable_finding,
)
from judgelaw.diagnose.shuffles import Statistic, mixed_cells, shuffled_ps
from judgelaw.diagnose.vectors import vectors_finding, vectors_test
from judgelaw.errors import InputError
from judgelaw.estimate import CENSUS, Estimand
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import Resampling

Key = tuple[str | None, str]
_SHUFFLED = ("rank_gap", "elapsed_time", "exchangeable_repeats", "cell_dependence")
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
        reused: streams that are declared to be calls of another stream, with that stream.
    """

    seconds: Mapping[Key, NDArray[np.float64]] = field(default_factory=dict)
    replies: Mapping[Key, ReplyFacts] = field(default_factory=dict)
    adjacent: bool = False
    reused: Mapping[Key, Key] = field(default_factory=dict)


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


@dataclass(frozen=True, kw_only=True, eq=False)
class _Stream:
    """One stream with what its diagnostics need, before anything is tested."""

    key: Key
    tensor: VerdictTensor
    drift: StreamDrift
    ranks: RankTest | None
    drivers: Drivers | None
    bundles: tuple[Bundle, ...]
    """Of repeats, of drivers and, where there are some, of labels and of token probabilities."""


def diagnose(
    tensors: Mapping[Key, VerdictTensor],
    *,
    main: str | None,
    how: Resampling,
    roles: Mapping[str, str] | None = None,
    evidence: Evidence | None = None,
    estimand: Estimand = CENSUS,
    threshold: float = TAU,
) -> Diagnosis:
    """Run every diagnostic on every stream; the main layer's judges are ranked as well.

    Streams of layers whose role is "control" are held against their true value 0.
    """
    known = evidence or Evidence()
    controls = {layer for layer, role in (roles or {}).items() if role == "control"}
    # Calls that a layer reuses were looked at where they were made: they are no further evidence.
    own = {key: t for key, t in tensors.items() if known.reused.get(key) not in tensors}
    streams = [
        _prepared(key, tensor, known, how, estimand, control=key[0] in controls)
        for key, tensor in own.items()
    ]
    pairs = overlaps({stream_name(key): t for key, t in own.items()})
    copies = [copy_test(pair, stream(how.seed, "copies", *two)) for two, pair in pairs.items()]
    judges = {judge: t for (layer, judge), t in tensors.items() if layer == main}
    rankings = list(_rankings(judges, how, estimand, threshold))
    ranked = [ordering_test(found) for found in rankings if isinstance(found, RankStability)]

    tests = iter(settle([*(b for s in streams for b in s.bundles), *copies, *ranked]))
    findings = [
        finding
        for s in streams
        for finding in _findings(s, [next(tests) for _ in s.bundles], known, how, estimand)
    ]
    findings.append(copies_finding(len(own), pairs, [next(tests)["copied"] for _ in copies]))
    for found in rankings:
        if isinstance(found, RankStability):
            findings += [ordering_finding(found, next(tests)["ordering"]), top_judge_finding(found)]
        else:
            findings.append(found)
    findings.sort(key=lambda f: (_SEVERITY[f.verdict], f.name not in _WORST))
    return Diagnosis(findings=tuple(findings), drift={s.key: s.drift for s in streams})


def stream_name(key: Key) -> str:
    """Name a stream of calls for people."""
    layer, judge = key
    return judge if layer is None else f"{judge} / {layer}"


def _prepared(
    key: Key,
    tensor: VerdictTensor,
    known: Evidence,
    how: Resampling,
    estimand: Estimand,
    *,
    control: bool,
) -> _Stream:
    seconds = known.seconds.get(key)
    drift = StreamDrift(
        rank=rank_drift(tensor, how),
        time=None if seconds is None else time_drift(tensor, seconds, how),
    )
    driving = drivers(tensor, estimand=estimand)
    name = stream_name(key)
    bundles = [
        _repeats(
            tensor, drift, None if known.adjacent else seconds, stream(how.seed, "calls", name)
        ),
        driver_tests(driving, stream(how.seed, "drivers", name)),
    ]
    if control:
        bundles.append(control_test(tensor, stream(how.seed, "labels", name), estimand))
    if tensor.soft is not None:
        bundles.append(vectors_test(tensor, how.seed))
    return _Stream(
        key=key,
        tensor=tensor,
        drift=drift,
        ranks=rank_test(tensor),
        drivers=driving,
        bundles=tuple(bundles),
    )


def _repeats(
    tensor: VerdictTensor,
    drift: StreamDrift,
    seconds: NDArray[np.float64] | None,
    rng: np.random.Generator,
) -> Bundle:
    """Return the tests that shuffle the repeats of every cell."""
    mixed = mixed_cells(tensor)
    least = dict.fromkeys(_SHUFFLED, inf)
    if mixed is None:
        return Bundle(least=least, run=lambda *_: ())
    if drift.rank is not None:
        least["rank_gap"] = gap_least(mixed)
    if drift.time is not None and seconds is not None:
        least["elapsed_time"] = gap_least(mixed)
    least["exchangeable_repeats"] = rank_least(mixed)
    least["cell_dependence"] = cells_least(mixed)
    made: dict[str, Callable[[], Statistic]] = {
        "rank_gap": lambda: gap_statistic(mixed),
        "elapsed_time": lambda: gap_statistic(mixed, seconds),
        "exchangeable_repeats": lambda: rank_statistic(mixed),
        "cell_dependence": lambda: cells_statistic(mixed),
    }

    def run(wanted: Sequence[str], most: int) -> list[float]:
        return shuffled_ps(mixed, [made[name]() for name in wanted], rng, most)

    return Bundle(least=least, run=run)


def _findings(
    of: _Stream,
    tests: Sequence[Mapping[str, Test]],
    known: Evidence,
    how: Resampling,
    estimand: Estimand,
) -> Iterator[Finding]:
    subject, tensor, adjacent = stream_name(of.key), of.tensor, known.adjacent
    calls, driving, *others = tests
    labels, vectors = ([t for t in others if name in t] for name in ("control", "vectors"))
    by_rank, by_time = calls["rank_gap"], calls["elapsed_time"]
    yield drift_finding(of.drift.rank, by_rank, kind="rank", subject=subject, adjacent=adjacent)
    yield drift_finding(of.drift.time, by_time, kind="time", subject=subject, adjacent=adjacent)
    exchange = calls["exchangeable_repeats"]
    yield exchange_finding(of.ranks, exchange, tensor.verdicts, subject=subject)
    yield cells_finding(tensor, calls["cell_dependence"], how, subject=subject)
    yield replay_finding(known.replies.get(of.key), subject=subject)
    for found in (model_finding, unreadable_finding):
        if (finding := found(known.replies.get(of.key), subject=subject)) is not None:
            yield finding
    yield invalid_finding(invalid_sensitivity(tensor, estimand), subject=subject)
    yield drivers_finding(of.drivers, driving["prompt"], driving["stratum"], subject=subject)
    for test in vectors:
        yield vectors_finding(tensor, test["vectors"], subject=subject)
    for test in labels:
        yield control_finding(tensor, test["control"], estimand, subject=subject)


def _rankings(
    judges: Mapping[str, VerdictTensor],
    how: Resampling,
    estimand: Estimand,
    threshold: float,
) -> Iterator[RankStability | Finding]:
    """Rank the judges, on one criterion at a time where there are several."""
    by_criterion: dict[str | None, dict[str, VerdictTensor]] = {}
    for judge, tensor in judges.items():
        by_criterion.setdefault(tensor.criterion, {})[judge] = tensor
    for several in by_criterion.values():
        if len(several) > 1:
            yield _ranking(several, how, estimand, threshold)


def _ranking(
    judges: Mapping[str, VerdictTensor],
    how: Resampling,
    estimand: Estimand,
    threshold: float,
) -> RankStability | Finding:
    try:
        matched = match(judges)
    except InputError as error:
        advice = "Ask all judges about the same items, prompts and orders."
        return untestable("ordering", f"The judges cannot be ranked: {error}.", advice)
    first = next(iter(matched.tensors.values()))
    component = "total"
    if len(first.prompts) > 1 or len(first.orders) > 1:
        component = "prompt" if len(first.prompts) > 1 else "order"
    return rank_stability(
        matched, component, draws=how.draws, seed=how.seed, threshold=threshold, estimand=estimand
    )
