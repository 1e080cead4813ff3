"""`judgelaw validate`: a judge against people."""

from collections.abc import Iterator
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judgelaw.blocks import Cell, Value, span_of, text_of, with_ends, write
from judgelaw.cli.options import (
    FILE,
    Place,
    examples,
    one_place,
    selection_options,
    source_argument,
)
from judgelaw.cli.terminal import echo, say, show_table, write_json
from judgelaw.runs import Selection

if TYPE_CHECKING:
    from collections.abc import Mapping

    from judgelaw.labels import Against, LabelChoice, Validation
    from judgelaw.quantities import Estimate

PASSED, FAILED, INCONCLUSIVE = 0, 1, 7
_EXITS = {"pass": PASSED, "fail": FAILED, "inconclusive": INCONCLUSIVE}


@click.command(
    epilog=examples(
        "judgelaw validate verdicts.csv --human label --positive fail",
        "judgelaw validate verdicts.csv --human label --positive fail --labels random",
        "judgelaw validate runs/nightly --min recall=0.9 --min agreement=0.8",
        "judgelaw validate verdicts.csv --human label --certify recall=0.9",
    )
)
@source_argument
@click.option(
    "--human",
    metavar="COLUMN",
    multiple=True,
    show_default="human, else gold",
    help="The column of people's labels, blank where nobody labelled; one for each person, or for "
    "each of --criteria, if it is given several times.",
)
@click.option(
    "--positive",
    metavar="LABEL",
    help="The class that TPR speaks of, and the corrected rate where none is called pass. "
    "[default: the last of two]",
)
@click.option(
    "--labels",
    type=click.Choice(["random", "chosen"]),
    help="How the labelled items were chosen: a random subset of all, or otherwise. Needed to "
    "correct the pass rate of the rest.",
)
@click.option(
    "--min",
    "minima",
    multiple=True,
    metavar="NAME=X",
    help="Least recall, tpr, tnr, agreement or kappa; may be repeated.",
)
@click.option(
    "--certify",
    multiple=True,
    metavar="NAME=X",
    help="How many labels would show this recall, tpr, tnr or agreement; may be repeated.",
)
@selection_options
@click.option("--date", metavar="DATE", help="Read the calls of this date. [default: the latest]")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of every draw."
)
@click.option(
    "--report", "report_file", type=FILE, metavar="FILE", help="Write a page with the figures."
)
@click.option("--json", "json_file", metavar="FILE", help="Write JSON; - for stdout alone.")
def command(
    *,
    source: Place,
    human: tuple[str, ...],
    positive: str | None,
    labels: "LabelChoice | None",
    minima: tuple[str, ...],
    certify: tuple[str, ...],
    judge: str | None,
    criterion: str | None,
    date: str | None,
    reading: Selection,
    seed: int,
    report_file: Path | None,
    json_file: str | None,
) -> int:
    """Hold a judge against people: what it catches, what it misses, how often by chance.

    A table needs a column of items, one of verdicts and one of people's labels, one row a call; a
    run is held against the gold of its items. With --min the exit code is 0 if every limit is
    shown to be reached, 1 if one is shown not to be, 7 if these labels do not tell.
    """
    from judgelaw.runs import validate

    found = validate(
        source,
        human=human or "human",
        positive=positive,
        labels=labels,
        minimum=_pairs(minima),
        certify=_pairs(certify),
        judge=judge,
        criterion=criterion,
        date=date,
        **reading,
        seed=seed,
    )
    if report_file is not None:
        from judgelaw.page import validation_page
        from judgelaw.runs import write_page

        write_page(report_file, validation_page(found, title=Path(one_place(source)).name))
    if json_file is not None:
        write_json(found.to_json(), json_file)
    if json_file != "-":
        show(found)
    return _EXITS[found.verdict]


def _pairs(texts: tuple[str, ...]) -> dict[str, float]:
    found = {}
    for text in texts:
        name, equals, number = text.partition("=")
        try:
            found[name.strip()] = float(number)
        except ValueError:
            equals = ""
        if not equals:
            raise click.BadParameter(f"{text!r}: write NAME=NUMBER, such as recall=0.9")
    return found


