"""One estimate with its errors, and the long table of all that is estimated of judges.

A quantity may be known by several statistics: corrected (`estimate`), counted without correction
(`plugin`), as a part of the total (`share`), beside just asking again (`more`). Each is an
`Estimate`. A row holds one of them with its keys, so that documents, frames and tables are
selections of rows.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite, isnan, nan
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

from judgelaw.frames import Result
from judgelaw.words import counted

Pair = tuple[float, float]
Statistic = Literal["estimate", "plugin", "share", "more"]
Evidence = Literal["sampled", "soft"]


class _Ends(Protocol):
    """What an interval of a kernel tells."""

    @property
    def se(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def reason(self) -> str | None: ...


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Estimate:
    """A number with its errors, by what they are for.

    Attributes:
        estimate: raw; nan where it cannot be had.
        low, high: ends of the interval for new items like these, nan where none can be had.
        call_interval: for the same items asked again.
        call_se: standard error of that.
        band: percentile band over whole items.
        bounds: between which it lies wherever the missing mass of token probabilities belongs.
        reason: why something cannot be had; empty otherwise.
    """

    estimate: float
    low: float = nan
    high: float = nan
    call_interval: Pair | None = None
    call_se: float | None = None
    band: Pair | None = None
    bounds: Pair | None = None
    reason: str = ""

    def __repr__(self) -> str:
        if self.absent:
            return f"not known: {self.reason or 'no reason given'}"
        ends = self.interval
        return f"{self.estimate:.4f}" + (f" ({ends[0]:.4f} to {ends[1]:.4f})" if ends else "")

    @property
    def interval(self) -> Pair | None:
        """The interval for new items like these, None where none can be had."""
        return None if isnan(self.low) else (self.low, self.high)

    @property
    def absent(self) -> bool:
        """Whether there is no number."""
        return isnan(self.estimate)

    def to_json(self) -> dict[str, float | str | None]:
        """Return the number and its ends, None for what is nan, and the reason where there is one.

        Of a number that is known only to lie between two ends, these.
        """
        ends = {"estimate": self.estimate, "low": self.low, "high": self.high}
        found: dict[str, float | str | None] = {
            name: float(x) if isfinite(x) else None for name, x in ends.items()
        }
        return found | {"reason": self.reason} if self.reason else found


def unknown(reason: str) -> Estimate:
    """Return an estimate that does not exist, and why."""
    return Estimate(estimate=nan, reason=reason)


def estimate_of(
    value: float,
    *,
    new: _Ends | None = None,
    asked: _Ends | None = None,
    band: Pair | None = None,
) -> Estimate:
    """Return a number with the intervals that kernels gave for it."""
    reasons = [x.reason for x in (new, asked) if x is not None and x.reason]
    return Estimate(
        estimate=value,
        low=nan if new is None else new.low,
        high=nan if new is None else new.high,
        call_interval=None if asked is None or isnan(asked.low) else (asked.low, asked.high),
        call_se=None if asked is None or isnan(asked.se) else asked.se,
        band=band,
        reason=reasons[0] if reasons else "",
    )


@dataclass(frozen=True, slots=True, repr=False)
class Quantity:
    """One quantity by all the statistics that there are of it: a view of its rows.

    Attributes:
        by: estimates by statistic.
        evidence: what they rest on, "sampled" verdicts or "soft" token probabilities.
    """

    by: Mapping[Statistic, Estimate]
    evidence: Evidence = "sampled"

    def __repr__(self) -> str:
        return repr(self.by["estimate"])

    @property
    def estimate(self) -> float:
        """Corrected, raw; nan where the facet has one level."""
        return self.by["estimate"].estimate

    @property
    def interval(self) -> Pair | None:
        """For new items like these: the claim. None where none can be had."""
        return self.by["estimate"].interval

    @property
    def call_interval(self) -> Pair | None:
        """For the same items asked again."""
        return self.by["estimate"].call_interval

    @property
    def call_se(self) -> float | None:
        """Standard error with items fixed."""
        return self.by["estimate"].call_se

    @property
    def band(self) -> Pair | None:
        """Whole-item percentile band of the estimate, too narrow where few items change."""
        return self.by["estimate"].band

    @property
    def bounds(self) -> Pair | None:
        """Between which a soft estimate lies wherever missing mass belongs; None otherwise."""
        return self.by["estimate"].bounds

    @property
    def plugin(self) -> float:
        """The same from relative frequencies taken as laws, biased by finite repeats."""
        return self._of("plugin").estimate

    @property
    def plugin_band(self) -> Pair | None:
        """Whole-item percentile band of the plug-in."""
        return self._of("plugin").band

    @property
    def share(self) -> float:
        """Estimate over total; nan where the total is zero or the facet absent."""
        return self._of("share").estimate

    @property
    def share_band(self) -> Pair | None:
        """Item band of the share, at the full depth."""
        return self._of("share").band

    @property
    def share_interval(self) -> Pair | None:
        """Shares that the calls allow with items fixed, at the full depth."""
        return self._of("share").call_interval

    @property
    def share_item_interval(self) -> Pair | None:
        """Shares that new items like these allow, at the full depth."""
        return self._of("share").interval

    @property
    def more(self) -> float | None:
        """How much more often than when just asked again; None for asking again."""
        found = self._of("more").estimate
        return None if isnan(found) else found

    @property
    def more_interval(self) -> Pair | None:
        """Of that, for the same items asked again."""
        return self._of("more").call_interval

    @property
    def absent(self) -> bool:
        """Whether the design has one level of the facet, and so says nothing about it."""
        return self.by["estimate"].absent

    @property
    def excess(self) -> float:
        """Plug-in minus corrected: what finite repeats add."""
        return self.plugin - self.estimate

    def _of(self, statistic: Statistic) -> Estimate:
        return self.by.get(statistic, NOTHING)

    def to_json(self, keys: Iterable[str]) -> dict[str, Any] | None:
        """Return these of its numbers; None where the design says nothing about it."""
        return None if self.absent else {key: getattr(self, key) for key in keys}


NOTHING = unknown("")
ABSENT = Quantity({"estimate": NOTHING})

Components = Mapping[str, Quantity]
"""By name, in the order of COMPONENTS."""

COMPONENT_KEYS = (
    "estimate",
    "plugin",
    "interval",
    "band",
    "plugin_band",
    "call_se",
    "call_interval",
    "share",
    "share_band",
    "share_interval",
    "share_item_interval",
    "evidence",
    "bounds",
)
CHANGE_KEYS = ("estimate", "interval", "call_interval", "more", "more_interval")
MEAN_KEYS = ("estimate", "call_se", "call_interval", "interval")
FIT_KEYS = ("estimate", "low", "high", "reason")
ERROR_KEYS = ("estimate",)
RIGHT_KEYS = ("estimate", "interval")
"""What the document holds of a component, a change, a mean score, a fit to gold, a reason of wrong
verdicts, and of how often a prompt is right."""


class Row(NamedTuple):
    """One estimate with its keys.

    Attributes:
        judge, layer: whose calls.
        group: `components`, `changes`, `strata`, ...
        at: depth, stratum, prompt, verdict, ...; None where the group has one of each quantity.
        quantity: `prompt`, `ask_again`, ...
        statistic: how it was estimated.
        estimate: the number with its errors.
        evidence: what it rests on.
    """

    judge: str
    layer: str | None
    group: str
    at: str | int | None
    quantity: str
    statistic: Statistic
    estimate: Estimate
    evidence: Evidence = "sampled"


@dataclass(frozen=True, repr=False)
class Quantities(Result):
    """The long table: one row an estimate.

    Attributes:
        rows: in the order in which they are shown.
    """

    rows: tuple[Row, ...] = ()

    schema: ClassVar[str] = "judgelaw.quantities/1"
    brief: ClassVar[tuple[str, ...]] = ("group", "at", "quantity", "statistic", "estimate")

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def select(self, **keys: Any) -> "Quantities":
        """Return the rows with these keys, `group="changes"`."""
        asked = keys.items()
        return Quantities(
            tuple(row for row in self.rows if all(getattr(row, k) == v for k, v in asked))
        )

    @cached_property
    def pivot(self) -> Mapping[tuple[str, str | int | None], Components]:
        """Quantities by group and place, with all statistics of each."""
        by: dict[tuple[str, str | int | None], dict[str, dict[Statistic, Estimate]]] = {}
        evidence: dict[tuple[str, str | int | None, str], Evidence] = {}
        for row in self.rows:
            found = by.setdefault((row.group, row.at), {})
            found.setdefault(row.quantity, {})[row.statistic] = row.estimate
            evidence[row.group, row.at, row.quantity] = row.evidence
        return {
            (group, at): {
                name: Quantity(each, evidence[group, at, name]) for name, each in found.items()
            }
            for (group, at), found in by.items()
        }

    def of(self, group: str, at: str | int | None = None) -> Components:
        """Return the quantities of a group at a place by name; none where there are none."""
        return self.pivot.get((group, at), {})

    def places(self, group: str) -> list[Any]:
        """Return the places of a group: depths, strata, prompts."""
        return [at for each, at in self.pivot if each == group]

    def in_words(self) -> str:
        """Say how many there are."""
        return counted(len(self.rows), "estimate")

    def records(self) -> list[dict[str, Any]]:
        """Return one row for each estimate, its intervals as two columns each."""
        return [
            {
                **row._asdict(),
                "estimate": row.estimate.estimate,
                "interval_low": row.estimate.low,
                "interval_high": row.estimate.high,
                **_ends("call_interval", row.estimate.call_interval),
                **_ends("band", row.estimate.band),
                "call_se": nan if row.estimate.call_se is None else row.estimate.call_se,
                "reason": row.estimate.reason,
            }
            for row in self.rows
        ]

    def to_json(self) -> dict[str, Any]:
        """Return the rows as they are in a frame."""
        from judgelaw.frames import plain  # noqa: PLC0415 - one name of a module used above

        return {"schema": self.schema, "rows": plain(self.records())}


def _ends(name: str, pair: Pair | None) -> dict[str, float]:
    low, high = pair or (nan, nan)
    return {f"{name}_low": low, f"{name}_high": high}


def rows_of(group: str, found: Mapping[str, Quantity], at: str | int | None = None) -> list[Row]:
    """Return the rows of quantities of one group and place, of no judge yet."""
    return [
        Row("", None, group, at, name, statistic, estimate, quantity.evidence)
        for name, quantity in found.items()
        for statistic, estimate in quantity.by.items()
    ]


def rows_of_judge(judge: str, layer: str | None, rows: Iterable[Row]) -> Quantities:
    """Return rows as those of one judge."""
    return Quantities(tuple(row._replace(judge=judge, layer=layer) for row in rows))


def number(value: float) -> Quantity:
    """Return a quantity that is nothing but a number."""
    return Quantity({"estimate": Estimate(estimate=value)})


def soft(found: Quantity, bounds: Pair | None) -> Quantity:
    """Say of a quantity that it rests on token probabilities, with the bounds of missing mass."""
    estimate = replace(found.by["estimate"], bounds=bounds)
    return Quantity({**found.by, "estimate": estimate}, "soft")
