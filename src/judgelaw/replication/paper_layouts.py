"""The paper's tables of the design and of one judge's deep layers, of any calls, in its layout.

Each function makes one table, or says why these calls do not give it.
"""

from collections.abc import Mapping

from judgelaw.diagnose import Cell
from judgelaw.estimate import COMPONENTS
from judgelaw.quantities import Quantity
from judgelaw.replication.layouts import Entry, Figure, Layout
from judgelaw.replication.paper_parts import NAMES, PARTS, PaperData
from judgelaw.replication.published_numbers import published
from judgelaw.tensor import INVALID

LayoutOrReason = Layout | str
COMPONENT_NAMES = {
    "call": "Residual call",
    "prompt": "Prompt",
    "order": "Answer order",
    "interaction": "Prompt × order",
    "total": "Total",
}
VERDICTS = {"candidate_1": "Candidate 1", "candidate_2": "Candidate 2", "tie": "TIE", INVALID: "⊥"}
_DELIMITERS = {
    "e3_eq_01": "none",
    "e3_eq_02": "PAIRWISE JUDGMENT",
    "e3_eq_03": "Pairwise judgment",
    "e3_eq_04": "[BEGIN/END JUDGE INSTRUCTIONS]",
    "e3_eq_05": "<judge_instructions>",
    "e3_eq_06": "## Judge instructions",
}
_ROLES = {
    "control": "Exact-zero target",
    "evaluation": "Nested low-budget estimates",
    "reference": "Independently acquired, lower-noise comparator",
    "broad": "Breadth check",
}
BANDS = "brackets are 95% whole-item benchmark-composition bands"


def study_design(of: PaperData) -> LayoutOrReason:
    """Return the layers with their design and calls; the panel's reused calls are told apart."""
    rows: list[tuple[Entry, ...]] = []
    unique = 0
    if of.simulated:
        said = "Exact targets; no model calls"
        rows.append(("Known-law simulation", f"{of.simulated:,}/setting", "5 or 6", 2, 8, said))
    for part in PARTS:
        if (f := of.found.layers.get(part)) is not None:
            unique += f.calls
            prompts = f"{f.prompts} labels" if part == "control" else f.prompts
            said = f"{_ROLES[part]}; {f.calls:,} {of.parts.judge} calls"
            name = "Independent matched reference" if part == "reference" else NAMES[part]
            rows.append((name, f.items, prompts, f.orders, max(f.depths), said))
    panel = of.found.panel
    if panel:
        f = next(iter(panel.values()))
        reused = panel[of.parts.reused].calls if of.parts.reused else 0
        total = sum(each.calls for each in panel.values())
        unique += total - reused
        said = f"{total:,} matched rows: {reused:,} reused plus {total - reused:,} new calls"
        axes = (f.items, f.prompts, f.orders, max(f.depths))
        rows.append((f"{len(panel)}-configuration replication", *axes, said))
    return Layout(
        label="tab:study-design",
        caption=f"Evidence by layer; {unique:,} unique calls. Lower depths are frozen prefixes.",
        columns=("Evidence layer", "Items", "Prompts", "Orders", "Max. R", "Role / live calls"),
        rows=tuple(rows),
    )


def matched_reference(of: PaperData) -> LayoutOrReason:
    """Return discrepancies from the reference."""
    rows = tuple(
        (
            r["R"],
            Figure(value=r["plug_in"], digits=4),
            Figure(value=r["debiased"], digits=4),
            Figure(value=r["reduction"], digits=4, band=_band(r, "reduction")),
        )
        for r in of.found.rows("matched_reference")
    )
    if not rows:
        return "there is no reference layer on the items of an evaluation layer"
    return Layout(
        label="tab:matched_reference",
        caption=f"Itemwise absolute discrepancy from the {_depth(of, 'reference')} reference of "
        f"{of.parts.judge}; {BANDS}.",
        columns=("R", "Plug-in", "Debiased", "Reduction"),
        rows=rows,
    )


