"""From tensors to one complete analysis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import judgelaw
from judgelaw.analysis.components import Resampling
from judgelaw.analysis.depths import Declaration
from judgelaw.analysis.effort import LEAST_PERMUTATIONS, draws_for, permutations_for
from judgelaw.analysis.judge import Progress, Request, analyze_judge
from judgelaw.analysis.roles import infer_roles, main_layer
from judgelaw.analysis.tables import Context, make_tables
from judgelaw.analysis.values import Analysis, JudgeAnalysis, Key, Settings
from judgelaw.diagnose import Cell, Diagnosis, Evidence, How, diagnose, time_span
from judgelaw.diagnose.ranking import TAU
from judgelaw.errors import InputError
from judgelaw.estimate import Design
from judgelaw.tensor import VerdictTensor

STAGES = "analysing"
"""What the stages are called in progress: a stream each, then diagnostics, then tables."""


def analyze(
    tensors: Mapping[Key, VerdictTensor],
    *,
    design: Design = "census",
    order_weights: Mapping[str, float] | None = None,
    draws: int | None = None,
    seed: int = 0,
    permutations: int | None = None,
    level: float = 0.95,
    threshold: float = TAU,
    roles: Mapping[str, str] | None = None,
    evidence: Evidence | None = None,
    configurations: Mapping[str, Mapping[str, Cell]] | None = None,
    integrity: Sequence[tuple[str, str]] = (),
    progress: Progress | None = None,
) -> Analysis:
    """Analyse every judge of every layer of one table.

    Args:
        tensors: the calls, by (layer or None, judge).
        design: "census" if the prompts are all that matter, "sampled" if a generator drew them.
        order_weights: how often each order is used, by name; equal by default.
        draws: item resamples of the bands; by default 20,000, fewer for many items.
        seed: seed of every named stream.
        permutations: shuffles of the permutation tests; 0 leaves them out. By default 999, fewer
            for many calls, none beyond ten million.
        level: coverage of bands and intervals.
        threshold: prompt component above which a judge is flagged in the ranking of judges.
        roles: role of each layer, where its name does not say it.
        evidence: times of calls and what a run knows of its replies, for the diagnostics.
        configurations: fields of each judge's frozen configuration, by judge.
        integrity: checks made on the way here, with their results, for the integrity table.
        progress: called with (what, done, of): the stages, and the draws of permutation tests.

    Raises:
        NotIdentifiedError: a cell holds a single call.
    """
    if not tensors:
        raise InputError("no calls: an analysis needs the table of one judge or more")
    shuffles = permutations_for(tensors.values()) if permutations is None else permutations
    request = Request(
        declared=Declaration(design=design, order_weights=order_weights),
        how=Resampling(
            draws=draws_for(tensors.values()) if draws is None else draws, seed=seed, level=level
        ),
        permutations=shuffles,
        progress=progress,
    )
    stage = _Stages(total=len(tensors) + 2, progress=progress)
    found = {}
    for key, tensor in tensors.items():
        with stage:
            found[key] = analyze_judge(key[1], tensor, request)
    layered = _by_layer(found, roles)
    known = evidence or Evidence()
    with stage:
        diagnosis = _diagnose(tensors, layered, request, known, threshold)
    context = Context(
        tensors=tensors,
        found=found,
        drift=diagnosis.drift,
        roles=layered.roles,
        main=layered.main,
        declared=request.declared,
        how=request.how,
        findings=diagnosis.findings,
        spans={key: time_span(seconds) for key, seconds in known.seconds.items()},
        configurations=configurations or {},
        integrity=integrity,
    )
    with stage:
        tables, left_out = make_tables(context)
    return Analysis(
        judges=layered.layers[layered.main],
        layers={name: judges for name, judges in layered.layers.items() if name is not None},
        main_layer=layered.main,
        roles=layered.roles,
        settings=_settings(request),
        diagnostics=diagnosis.findings,
        tables=tables,
        left_out=left_out,
        warnings=(*_which_layer(layered), *_no_test(permutations, shuffles)),
    )


@dataclass
class _Stages:
    """Counts the stages of an analysis and tells of each before and after it."""

    total: int
    progress: Progress | None
    done: int = 0

    def __enter__(self) -> None:
        self._tell()

    def __exit__(self, *exception: object) -> None:
        self.done += 1
        self._tell()

    def _tell(self) -> None:
        if self.progress is not None:
            self.progress(STAGES, self.done, self.total)


@dataclass(frozen=True, kw_only=True)
class _Layered:
    """The streams by layer, which layer is the main one, and what each is for."""

    layers: Mapping[str | None, Mapping[str, JudgeAnalysis]]
    main: str | None
    roles: Mapping[str, str]


def _by_layer(found: Mapping[Key, JudgeAnalysis], roles: Mapping[str, str] | None) -> _Layered:
    layers: dict[str | None, dict[str, JudgeAnalysis]] = {}
    for (layer, judge), value in found.items():
        layers.setdefault(layer, {})[judge] = value
    named = [layer for layer in layers if layer is not None]
    if not named:
        return _Layered(layers=layers, main=None, roles={})
    known = infer_roles(named, roles)
    return _Layered(layers=layers, main=main_layer(known), roles=known)


def _diagnose(
    tensors: Mapping[Key, VerdictTensor],
    layered: _Layered,
    request: Request,
    evidence: Evidence,
    threshold: float,
) -> Diagnosis:
    how = request.how
    return diagnose(
        tensors,
        main=layered.main,
        how=How(draws=how.draws, seed=how.seed, level=how.level),
        roles=layered.roles,
        evidence=evidence,
        design=request.declared.design,
        order_weights=request.declared.order_weights,
        threshold=threshold,
    )


def _settings(request: Request) -> Settings:
    return Settings(
        design=request.declared.design,
        draws=request.how.draws,
        seed=request.how.seed,
        permutations=request.permutations,
        level=request.how.level,
        version=judgelaw.__version__,
        order_weights=request.declared.order_weights,
    )


def _no_test(asked: int | None, shuffles: int) -> tuple[str, ...]:
    if asked is not None or shuffles:
        return ()
    left_out = "permutation tests were left out: this many calls take long to shuffle"
    return (f"{left_out}; ask for them with --permutations {LEAST_PERMUTATIONS}",)


def _which_layer(layered: _Layered) -> tuple[str, ...]:
    main, roles = layered.main, layered.roles
    if main is None or len(roles) == 1 or roles[main]:
        return ()
    warning = (
        f"no layer has the role audit or evaluation; {main!r} is shown as the main one: "
        "name another with --layer, or give roles in the study"
    )
    return (warning,)
