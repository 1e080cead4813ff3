"""Invalid outputs: how far do the components depend on what is done with them?"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from judgelaw.diagnose.finding import Finding, Severity
from judgelaw.diagnose.registry import Diagnostic
from judgelaw.errors import NotIdentifiedError
from judgelaw.estimate import CENSUS, COMPONENTS, Estimand, conditional_on_valid, decompose_as
from judgelaw.tensor import INVALID, VerdictTensor

TIE = "tie"
_MATERIAL = 0.1
"""A change by a tenth of the total disagreement is worth a word."""
_MANY = 0.05


@dataclass(frozen=True, kw_only=True)
class InvalidSensitivity:
    """Components with invalid outputs as outcomes, merged into tie, and left out.

    Attributes:
        rate: share of calls that ended invalid.
        kept, items: items with two valid calls in every cell, of all.
        as_outcome: components with invalid as an outcome of its own.
        as_tie: with every invalid output recoded as a tie; None where single answers are judged,
            which have no tie.
        if_valid: of the laws given a valid output, on the kept items; None where none is left.
        as_outcome_kept: components with invalid as an outcome on the kept items alone, so that the
            change of items and the change of law can be told apart.
    """

    rate: float
    kept: int
    items: int
    as_outcome: Mapping[str, float]
    as_tie: Mapping[str, float] | None
    if_valid: Mapping[str, float] | None
    as_outcome_kept: Mapping[str, float] | None


def invalid_sensitivity(
    tensor: VerdictTensor, estimand: Estimand = CENSUS
) -> InvalidSensitivity | None:
    """Estimate the components under the three treatments; None where no output is invalid."""
    if INVALID not in tensor.verdicts:
        return None
    rate = float(tensor.counts[..., tensor.verdicts.index(INVALID)].sum() / tensor.counts.sum())
    if rate == 0:
        return None

    def macro(t: VerdictTensor) -> dict[str, float]:
        found = decompose_as(t, estimand).macro()
        return {name: float(found[name]) for name in COMPONENTS}

    if_valid = kept_only = None
    kept: tuple[str, ...] = ()
    if estimand.design == "census" and set(tensor.verdicts) != {INVALID}:
        try:
            valid = conditional_on_valid(tensor, order_weights=estimand.order_weights)
        except NotIdentifiedError:  # no item keeps two valid calls in every cell: kept is 0
            pass
        else:
            kept = valid.kept
            found = valid.decomposition.macro()
            if_valid = {name: float(found[name]) for name in COMPONENTS}
            kept_only = macro(tensor.select(items=kept))
    return InvalidSensitivity(
        rate=rate,
        kept=len(kept),
        items=len(tensor.items),
        as_outcome=macro(tensor),
        as_tie=None if tensor.single else macro(tensor.recode({INVALID: TIE})),
        if_valid=if_valid,
        as_outcome_kept=kept_only,
    )


def complete_items(tensor: VerdictTensor) -> int:
    """Count the items with two valid calls in every cell."""
    if INVALID not in tensor.verdicts:
        return len(tensor.items)
    valid = tensor.repeats - tensor.counts[..., tensor.verdicts.index(INVALID)]
    return int(np.all(valid >= 2, axis=(1, 2)).sum())  # noqa: PLR2004 - a pair of distinct calls


def invalid_finding(found: InvalidSensitivity | None, *, subject: str) -> Finding:
    """Say how far the components depend on the treatment of invalid outputs."""
    if found is None:
        return Finding(
            name="invalid_outputs",
            verdict="ok",
            headline="No output was invalid.",
            advice="Nothing to do.",
            subject=subject,
        )
    tie_name, tie = _largest_change(found.as_outcome, found.as_tie)
    out_name, out = _largest_change(found.as_outcome_kept, found.if_valid)
    severity = _severity(found, max(abs(tie), abs(out)))
    lost = f"loses {found.items - found.kept} of {found.items} items"
    left_out = f"moves {out_name} by {out:+.5f} and {lost}" if out_name else lost
    as_tie = f"calling them ties moves the {tie_name} component most, by {tie:+.5f}; "
    as_tie = as_tie if tie_name and abs(tie) >= _SHOWN else ""
    tried = {
        "as_outcome": found.as_outcome,
        "as_tie": found.as_tie,
        "if_valid": found.if_valid,
        "as_outcome_on_kept": found.as_outcome_kept,
    }
    single = found.as_tie is None
    names = [name for name in tried if name != "as_tie" or not single]
    treatments = [tried[name] for name in names]
    shown = [c for c in COMPONENTS if not (single and np.isnan(found.as_outcome[c]))]
    return Finding(
        name="invalid_outputs",
        verdict=severity,
        headline=(
            f"{100 * found.rate:.3g} of 100 replies hold no verdict; {as_tie}not counting such "
            f"replies {left_out}."
        ),
        advice=_ADVICE[severity == "ok"],
        subject=subject,
        figures={
            "rate": found.rate,
            **({} if found.as_tie is None else {"change_as_tie": tie}),
            "change_if_valid": out,
            "kept": float(found.kept),
            "items": float(found.items),
        },
        columns=("component", *names),
        rows=tuple((c, *(_known(t, c) for t in treatments)) for c in shown),
    )


_SHOWN = 5e-6
"""A move below it is written as zero."""
_ADVICE = {
    True: "Keep invalid as an outcome; the treatment hardly matters here.",
    False: "Keep invalid as an outcome, and repair the prompt or the parser first: what the judge "
    "would have said is not in these calls.",
}


def _severity(found: InvalidSensitivity, change: float) -> Severity:
    scale = found.as_outcome["total"]
    matters = change > _MATERIAL * scale or found.kept < found.items / 2
    if not matters:
        return "ok"
    return "problem" if found.rate > _MANY else "notice"


def _largest_change(
    before: Mapping[str, float] | None, after: Mapping[str, float] | None
) -> tuple[str, float]:
    """Return the component that changes most, and by how much; ("", 0) where nothing is left."""
    if before is None or after is None:
        return "", 0.0
    changes = {c: after[c] - before[c] for c in COMPONENTS if not np.isnan(before[c])}
    name = max(changes, key=lambda c: abs(changes[c]))
    return name, changes[name]


def _known(values: Mapping[str, float] | None, component: str) -> float | None:
    if values is None or np.isnan(values[component]):
        return None
    return values[component]


DIAGNOSTICS = (
    Diagnostic(
        name="invalid_outputs",
        place=80,
        find=lambda of, _: [
            invalid_finding(invalid_sensitivity(of.tensor, of.estimand), subject=of.name)
        ],
    ),
)
