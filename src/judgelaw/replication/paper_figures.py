"""Figures 1, 2, 4 to 6 and S1 of the paper, of any calls; the concept figures of known laws.

Figure 3, the simulation, is `judgelaw.replication.simulation_figure`.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from judgelaw.arrays import Floats
from judgelaw.blocks import Spec
from judgelaw.diagnose import TAU
from judgelaw.errors import NotIdentifiedError
from judgelaw.estimate import decompose_as, population
from judgelaw.page import drawing
from judgelaw.page.drawing import marks, n, q
from judgelaw.quantities import Quantity
from judgelaw.replication.paper_parts import PaperData, stream_name
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import Resampling, depths_of, item_bands
from judgelaw.worlds import Components, World, components_of

_PLUGIN, _CORRECTED = drawing.MUTED.light, drawing.PROMPT.light
_SHADES = {"plug-in": _PLUGIN, "corrected": _CORRECTED}
_SHAPES = {"plug-in": "square", "corrected": "circle"}
_PARTS = ("call", "prompt", "order", "interaction")
_WORDS = {"call": "residual call", "prompt": "prompt", "order": "answer order"}
_HEIGHT = 150
_OWN_SCALES = {"scale": {"color": "independent", "shape": "independent"}}

Row = Mapping[str, object]


def draw_figures(of: PaperData) -> tuple[dict[str, Spec], dict[str, str]]:
    """Draw every figure that these calls give, and say why the others are left out."""
    made = {
        "figure_1": motivation(),
        "figure_2": method(),
        "figure_4": deep_validation(of),
        "figure_5": cross_model_prompt(of),
        "figure_6": cross_model_shares(of),
        "figure_s1": repeat_gaps(of),
    }
    found = {name: spec for name, spec in made.items() if isinstance(spec, dict)}
    return found, {name: reason for name, reason in made.items() if isinstance(reason, str)}


def motivation() -> Spec:
    """Draw two experiments with one marginal law, of which one has a prompt effect (Figure 1)."""
    same = np.full((1, 6, 1, 2), 0.5)
    apart = np.zeros((1, 6, 1, 2))
    apart[:, :3, :, 0] = apart[:, 3:, :, 1] = 1
    titles = ("All prompts share one law", "Prompts have opposite laws")
    panels = [_simplex(laws, name) for laws, name in zip((same, apart), titles, strict=True)]
    return drawing.chart({"hconcat": panels})


def _simplex(laws: Floats, title: str) -> Spec:
    """Draw the law of each prompt on the line between two verdicts, with their mean."""
    found = population(laws)
    shares = laws[0, :, 0, 0]
    rows = [{"share": float(p), "height": sum(shares[:k] == p) + 1.0} for k, p in enumerate(shares)]
    axis = {"values": [0, 0.5, 1], "grid": False, "format": ".1f", "domain": True}
    x = q("share", title="P(A | prompt)", scale={"domain": [-0.08, 1.08]}, axis=axis)
    y = q("height", axis=None, scale={"domain": [-2.4, 7]})
    centre = [{"share": float(shares.mean()), "height": -0.4}]
    said = f"prompt {float(found.prompt.mean()):.2f}, call {float(found.call.mean()):.2f}"
    below = [{"share": 0.5, "height": -1.4, "text": said}]
    layers = [
        marks("point", rows, {"x": x, "y": y}, filled=True, size=70, color=drawing.CALL.light),
        _dots(centre, {"x": x, "y": y}, 130, shape="diamond", color=drawing.SECOND.light),
        marks("text", below, {"x": x, "y": y, "text": n("text")}, color=drawing.MUTED.light),
    ]
    return drawing.layer(layers, width=210, height=120, title=title)


def method() -> Spec:
    """Draw the crossed audit of a known law: its cells, the excess, the components (Figure 2)."""
    world = World.from_effects(prompt=0.01, order=0.02, interaction=0.002)
    laws = world.laws(items=1, prompts=6, orders=2)
    truth = components_of(laws)
    panels = [_cells(laws), _excess(truth.prompt, truth.call), _truth(truth)]
    return drawing.chart({"hconcat": panels, "resolve": _OWN_SCALES})


def _cells(laws: Floats) -> Spec:
    rows = [
        {"prompt": f"p{k + 1}", "order": order, "share": float(laws[0, k, o, 0])}
        for k in range(6)
        for o, order in enumerate(("AB", "BA"))
    ]
    x = n("order", title="answer order", axis={"labelAngle": 0})
    y = n("prompt", title="prompt of the census")
    colour = q(
        "share",
        scale={"range": [drawing.LINE.light, drawing.CALL.light]},
        legend={"title": "P(candidate 1)", "orient": "bottom", "gradientLength": 90},
    )
    text = {"x": x, "y": y, "text": q("share", format=".2f")}
    layers = [
        marks("rect", rows, {"x": x, "y": y, "color": colour}),
        marks("text", rows, text, color=drawing.INK.light),
    ]
    return drawing.layer(layers, width=110, height=_HEIGHT, title="(a) laws of an item's cells")


def _excess(prompt: float, call: float) -> Spec:
    """Draw what both estimators expect at K = 6 and two orders: the excess is 5 call / (12 R)."""
    rows = [
        {"repeats": R, "value": prompt + 5 * call / (12 * R) * (name == "plug-in"), "series": name}
        for R in (2, 4, 8, 16)
        for name in _SHADES
    ]
    shared = {
        "x": _repeats([2, 4, 8, 16]),
        "y": q("value", title="expected prompt estimate", axis={"tickCount": 5}),
        "color": _series_colour(),
    }
    rule = [{"truth": prompt}]
    layers = [
        marks("rule", rule, {"y": q("truth")}, strokeDash=[3, 3], color=drawing.FAINT.light),
        marks("line", rows, shared, strokeWidth=1.2),
        _dots(rows, {**shared, "shape": _series_shape()}, 55),
    ]
    return drawing.layer(layers, width=150, height=_HEIGHT, title="(b) excess 5 call / 12R")


def _truth(truth: Components) -> Spec:
    rows = [
        {"part": _WORDS.get(name, name), "value": getattr(truth, name), "colour": colour}
        for name, colour in drawing.COMPONENT.items()
        if name != "total"
    ]
    y = _parts_axis(rows)
    x = q("value", title="component", axis={"tickCount": 4})
    bars = marks("bar", rows, {"x": x, "y": y, "color": drawing.painted()}, height=16)
    text = {"x": x, "y": y, "text": q("value", format=".3f")}
    words = marks("text", rows, text, align="left", dx=4)
    return drawing.layer([bars, words], width=130, height=_HEIGHT, title="(c) components")


def deep_validation(of: PaperData) -> Spec | str:
    """Draw the null, the discrepancy from the reference, and its shares (Figure 4)."""
    made = (_null(of), _discrepancy(of), _reference_shares(of))
    panels = [panel for panel in made if panel is not None]
    if not panels:
        return "there is neither a control nor a reference layer"
    return drawing.chart({"hconcat": panels, "resolve": _OWN_SCALES})


def _null(of: PaperData) -> Spec | None:
    found = of.found.layers.get("control")
    if found is None:
        return None
    rows = [row for R, c in sorted(found.depths.items()) for row in _both(R, c["prompt"])]
    return _by_repeats(rows, "prompt component", "(a) byte-identical null")


def _discrepancy(of: PaperData) -> Spec | None:
    """Draw the mean distance of single items from the reference, with item bands."""
    calls, reference = (of.parts.layers.get(part) for part in ("evaluation", "reference"))
    halves = [r for r in of.found.rows("reference_split_half") if r["layer"] == "reference"]
    if calls is None or reference is None or not list(of.found.rows("matched_reference")):
        return None
    rows = list(_distances(calls, reference, of))
    floor: list[Spec] = []
    if halves:
        r = halves[0]
        row = {"low": r["half_to_half_mae_low"], "high": r["half_to_half_mae_high"]}
        row["value"] = r["half_to_half_mae"]
        band = {"y": q("low"), "y2": {"field": "high"}}
        floor = [
            marks("rect", [row], band, color=drawing.FAINT.light, opacity=0.22),
            marks("rule", [row], {"y": q("value")}, color=drawing.FAINT.light, strokeWidth=1.5),
        ]
    return _by_repeats(rows, "MAE from the reference", "(b) distance from the reference", floor)


def _distances(calls: VerdictTensor, reference: VerdictTensor, of: PaperData) -> Iterator[Row]:
    items = [item for item in calls.items if item in set(reference.items)]
    chosen = calls.select(items=items)
    same = reference.select(items=items, prompts=calls.prompts, orders=calls.orders)
    target = decompose_as(same, of.found.estimand).prompt
    for R, prefix in depths_of(chosen):
        d = decompose_as(prefix, of.found.estimand)
        for series, values in (("plug-in", d.plugin["prompt"]), ("corrected", d.prompt)):
            gap = np.abs(values - target)
            yield _point(R, series, float(gap.mean()), _band_of(gap, chosen, of.found.how))


def _band_of(values: Floats, calls: VerdictTensor, how: Resampling) -> tuple[float, float] | None:
    try:
        band = item_bands(values, strata=calls.strata, draws=how.draws, seed=how.seed)
    except NotIdentifiedError:  # a stratum of one item has nothing to resample
        return None
    return float(band.low[0]), float(band.high[0])


def _reference_shares(of: PaperData) -> Spec | None:
    found = of.found.layers.get("reference") or of.found.layers.get("evaluation")
    if found is None:
        return None
    rows = []
    for name in _PARTS:
        c = found.components[name]
        low, high = c.share_band or (c.share, c.share)
        words, colour = _WORDS.get(name, name), drawing.COMPONENT[name]
        rows.append({"part": words, "share": c.share, "low": low, "high": high, "colour": colour})
    y = _parts_axis(rows)
    x = q("share", title="share of total disagreement", axis={"format": "%", "tickCount": 4})
    layers = [
        marks("bar", rows, {"x": x, "y": y, "color": drawing.painted()}, height=18, opacity=0.85),
        marks("rule", rows, {"x": q("low"), "x2": {"field": "high"}, "y": y}, strokeWidth=1.4),
    ]
    title = f"(c) shares, {'reference' if 'reference' in of.found.layers else 'evaluation'}"
    return drawing.layer(layers, width=150, height=_HEIGHT, title=title)


def cross_model_prompt(of: PaperData) -> Spec | str:
    """Draw plug-in and corrected means of the panel at its lowest and full depth (Figure 5)."""
    if not of.found.panel:
        return "there are no two judges on the same cells"
    depths = of.depths
    shown = list(dict.fromkeys((depths[0], depths[-1])))
    panels = [_at_depth(of, R, chr(ord("a") + place)) for place, R in enumerate(shown)]
    shared = {"scale": {"x": "shared", "color": "shared", "shape": "shared"}}
    return drawing.chart({"vconcat": panels, "resolve": shared})


def _at_depth(of: PaperData, R: int, letter: str) -> Spec:
    rows, links = [], []
    for judge, found in of.found.panel.items():
        c = found.depths[R]["prompt"]
        links.append({"judge": judge, "plugin": c.plugin, "estimate": c.estimate})
        rows += [{"judge": judge, **row} for row in _both(R, c)]
    names = list(of.found.panel)
    y = drawing.names("judge", names)
    offset = n("series", sort=list(_SHADES), scale={"paddingOuter": 1.2})
    beside = {"y": y, "yOffset": offset, "color": _series_colour()}
    x = q("value", title="prompt component", axis={"tickCount": 4})
    tau = [{"tau": TAU, "text": f"τ = {TAU:g}".replace("0.", ".")}]
    said = {"x": q("tau"), "y": {"value": -5}, "text": n("text")}
    link = {"x": q("plugin"), "x2": {"field": "estimate"}, "y": y}
    layers = [
        drawing.zero("x"),
        marks("rule", tau, {"x": q("tau")}, strokeDash=[4, 3], color=drawing.INK.light),
        marks("rule", links, link, color=drawing.FAINT.light, strokeWidth=2),
        marks("rule", rows, {**beside, "x": q("low"), "x2": {"field": "high"}}, strokeWidth=1.4),
        _dots(rows, {**beside, "x": x, "shape": _series_shape()}, 60),
        marks("text", tau, said, align="left", dx=3),
    ]
    height = 34 * len(names)
    return drawing.layer(layers, width=230, height=height, title=f"({letter}) R = {R}")


def cross_model_shares(of: PaperData) -> Spec | str:
    """Draw the component shares of the panel at its full depth (Figure 6)."""
    rows: list[Row] = []
    for judge, found in of.found.panel.items():
        # Negative shares stack to the left of zero, as they are.
        below, above = 0.0, 0.0
        for name in _PARTS:
            share = found.components[name].share
            start = below if share < 0 else above
            ends = {"from": start, "to": start + share}
            rows.append({"judge": judge, "part": _WORDS.get(name, name), "share": share, **ends})
            below, above = (start + share, above) if share < 0 else (below, start + share)
    if not rows:
        return "there are no two judges on the same cells"
    names = list(of.found.panel)
    words = [_WORDS.get(name, name) for name in _PARTS]
    scale = {"domain": words, "range": [drawing.COMPONENT[name] for name in _PARTS]}
    legend = {"orient": "bottom", "columns": 2, "labelColor": drawing.INK.light}
    x = q("from", title="share of total disagreement", axis={"format": "%", "tickCount": 5})
    encoding = {
        "y": drawing.names("judge", names),
        "x": x,
        "x2": {"field": "to"},
        "color": n("part", title=None, scale=scale, legend=legend),
    }
    bars = marks("bar", rows, encoding, height=20)
    label = [row for row in rows if abs(float(str(row["share"]))) >= 0.08]  # noqa: PLR2004 - there is room
    middle = [{**row, "at": (float(str(row["from"])) + float(str(row["to"]))) / 2} for row in label]
    text = {"y": drawing.names("judge", names), "x": q("at"), "text": q("share", format=".0%")}
    said = marks("text", middle, text, color=drawing.PAPER.light)
    layers = [bars, drawing.zero("x"), said]
    title = f"R = {of.depths[-1]}"
    return drawing.chart(drawing.layer(layers, width=250, height=32 * len(names), title=title))


def repeat_gaps(of: PaperData) -> Spec | str:
    """Draw same-cell agreement by repeat-rank gap, a panel for every stream (Figure S1)."""
    panels = []
    for stream in of.drift:
        if stream.rank is None:
            continue
        rows = [
            {"gap": (low + high) / 2, **_ends(level.estimate, level.band)}
            for low, high, pairs, level in stream.rank.levels
            if pairs
        ]
        axis = {"values": [row["gap"] for row in rows], "format": "d", "grid": False}
        scale = {"padding": 10, "nice": False, "zero": False}
        x = q("gap", title="rank gap", axis=axis, scale=scale)
        y = q("value", title="agreement", scale={"zero": False}, axis={"tickCount": 4})
        colour = drawing.CALL.light
        bar = {"x": x, "y": q("low", title="agreement"), "y2": {"field": "high"}}
        layers = [
            marks("rule", rows, bar, color=colour, strokeWidth=1.3),
            marks("line", rows, {"x": x, "y": y}, color=colour, strokeWidth=1),
            _dots(rows, {"x": x, "y": y}, 34, color=colour),
        ]
        title = stream_name(of, stream.key)
        panels.append(drawing.layer(layers, width=150, height=100, title=title))
    if not panels:
        return "no stream has three ranked repeats"
    return drawing.chart({"concat": panels, "columns": 4, "spacing": 22})


def _dots(rows: Sequence[Row], encoding: Spec, size: int, **look: str) -> Spec:
    return marks("point", rows, encoding, filled=True, size=size, opacity=1, **look)


def _both(R: int, c: Quantity) -> list[Row]:
    """Return the points of both estimators at a depth."""
    return [
        _point(R, "plug-in", c.plugin, c.plugin_band),
        _point(R, "corrected", c.estimate, c.band),
    ]


def _point(R: int, series: str, value: float, band: tuple[float, float] | None) -> Row:
    return {"repeats": R, "series": series, **_ends(value, band)}


def _ends(value: float, band: tuple[float, float] | None) -> dict[str, float]:
    low, high = band or (value, value)
    return {"value": value, "low": low, "high": high}


def _by_repeats(rows: Sequence[Row], title: str, heading: str, below: Sequence[Spec] = ()) -> Spec:
    """Draw both estimators by depth, side by side, with their error bars."""
    depths = list(dict.fromkeys(int(str(row["repeats"])) for row in rows))
    beside = {
        "x": _repeats(depths),
        "xOffset": n("series", sort=list(_SHADES), scale={"paddingOuter": 1}),
        "color": _series_colour(),
    }
    y = q("value", title=title, axis={"tickCount": 5})
    bars = {**beside, "y": q("low", title=title), "y2": {"field": "high"}}
    layers = [
        *below,
        drawing.zero("y"),
        marks("rule", rows, bars, strokeWidth=1.4),
        _dots(rows, {**beside, "y": y, "shape": _series_shape()}, 55),
    ]
    return drawing.layer(layers, width=150, height=_HEIGHT, title=heading)


def _repeats(depths: Sequence[int]) -> Spec:
    axis = {"labelAngle": 0, "grid": False}
    title = "repeats R"
    return {"field": "repeats", "type": "ordinal", "title": title, "axis": axis, "sort": [*depths]}


def _parts_axis(rows: Sequence[Row]) -> Spec:
    order = [str(row["part"]) for row in rows]
    return n("part", sort=order, title=None, axis={"labelColor": drawing.INK.light})


def _series_colour() -> Spec:
    return told(list(_SHADES), list(_SHADES.values()))


def _series_shape() -> Spec:
    # Colour and shape say the same, so that grey print tells the series apart too.
    return told(list(_SHAPES), list(_SHAPES.values()))


def told(series: Sequence[str], looks: Sequence[str], orient: str = "bottom") -> Spec:
    """Return a channel that tells the series apart, and where its legend stands."""
    scale = {"domain": list(series), "range": list(looks)}
    legend = {"orient": orient, "labelColor": drawing.INK.light, "symbolOpacity": 1}
    return n("series", title=None, scale=scale, legend=legend)
