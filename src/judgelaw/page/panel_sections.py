"""The page of a panel, and its sections: ways to ask with their price, panels, what changes."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import judgelaw
from judgelaw.analysis import PanelWords, together
from judgelaw.blocks import (
    Block,
    Cell,
    Figure,
    Place,
    Section,
    Table,
    paragraph,
    run_of,
)
from judgelaw.page import drawing
from judgelaw.page.forest import Mark, forest
from judgelaw.page.html import Page, render
from judgelaw.page.sections.item_list import pack
from judgelaw.vocabulary import PANEL_CHANGES, PANEL_COMPONENTS
from judgelaw.words import visible

if TYPE_CHECKING:
    from judgelaw.analysis import PanelAnswer

_ENDS: Final = ("low", "high")
_COLOURS: Final = {
    "call": drawing.CALL,
    "prompt": drawing.PROMPT,
    "order": drawing.ORDER,
    "interaction": drawing.INTERACTION,
}


def panel_page(found: "PanelAnswer", *, title: str) -> str:
    """Return one HTML page about a panel: what to do, what it costs, and why."""
    return render(
        Page(
            title=visible(title),
            sections=tuple(sections_of_panel(found)),
            payload=pack(found.to_json()),
            version=judgelaw.__version__,
            first=found.screen(visible(title)),
        )
    )


def sections_of_panel(found: "PanelAnswer") -> Iterator[Section]:
    """Yield what stands below the first screen."""
    place = Place(found.to_json()).at("panel")
    yield Section(id="ways", title="Ways to ask, and their price", blocks=(_ways(found, place),))
    if found.panel.panels and found.panel.best is not None:
        yield Section(
            id="panels",
            title="Panels that were tried",
            blocks=tuple(_panels(found, place)),
        )
    yield Section(id="hangs", title="What verdicts hang on", blocks=tuple(_changes(place)))
    if found.panel.together is not None or found.panel.at_most is not None:
        blocks = tuple(_together(found, place))
        yield Section(id="together", title="Wrong together", blocks=blocks)


def _rate(place: Place, form: str = "100") -> Cell:
    if place.found is None:
        return "not known"
    ends = place.span(form=form, to=True, ends=_ENDS)
    if ends.absent:
        return place.value("estimate", form=form)
    return (place.value("estimate", form=form), " (", ends, ")")


def _ways(found: "PanelAnswer", place: Place) -> Table:
    f = found.panel
    rows: list[tuple[Cell, ...]] = []

    def add(name: str, at: Place, calls: Cell, price: float | None) -> None:
        rows.append((name, _rate(at.at("right")), _rate(at.at("changes")), calls, _dollars(price)))

    if f.best is not None:
        add(f"{visible(f.best.judge)} alone", place.at("best"), "1", f.best.price)
        for i, x in enumerate(f.as_many):
            name = f"{x.calls} calls of {visible(x.judge)}"
            add(name, place.at("as_many", i), str(x.calls), x.price)
    for i, S in enumerate(f.panels):
        at = place.at("panels", i)
        name = ", ".join(map(visible, S.judges))
        add(f"majority of {name}", at, str(S.calls), S.price)
        if i == f.shown and S.calls_in_turn is not None:
            third = next(j for j in S.judges if j not in S.first)
            calls = at.value("calls_in_turn", form=".2f")
            add(f"the same, {visible(third)} only where needed", at, calls, None)
    for i, way in enumerate(f.people):
        at = place.at("people", i)
        sent = (
            "2, and a person for ",
            at.value("sent", "estimate", form="100"),
            " of 100",
        )
        a, b = (visible(j) for j in way.judges)
        who = f"{a} twice" if a == b else f"{a} and {b}"
        rows.append((f"{who}, a person where they differ", _rate(at.at("right")), "", sent, ""))
    columns = (
        "Way to ask",
        "Right of 100",
        "Change when asked again",
        "Calls an item",
        "1,000 items",
    )
    priced = any(row[-1] for row in rows)
    kept = range(len(columns) if priced else len(columns) - 1)
    return Table(
        columns=tuple(columns[i] for i in kept),
        rows=tuple(tuple(row[i] for i in kept) for row in rows),
        caption="Of 100 items like these, with 95% intervals",
        name="ways",
    )


def _dollars(price: float | None) -> Cell:
    return "" if price is None else f"${1000 * price:,.2f}"


_SAID: Final = {True: "yes", False: "not shown", None: "cannot be tried"}


def _panels(found: "PanelAnswer", place: Place) -> Iterator[Block]:
    f = found.panel
    best = visible(f.best.judge) if f.best is not None else ""
    rows = tuple(
        (
            together(S.judges) if len(S.judges) <= len(S.first) + 1 else _all_names(S.judges),
            _rate(place.at("panels", i, "right")),
            _rate(place.at("panels", i, "gain")),
            _rate(place.at("panels", i, "over_calls")),
            _SAID[S.combine],
        )
        for i, S in enumerate(f.panels)
    )
    yield Table(
        columns=(
            "Majority of",
            "Right of 100",
            f"More than {best}",
            "More than as many calls of it",
            "Worth it",
        ),
        rows=rows,
        caption="Of 100 items like these; the intervals of all panels hold together",
        name="panels",
    )
    if len(f.panels) < f.possible:
        yield paragraph(
            f"Of {f.possible} panels of three or five judges {len(f.panels)} were tried: "
            "neighbours as listed. The best of very many looks good by chance; --of A,B,C names "
            "others."
        )
    if f.best is not None and not any(S.combine for S in f.panels):
        yield paragraph(
            "A panel is worth it where it is right more often, by 5 of 100 or more, than every "
            "judge alone, and more often than as many calls of every judge."
        )


def _all_names(judges: Sequence[str]) -> str:
    return ", ".join(map(visible, judges))


def _changes(place: Place) -> Iterator[Block]:
    parts = [
        (name, term, place.at("components", name))
        for name, term in PANEL_COMPONENTS.items()
        if place.at("components", name).found is not None
    ]
    if parts:
        marks = [_mark(name, term.title, at) for name, term, at in parts if name != "total"]
        yield Figure(
            name="panel-components",
            chart=lambda width: forest(marks, width=width, title="disagreement"),
            label=f"What the disagreement of two calls is made of, in {len(marks)} parts",
            caption="Corrected parts with their 95% intervals for items like these.",
        )
        yield Table(
            columns=("Part", "Disagreement", "What it is"),
            rows=tuple((term.title, _rate(at, ".4f"), term.meaning) for _, term, at in parts),
            name="panel-components",
        )
    rows = tuple(
        (term.title, _rate(place.at("changes", name)), term.meaning)
        for name, term in PANEL_CHANGES.items()
        if place.at("changes", name).found is not None
    )
    yield Table(
        columns=("Two calls differ in", "Verdicts that differ, of 100", ""),
        rows=rows,
        caption="Of 100 items like these; of the judges on average",
        name="panel-changes",
    )


def _mark(name: str, title: str, at: Place) -> Mark:
    low, high = at.at("low").found, at.at("high").found
    value = float(at.at("estimate").found)
    return Mark(
        name=title,
        value=value,
        band=None if low is None or high is None else (low, high),
        colour=_COLOURS.get(name, drawing.MUTED).light,
        label=f"{title}: {value:.4f}",
    )


def _together(found: "PanelAnswer", place: Place) -> Iterator[Block]:
    f = found.panel
    if f.together is not None:
        at = place.at("together")
        who = "Both judges are" if len(f.judges) == 2 else f"All {len(f.judges)} judges are"  # noqa: PLR2004 - both
        yield paragraph(
            f"{who} wrong on the same item on ",
            *run_of(_rate(at.at("rate"))),
            " of 100. If errors had nothing to do with each other it would be ",
            at.value("independent", form="100"),
            ". No vote that follows unanimity mends these; a person has to look.",
        )
        if person := PanelWords(found=f).person():
            yield paragraph(person)
    if f.at_most is not None:
        yield paragraph(
            "Without right answers only a bound is known: where two judges differ one of them is "
            "wrong, so that on average they are right on at most ",
            place.value("at_most", "high", form="100"),
            " of 100. There is no bound from below: judges that agree may be wrong together.",
        )
