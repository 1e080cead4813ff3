"""All diagnostics of a table: every stream by itself, and streams against each other.

Some diagnostics count facts: seeds used twice, replies without a verdict. The others are tests, and
share one error rate (`family`): in at most 1 of 20 clean audits any of them calls a problem, in at
most 1 of 10 any of them says anything, however many streams there are.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from judgelaw.diagnose.drift import StreamDrift, stream_drift
from judgelaw.diagnose.evidence import Evidence, Key
from judgelaw.diagnose.family import Bundle, Test, settle
from judgelaw.diagnose.finding import Finding, untestable
from judgelaw.diagnose.ranking import (
    TAU,
    RankStability,
    match,
    ordering_finding,
    ordering_test,
    rank_stability,
    top_judge_finding,
)
from judgelaw.diagnose.registry import Diagnostic, Stream, diagnostics
from judgelaw.diagnose.replay import WORTHLESS_STREAMS, copies_finding, copy_test, overlaps
from judgelaw.diagnose.shuffles import shuffled_ps
from judgelaw.errors import InputError
from judgelaw.estimate import CENSUS, Estimand
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import Resampling

_SEVERITY = {"problem": 0, "notice": 1, "unknown": 2, "ok": 3}
_WORST = ("cached", "copied_streams", "replay", "invalid_outputs")
"""What makes every other finding doubtful: repeats that are none, and calls without a verdict."""


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """What the diagnostics found, problems first, with the drift of every stream."""

    findings: tuple[Finding, ...]
    drift: Mapping[Key, StreamDrift]


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
    streams = [
        Stream(
            key=key,
            tensor=tensor,
            how=how,
            estimand=estimand,
            seconds=known.seconds.get(key),
            latency=known.latency.get(key),
            replies=known.replies.get(key),
            adjacent=known.adjacent,
            control=key[0] in controls,
        )
        for key, tensor in tensors.items()
        if known.reused.get(key) not in tensors
    ]
    pairs = overlaps({of.name: of.tensor for of in streams})
    judges = {judge: t for (layer, judge), t in tensors.items() if layer == main}
    rankings = list(_rankings(judges, how, estimand, threshold))

    bundles: dict[Hashable, Bundle] = {}
    for of in streams:
        bundles |= _bundles(of)
    for two, pair in pairs.items():
        bundles["copies", two] = copy_test(pair, stream(how.seed, "copies", *two))
    for at, ranking in enumerate(rankings):
        if isinstance(ranking, RankStability):
            bundles["ordering", at] = ordering_test(ranking)
    tests = settle(bundles)

    findings = [finding for of in streams for finding in _findings(of, tests)]
    copied = [tests["copies", two]["copied"] for two in pairs]
    findings.append(copies_finding(len(streams), pairs, copied))
    for at, ranking in enumerate(rankings):
        if isinstance(ranking, RankStability):
            ordering = tests["ordering", at]["ordering"]
            findings += [ordering_finding(ranking, ordering), top_judge_finding(ranking)]
        else:
            findings.append(ranking)
    findings.sort(key=lambda f: (_SEVERITY[f.verdict], f.name not in _WORST))
    drift = {of.key: stream_drift(of) for of in streams}
    return Diagnosis(findings=tuple(findings), drift=drift)


def worthless() -> Mapping[str, str]:
    """Return what anybody may read of problems that make an answer worthless, by finding."""
    said = {each.name: each.worthless for each in diagnostics() if each.worthless}
    return {**said, **WORTHLESS_STREAMS}


def _bundles(of: Stream) -> dict[Hashable, Bundle]:
    """Return the tests of one stream, before anything is drawn: shuffles of repeats together."""
    listed = diagnostics()
    found: dict[Hashable, Bundle] = {
        (_SHUFFLES, of.key): _shuffles(of, [each for each in listed if each.shuffle is not None])
    }
    for each in listed:
        bundle = None if each.test is None else each.test(of)
        if bundle is not None:
            found[each.name, of.key] = bundle
    return found


_SHUFFLES = "shuffles of repeats"


def _shuffles(of: Stream, listed: Sequence[Diagnostic]) -> Bundle:
    """Return the tests that shuffle the repeats of every cell."""
    mixed = of.mixed
    if mixed is None:
        return Bundle(least=dict.fromkeys((each.name for each in listed), inf), run=lambda *_: ())
    tests = {each.name: each.shuffle for each in listed if each.shuffle is not None}
    rng = stream(of.how.seed, "calls", of.name)

    def run(wanted: Sequence[str], most: int) -> list[float]:
        made = [tests[name].statistic(of, mixed) for name in wanted]
        return shuffled_ps(mixed, made, rng, most)

    return Bundle(least={name: test.least(of, mixed) for name, test in tests.items()}, run=run)


def _findings(of: Stream, tests: Mapping[Hashable, Mapping[str, Test]]) -> Iterator[Finding]:
    """Yield what every diagnostic makes of a stream, given its own tests."""
    for each in diagnostics():
        if each.shuffle is not None:
            own = {each.name: tests[_SHUFFLES, of.key][each.name]}
        else:
            own = dict(tests.get((each.name, of.key), {}))
        yield from each.find(of, own)


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
