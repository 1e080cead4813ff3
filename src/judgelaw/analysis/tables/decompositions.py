"""Decompositions: evaluation beside reference, a broad audit by depth, judges, strata."""

from collections.abc import Sequence

from judgelaw.analysis.tables.context import Context, Made, Row, ends, known, layer_name, with_band
from judgelaw.analysis.values import Component, JudgeAnalysis, Table
from judgelaw.estimate import COMPONENTS


def decomposition(context: Context) -> Made:
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


def broad_decomposition(context: Context) -> Made:
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


def components(context: Context) -> Made:
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


def strata(context: Context) -> Made:
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


def _estimate(c: Component | None) -> Row:
    return (None,) * 3 if c is None else (known(c.estimate), *ends(c.band))
