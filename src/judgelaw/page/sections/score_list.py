"""Scores by prompt and by item, and how they fit gold."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from judgelaw.analysis import JudgeAnalysis, PromptScores
from judgelaw.blocks import Block, Cell, Details, Figure, Paragraph, Run, Spec, Table, paragraph
from judgelaw.page import drawing
from judgelaw.page.drawing import n, names, painted, q
from judgelaw.page.forest import Mark, forest
from judgelaw.page.quantity_table import quantity_cell
from judgelaw.page.sections.verdicts import outcome_bars, outcome_rows
from judgelaw.page.subject import Judge, Kind, short_label, unique_labels
from judgelaw.tensor import VerdictTensor
from judgelaw.vocabulary import title
from judgelaw.words import plain_number, visible

_MOST_ITEMS = 12
_STEP = 26
_MARGIN = 0.04
_FEW_TICKS = 11


def scores(judge: Judge) -> Sequence[Block] | None:
    """Return mean scores, their distribution by prompt, and the items whose scores move most."""
    if judge.found.scores is None or judge.tensor.scale is None:
        return None
    blocks: list[Block] = [paragraph(judge.found.scores.meaning), _mean(judge)]
    blocks += _by_prompt(judge)
    if len(judge.tensor.prompts) > 1 and not judge.found.one_call:
        blocks.append(_items(judge.found, judge.tensor))
    return [*blocks, *_gold(judge)]


def _mean(judge: Judge) -> Paragraph:
    found, place = judge.found.scores, judge.place.at("scores")
    assert found is not None  # noqa: S101 - the section is about scores
    if found.mean.call_interval is None:
        return paragraph("No reply holds a score.")
    low, high = plain_number(found.scale[0]), plain_number(found.scale[-1])
    said: Run = (
        "The mean score is ",
        place.value("mean", "estimate", form=".2f"),
        f" on a scale from {low} to {high}: ",
        place.span("mean", "call_interval", form=".2f"),
        " if these items are asked again",
    )
    if found.mean.interval is not None:
        said += (", ", place.span("mean", "interval", form=".2f"), " for items like these")
    return paragraph(*said, ".")


def _by_prompt(judge: Judge) -> Sequence[Block]:
    tensor, found = judge.tensor, judge.found.scores
    assert found is not None  # noqa: S101 - the section is about scores
    shown, verdicts = outcome_rows(tensor), [visible(v) for v in tensor.verdicts]
    roles = drawing.verdict_roles(verdicts)
    shares = Figure(
        name="score-shares",
        chart=lambda width: outcome_bars(shown, verdicts, width=width),
        label="Shares of scores by prompt, from low to high",
        title="How often each score is given",
        key=tuple((f"swatch r-{role}", v) for role, v in zip(roles, verdicts, strict=True)),
    )
    means = Figure(
        name="score-means",
        chart=lambda width: mean_scores(found.by_prompt, found.scale, width=width),
        label="Mean score of every prompt with its interval for these items",
        title="The mean score of every prompt",
        caption=(
            "Dots are mean scores over the items, bars what the same items would give if asked "
            "again. Replies without a score are left out."
        ),
    )
    place, level = judge.place.at("scores", "by_prompt"), judge.report.level
    keys = ("estimate", "call_interval", "interval")
    rows: list[tuple[Cell, ...]] = [
        (
            visible(x.prompt),
            *(quantity_cell(place.at(i, "mean"), key, ".2f") for key in keys),
            place.value(i, "counts", "invalid", form=",d"),
        )
        for i, x in enumerate(found.by_prompt)
    ]
    table = Table(
        columns=(
            "Prompt",
            "Mean score",
            title("call_interval", level),
            title("interval", level),
            "No score",
        ),
        rows=tuple(rows),
        name="scores_by_prompt",
    )
    return (shares, means, table)


def mean_scores(found: Sequence[PromptScores], values: Sequence[float], *, width: int) -> Spec:
    """Draw the mean score of every prompt on the scale, with its interval for these items."""
    marks = [
        Mark(
            name=row,
            value=x.mean.estimate,
            band=x.mean.call_interval,
            colour=drawing.PROMPT.light,
            label=f"{row}: {x.mean.estimate:.2f}, {x.mean.call_interval[0]:.2f} to "
            f"{x.mean.call_interval[1]:.2f}",
        )
        for row, x in zip(unique_labels([x.prompt for x in found]), found, strict=True)
        if x.mean.call_interval is not None
    ]
    across = _across(values)
    return forest(
        marks, width=width, title="score", step=_STEP, scale=across["scale"], axis=across["axis"]
    )


def _across(values: Sequence[float]) -> Spec:
    """Return the channel of scores, the whole scale whatever was seen."""
    beyond = _MARGIN * (values[-1] - values[0])
    axis: dict[str, Any] = {"title": "score", "grid": True}
    if len(values) <= _FEW_TICKS:
        axis["values"] = list(values)
    domain = [values[0] - beyond, values[-1] + beyond]
    return q("score", scale={"domain": domain, "nice": False, "zero": False}, axis=axis)


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


def _items(judge: JudgeAnalysis, tensor: VerdictTensor) -> Details:
    spread = np.nan_to_num(judge.item_values.of("prompt"), nan=-np.inf)
    chosen = [int(i) for i in np.argsort(-spread, kind="stable")[:_MOST_ITEMS]]
    listed = ", ".join(short_label(tensor.items[i]) for i in chosen)
    prompts = unique_labels(tensor.prompts)
    colours = drawing.series(len(prompts))
    drawn = Figure(
        name="score-items",
        chart=lambda width: item_scores(tensor, chosen, width=width),
        label=f"Mean score under each prompt of the items that move most: {listed}",
        caption=(
            "One dot a prompt: its mean score for the item. Chosen by the largest corrected prompt "
            "component, after seeing the data, so expect them to look worse than they are."
        ),
        key=tuple((f"swatch r-{c.role}", p) for c, p in zip(colours, prompts, strict=True)),
    )
    return Details(summary="The items that move most", blocks=(drawn,))


_FIT = (
    ("mae", "Mean absolute error, points"),
    ("bias", "Bias, points (above 0: too high)"),
    ("rank_correlation", "Rank correlation of item means"),
)


def _gold(judge: Judge) -> Sequence[Block]:
    gold = judge.found.scores and judge.found.scores.gold
    if not gold:
        return ()
    place = judge.place.at("scores", "gold")
    rows: list[tuple[Cell, ...]] = [
        ("Calls that give the gold score", place.value("exact", form=".1%"), "")
    ]
    for name, words in _FIT:
        x = getattr(gold, name)
        ends = place.span(name, form=".2f", ends=("low", "high"))
        told = x.reason if x.interval is None else ends
        rows.append((words, place.value(name, "estimate", form=".2f"), told))
    return (
        Table(
            columns=("Against gold", "Found", "95%"),
            rows=tuple(rows),
            caption=f"Scores against gold on {gold.items:,} items that have a gold score",
            name="scores_against_gold",
        ),
    )


SECTIONS = (Kind(id="scores", title="The scores", order=105, make=scores),)
