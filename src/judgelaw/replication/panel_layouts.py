"""The paper's tables of the matched panel, of drift and of integrity, and the list of all."""

from collections.abc import Callable

from judgelaw.diagnose import Drift
from judgelaw.estimate import COMPONENTS
from judgelaw.replication import paper_layouts as deep
from judgelaw.replication.layouts import Entry, Figure, Layout
from judgelaw.replication.paper_layouts import BANDS, VERDICTS, LayoutOrReason
from judgelaw.replication.paper_parts import PaperData, stream_name
from judgelaw.words import counted

_NO_PANEL = "there are no two judges on the same cells"


def cross_model_summary(of: PaperData) -> Layout:
    """Return plug-in and corrected prompt means of the panel, and the scaled excess."""
    depths = of.depths
    rows: list[tuple[Entry, ...]] = []
    for judge, f in of.found.panel.items():
        cells = [f.depths[R]["prompt"] for R in depths]
        pairs = [_short(x) for c in cells for x in (c.plugin, c.estimate)]
        scaled = [_short(R * c.excess) for R, c in zip(depths, cells, strict=True)]
        largest = f.lead.largest.capitalize() if f.lead else None
        rows.append((judge, *pairs, *scaled, largest))
    groups = (("", 1), *((f"R={R}", 2) for R in depths), ("R(plug.−corr.)", len(depths)))
    columns = ("Configuration", *("Plug-in", "Corrected") * len(depths))
    return Layout(
        label="tab:cross_model_summary",
        caption=f"Prompt-instability estimates of {_matched(of)}. The scaled excess is rescaled "
        "call disagreement in every sample. Corrected estimates are raw.",
        columns=(*columns, *(f"R={R}" for R in depths), "component"),
        groups=(*groups, (f"Largest R={depths[-1]}", 1)),
        rows=tuple(rows),
    )


def cross_model_components(of: PaperData) -> Layout:
    """Return the components of the panel."""
    rows: tuple[tuple[Entry, ...], ...] = tuple(
        (judge, *(_short(f.components[c].estimate) for c in COMPONENTS))
        for judge, f in of.found.panel.items()
    )
    return Layout(
        label="tab:cross-model-components",
        caption=f"Raw complete-pair decomposition at R = {of.depths[-1]} of {_matched(of)}.",
        columns=("Configuration", "Call", "Prompt", "Order", "Interact.", "Total"),
        rows=rows,
    )


def cross_prompt(of: PaperData) -> Layout:
    """Return plug-in, corrected and excess of the panel at every depth."""
    rows: list[tuple[Entry, ...]] = []
    for judge, f in of.found.panel.items():
        cells = [f.depths[R]["prompt"] for R in of.depths]
        rows.append((judge, *(_short(x) for c in cells for x in (c.plugin, c.estimate, c.excess))))
    return Layout(
        label="tab:s-cross-prompt",
        caption=f"Prompt-instability results of {_matched(of)}. Excess is plug-in less corrected.",
        columns=("Configuration", *("Plug-in", "Corrected", "Excess") * len(of.depths)),
        groups=(("", 1), *((f"R={R}", 3) for R in of.depths)),
        rows=tuple(rows),
    )


def cross_model_outcomes(of: PaperData) -> Layout:
    """Return the outcomes of the panel, and how often they match gold."""
    rows: tuple[tuple[Entry, ...], ...] = tuple(
        (
            judge,
            *(f.outcomes.get(v, 0) for v in VERDICTS),
            Figure(value=f.gold_match, digits=4, short=True),
        )
        for judge, f in of.found.panel.items()
    )
    return Layout(
        label="tab:cross-model-outcomes",
        caption=f"Outcomes at R = {of.depths[-1]} of {_matched(of)}. Tie and ⊥ match no gold.",
        columns=("Judge configuration", *VERDICTS.values(), "Gold-match rate"),
        rows=rows,
    )


def cross_bot(of: PaperData) -> Layout:
    """Return the prompt component of the panel before and after merging invalid into tie."""
    found = {(r["configuration"], r["R"]): r for r in of.found.rows("invalid_sensitivity")}
    rows: list[tuple[Entry, ...]] = []
    for judge in of.found.panel:
        cells = [found.get((judge, R)) for R in of.depths]
        names = ("as_outcome", "invalid_to_tie")
        rows.append((judge, *(_short(c.get(name) if c else None) for c in cells for name in names)))
    return Layout(
        label="tab:s-cross-bot",
        caption=f"Corrected prompt means of {_matched(of)}, and after merging ⊥ into TIE.",
        columns=("Configuration", *("Four-category", "⊥→TIE") * len(of.depths)),
        groups=(("", 1), *((f"R={R}", 2) for R in of.depths)),
        rows=tuple(rows),
    )


