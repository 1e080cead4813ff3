"""Quantities that are one function each: a file of `measures/` is all that one takes.

A function gets the calls of a judge and returns an `Estimate`, a number, or None where these calls
cannot tell. Its name is its key in the JSON of the judge, its title and its docstring are what
terminal, page and reference say: none of them has to be told.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from judgelaw.doors import offered
from judgelaw.quantities import ABSENT, Estimate, Quantity, number
from judgelaw.tensor import VerdictTensor

Measure = Callable[[VerdictTensor], Estimate | float | None]


@dataclass(frozen=True)
class Entry:
    """One quantity with its description.

    Attributes:
        measure: what computes it.
        title: what people read.
        form: how it is written: `.1%`, `.4f`, `,d`.
    """

    measure: Measure
    title: str
    form: str = ".1%"

    @property
    def name(self) -> str:
        """Its key in the JSON."""
        return self.measure.__name__

    @property
    def meaning(self) -> str:
        """What it is, in a sentence."""
        return " ".join((self.measure.__doc__ or "").split())


@cache
def catalogued() -> dict[str, Entry]:
    """Return every quantity that a file offers, by name."""
    found: list[Entry] = offered("judgelaw.analysis.measures", "QUANTITIES")
    return {entry.name: entry for entry in found}


def measured(tensor: VerdictTensor) -> dict[str, Quantity]:
    """Return every quantity of the catalogue."""
    return {name: _quantity(entry.measure(tensor)) for name, entry in catalogued().items()}


def _quantity(found: Estimate | float | None) -> Quantity:
    if found is None:
        return ABSENT
    return Quantity({"estimate": found}) if isinstance(found, Estimate) else number(found)
