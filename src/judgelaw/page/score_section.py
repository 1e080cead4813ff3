"""Scores by prompt and by item, and how they fit gold: section and figures."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from judgelaw.analysis import JudgeAnalysis, PromptScores, ScoreAnswers
from judgelaw.page import drawing
from judgelaw.page.component_figure import short_label, unique_labels
from judgelaw.page.document import (
    Block,
    Folded,
    Inline,
    Number,
    Part,
    Section,
    TableView,
    decimal,
    figure,
    paragraph,
)
from judgelaw.page.drawing import Spec, n, names, painted, q
from judgelaw.page.verdicts import outcome_bars, outcome_rows
from judgelaw.tensor import VerdictTensor
from judgelaw.words import visible

_MOST_ITEMS = 12
_STEP = 26
_MARGIN = 0.04
_FEW_TICKS = 11


def score_section(
    judge: Part[JudgeAnalysis], tensor: VerdictTensor, *, prefix: str = ""
) -> Section | None:
    """Return mean scores, their distribution by prompt, and the items whose scores move most."""
    found = judge.known(lambda j: j.scores)
    if found is None or tensor.scale is None:
        return None
    blocks: list[Block] = [paragraph(*_mean(found)), *_by_prompt(found, tensor)]
    if len(tensor.prompts) > 1:
        blocks.append(_items(judge.value, tensor))
    blocks += _gold(found)
    return Section(id=f"{prefix}scores", title="The scores", blocks=tuple(blocks))


def _mean(found: Part[ScoreAnswers]) -> Inline:
    mean = found.at(lambda s: s.mean)
    if mean.value.call_interval is None:
        return ("No reply holds a score.",)
    said: Inline = (
        "The mean score is ",
        mean.decimal(lambda m: m.estimate, 2),
        ": ",
        *mean.interval(lambda m: m.call_interval, 2),
        " if these items are asked again",
    )
    if mean.value.interval is not None:
        said += (", ", *mean.interval(lambda m: m.interval, 2), " for items like these")
    return (*said, ".")


def _by_prompt(found: Part[ScoreAnswers], tensor: VerdictTensor) -> tuple[Block, ...]:
    rows, verdicts = outcome_rows(tensor), [visible(v) for v in tensor.verdicts]
    roles = drawing.verdict_roles(verdicts)
    shares = figure(
        "score-shares",
        lambda width: outcome_bars(rows, verdicts, width=width),
        label="Shares of scores by prompt, from low to high",
        title="How often each score is given",
        key=tuple((f"swatch r-{role}", v) for role, v in zip(roles, verdicts, strict=True)),
    )
    entries = found.at(lambda s: s.by_prompt).entries()
    values = found.value.scale
    means = figure(
        "score-means",
        lambda width: mean_scores([x.value for x in entries], values, width=width),
        label="Mean score of every prompt with its interval for these items",
        title="The mean score of every prompt",
        caption=(
            "Dots are mean scores over the items, bars what the same items would give if asked "
            "again. Replies without a score are left out."
        ),
    )
    table = TableView(
        columns=("Prompt", "Mean score", "These items", "Items like these", "No score"),
        rows=tuple(_prompt_row(x) for x in entries),
        name="scores_by_prompt",
    )
    return (shares, means, table)


def _prompt_row(x: Part[PromptScores]) -> tuple[Inline, ...]:
    return (
        (visible(x.value.prompt),),
        (x.decimal(lambda p: p.mean.estimate, 2),),
        x.interval(lambda p: p.mean.call_interval, 2),
        x.interval(lambda p: p.mean.interval, 2),
        (x.count(lambda p: p.counts["invalid"]),),
    )


def mean_scores(found: Sequence[PromptScores], values: Sequence[float], *, width: int) -> Spec:
    """Draw the mean score of every prompt on the scale, with its interval for these items."""
    labels = unique_labels([x.prompt for x in found])
    rows = [
        {
            "prompt": label,
            "mean": x.mean.estimate,
            "low": low,
            "high": high,
            "label": f"{label}: {x.mean.estimate:.2f}, {low:.2f} to {high:.2f}",
        }
        for label, x in zip(labels, found, strict=True)
        if x.mean.call_interval is not None
        for low, high in (x.mean.call_interval,)
    ]
    x, y = _across(values), names("prompt", labels)
    orange = drawing.PROMPT.light
    spans = {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y}
    dots = {"x": {**x, "field": "mean"}, "y": y, "description": n("label")}
    layers = [
        drawing.band(spans, rows, color=orange),
        drawing.dots(rows, dots, 80, color=orange),
    ]
    plot = width - drawing.room_for(labels) - 14
    return drawing.chart(drawing.layer(layers, width=plot, height={"step": _STEP}))


def _across(values: Sequence[float]) -> Spec:
    """Return the channel of scores, the whole scale whatever was seen."""
    beyond = _MARGIN * (values[-1] - values[0])
    axis: dict[str, Any] = {"title": "score", "grid": True}
    if len(values) <= _FEW_TICKS:
        axis["values"] = list(values)
    domain = [values[0] - beyond, values[-1] + beyond]
    return q("score", scale={"domain": domain, "nice": False, "zero": False}, axis=axis)


def _items(judge: JudgeAnalysis, tensor: VerdictTensor) -> Block:
    spread = np.nan_to_num(judge.item_values.of("prompt"), nan=-np.inf)
    chosen = [int(i) for i in np.argsort(-spread, kind="stable")[:_MOST_ITEMS]]
    listed = ", ".join(short_label(tensor.items[i]) for i in chosen)
    prompts = unique_labels(tensor.prompts)
    colours = drawing.series(len(prompts))
    drawn = figure(
        "score-items",
        lambda width: item_scores(tensor, chosen, width=width),
        label=f"Mean score under each prompt of the items that move most: {listed}",
        caption=(
            "One dot a prompt: its mean score for the item. Chosen by the largest corrected prompt "
            "component, after seeing the data, so expect them to look worse than they are."
        ),
        key=tuple((f"swatch r-{c.role}", p) for c, p in zip(colours, prompts, strict=True)),
    )
    return Folded(summary="The items that move most", blocks=(drawn,))


def item_scores(tensor: VerdictTensor, chosen: Sequence[int], *, width: int) -> Spec:
    """Draw the mean score of items under every prompt, a row an item."""
    assert tensor.scale is not None  # noqa: S101 - the section is about scores
    s = tensor.scale.scores(tensor.verdicts)
    counts = tensor.counts.sum(axis=2)[..., ~np.isnan(s)]
    calls = counts.sum(axis=-1)
    labels = unique_labels([tensor.items[i] for i in chosen])
    prompts = unique_labels(tensor.prompts)
    colours = drawing.series(len(prompts))
    rows = []
    for label, i in zip(labels, chosen, strict=True):
        for k, prompt in enumerate(prompts):
            if calls[i, k]:
                mean = float(counts[i, k] @ s[~np.isnan(s)] / calls[i, k])
                text = f"{label}, {prompt}: mean score {mean:.2f} of {calls[i, k]} replies"
                colour = colours[k].light
                rows.append({"item": label, "score": mean, "label": text, "colour": colour})
    x, y = _across(tensor.scale.values), names("item", labels)
    dots = {"x": x, "y": y, "color": painted(), "description": n("label")}
    layers = [
        drawing.marks(
            "rule",
            _spans(rows),
            {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y},
            color=drawing.FAINT.light,
        ),
        drawing.dots(rows, dots, 70),
    ]
    plot = width - drawing.room_for(labels) - 14
    return drawing.chart(drawing.layer(layers, width=plot, height={"step": _STEP}))


def _spans(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a line for each item, from its lowest to its highest dot."""
    at: dict[str, list[float]] = {}
    for row in rows:
        at.setdefault(row["item"], []).append(row["score"])
    return [{"item": item, "low": min(x), "high": max(x)} for item, x in at.items()]