def time_drift(of: PaperData) -> LayoutOrReason:
    """Return slopes of agreement on rank gap and on time, of every stream that was acquired."""
    rows = tuple(
        (stream_name(of, s.key), _slope(s.rank), _slope(s.time), _span(s.span))
        for s in of.drift
        if s.rank is not None or s.time is not None
    )
    if not rows:
        return "no stream has three ranked repeats, or times of calls"
    return Layout(
        label="tab:s-time-drift",
        caption=f"Dependence diagnostics: slopes of same-cell agreement; {BANDS}.",
        columns=(
            "Stream",
            "Rank-gap slope [band]",
            "Agreement slope per log(1+s) [band]",
            "Time span (s)",
        ),
        rows=rows,
    )


def integrity(of: PaperData) -> LayoutOrReason:
    """Return what was checked on the way to these tables."""
    layers, panel = of.found.layers, of.found.panel
    reused = panel[of.parts.reused].calls if of.parts.reused else 0
    rows_of = sum(f.calls for f in panel.values())
    deep = sum(f.calls for f in layers.values())
    rows: list[tuple[Entry, ...]] = [("Unique calls", f"{deep + rows_of - reused:,}")]
    if layers:
        said = f"{deep:,}, complete in {len(layers)} layers"
        rows.append((f"{of.parts.judge} canonical rows", said))
    if panel:
        each = next(iter(panel.values())).calls
        rows.append(("Matched rows", f"{rows_of:,}; {each:,} per configuration"))
    if differences := of.parts.differences:
        wrong = [f"{n} for {judge}" for judge, n in differences.items() if n]
        said = f"Design-cell differences relative to {next(iter(panel))}"
        rows.append((said, ", ".join(wrong) or "0 for every configuration"))
    gaps = [i.largest_gap for f in (*layers.values(), *panel.values()) for i in f.identity]
    if gaps:
        rows.append(("Largest departure from the plug-in identity", f"{max(gaps):.0e}"))
    rows += [(check, result) for check, result in of.integrity]
    rows.append(("Model/network activity during these tables", "none"))
    return Layout(
        label="tab:s-integrity",
        caption="Artifact integrity summary.",
        columns=("Check", "Result"),
        rows=tuple(rows),
    )


_OF_PANEL = (
    cross_model_summary,
    cross_model_components,
    cross_prompt,
    cross_model_outcomes,
    cross_bot,
)
LAYOUTS: tuple[Callable[[PaperData], LayoutOrReason], ...] = (
    deep.study_design,
    deep.matched_reference,
    deep.reference_split_half,
    cross_model_summary,
    cross_model_components,
    deep.prompt_hashes,
    deep.layers,
    deep.judge_configurations,
    deep.real_prompt_estimates,
    deep.decomposition,
    deep.broad_decomposition,
    deep.panel_sensitivity,
    cross_prompt,
    cross_model_outcomes,
    cross_bot,
    time_drift,
    integrity,
)


def make_layouts(of: PaperData) -> tuple[dict[str, Layout], dict[str, str]]:
    """Make every table that these calls give, and say why the others are left out."""
    left = () if of.found.panel else _OF_PANEL
    made = {make.__name__: _NO_PANEL if make in left else make(of) for make in LAYOUTS}
    found = {table.name: table for table in made.values() if isinstance(table, Layout)}
    return found, {name: reason for name, reason in made.items() if isinstance(reason, str)}


def _matched(of: PaperData) -> str:
    f = next(iter(of.found.panel.values()))
    counts = ((f.items, "item"), (f.prompts, "prompt"), (f.orders, "order"))
    items, prompts, orders = (counted(n, noun) for n, noun in counts)
    judges = counted(len(of.found.panel), "configuration")
    return f"{judges} on the same {items}, {prompts} and {orders}"


def _short(value: float | None) -> Figure:
    return Figure(value=value, digits=5, short=True)


def _span(seconds: float | None) -> Figure:
    """Return a time span to the second, and a short one to the tenth."""
    return Figure(value=seconds, digits=0 if seconds is None or seconds >= 1_000 else 1)  # noqa: PLR2004 - as the paper prints them


def _slope(drift: Drift | None) -> Figure:
    if drift is None:
        return _short(None)
    return Figure(value=drift.slope.estimate, digits=5, band=drift.slope.band, short=True)
