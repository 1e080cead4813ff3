"""Quantities that are one function each: what is added here is in every output.

A function gets the calls of a judge and returns an `Estimate`, a number, or None where these calls
cannot tell. Its name is its key in the JSON of the judge, its title and meaning are what terminal,
page and reference say: none of them has to be told.
"""

from collections.abc import Callable
from dataclasses import dataclass

from judgelaw.quantities import ABSENT, Estimate, Quantity, number
from judgelaw.tensor import INVALID, VerdictTensor

Measure = Callable[[VerdictTensor], Estimate | float | None]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One quantity with its description.

    Attributes:
        name: its key in the JSON.
        title: what people read.
        meaning: what it is, in a sentence.
        form: how it is written: `.1%`, `.4f`, `,d`.
        measure: what computes it.
    """

    name: str
    title: str
    meaning: str
    form: str
    measure: Measure


CATALOGUE: dict[str, Entry] = {}


def quantity(title: str, *, form: str = ".1%") -> Callable[[Measure], Measure]:
    """Enter a function with its docstring as what the quantity means."""

    def entered(measure: Measure) -> Measure:
        meaning = " ".join((measure.__doc__ or "").split())
        name = measure.__name__
        CATALOGUE[name] = Entry(name=name, title=title, meaning=meaning, form=form, measure=measure)
        return measure

    return entered


def measured(tensor: VerdictTensor) -> dict[str, Quantity]:
    """Return every quantity of the catalogue."""
    return {name: _quantity(entry.measure(tensor)) for name, entry in CATALOGUE.items()}


def _quantity(found: Estimate | float | None) -> Quantity:
    if found is None:
        return ABSENT
    return Quantity({"estimate": found}) if isinstance(found, Estimate) else number(found)


@quantity("Calls that gave the gold verdict")
def gold_match(tensor: VerdictTensor) -> float | None:
    """Share of calls that gave the gold verdict, every call alike; nothing else counts."""
    if tensor.gold is None:
        return None
    code = {name: c for c, name in enumerate(tensor.verdicts) if name != INVALID}
    per_verdict = tensor.counts.sum(axis=(1, 2))
    rows = [i for i, gold in enumerate(tensor.gold) if gold is not None]
    if not rows:
        return None
    hits = sum(int(per_verdict[i, code[g]]) for i in rows if (g := str(tensor.gold[i])) in code)
    return hits / int(per_verdict[rows].sum())


@quantity("Cells that agree with themselves")
def unanimous_cells(tensor: VerdictTensor) -> float | None:
    """Share of cells whose calls all gave one verdict; not known from one call in each."""
    if tensor.depth[1] == 1:
        return None
    return float((tensor.counts.max(axis=-1) == tensor.repeats).mean())
