"""What pulls the verdict: the shift by every probe, with its interval."""

from collections.abc import Sequence
from math import isnan

from judgelaw.analysis import points_of_100, probe_sentence, where_largest
from judgelaw.blocks import Block, Cell, Figure, Table, note, paragraph
from judgelaw.diagnose import ProbeEffect
from judgelaw.page import drawing
from judgelaw.page.forest import Mark, forest
from judgelaw.page.subject import Judge, Kind
from judgelaw.vocabulary import title
from judgelaw.words import visible

_ENDS = ("low", "high")


def probes(judge: Judge) -> Sequence[Block] | None:
    """Return what changes of an answer do to the verdict; None where none was tried."""
    found, place = judge.found.probes, judge.place.at("probes")
    if not found:
        return None
    marks = [_mark(effect) for effect in found.values() if not isnan(effect.shift.estimate)]
    drawn = Figure(
        name="probes",
        chart=lambda width: forest(
            marks, width=width, title="points of 100, toward the changed answer", step=26
        ),
        label=f"Shift by {len(marks)} changes of an answer, with intervals",
        caption=(
            "Points of 100 by which the score of an answer moves when it is changed in this way "
            "and nothing else is. Grey: no effect is shown."
        ),
    )
    where = [run for x in found.values() if (run := where_largest(x, place.at(x.probe)))]
    return (
        paragraph(*probe_sentence(judge.found, place)),
        *([drawn] if marks else []),
        *(paragraph(*run) for run in where),
        _table(judge),
        note(
            "Calls about the changed answer are held against calls about the answer as it "
            "was, so chance alone moves nothing on average. The p values hold for all changes "
            "together; the intervals for each one."
        ),
    )


def _mark(effect: ProbeEffect) -> Mark:
    value, low, high = (
        100 * x for x in (effect.shift.estimate, effect.shift_asked.low, effect.shift_asked.high)
    )
    name = visible(effect.probe)
    return Mark(
        name=name,
        value=value,
        band=(low, high),
        colour=(drawing.PROMPT if effect.real else drawing.MUTED).light,
        label=f"{name}: {value:+.1f} points ({low:+.1f} to {high:+.1f})",
    )


def _table(judge: Judge) -> Table:
    level, rows = judge.report.level, []
    for effect in judge.found.probes.values():
        place = judge.place.at("probes", effect.probe)
        shift = place.at("shift", "estimate").said(points_of_100(effect.shift.estimate))
        row: tuple[Cell, ...] = (
            visible(effect.probe),
            shift,
            place.span("shift_asked", form=".1%", to=True, ends=_ENDS),
            place.span("shift", form=".1%", to=True, ends=_ENDS),
            place.value("change", "estimate"),
            place.span("change", form=".2f", to=True, ends=_ENDS),
            place.value("p", form="p"),
            (place.value("moved", form=",d"), " of ", place.value("items", form=",d")),
            place.value("smallest", form=".1%"),
        )
        rows.append(row)
    these, like = title("call_interval", level), title("interval", level)
    return Table(
        columns=(
            "Change of an answer",
            "Moves of 100",
            these,
            like,
            "Change of law",
            like,
            "p, all probes",
            "Items that move",
            "Found from",
        ),
        rows=tuple(rows),
        caption=(
            "Shift of the score toward the changed answer, and how much more often two calls "
            "differ if one saw the change; at least so many items move, with "
            f"{100 * level:g}% certainty; a shift of the last column would have been found four "
            "times in five"
        ),
        name="probes",
    )


SECTIONS = (Kind(id="probes", title="What pulls the verdict", order=40, make=probes, open=True),)