def reference_split_half(of: PaperData) -> LayoutOrReason:
    """Return how far the halves of the reference agree."""
    found = [r for r in of.found.rows("reference_split_half") if r["layer"] == "reference"]
    if not found:
        return "there is no reference layer of four repeats"
    half = max(of.found.layers["reference"].depths) // 2
    ranks = f"Contiguous ranks 0–{half - 1} vs. {half}–{2 * half - 1}"
    words = {"contiguous": ranks, "interleaved": "Interleaved even vs. odd ranks"}
    rows = tuple(
        (
            words[r["split"]],
            Figure(value=r["half_a"], digits=4),
            Figure(value=r["half_b"], digits=4),
            Figure(value=r["half_to_half_mae"], digits=4, band=_band(r, "half_to_half_mae")),
            Figure(value=r["item_correlation"], digits=3),
        )
        for r in found
    )
    return Layout(
        label="tab:reference_split_half",
        caption=f"Split-half reproducibility of the {_depth(of, 'reference')} reference; {BANDS}.",
        columns=("Split", "Half A", "Half B", "Half-to-half MAE", "Item corr."),
        rows=rows,
    )


def prompt_hashes(of: PaperData) -> LayoutOrReason:
    """Return the prompts with the start of their hash."""
    if not of.prompts:
        return "a calls table does not hold its prompts; a run does"
    label = "tab:s-prompt-hashes"
    known = {row["prompt"]: row for row in published()[label].rows}
    if all(known.get(n, {}).get("sha256_prefix") == d[:12] for n, d in of.prompts.items()):
        return Layout(
            label=label,
            caption="Exact wrapper definitions. Prefix and suffix surround the invariant criterion "
            "block.",
            columns=("ID", "Wrapper", "Visible delimiters", "Instruction-block SHA-256 prefix"),
            rows=tuple(
                (name, str(known[name]["wrapper"]), _DELIMITERS[name], digest[:12])
                for name, digest in of.prompts.items()
            ),
        )
    return Layout(
        label=label,
        caption="Prompts with the first twelve digits of the SHA-256 of their text.",
        columns=("ID", "SHA-256 prefix"),
        rows=tuple((name, digest[:12]) for name, digest in of.prompts.items()),
    )


def layers(of: PaperData) -> LayoutOrReason:
    """Return the layers of the deep judge with their outcomes."""
    rows: list[tuple[Entry, ...]] = []
    for part in PARTS:
        if (f := of.found.layers.get(part)) is not None:
            design = "×".join(map(str, (f.items, f.prompts, f.orders, max(f.depths))))
            name = "Hidden-factor null" if part == "control" else NAMES[part]
            rows.append((name, design, f.calls, *(f.outcomes.get(v, 0) for v in VERDICTS)))
    if not rows:
        return "there are no layers besides the panel"
    return Layout(
        label="tab:s-qwen-layers",
        caption=f"Evidence layers of {of.parts.judge} and their terminal outcomes.",
        columns=("Layer", "Design", "Rows", *VERDICTS.values()),
        rows=tuple(rows),
    )


def judge_configurations(of: PaperData) -> LayoutOrReason:
    """Return the frozen configuration of every judge."""
    if not of.configurations:
        return "a calls table does not hold the configuration of its judges; a run does"
    rows: list[tuple[Entry, ...]] = []
    for judge, c in of.configurations.items():
        model = f"{c['model']} {c['revision'] or ''}".strip()
        stop = f"; stop {c['stop']}" if c["stop"] else ""
        decoding = c["decoding"] or "as the server has it"
        rule = f"{decoding}{stop}; parser {c['parser']}; cut: {c['truncated']}"
        rows.append((judge, model, str(c.get("renderer") or c["provider"]), rule))
    return Layout(
        label="tab:judge-configurations",
        caption="Frozen judge configurations.",
        columns=(
            "Configuration",
            "Exact model / revision",
            "Renderer",
            "Decoding and terminal rule",
        ),
        rows=tuple(rows),
    )


