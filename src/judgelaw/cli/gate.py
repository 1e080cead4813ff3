"""`judgelaw gate`: pass or fail a judge against limits, for a CI job."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from judgelaw.blocks import Cell, Value
from judgelaw.cli.options import Place, examples, source_argument, source_options
from judgelaw.cli.terminal import say, show_table, write_json
from judgelaw.runs import Reading, Source, read_source

if TYPE_CHECKING:
    from judgelaw.uncertainty import Baseline, Gate, Limit, Scope


PASSED, FAILED, INCONCLUSIVE = 0, 1, 7
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(
    epilog=examples(
        "judgelaw gate runs/nightly --max prompt=0.02 --max order=0.05 --max invalid=0.01",
        "judgelaw gate calls.csv --max prompt=0.02 --new-items --junit gate.xml --summary gate.md",
        "judgelaw gate runs/today --baseline runs/last-week --margin 0.01",
    )
)
@source_argument
@click.option(
    "--max",
    "maxima",
    multiple=True,
    metavar="NAME=X",
    help="Largest call, prompt, order, interaction, total or invalid; may be repeated.",
)
@click.option(
    "--min",
    "minima",
    multiple=True,
    metavar="NAME=X",
    help="Least coverage (planned calls that are there), gold (right verdicts), or right (on items "
    "like these, as the answer says it); may be repeated.",
)
@click.option(
    "--baseline",
    metavar="RUN|TABLE",
    help="Earlier calls on the same items: no judge may be worse by more than the margin.",
)
@click.option(
    "--margin",
    "margins",
    multiple=True,
    metavar="[NAME=]X",
    help="How much worse than the baseline: in total, invalid and gold, or in the quantity named; "
    "may be repeated.  [default: 0.01]",
)
@click.option(
    "--match",
    "matches",
    multiple=True,
    metavar="prompt=OLD:NEW",
    help="A prompt of the baseline has another name now; may be repeated.",
)
@click.option(
    "--fixed",
    "scope",
    flag_value="fixed",
    default="fixed",
    help="Decide for these very items asked again.  [default]",
)
@click.option("--new-items", "scope", flag_value="new", help="Decide for new items like these.")
@click.option(
    "--strict",
    is_flag=True,
    help="For new items: suppose one unseen item as bad as an item can be, always.",
)
@click.option(
    "--on-inconclusive",
    type=click.Choice(["fail", "pass"]),
    help="What an undecided limit counts as.  [default: exit code 7]",
)
@click.option(
    "--level",
    type=click.FloatRange(0.5, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Confidence of each bound that decides a pass; those that decide a failure are adjusted "
    "for the number of limits and judges.",
)
@click.option(
    "--plan",
    "plan",
    is_flag=True,
    help="Print what more items or calls would decide, limit by limit; the exit code is 0.",
)
@click.option("--junit", "junit_file", type=_FILE, metavar="FILE", help="Write JUnit XML.")
@click.option(
    "--summary", "summary_file", type=_FILE, metavar="FILE", help="Add a Markdown summary to FILE."
)
@click.option("--json", "json_file", metavar="FILE", help="Write JSON; - for stdout alone.")
@source_options
def command(
    *,
    source: Place,
    maxima: tuple[str, ...],
    minima: tuple[str, ...],
    baseline: str | None,
    margins: tuple[str, ...],
    matches: tuple[str, ...],
    scope: "Scope",
    on_inconclusive: Literal["fail", "pass"] | None,
    level: float,
    strict: bool,
    plan: bool,
    junit_file: Path | None,
    summary_file: Path | None,
    json_file: str | None,
    reading: Reading,
) -> int:
    """Hold every judge of the main layer against limits.

    A limit passes if the one-sided upper bound is below it, fails if the lower bound is above it,
    and is inconclusive in between. With --baseline, how much worse a judge is than it was must be
    below the margin, on the items that both have. All limits must pass, so each is passed at the
    level itself; a judge that keeps all of them fails by chance in 5 of 100 cases at most, however
    many they are.
    Exit codes: 0 passed, 1 failed, 7 inconclusive.
    """
    from judgelaw.runs import check_source

    calls = read_source(source, reading)
    limits = limits_of(calls, maxima, minima)
    before = _baseline(baseline, reading, margins, matches)
    report = check_source(calls, limits, scope=scope, level=level, strict=strict, baseline=before)
    _write(report, junit_file, summary_file, json_file, on_inconclusive)
    if json_file != "-":
        _show(report)
        if plan:
            _show_prices(report)
    if plan:
        return PASSED
    if report.verdict == "inconclusive":
        return {"fail": FAILED, "pass": PASSED, None: INCONCLUSIVE}[on_inconclusive]
    return PASSED if report.verdict == "pass" else FAILED


def limits_of(calls: Source, maxima: Sequence[str], minima: Sequence[str]) -> "list[Limit]":
    """Return the limits asked for; if there are none, those of the study."""
    from judgelaw.uncertainty import Limit

    asked = [("max", text) for text in maxima] + [("min", text) for text in minima]
    if asked:
        return [_limit(side, text, calls.unit) for side, text in asked]  # type: ignore[arg-type]  # literals
    return [Limit.named(name, "max", x, calls.unit) for name, x in calls.gate.items()]


def _limit(side: Literal["max", "min"], text: str, unit: float) -> "Limit":
    from judgelaw.uncertainty import Limit

    name, equals, number = text.partition("=")
    try:
        value = float(number)
    except ValueError:
        equals = ""
    if not equals:
        raise click.BadParameter(f"{text!r}: write NAME=NUMBER, such as prompt=0.02")
    return Limit.named(name.strip(), side, value, unit)


def _baseline(
    source: str | None, reading: Reading, margins: Sequence[str], matches: Sequence[str]
) -> "Baseline | None":
    """Read what the judges are held against, None where nothing is."""
    from judgelaw.runs import baseline_of, for_baseline

    if source is None:
        if margins or matches:
            raise click.UsageError("--margin and --match need --baseline RUN|TABLE")
        return None
    match = _matched(matches)
    return baseline_of(read_source(source, for_baseline(reading, match)), _margin(margins), match)


def _margin(given: Sequence[str]) -> dict[str, float] | float | None:
    """Return one margin for the usual quantities, or margins by name."""
    named = {}
    for text in given:
        name, _, number = text.rpartition("=")
        try:
            named[name.strip()] = float(number)
        except ValueError as error:
            raise click.BadParameter(
                f"{text!r}: write a number, or NAME=NUMBER such as call=0.02"
            ) from error
    if "" in named and len(given) > 1:
        raise click.BadParameter("one margin without a name stands alone: name each of several")
    return named.get("", named or None)


def _matched(given: Sequence[str]) -> dict[str, str]:
    found = {}
    for text in given:
        old, colon, new = text.removeprefix("prompt=").partition(":")
        if not text.startswith("prompt=") or not colon or not old or not new:
            raise click.BadParameter(f"{text!r}: write prompt=OLD:NEW")
        found[old] = new
    return found


def _write(
    report: "Gate",
    junit_file: Path | None,
    summary_file: Path | None,
    json_file: str | None,
    on_inconclusive: str | None,
) -> None:
    from judgelaw.page import gate_junit, gate_markdown, write_gate_file

    if junit_file is not None:
        write_gate_file(gate_junit(report, on_inconclusive=on_inconclusive), junit_file)
    if summary_file is not None:
        write_gate_file(gate_markdown(report), summary_file, append=True)
    if json_file is not None:
        write_json(report.to_json(), json_file)


def _show(report: "Gate") -> None:
    from judgelaw.page import gate_reasons, gate_table, levels, target

    kept = sum(d.verdict == "pass" for d in report.limits)
    verdict = {"pass": "passed", "fail": "failed"}.get(report.verdict, report.verdict)
    say(f"Gate {verdict}: {kept} of {len(report.limits)} limits kept, for {target(report)}.")
    say(levels(report))
    table = gate_table(report)
    show_table(table.columns, table.rows, title="")
    for reason in gate_reasons(report):
        say(f"  ! {reason}")


def _show_prices(report: "Gate") -> None:
    """Print the limits that audits of several sizes will decide."""
    from judgelaw.uncertainty import CHANCE

    priced = [(d, d.price) for d in report.limits if d.price is not None]
    if not priced:
        say("  What more calls would decide is not known for these limits.")
        return
    rows: list[list[Cell]] = [
        [
            d.judge,
            d.quantity,
            Value(d.limit),
            Value(price.now),
            " ".join(f"{o.size:,}: {o.limit:.3f}" for o in price.offers),
            Value(price.needed, ",d"),
        ]
        for d, price in priced
    ]
    unit = "calls a cell" if report.items == "fixed" else "items"
    show_table(
        ["judge", "limit on", "limit", "decided now", f"decided with so many {unit}", "takes"],
        rows,
        title=f"What more {unit} decide, in {CHANCE:.0%} of fresh audits at least",
    )