def _gold(found: Part[ScoreAnswers]) -> tuple[Block, ...]:
    gold = found.known(lambda s: s.gold)
    if gold is None:
        return ()
    parts = (
        ("Mean absolute error, points", gold.at(lambda g: g.mae)),
        ("Bias, points (above 0: too high)", gold.at(lambda g: g.bias)),
        ("Rank correlation of item means", gold.at(lambda g: g.rank_correlation)),
    )
    exact: tuple[Inline, ...] = (
        ("Calls that give the gold score",),
        (gold.percent(lambda g: g.exact, 1),),
        ("",),
    )
    rows = [exact]
    for name, x in parts:
        low, high = (
            _end(x.value.low, x.at(lambda e: e.low)),
            _end(x.value.high, x.at(lambda e: e.high)),
        )
        told: Inline = ("[", low, ", ", high, "]") if low.value is not None else (x.value.reason,)
        rows.append(((name,), (x.decimal(lambda e: e.estimate, 2),), told))
    return (
        TableView(
            columns=("Against gold", "Found", "95%"),
            rows=tuple(rows),
            caption=f"Scores against gold on {gold.value.items:,} items that have a gold score",
            name="scores_against_gold",
        ),
    )


def _end(value: float, at: Part[float]) -> Number:
    return decimal(value, 2, where=at.path)