def real_prompt_estimates(of: PaperData) -> LayoutOrReason:
    """Return prompt means by layer and depth."""
    rows: list[tuple[Entry, ...]] = []
    for part in ("control", "evaluation", "broad"):
        f = of.found.layers.get(part)
        depths = sorted(f.depths.items()) if f else []
        # Lower depths of the broad audit have a table of their own.
        for place, (R, c) in enumerate(depths[-1:] if part == "broad" else depths):
            prompt = c["prompt"]
            plugin = Figure(value=prompt.plugin, digits=4, band=prompt.plugin_band)
            name = "Broad audit set" if part == "broad" else NAMES[part]
            rows.append((name if place == 0 else "", R, plugin, estimate(prompt)))
    if not rows:
        return "there are no layers besides the panel and the reference"
    return Layout(
        label="tab:real_prompt_estimates",
        caption=f"Prompt-instability estimates of {of.parts.judge}: item means; {BANDS}. The "
        "target of the null is zero.",
        columns=("Setting", "R", "Plug-in", "Debiased all-R"),
        rows=tuple(rows),
    )


def decomposition(of: PaperData) -> LayoutOrReason:
    """Return the components of evaluation and reference side by side."""
    sides = [part for part in ("evaluation", "reference") if part in of.found.layers]
    if not sides:
        return "there is neither an evaluation nor a reference layer"
    found = [of.found.layers[part].components for part in sides]
    return Layout(
        label="tab:decomposition",
        caption=f"Crossed decomposition of {of.parts.judge} on the matched items; {BANDS}.",
        columns=("Component", *(f"{part.capitalize()} {_depth(of, part)}" for part in sides)),
        rows=tuple(
            (COMPONENT_NAMES[c], *(estimate(side[c]) for side in found)) for c in COMPONENTS
        ),
    )


def broad_decomposition(of: PaperData) -> LayoutOrReason:
    """Return the components of the broad audit at every depth."""
    f = of.found.layers.get("broad")
    if f is None:
        return "there is no audit layer of the deep judge beside the panel"
    depths = sorted(f.depths)
    return Layout(
        label="tab:supp_broad_decomposition",
        caption=f"Crossed decomposition of {of.parts.judge} on {f.items} items; {BANDS}.",
        columns=("Component", *(f"R={R}" for R in depths)),
        rows=tuple(
            (COMPONENT_NAMES[c], *(estimate(f.depths[R][c], short=True) for R in depths))
            for c in COMPONENTS
        ),
    )


def panel_sensitivity(of: PaperData) -> LayoutOrReason:
    """Return two-repeat panels against the reference's own."""
    names = ("mae_reduction", "aggregate_squared_reduction")
    rows = tuple(
        (
            r["R"],
            *(Figure(value=r[x], digits=4, short=True) for x in ("plug_in_mae", "panel_mae")),
            *(
                Figure(value=r[name], digits=digits, band=_band(r, name), short=True)
                for name, digits in zip(names, (4, 6), strict=True)
            ),
        )
        for r in of.found.rows("panel_sensitivity")
    )
    if not rows:
        return "there is no reference layer with complete ranks on the items of an evaluation layer"
    squared = "Aggregate squared-discrepancy reduction"
    return Layout(
        label="tab:supp_panel_sensitivity",
        caption=f"Consecutive-R2 panels against the reference's own panel estimate; {BANDS}.",
        columns=("R", "Plug-in MAE", "Panel MAE", "Paired MAE reduction", squared),
        rows=rows,
    )


def _depth(of: PaperData, part: str) -> str:
    return f"R={max(of.found.layers[part].depths)}"


def _band(row: Mapping[str, Cell], name: str) -> tuple[float, float] | None:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return (low, high) if isinstance(low, float) and isinstance(high, float) else None


def estimate(c: Quantity, *, short: bool = False) -> Figure:
    """Return an estimate with its band, four digits."""
    return Figure(value=c.estimate, digits=4, band=c.band, short=short)
