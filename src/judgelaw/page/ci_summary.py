"""What a gate leaves for a CI job: JUnit XML and a Markdown summary."""

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, tostring

from judgelaw.blocks import Cell, Span, Table, Value, markdown, safe, span_of, text_of, write
from judgelaw.errors import writing

if TYPE_CHECKING:
    from judgelaw.uncertainty import Gate, LimitDecision


_WORDS = {"pass": "passed", "fail": "failed", "inconclusive": "inconclusive"}


def limit_sentence(d: "LimitDecision") -> str:
    """Say one decision in words."""
    text = f"{d.judge}: {limit_text(d)} {_WORDS[d.verdict]}, at {write(d.estimate, '.4f')}"
    bounds = _bounds(d)
    between = "" if bounds.absent else f", one-sided bounds {text_of(bounds)}"
    return text + between + ("" if d.reason is None else f" ({d.reason})")


def gate_reasons(report: "Gate") -> list[str]:
    """Return what there is to know about the bounds, each reason once with its limits."""
    about: dict[str, list[str]] = {}
    for d in report.limits:
        if d.reason is not None:
            about.setdefault(d.reason, []).append(f"{d.judge} {d.quantity}")
    return [f"{', '.join(limits)}: {reason}" for reason, limits in about.items()]


def target(report: "Gate") -> str:
    """Say which items the gate speaks of."""
    return "these items" if report.items == "fixed" else "items like these"


def levels(report: "Gate") -> str:
    """Say how sure a pass and a failure are."""
    level, fail_level = (f"{100 * x:.4g}%" for x in (report.level, report.fail_level))
    if len(report.limits) == 1:
        return f"The bounds are one-sided, each at {level}."
    return (
        f"The bounds are one-sided: those that pass a limit at {level} each, since all must pass; "
        f"those that fail one at {fail_level}, so that the gate fails by chance, where all "
        f"{len(report.limits)} are kept, in {100 * (1 - report.level):.4g} of 100 cases at most."
    )


def limit_text(d: "LimitDecision") -> str:
    """Write a limit as people read it: `prompt < 0.02`."""
    return f"{d.quantity} {'<' if d.side == 'max' else '>='} {d.limit:g}"


def gate_table(report: "Gate") -> Table:
    """Return the limits with their estimates, one-sided bounds and verdicts."""
    rows: list[tuple[Cell, ...]] = [
        (d.judge, limit_text(d), Value(d.estimate), _bounds(d), d.verdict) for d in report.limits
    ]
    columns = ("judge", "limit", "estimate", "one-sided bounds", "verdict")
    return Table(columns=columns, rows=tuple(rows), name="limits")


def _bounds(d: "LimitDecision") -> Span:
    """Return the one-sided bounds, none where they are one number."""
    return span_of(None if d.lower == d.upper or isnan(d.lower) else (d.lower, d.upper), to=True)


def gate_junit(report: "Gate", *, on_inconclusive: str | None) -> str:
    """Return JUnit XML: one test case for each judge and limit.

    An inconclusive limit is a failure, or skipped where it was asked to pass.
    """
    as_skip = on_inconclusive == "pass"
    failed = [d for d in report.limits if d.verdict == "fail" or _open(d, as_skip=as_skip)]
    skipped = [d for d in report.limits if d.verdict == "inconclusive" and as_skip]
    suite = Element(
        "testsuite",
        name="judgelaw gate",
        tests=str(len(report.limits)),
        failures=str(len(failed)),
        errors="0",
        skipped=str(len(skipped)),
    )
    for d in report.limits:
        case = SubElement(
            suite, "testcase", classname=_clean(d.judge), name=f"{d.side} {d.quantity}={d.limit:g}"
        )
        if d in failed:
            problem = SubElement(case, "failure", type=d.verdict, message=_clean(limit_sentence(d)))
            problem.text = f"covers: {d.covers}"
        elif d in skipped:
            SubElement(case, "skipped", message=_clean(limit_sentence(d)))
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(suite, encoding="unicode") + "\n"


def gate_markdown(report: "Gate") -> str:
    """Return a Markdown summary: the verdict, then a table of limits."""
    head = f"### judgelaw gate: {_WORDS[report.verdict]}\n\nFor {target(report)}. {levels(report)}"
    notes = "".join(f"- {safe(note)}\n" for note in gate_reasons(report))
    return f"{head}\n\n{markdown(gate_table(report))}" + (f"\n{notes}" if notes else "")


def write_gate_file(text: str, target: Path, *, append: bool = False) -> None:
    """Write a file of the gate; `append` adds to a summary that the steps of a CI job share."""
    with writing(target), target.open("a" if append else "w", encoding="utf-8") as file:
        file.write(text)


def _open(d: "LimitDecision", *, as_skip: bool) -> bool:
    return d.verdict == "inconclusive" and not as_skip


def _clean(text: str) -> str:
    """Leave out control characters, which XML 1.0 cannot hold."""
    return "".join(c for c in text if c.isprintable())
