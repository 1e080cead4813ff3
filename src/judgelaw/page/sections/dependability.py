"""How many prompts, orders and repeats tell items apart: a D-study from the calls at hand."""

from collections.abc import Sequence
from math import isnan

from judgelaw.analysis import Study, dependability
from judgelaw.blocks import Block, Cell, Run, Table, Value, note, paragraph
from judgelaw.page.subject import Judge, Kind

_TARGETS = (0.8, 0.9)


def dependable(judge: Judge) -> Sequence[Block] | None:
    """Return how far designs of several sizes tell items apart; None where that is not known."""
    found = dependability(judge.tensor)
    if not found or isnan(found[0].phi):
        return None
    K, O = len(judge.tensor.prompts), len(judge.tensor.orders)
    sizes = sorted({1, (K + 1) // 2, K})
    rows = [s for s in found if s.prompts in sizes and s.orders in (1, O) and s.repeats <= 8]  # noqa: PLR2004
    axes = ("prompts", "repeats") if judge.found.single else ("prompts", "orders", "repeats")
    varied = "prompts" if judge.found.single else "prompts and orders"
    return (
        paragraph(
            "One call tells items apart to ",
            judge.place.value("icc", "estimate", form=".2f"),
            " of what could be told: the rest of what it shows is noise. ",
            *_reached(found, axes),
        ),
        Table(
            columns=(*axes, "calls of an item", "reliability"),
            rows=tuple(_row(study, axes) for study in rows),
        ),
        note(
            "Reliability (a generalizability coefficient): the share of the items' own differences "
            f"in the variance of what a design gives for an item. Drawn {varied} count as "
            "noise; where all of them are asked, only chance is left.",
            brief=False,
        ),
    )


def _row(study: Study, axes: Sequence[str]) -> tuple[Cell, ...]:
    sizes = (*(getattr(study, axis) for axis in axes), study.calls)
    return (*(Value(n, ",d") for n in sizes), Value(study.phi, ".3f"))


def _reached(found: Sequence[Study], axes: Sequence[str]) -> Run:
    """Say which design reaches each target with the fewest calls."""
    said: Run = ()
    for target in _TARGETS:
        enough = [study for study in found if study.phi >= target]
        if not enough:
            said += (f"No design up to {max(s.calls for s in found):,} calls reaches {target}. ",)
            continue
        best = min(enough, key=lambda s: (s.calls, -s.phi))
        said += (
            f"{target} takes ",
            Value(best.calls, ",d"),
            f" calls of an item ({', '.join(f'{axis} {getattr(best, axis)}' for axis in axes)}). ",
        )
    return said


SECTIONS = (
    Kind(id="dependability", title="How well items are told apart", order=205, make=dependable),
)