def show(v: "Validation") -> None:
    """Print the answer: sentence, confusion, figures, what to look at."""
    say(v.sentence)
    echo()
    calls = int(v.confusion.sum())
    title = f"{v.labelled:,} labelled items, {calls:,} calls, held against {v.human!r}"
    if v.recall:
        show_table(
            ["people say", *(f"judge: {name}" for name in v.opinions.verdicts), "found, 95%"],
            [
                [label, *(Value(n, ",d") for n in row), _found(v.recall.get(label))]
                for label, row in zip(v.classes, v.confusion.tolist(), strict=True)
            ],
            title=title,
        )
    else:
        say(f"{title}; {len(v.classes)} different scores, too many for a table of each")
    echo()
    for line in _figures(v):
        say(line)
    _show_groups("prompt", v.by_prompt)
    _show_groups("stratum", v.by_stratum)
    _show_suspects(v)
    _show_limits(v)
    for note in v.notes:
        say(f"  ! {note}")


def _figures(v: "Validation") -> Iterator[str]:
    yield f"  agreement with a vote {text_of(_found(v.agreement))}, kappa {_in_text(v.kappa)}"
    for name, e in v.overall.scores.items():
        yield f"  {name.replace('_', ' ')} {_in_text(e)}"
    errors = v.overall.errors
    if errors is not None and len(errors.votes) > 1:
        curve = ", ".join(f"{m} {write(e.estimate, '.1%')}" for m, e in errors.votes.items())
        yield f"  errors of a majority vote of: {curve}"
    rate = v.pass_rate
    if rate.corrected is not None:
        yield (
            f"  share of {rate.of!r} on items nobody labelled: the judge says "
            f"{write(rate.observed, '.1%')}, corrected {text_of(_found(rate.corrected))} "
            f"({rate.method})"
        )
    elif rate.reason and v.labelled < len(v.opinions.items):
        yield f"  share on items nobody labelled, not corrected: {rate.reason}"
    for b in v.certify:
        now = "unknown" if isnan(b.now) else write(b.now, ".0%")
        need = (
            f"{b.labels:,} {b.of}, about {b.items:,} labels in all"
            if b.labels is not None
            else "no number of labels will do while it is not above the target"
        )
        yield (
            f"  to show {b.quantity} above {b.target:g}, being {now}: {need} "
            f"(with no error at all {b.without_error} {b.of})"
        )


def _found(e: "Estimate | None") -> Cell:
    """Return a share with its interval in percent; a dash where there is no interval."""
    from judgelaw.labels import percent

    return "-" if e is None or e.interval is None else percent(e)


def _in_text(e: "Estimate") -> str:
    return "unknown" if e.absent else text_of(with_ends(e, ".3f"))


def _show_groups(by: str, groups: "Mapping[str, Against]") -> None:
    if not groups:
        return
    rows = [
        [name, Value(a.labelled, ",d"), _found(a.agreement), with_ends(a.kappa, ".3f")]
        for name, a in groups.items()
    ]
    show_table([by, "labelled", "agreement, 95%", "kappa, 95%"], rows, title="")


def _show_suspects(v: "Validation") -> None:
    if not v.look_first:
        return
    rows = [
        [
            s.item,
            f"{s.label} ({s.share_of_votes * s.votes:.0f} of {s.votes})",
            f"{s.verdict} ({s.share_of_calls * s.calls:.0f} of {s.calls})",
            s.why,
        ]
        for s in v.look_first
    ]
    show_table(["look first at", "people", "judge", "why"], rows, title="")


def _show_limits(v: "Validation") -> None:
    if not v.limits:
        return
    rows: list[list[Cell]] = [
        [
            f"{m.quantity} at least {m.value:g}",
            Value(m.estimate, ".3f"),
            span_of(None if isnan(m.low) else (m.low, m.high), ".3f"),
            m.verdict,
        ]
        for m in v.limits
    ]
    show_table(["limit", "estimate", "one-sided 95% bounds", "verdict"], rows, title="")
    words = {"pass": "passed", "fail": "failed"}.get(v.verdict, v.verdict)
    say(f"Gate {words}: {sum(m.verdict == 'pass' for m in v.limits)} of {len(v.limits)} kept.")
