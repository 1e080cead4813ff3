"""Limits of a gate: what they may be about, how people name them, and whom they hold for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from judgelaw.errors import InputError
from judgelaw.estimate import COMPONENTS
from judgelaw.tensor import INVALID, VerdictTensor
from judgelaw.words import did_you_mean

Side = Literal["max", "min"]
MAXIMA = (*COMPONENTS, INVALID)
MINIMA = ("coverage", "gold", "right")


@dataclass(frozen=True, kw_only=True)
class Limit:
    """One limit: the most of a component or of invalid outputs, the least coverage, gold or right.

    A component of numeric scores may be as large as `unit`; anything else is a share. A `criterion`
    is the only one that it is about; None for all there are.
    """

    quantity: str
    side: Side
    value: float
    unit: float = 1.0
    criterion: str | None = None

    @classmethod
    def named(cls, name: str, side: Side | None, value: float, unit: float = 1.0) -> "Limit":
        """Read a name as people write it: `prompt`, `probe.NAME`, or `CRITERION.prompt`."""
        criterion, dot, quantity = name.rpartition(".")
        if not dot or quantity not in (*MAXIMA, *MINIMA) or name.startswith("probe."):
            criterion, quantity = "", name
        side = side or ("min" if quantity in MINIMA else "max")
        of = criterion or None
        return cls(quantity=quantity, side=side, value=value, unit=unit, criterion=of)

    def __post_init__(self) -> None:
        allowed = MAXIMA if self.side == "max" else MINIMA
        if self.quantity not in allowed and not (self.side == "max" and self.probe):
            other = "min" if self.side == "max" else "max"
            hint = f"; --{other} {self.quantity}=... is there" if self._elsewhere else ""
            raise InputError(
                f"no limit --{self.side} {self.quantity}: it takes {', '.join(allowed)}{hint}"
            )
        most = self.unit if self.quantity in COMPONENTS else 1.0
        if not 0 <= self.value <= most:
            raise InputError(
                f"--{self.side} {self.quantity}={self.value:g}: a limit lies between 0 and {most:g}"
            )

    @property
    def probe(self) -> str | None:
        """The probe whose shift is limited, as in `probe.injection`; None for anything else."""
        first, _, name = self.quantity.partition(".")
        return name if first == "probe" and name else None

    @property
    def _elsewhere(self) -> bool:
        return self.quantity in (MINIMA if self.side == "max" else MAXIMA)


def limits_of(asked: Mapping[str, float], unit: float = 1.0) -> list[Limit]:
    """Return limits by name: `coverage`, `gold`, `right` are the least, all else the most."""
    return [Limit.named(name, None, float(value), unit) for name, value in asked.items()]


def held_by(
    tensors: Mapping[str, VerdictTensor], limits: Sequence[Limit]
) -> dict[str, list[Limit]]:
    """Return the limits that each judge is held against; refuse a criterion that is not there."""
    if not tensors:
        raise InputError("no judge: a gate needs the calls of one judge or more")
    _refuse_order(tensors, limits)
    there = sorted({t.criterion for t in tensors.values() if t.criterion is not None})
    for limit in limits:
        if limit.criterion is not None and limit.criterion not in there:
            known = f"they have {', '.join(there)}" if there else "they have none: leave it out"
            raise InputError(
                f"--{limit.side} {limit.criterion}.{limit.quantity}: these calls have no criterion "
                f"{limit.criterion!r}{did_you_mean(limit.criterion, there)}; {known}"
            )
    return {
        j: [x for x in limits if x.criterion in (None, t.criterion)] for j, t in tensors.items()
    }


def _refuse_order(tensors: Mapping[str, VerdictTensor], limits: Sequence[Limit]) -> None:
    """Refuse limits of an order that single answers do not have."""
    for limit in limits:
        if limit.quantity in ("order", "interaction") and any(t.single for t in tensors.values()):
            asked = f"--{limit.side} {limit.quantity}={limit.value:g}"
            raise InputError(f"{asked}: single answers have no order; leave it out")
