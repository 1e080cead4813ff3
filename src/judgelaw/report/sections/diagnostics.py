"""Whether the figures can be trusted: diagnostics with advice, and warnings."""

from dataclasses import replace

from judgelaw.diagnose.family import NOTICE, PROBLEM
from judgelaw.report.document import (
    Block,
    Findings,
    FindingView,
    Folded,
    Prose,
    Section,
    note,
    paragraph,
)
from judgelaw.report.sections.generic import table_view
from judgelaw.report.source import Source
from judgelaw.report.tables import heading
from judgelaw.report.text import visible

_SHOWN = ("problem", "notice")
_WORD = {
    "problem": "problem",
    "notice": "to read before quoting",
    "unknown": "not testable here",
    "ok": "found nothing",
}
_RATE = (
    "The tests share one error rate, however many they are: of clean audits at most 1 in "
    f"{1 / PROBLEM:.0f} shows any problem, and at most 1 in {1 / NOTICE:.0f} anything to read. "
    "What is counted (seeds used twice, invalid outputs) is no test and has no error rate. Finding "
    "nothing proves nothing: that calls are independent stays an assumption."
)


def diagnostics(source: Source) -> Section | None:
    """Return every diagnostic, problems first; None where none was run."""
    found = source.at("diagnostics")
    count = len(found.document or [])
    warnings = source.value("warnings") or []
    if not count and not warnings:
        return None
    blocks: list[Block] = []
    if warnings:
        blocks.append(Prose(paragraphs=tuple((visible(w),) for w in warnings)))
    if count:
        views = tuple(finding_view(found.at(i)) for i in range(count))
        blocks += [paragraph(_tally(views)), note(_RATE), *_listed(views)]
    return Section(id="diagnostics", title="Can it be trusted?", blocks=tuple(blocks))


def alarms(source: Source) -> tuple[FindingView, ...]:
    """Return the problems that were found, one of each kind: no answer is read without them.

    Where streams share a kind, the first speaks and the others are counted, so that no kind is
    crowded off the first screen by another.
    """
    found = source.at("diagnostics")
    parts = [found.at(i) for i in range(len(found.document or []))]
    kinds: dict[str, list[Source]] = {}
    for part in parts:
        if part.value("verdict") == "problem":
            kinds.setdefault(part.text("name"), []).append(part)
    return tuple(_alarm(first, more=len(rest)) for first, *rest in kinds.values())


def _alarm(first: Source, *, more: int) -> FindingView:
    view = finding_view(first, evidence=False)
    return replace(view, subject=f"{view.subject} (and {more} more)") if more else view


def _listed(views: tuple[FindingView, ...]) -> list[Block]:
    """Show what needs reading; fold what found nothing or could not be tested."""
    blocks: list[Block] = []
    loud = tuple(v for v in views if v.verdict in _SHOWN)
    if loud:
        blocks.append(Findings(findings=loud))
    for verdict, title in (("unknown", "Not testable with these calls"), ("ok", "Nothing found")):
        quiet = tuple(v for v in views if v.verdict == verdict)
        if quiet:
            summary = f"{title}: {len(quiet)}"
            blocks.append(Folded(summary=summary, blocks=(Findings(findings=quiet),)))
    return blocks


def _tally(views: tuple[FindingView, ...]) -> str:
    counts = {word: sum(_WORD[v.verdict] == word for v in views) for word in _WORD.values()}
    return (
        f"{len(views)} checks: " + ", ".join(f"{n} {word}" for word, n in counts.items() if n) + "."
    )


def finding_view(found: Source, *, evidence: bool = True) -> FindingView:
    """Return one diagnostic as the page shows it, with the figures behind it or without."""
    figures = tuple(
        (heading(name), found.measured("figures", name)) for name in found.value("figures") or {}
    )
    has_rows = bool(found.value("rows"))
    return FindingView(
        name=heading(found.text("name")),
        verdict=found.text("verdict"),
        subject=visible(found.text("subject")),
        headline=visible(found.text("headline")),
        advice=visible(found.text("advice")),
        figures=figures if evidence else (),
        table=table_view(found) if has_rows and evidence else None,
    )
