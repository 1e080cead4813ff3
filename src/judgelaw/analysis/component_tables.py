"""Tables of components: decompositions, strata, and prompt estimates by depth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan

from judgelaw.analysis.components import banded
from judgelaw.analysis.outcomes import identity
from judgelaw.analysis.values import JudgeAnalysis, Key, Table
from judgelaw.arrays import PAIR
from judgelaw.diagnose import Cell, Finding, Matched, StreamDrift, match
from judgelaw.errors import InputError
from judgelaw.estimate import COMPONENTS, Decomposition, decompose_as
from judgelaw.quantities import Pair, Quantity
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import DepthEstimates, Estimand, Resampling, at_depth

Row = tuple[Cell, ...]
TableOrReason = Table | str
"""A table, or why these calls do not give it."""


@dataclass(frozen=True, kw_only=True)
class Context:
    """The calls of a table, what they say, and what a run adds.

    Attributes:
        tensors, found, drift: by stream.
        roles: role of each layer.
        main: the main layer, None where the data has none.
        estimand, how: what is estimated, and how items are resampled.
        findings: of the diagnostics.
        spans: seconds between the first and the last call, by stream.
        configurations: fields of each judge's frozen configuration, by judge.
        integrity: checks that were made on the way here, with their results.
        reused: streams that are declared to be calls of another stream, with that stream.
    """

    tensors: Mapping[Key, VerdictTensor]
    found: Mapping[Key, JudgeAnalysis]
    drift: Mapping[Key, StreamDrift]
    roles: Mapping[str, str]
    main: str | None
    estimand: Estimand
    how: Resampling
    findings: tuple[Finding, ...] = ()
    spans: Mapping[Key, float] = field(default_factory=dict)
    configurations: Mapping[str, Mapping[str, Cell]] = field(default_factory=dict)
    integrity: Sequence[tuple[str, str]] = ()
    reused: Mapping[Key, Key] = field(default_factory=dict)

    def of_role(self, *roles: str) -> dict[Key, JudgeAnalysis]:
        """Return the streams of layers with one of these roles."""
        return {
            key: found
            for key, found in self.found.items()
            if key[0] is not None and self.roles.get(key[0]) in roles
        }

    def judges(self) -> dict[str, VerdictTensor]:
        """Return the calls of the judges of the main layer."""
        return {judge: t for (layer, judge), t in self.tensors.items() if layer == self.main}

    def reference_of(self, judge: str) -> Key | None:
        """Return the reference stream of a judge, None if it has no such stream."""
        return next((key for key in self.of_role("reference") if key[1] == judge), None)

    def at(self, tensor: VerdictTensor) -> DepthEstimates:
        """Estimate what this analysis estimates, on other calls, with call errors."""
        return at_depth(tensor, self.estimand)

    def decompose(self, tensor: VerdictTensor) -> Decomposition:
        """Estimate what this analysis estimates, on other calls."""
        return decompose_as(tensor, self.estimand)


def layer_name(layer: str | None) -> str:
    """Name a layer in a table."""
    return layer or ""


def ends(pair: Pair | None) -> tuple[Cell, Cell]:
    """Return the two ends of a band, each None if there is no band."""
    return pair or (None, None)


def with_band(name: str) -> tuple[str, str, str]:
    """Return the columns of an estimate with its band."""
    return name, f"{name}_low", f"{name}_high"


def known(value: float) -> Cell:
    """Return a figure, None where it is nan."""
    return None if value != value else value  # noqa: PLR0124 - nan is the one value unlike itself


def decomposition(context: Context) -> TableOrReason:
    """Return the components of the evaluation, with those of the reference beside them."""
    rows: list[Row] = []
    for judge, found in _evaluations(context).items():
        key = context.reference_of(judge)
        reference = None if key is None else context.found[key]
        rows += [(judge, c, *_side(found, c), *_side(reference, c)) for c in COMPONENTS]
    return Table(
        name="decomposition",
        title="Crossed response-law decomposition, with item bands",
        columns=(
            "judge",
            "component",
            "evaluation_R",
            *with_band("evaluation"),
            "reference_R",
            *with_band("reference"),
        ),
        rows=tuple(rows),
    )


def broad_decomposition(context: Context) -> TableOrReason:
    """Return the components of a broad audit at every depth."""
    broad = context.of_role("audit") if context.of_role("evaluation") else {}
    if not broad:
        return "no audit layer stands beside an evaluation layer"
    depths = sorted({d for found in broad.values() for d in found.depths})
    rows = [
        (layer_name(layer), judge, name, *_by_depth(found, name, depths))
        for (layer, judge), found in broad.items()
        for name in COMPONENTS
    ]
    columns = [column for d in depths for column in with_band(f"R{d}")]
    return Table(
        name="broad_decomposition",
        title="Crossed decomposition of the broad audit, by depth, with item bands",
        columns=("layer", "judge", "component", *columns),
        rows=tuple(rows),
    )


def components(context: Context) -> TableOrReason:
    """Return raw components and shares of the main layer's judges, with the largest one's lead."""
    rows = []
    for found in context.found.values():
        if found.layer != context.main:
            continue
        raw = [known(found.components[name].estimate) for name in COMPONENTS]
        shares = [known(found.components[name].share) for name in COMPONENTS[:-1]]
        lead = found.lead
        leading: Row = (None,) * 5
        if lead is not None:
            leading = (lead.largest, lead.second, lead.by, *ends(lead.band))
        rows.append((found.name, *raw, *shares, *leading))
    return Table(
        name="components",
        title="Raw decomposition of every judge of the main layer; the lead with its item band",
        columns=(
            "configuration",
            *COMPONENTS,
            *(f"{name}_share" for name in COMPONENTS[:-1]),
            "largest",
            "second",
            *with_band("lead"),
        ),
        rows=tuple(rows),
    )


def strata(context: Context) -> TableOrReason:
    """Return the components of every stratum of every stream."""
    rows = tuple(
        (layer_name(layer), judge, stratum, name, *_estimate(c[name]), known(c[name].plugin))
        for (layer, judge), found in context.found.items()
        for stratum, c in found.strata.items()
        for name in COMPONENTS
    )
    if not rows:
        return "the items have no strata"
    return Table(
        name="strata",
        title="Components by stratum, with intervals for items like these",
        columns=("layer", "judge", "stratum", "component", *with_band("estimate"), "plug_in"),
        rows=rows,
    )


def by_prompt(context: Context) -> TableOrReason:
    """Return what every prompt of every stream is like."""
    columns = ("call", "invalid", "lean", "accuracy", "distance")
    return Table(
        name="by_prompt",
        title="Every prompt: noise, invalid outputs, lean in points of 100, accuracy, distance",
        columns=("layer", "judge", "prompt", *columns, "keep"),
        rows=tuple(
            (
                layer_name(layer),
                judge,
                row.prompt,
                *(known(getattr(row, name)) for name in columns),
                "yes" if row.keep else "no",
            )
            for (layer, judge), found in context.found.items()
            for row in found.by_prompt
        ),
    )


def _evaluations(context: Context) -> dict[str, JudgeAnalysis]:
    found = {key[1]: value for key, value in context.of_role("evaluation").items()}
    if found:
        return found
    return {v.name: v for v in context.found.values() if v.layer == context.main}


def _side(found: JudgeAnalysis | None, name: str) -> Row:
    if found is None:
        return (None,) * 4
    return (max(found.depths), *_estimate(found.components[name]))


def _by_depth(found: JudgeAnalysis, name: str, depths: Sequence[int]) -> Row:
    at = (found.depths[d][name] if d in found.depths else None for d in depths)
    return tuple(cell for c in at for cell in _estimate(c))


def _estimate(c: Quantity | None) -> Row:
    return (None,) * 3 if c is None else (known(c.estimate), *ends(c.band))


_ONE_PROMPT = "all calls share one prompt"


def real_prompt_estimates(context: Context) -> TableOrReason:
    """Return plug-in and corrected prompt means with item bands, by stream and depth."""
    rows = tuple(
        (
            layer_name(layer),
            judge,
            depth,
            c["prompt"].plugin,
            *ends(c["prompt"].plugin_band),
            c["prompt"].estimate,
            *ends(c["prompt"].band),
        )
        for (layer, judge), found in context.found.items()
        for depth, c in found.depths.items()
        if not c["prompt"].absent
    )
    if not rows:
        return _ONE_PROMPT
    return Table(
        name="real_prompt_estimates",
        title="Prompt-instability estimates: item means with stratified whole-item bands",
        columns=("setting", "judge", "R", *with_band("plug_in"), *with_band("debiased")),
        rows=rows,
    )


def matched_judges(context: Context) -> Matched | str:
    """Match the judges of the main layer on common items, or return why that is not possible."""
    judges = context.judges()
    if len(judges) < PAIR:
        return "the main layer has one judge"
    try:
        return match(judges)
    except InputError as error:
        return str(error)


def cross_model_summary(context: Context) -> TableOrReason:
    """Return plug-in and corrected prompt means of matched judges, and the scaled excess."""
    matched = matched_judges(context)
    if isinstance(matched, str):
        return matched
    if len(next(iter(matched.tensors.values())).prompts) == 1:
        return _ONE_PROMPT
    depths = _depths(matched)
    rows = tuple(
        _summary_row(context, judge, tensor, depths) for judge, tensor in matched.tensors.items()
    )
    pairs = [name for d in depths for name in (f"plug_in_R{d}", f"corrected_R{d}")]
    return Table(
        name="cross_model_summary",
        title=f"Prompt-instability estimates of judges matched on {len(matched.items)} items",
        columns=(
            "configuration",
            *pairs,
            *(f"scaled_excess_R{d}" for d in depths),
            f"largest_R{depths[-1]}_component",
        ),
        rows=rows,
    )


def cross_prompt(context: Context) -> TableOrReason:
    """Return plug-in, corrected and excess of matched judges at every depth."""
    matched = matched_judges(context)
    if isinstance(matched, str):
        return matched
    if len(next(iter(matched.tensors.values())).prompts) == 1:
        return _ONE_PROMPT
    depths = _depths(matched)
    rows = tuple(_cross_row(context, matched, judge, depths) for judge in matched.tensors)
    columns = ["configuration"]
    for d in depths:
        columns += [f"plug_in_R{d}", *with_band(f"corrected_R{d}"), f"excess_R{d}"]
    return Table(
        name="cross_prompt",
        title=(
            f"Prompt estimates of judges matched on {len(matched.items)} items, by depth, with "
            "item bands"
        ),
        columns=tuple(columns),
        rows=rows,
    )


def _summary_row(context: Context, judge: str, tensor: VerdictTensor, depths: Sequence[int]) -> Row:
    slices = _prefixes(context, tensor, depths)
    estimates = [
        float(values.mean())
        for s in slices
        for values in (s.found.plugin["prompt"], s.found.prompt)
    ]
    scaled = [identity(s, context.estimand) for s in slices]
    macro = {c: float(slices[-1].found[c].mean()) for c in COMPONENTS[:-1]}
    largest = max((c for c in macro if not isnan(macro[c])), key=lambda c: macro[c])
    excess = (None if x is None else x.scaled_excess for x in scaled)
    return (judge, *estimates, *excess, largest)


def _cross_row(context: Context, matched: Matched, judge: str, depths: Sequence[int]) -> Row:
    own = context.found[context.main, judge]
    if own.items == len(matched.items) and set(depths) <= set(own.depths):
        found = [own.depths[d]["prompt"] for d in depths]
    else:
        slices = _prefixes(context, matched.tensors[judge], depths)
        found = [c["prompt"] for c in banded(slices, matched.strata, context.how).depths]
    cells = ((c.plugin, c.estimate, *ends(c.band), c.excess) for c in found)
    return (judge, *(cell for four in cells for cell in four))


def _prefixes(
    context: Context, tensor: VerdictTensor, depths: Sequence[int]
) -> list[DepthEstimates]:
    if tensor.ranked is None:
        return [context.at(tensor)]
    return [context.at(tensor.prefix(d)) for d in depths]


def _depths(matched: Matched) -> list[int]:
    """Return the depths 2, 4, 8, ... up to the common one, which is always there."""
    depths, d = [], PAIR
    ranked = all(t.ranked is not None for t in matched.tensors.values())
    while ranked and d < matched.depth:
        depths.append(d)
        d *= 2
    return [*depths, matched.depth]
