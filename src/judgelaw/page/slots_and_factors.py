"""Which displayed slot is favoured, and which factor of the prompt matters: blocks and figures."""

from collections.abc import Sequence

from judgelaw.analysis import (
    JudgeAnalysis,
    SlotPreference,
    factor_sentence,
    slot_sentence,
)
from judgelaw.arrays import PAIR
from judgelaw.page import drawing
from judgelaw.page.document import (
    Block,
    Inline,
    Part,
    Section,
    TableView,
    figure,
    note,
    paragraph,
)
from judgelaw.page.drawing import Spec
from judgelaw.page.probed import Shift, forest
from judgelaw.quantities import Quantity
from judgelaw.words import visible


def slot_figure(found: Sequence[SlotPreference], *, width: int) -> Spec:
    """Draw how far each slot is from an even share, with its interval for the items asked."""
    rows = [
        _row(f"slot {x.slot}", 100 * x.lean, tuple(100 * end for end in x.call_interval), x.shown)
        for x in found
    ]
    return forest(rows, width=width, title="points of 100, from an even share")


def factor_figure(judge: JudgeAnalysis, *, width: int) -> Spec:
    """Draw the parts of the prompt component, with their intervals for the items asked."""
    rows = [
        _row(visible(name), part.estimate, part.call_interval, _shown(part))
        for name, part in judge.factors.items()
        if part.call_interval is not None
    ]
    return forest(rows, width=width, title="part of the prompt component")


def _row(name: str, value: float, interval: tuple[float, ...], shown: bool) -> Shift:  # noqa: FBT001 - told by the caller
    low, high = interval
    return Shift(
        probe=name,
        value=value,
        low=low,
        high=high,
        colour=(drawing.PROMPT if shown else drawing.MUTED).light,
        label=f"{name}: {value:.4g} ({low:.4g} to {high:.4g})",
    )


def _shown(part: Quantity) -> bool:
    return part.call_interval is not None and part.call_interval[0] > 0


def slots(judge: Part[JudgeAnalysis], *, prefix: str = "") -> Section | None:
    """Return which displayed slot is favoured, of three or more; None where it is not known."""
    found = judge.value.slots
    if len(found) <= PAIR:
        return None
    drawn = figure(
        "slots",
        lambda width: slot_figure(found, width=width),
        label=f"How far each of {len(found)} slots is from an even share, with intervals",
        caption=(
            "Share of calls for the answer in a slot, whichever candidate stands there, less the "
            "mean share of all slots; 95% intervals for these items, all slots together. Grey: no "
            "preference is shown."
        ),
    )
    table = TableView(
        columns=("Slot", "Chosen", "From an even share", "These items", "Items like these"),
        rows=tuple(_slot_row(x) for x in judge.at(lambda j: j.slots).entries()),
        name="slots",
    )
    return Section(
        id=f"{prefix}order",
        title="Does the position decide?",
        blocks=(
            paragraph(slot_sentence(found, judge.value.items)),
            drawn,
            table,
            note(
                "Every candidate stands equally often in every slot, so the better answer favours "
                "none. The order component counts every dependence on order; a preference for a "
                "slot is its part that goes one way."
            ),
        ),
    )


def _slot_row(slot: Part[SlotPreference]) -> tuple[Inline, ...]:
    return (
        (slot.value.slot,),
        (slot.percent(lambda x: x.share, 1),),
        (slot.decimal(lambda x: x.lean, 3),),
        slot.interval(lambda x: x.call_interval, 3),
        slot.interval(lambda x: x.interval, 3),
    )


def factor_blocks(judge: Part[JudgeAnalysis]) -> tuple[Block, ...]:
    """Show how the prompt component splits over factors; nothing where prompts cross none."""
    found = judge.value.factors
    if not found:
        return ()
    drawn = figure(
        "factors",
        lambda width: factor_figure(judge.value, width=width),
        label=f"The prompt component split into {len(found)} parts, with intervals",
        caption=(
            "Corrected parts with their 95% intervals for these items; they add up to the prompt "
            "component. Grey: not told from zero."
        ),
    )
    table = TableView(
        columns=("Part", "Levels", "Estimate", "These items", "Items like these", "Plug-in"),
        rows=tuple(
            _factor_row(part, name, judge.value)
            for name, part in judge.at(lambda j: j.factors).items()
        ),
        caption=(
            "A factor's part is what its levels do on average over the others; an interaction is "
            "what two or more do together beyond that"
        ),
        name="factors",
    )
    return (paragraph(factor_sentence(judge.value)), drawn, table)


def _factor_row(part: Part[Quantity], name: str, judge: JudgeAnalysis) -> tuple[Inline, ...]:
    levels = judge.factor_levels.get(name)
    return (
        (visible(name),),
        (", ".join(map(visible, levels)) if levels else "",),
        (part.decimal(lambda c: c.estimate),),
        part.interval(lambda c: c.call_interval),
        part.interval(lambda c: c.interval),
        (part.decimal(lambda c: c.plugin),),
    )
