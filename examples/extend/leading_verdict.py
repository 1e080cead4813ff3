"""Which verdict comes most often: a section of the report with its figure."""

from collections.abc import Sequence

from judgelaw.blocks import Block, Figure, paragraph
from judgelaw.page.forest import Mark, forest
from judgelaw.page.subject import Judge, Kind
from judgelaw.words import visible


def leading_verdict(judge: Judge) -> Sequence[Block]:
    """Return which verdict comes most often, and how often every verdict does."""
    outcomes, calls = judge.found.outcomes, judge.found.calls
    leader = max(outcomes, key=lambda verdict: outcomes[verdict])
    marks = [
        Mark(name=visible(v), value=n / calls, label=f"{visible(v)}: {n} of {calls} calls")
        for v, n in outcomes.items()
    ]
    return (
        paragraph(
            f"{visible(leader)} leads: it came in ",
            judge.place.value("outcomes", leader, form=",d"),
            " of ",
            judge.place.value("calls", form=",d"),
            " calls.",
        ),
        Figure(
            name="leading-verdict",
            chart=lambda width: forest(marks, width=width, title="share of calls"),
            label="How often every verdict came",
        ),
    )


SECTIONS = (Kind(id="leading", title="Which verdict leads", order=185, make=leading_verdict),)
