"""From tensors to one complete analysis: which layer answers, how much to resample."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import judgelaw
from judgelaw.analysis import call_tables, component_tables, reference_tables
from judgelaw.analysis.answer import Best, best_of
from judgelaw.analysis.answer_words import Design as Asked, spoken
from judgelaw.analysis.component_tables import Context, TableOrReason
from judgelaw.analysis.judge_analysis import (
    STEPS,
    Request,
    analyze_judge,
    one_call_judge,
    permutation_tests,
    tests_of,
)
from judgelaw.analysis.look_first import item_table
from judgelaw.analysis.probe_answers import find_effects, without_probes
from judgelaw.analysis.soft_evidence import SoftMode, check_soft_mode
from judgelaw.analysis.values import Analysis, JudgeAnalysis, Key, Settings, Table
from judgelaw.arrays import PAIR
from judgelaw.diagnose import (
    TAU,
    Cell,
    Diagnosis,
    Evidence,
    Finding,
    diagnose,
    time_span,
)
from judgelaw.errors import InputError
from judgelaw.estimate import CENSUS
from judgelaw.processes import begin, begin_each, shared
from judgelaw.steps import Progress, unheard, unseen
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import (
    BAND_DRAWS,
    PERMUTATIONS,
    Estimand,
    PermutationTest,
    Resampling,
)
from judgelaw.words import judge_of

_PICKS = 100_000_000
_LEAST_DRAWS = 1_000
_MOVES = 1_000_000_000
LEAST_PERMUTATIONS = 99


def band_draws_for(tensors: Iterable[VerdictTensor]) -> int:
    """Return the item resamples of the bands: fewer for more than five thousand items.

    The ends of a band over many items are read off as well from a tenth of the draws: their error
    is a share of a width that is itself small.
    """
    items = max(len(tensor.items) for tensor in tensors)
    return min(BAND_DRAWS, max(_LEAST_DRAWS, _PICKS // items))


def permutations_for(tensors: Iterable[VerdictTensor]) -> int:
    """Return the shuffles of a permutation test: fewer for more than a million calls.

    None, where not even 99 can be had: a test of ten million calls finds whatever is there.
    """
    calls = max(int(tensor.counts.sum()) for tensor in tensors)
    found = min(PERMUTATIONS, _MOVES // max(calls, 1))
    return found if found >= LEAST_PERMUTATIONS else 0


ROLES = ("audit", "evaluation", "reference", "control", "probe")
_WORDS = {**{role: role for role in ROLES}, "null": "control"}
_MAIN = ("audit", "evaluation")


def infer_roles(layers: Iterable[str], declared: Mapping[str, str] | None) -> dict[str, str]:
    """Return the role of each layer: as declared, else the role that its name holds.

    A layer whose name holds none has the role "". Layers come in the sequence in which they are
    declared, the others after them.
    """
    known = dict(declared or {})
    there = list(layers)
    listed = [layer for layer in known if layer in there]
    if wrong := [f"{layer}: {role}" for layer, role in known.items() if role not in ROLES]:
        raise InputError(f"role {wrong[0]!r}: a layer is {', '.join(ROLES)}")
    ordered = listed + [layer for layer in there if layer not in known]
    return {layer: known.get(layer) or _in_name(layer) for layer in ordered}


def _in_name(layer: str) -> str:
    words = re.split(r"[^a-z]+", layer.lower())
    return next((_WORDS[word] for word in words if word in _WORDS), "")


def main_layer(roles: Mapping[str, str]) -> str:
    """Return the main layer: the first of role audit, else evaluation, else the first listed."""
    for role in _MAIN:
        for layer, its in roles.items():
            if its == role:
                return layer
    return next((layer for layer, its in roles.items() if its != "probe"), next(iter(roles)))


TABLES: dict[str, Callable[[Context], TableOrReason]] = {
    "real_prompt_estimates": component_tables.real_prompt_estimates,
    "decomposition": component_tables.decomposition,
    "broad_decomposition": component_tables.broad_decomposition,
    "matched_reference": reference_tables.matched_reference,
    "reference_split_half": reference_tables.reference_split_half,
    "panel_sensitivity": reference_tables.panel_sensitivity,
    "panel_intervals": reference_tables.panel_intervals,
    "cross_model_summary": component_tables.cross_model_summary,
    "cross_prompt": component_tables.cross_prompt,
    "components": component_tables.components,
    "strata": component_tables.strata,
    "by_prompt": component_tables.by_prompt,
    "outcomes": call_tables.outcomes,
    "layers": call_tables.layers,
    "study_design": call_tables.study_design,
    "judge_configurations": call_tables.judge_configurations,
    "invalid_sensitivity": call_tables.invalid_table,
    "complete_case": call_tables.complete_case,
    "time_drift": call_tables.time_drift,
    "identity_check": call_tables.identity_check,
    "permutation_tests": call_tables.permutation_tests,
    "uncertainty_split": call_tables.uncertainty_split,
    "other_metrics": call_tables.other_metrics,
    "diagnostics": call_tables.diagnostics,
    "integrity": call_tables.integrity,
}


def make_tables(context: Context) -> tuple[dict[str, Table], dict[str, str]]:
    """Make every table that these calls support, and say why the others are left out."""
    made = {name: make(context) for name, make in TABLES.items()}
    if all(found.single for found in context.found.values()):
        made = {n: _without_order(t) if isinstance(t, Table) else t for n, t in made.items()}
    return (
        {name: t for name, t in made.items() if isinstance(t, Table)},
        {name: reason for name, reason in made.items() if isinstance(reason, str)},
    )


_OF_ORDER = (
    "order",
    "orders",
    "interaction",
    "order_share",
    "interaction_share",
    "lean",
    "invalid_to_tie",
)
"""Columns, and names of components, that single answers have no part in."""


def _without_order(table: Table) -> Table:
    """Leave out what is about an order of answers, where single answers are judged."""
    prefixes = tuple(f"{name}_" for name in _OF_ORDER)
    keep = [
        i
        for i, name in enumerate(table.columns)
        if name not in _OF_ORDER and not name.startswith(prefixes)
    ]
    rows = [row for row in table.rows if not {"order", "interaction"} & {*row[:4]}]
    return replace(
        table,
        title=table.title.replace("; tie and invalid do not match a gold candidate", ""),
        columns=tuple(table.columns[i] for i in keep),
        rows=tuple(tuple(row[i] for i in keep) for row in rows),
    )


def analyze(
    tensors: Mapping[Key, VerdictTensor],
    *,
    estimand: Estimand = CENSUS,
    draws: int | None = None,
    seed: int = 0,
    permutations: int | None = None,
    level: float = 0.95,
    threshold: float = TAU,
    roles: Mapping[str, str] | None = None,
    evidence: Evidence | Callable[[], Evidence] | None = None,
    configurations: Mapping[str, Mapping[str, Cell]] | None = None,
    integrity: Sequence[tuple[str, str]] = (),
    at_least: float | None = None,
    soft: SoftMode = "auto",
    progress: Progress = unseen,
) -> Analysis:
    """Analyse every judge of every layer of one table.

    Args:
        tensors: the calls, by (layer or None, judge).
        estimand: what is estimated; weights of orders by name.
        draws: item resamples of the bands; by default 20,000, fewer for many items.
        seed: seed of every named stream.
        permutations: shuffles of a test; 0 leaves tests out. By default 999, fewer for many calls.
        level: coverage of bands and intervals.
        threshold: prompt component above which a judge is flagged in the ranking of judges.
        roles: role of each layer, where its name does not say it.
        evidence: times of calls and what a run knows of its replies, or what gathers that.
        configurations: fields of each judge's frozen configuration, by judge.
        integrity: checks made on the way here, with their results.
        at_least: how often the judge has to be right, as a share; None for the usual bars.
        soft: whether token probabilities may answer: "auto" where they hold, "never" or "only".
        progress: opens what shows how far it is.

    Where no cell of a judge holds two calls, right, swap and reword are answered all the same.

    Raises:
        NotIdentifiedError: a cell holds a single call, and others more.
    """
    everything, tensors = tensors, _checked(tensors, soft)
    shuffles = permutations_for(tensors.values()) if permutations is None else permutations
    known = _Known(_gatherer(evidence), configurations or {}, integrity, threshold)
    how = Resampling(draws=draws or band_draws_for(tensors.values()), seed=seed, level=level)
    judges = len({judge_of(judge) for _, judge in tensors})
    request = Request(
        estimand=estimand,
        how=how,
        permutations=shuffles,
        judges=judges,
        at_least=at_least,
        soft=soft,
    )
    with progress("analysing", _steps(tensors, shuffles)) as advance:
        found = _complete(tensors, roles, replace(request, advance=advance), known)
        found = _with_probes(found, everything, seed)
    return replace(
        found,
        warnings=(*found.warnings, *_no_test(permutations, shuffles)),
        item_tables={
            key: item_table(tensors[key], judge.answer.contested.ids)
            for key, judge in found.streams().items()
        },
    )


def _gatherer(evidence: Evidence | Callable[[], Evidence] | None) -> Callable[[], Evidence]:
    """Return what gathers the evidence, while processes are at work."""
    if callable(evidence):
        return evidence
    given = evidence or Evidence()
    return lambda: given


def _checked(tensors: Mapping[Key, VerdictTensor], soft: str) -> Mapping[Key, VerdictTensor]:
    """Return the calls without those of probes, if there are any."""
    if not tensors:
        raise InputError("no calls: an analysis needs the table of one judge or more")
    check_soft_mode(soft)
    return without_probes(tensors)


def _with_probes(analysis: Analysis, tensors: Mapping[Key, VerdictTensor], seed: int) -> Analysis:
    """Add what probes show to the judges of the main layer."""
    effects = find_effects(tensors, analysis.main_layer, seed=seed)
    if not effects:
        return analysis
    judges = {
        name: replace(judge, probes=effects.get(name, {}))
        for name, judge in analysis.judges.items()
    }
    layers = dict(analysis.layers)
    if analysis.main_layer is not None:
        layers[analysis.main_layer] = judges
    return replace(analysis, judges=judges, layers=layers)


def _steps(tensors: Mapping[Key, VerdictTensor], shuffles: int) -> int:
    """Count the steps of a bar: streams, their permutation tests, diagnostics and tables."""
    return STEPS * (len(tensors) + _tests(tensors, shuffles) + 2)


def _tests(tensors: Mapping[Key, VerdictTensor], shuffles: int) -> int:
    """Count the permutation tests."""
    return sum(len(tests_of(tensor, shuffles)) for tensor in tensors.values())


@dataclass(frozen=True)
class _Known:
    """What a run knows beside its calls, and the limit that judges are ranked against."""

    evidence: Callable[[], Evidence]
    configurations: Mapping[str, Mapping[str, Cell]]
    integrity: Sequence[tuple[str, str]]
    threshold: float


def _complete(
    tensors: Mapping[Key, VerdictTensor],
    roles: Mapping[str, str] | None,
    request: Request,
    known: _Known,
) -> Analysis:
    """Analyse every judge, diagnose them together, then make the tables."""
    main, known_roles = _main_of(tensors, roles)
    repeated = {key: t for key, t in tensors.items() if t.depth[1] > 1}
    analysed = _begin_streams(repeated, request)
    evidence = known.evidence()
    diagnosis = _diagnose(repeated, main, known_roles, request, evidence, known.threshold)
    request.advance(STEPS)
    several = analysed()
    found = {
        key: several[key] if key in several else one_call_judge(key[1], tensor, request)
        for key, tensor in tensors.items()
    }
    layered = _by_layer(found, main, known_roles)
    context = Context(
        tensors=repeated,
        found=several,
        drift=diagnosis.drift,
        roles=layered.roles,
        main=layered.main,
        estimand=request.estimand,
        how=request.how,
        findings=diagnosis.findings,
        spans={key: time_span(seconds) for key, seconds in evidence.seconds.items()},
        configurations=known.configurations,
        integrity=known.integrity,
        reused=evidence.reused,
    )
    tables, left_out = make_tables(context) if repeated else ({}, {})
    request.advance(STEPS)
    spoken_of = {
        layer: {name: _spoken(judge, diagnosis.findings) for name, judge in judges.items()}
        for layer, judges in layered.layers.items()
    }
    return Analysis(
        judges=spoken_of[layered.main],
        layers={name: judges for name, judges in spoken_of.items() if name is not None},
        main_layer=layered.main,
        roles=layered.roles,
        settings=_settings(request),
        diagnostics=diagnosis.findings,
        tables=tables,
        left_out=left_out,
        warnings=_which_layer(layered),
        best=_best(tensors, layered, request),
    )


def _spoken(judge: JudgeAnalysis, findings: Sequence[Finding]) -> JudgeAnalysis:
    """Give an answer its words, and let what makes it worthless take the first place."""
    low = judge.repeats if isinstance(judge.repeats, int) else judge.repeats[0]
    asked = Asked(items=judge.items, prompts=judge.prompts, orders=judge.orders, repeats=low)
    mine = [f for f in findings if _concerns(f, judge)]
    return replace(judge, answer=spoken(judge.answer, asked, mine))


def _concerns(finding: Finding, judge: JudgeAnalysis) -> bool:
    """Whether a finding is about the calls that answer for a judge, or about all calls."""
    streams = {judge.name, f"{judge.name} / {judge.layer}"}
    if finding.name == "copied_streams":
        return any(row[-1] and streams & {*row[:PAIR]} for row in finding.rows)
    if finding.name == "control":  # a layer of its own, asked of the same judge
        return finding.subject.split(" / ")[0] == judge.name
    return finding.subject in {"", *streams}


def _best(
    tensors: Mapping[Key, VerdictTensor], layered: "_Layered", request: Request
) -> Best | None:
    """Find the best judge of the main layer; of criteria none is better than another."""
    main = {name: tensors[layered.main, name] for name in layered.layers[layered.main]}
    if len(main) < PAIR or any(judge_of(name) != name for name in main):
        return None
    return best_of(main, request.estimand, seed=request.how.seed)


def _begin_streams(
    tensors: Mapping[Key, VerdictTensor], request: Request
) -> Callable[[], dict[Key, JudgeAnalysis]]:
    """Begin to analyse the calls of every judge in every layer; return how to get that."""
    tested = _begin_tests(tensors, request)
    keys = list(tensors)
    works = [partial(analyze_judge, judge, tensors[layer, judge]) for layer, judge in keys]
    silent = replace(request, advance=unheard)
    outcomes = begin_each([partial(work, request=silent) for work in works])

    def here(number: int) -> JudgeAnalysis:
        request.advance(0)
        return works[number](request=request)

    def found() -> dict[Key, JudgeAnalysis]:
        done = {}
        for number, analysis in outcomes(here):
            done[keys[number]] = analysis
            request.advance(STEPS)
        return {key: replace(done[key], permutation=tests) for key, tests in tested().items()}

    return found


def _begin_tests(
    tensors: Mapping[Key, VerdictTensor], request: Request
) -> Callable[[], Mapping[Key, Mapping[str, PermutationTest | None]]]:
    """Begin the permutation tests beside the rest where processes wait; return how to get them."""
    if not shared():
        return partial(permutation_tests, tensors, request)
    outcome = begin(permutation_tests, tensors, replace(request, advance=unheard))

    def found() -> Mapping[Key, Mapping[str, PermutationTest | None]]:
        tests = outcome()
        request.advance(STEPS * _tests(tensors, request.permutations))
        return tests

    return found


@dataclass(frozen=True, kw_only=True)
class _Layered:
    """The streams by layer, which layer is the main one, and what each is for."""

    layers: Mapping[str | None, Mapping[str, JudgeAnalysis]]
    main: str | None
    roles: Mapping[str, str]


def _main_of(
    keys: Iterable[Key], roles: Mapping[str, str] | None
) -> tuple[str | None, Mapping[str, str]]:
    """Return the main layer, and what each layer is for."""
    named = list(dict.fromkeys(layer for layer, _ in keys if layer is not None))
    if not named:
        return None, {}
    known = {layer: role for layer, role in infer_roles(named, roles).items() if layer in named}
    return main_layer(known), known


def _by_layer(
    found: Mapping[Key, JudgeAnalysis], main: str | None, roles: Mapping[str, str]
) -> _Layered:
    layers: dict[str | None, dict[str, JudgeAnalysis]] = {}
    for (layer, judge), value in found.items():
        layers.setdefault(layer, {})[judge] = value
    return _Layered(layers=layers, main=main, roles=roles)


def _diagnose(  # noqa: PLR0917 - what `diagnose` takes by name
    tensors: Mapping[Key, VerdictTensor],
    main: str | None,
    roles: Mapping[str, str],
    request: Request,
    evidence: Evidence,
    threshold: float,
) -> Diagnosis:
    if not tensors:
        return Diagnosis(findings=(), drift={})
    return diagnose(
        tensors,
        main=main,
        how=request.how,
        roles=roles,
        evidence=evidence,
        estimand=request.estimand,
        threshold=threshold,
    )


def _settings(request: Request) -> Settings:
    weights = request.estimand.order_weights
    return Settings(
        design=request.estimand.design,
        draws=request.how.draws,
        seed=request.how.seed,
        permutations=request.permutations,
        level=request.how.level,
        version=judgelaw.__version__,
        order_weights=weights if isinstance(weights, Mapping) else None,
        soft=request.soft,
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
